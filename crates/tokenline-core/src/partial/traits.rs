//! The trait of types with partials.

use super::{PartialField, PartialStep};

/// A type that can be read while its JSON is still being written.
///
/// Derive it for structs and enums next to `Deserialize`:
///
/// - A struct `Recipe` gets a struct `RecipePartial`: a field of type `T` becomes `Option<T::Partial>`, an
///   `Option<T>` becomes `Option<T::Partial>` too, and a list stays a list, which is empty until it begins.
/// - An enum without data is its own partial. An enum with data gets an enum such as `ShapePartial`, whose variants
///   hold partials; a variant with named fields gets a struct such as `ShapeCirclePartial`.
/// - A newtype has the partial of what it holds.
/// - An untagged or adjacently tagged enum, a tuple struct with several fields, and a type with `serde(from)` appear
///   once they are complete.
///
/// Names follow the type's `serde` attributes.
///
/// | attribute of a field | meaning |
/// |---|---|
/// | `#[partial(when_complete)]` | The field appears once its value is complete. Its type needs no `Partial`, only `DeserializeOwned`, `Clone`, `Debug`, `Send` and `Sync`. |
/// | `#[partial(required)]` | Without this field there is no partial of its struct: a list has no such element, and no snapshot is yielded. |
/// | `#[partial(state)]` | The field is a [`FieldState`](super::FieldState): pending, growing or complete. |
/// | `#[partial(skip)]` | The partial has no such field. |
///
/// | attribute of the type | meaning |
/// |---|---|
/// | `#[partial(when_complete)]` | The type is its own partial, and appears once it is complete. |
/// | `#[partial(derive(PartialEq, Serialize))]` | More traits to derive for the partial. It always has `Clone` and `Debug`, and a struct `Default`. |
/// | `#[partial(name = "..")]` | The name of the partial. |
/// | `#[partial(crate = "path")]` | Where this crate is found, if not at `::tokenline`. |
///
/// # By hand
///
/// A foreign type in your own wrapper appears once it is complete with one line:
///
/// ```
/// use tokenline_core::partial::{Partial, PartialStep};
///
/// #[derive(serde::Deserialize)]
/// struct Address(std::net::IpAddr);
///
/// impl Partial for Address {
///     type Partial = Self;
///     type Field = Option<Self>;
///
///     fn apply(slot: &mut Option<Self>, step: &mut PartialStep<'_, '_>) {
///         step.when_complete(slot);
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no partial",
    label = "it cannot be read while it is being written",
    note = "add `#[derive(Partial)]` to `{Self}`, or `#[partial(when_complete)]` to the field"
)]
pub trait Partial: Sized {
    /// The type while it is written.
    type Partial: Send + Sync + 'static;

    /// The type of a partial struct's field for it.
    type Field: PartialField<Self::Partial>;

    /// Applies a step to this value or to one inside it. `slot` is `None` until there is a partial.
    fn apply(slot: &mut Option<Self::Partial>, step: &mut PartialStep<'_, '_>);
}
