//! `#[derive(Partial)]`: a record in its own type while a model is still writing it.
//!
//! For use with the crate `tokenline` and its feature `derive`, which exports the macro beside the trait; the trait's page
//! documents what the macro generates and its attributes. The macro reads a type's `serde` attributes, so that the partial
//! has the names that `Deserialize` expects.
#![forbid(unsafe_code)]

mod attributes;
mod case;
mod enums;
mod structs;

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Data, DeriveInput, Error, Ident, parse_macro_input};

use attributes::Container;

/// Implements `tokenline::partial::Partial` for a struct or enum that implements `serde::Deserialize`, and defines its
/// partial: for `Recipe`, `RecipePartial`.
///
/// The attributes are documented on the trait.
#[proc_macro_derive(Partial, attributes(partial, serde))]
pub fn derive_partial(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    expand(&input).unwrap_or_else(Error::into_compile_error).into()
}

fn expand(input: &DeriveInput) -> syn::Result<TokenStream> {
    let container = Container::read(input)?;
    if !input.generics.params.is_empty() {
        let message = "`Partial` cannot be derived for a type with parameters; write it for each type that they stand for";
        return Err(Error::new_spanned(&input.generics, message));
    }
    match &input.data {
        _ if container.is_read_when_complete() => Ok(when_complete(input, &container)),
        Data::Struct(data) => structs::expand(input, data, &container),
        Data::Enum(data) => enums::expand(input, data, &container),
        Data::Union(data) => {
            Err(Error::new(data.union_token.span, "`Partial` cannot be derived for a union"))
        }
    }
}

/// A type that is its own partial.
fn when_complete(input: &DeriveInput, container: &Container) -> TokenStream {
    let field = quote!(::core::option::Option<Self>);
    implementation(&input.ident, container, [&quote!(Self), &field], &quote!(step.when_complete(slot)))
}

/// The implementation of the trait for a type, with its partial, its field, and the expression that applies a `step` to a
/// `slot`.
fn implementation(
    name: &Ident,
    container: &Container,
    [partial, field]: [&TokenStream; 2],
    apply: &TokenStream,
) -> TokenStream {
    let module = container.module();
    quote! {
        #[automatically_derived]
        #[allow(deprecated, reason = "generated")]
        impl #module::Partial for #name {
            type Partial = #partial;
            type Field = #field;

            fn apply(slot: &mut ::core::option::Option<Self::Partial>, step: &mut #module::PartialStep<'_, '_>) {
                #apply;
            }
        }
    }
}
