//! Partials of structs, and of variants with named fields.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens as _, quote, quote_spanned};
use syn::ext::IdentExt as _;
use syn::spanned::Spanned as _;
use syn::{
    Attribute, DataStruct, DeriveInput, Fields, FieldsNamed, GenericArgument, Ident, PathArguments, Type,
    Visibility,
};

use crate::attributes::{Container, FieldAttributes, docs, too_many, without_self};
use crate::case::Case;
use crate::{implementation, when_complete};

pub(crate) fn expand(
    input: &DeriveInput,
    data: &DataStruct,
    container: &Container,
) -> syn::Result<TokenStream> {
    let name = &input.ident;
    let module = container.module();
    match &data.fields {
        Fields::Named(fields) if !container.is_transparent => {
            let partial = container.partial_name(name);
            let intro = format!("A [`{name}`] while it is being written: what there is of it.");
            let definition = PartialStruct {
                of: name,
                name: &partial,
                intro: &intro,
                attributes: &input.attrs,
                visibility: &input.vis,
                fields,
                rule: container.rename_all,
            };
            let (definition, apply) = definition.expand(container)?;
            let types = [&partial.to_token_stream(), &quote!(::core::option::Option<#partial>)];
            let implementation = implementation(name, container, types, &apply);
            Ok(quote!(#definition #implementation))
        }
        // A newtype is written as what it holds.
        fields if fields.len() == 1 => {
            let field = fields.iter().next().expect("there is one");
            let attributes = FieldAttributes::of_newtype(field)?;
            let inner = &without_self(&field.ty, name);
            let (partial, field_type, apply) = data_type(inner, &attributes, &module);
            Ok(implementation(name, container, [&partial, &field_type], &quote!((#apply)(slot, step))))
        }
        _ => Ok(when_complete(input, container)),
    }
}

/// A struct of partial fields that is to be generated.
pub(crate) struct PartialStruct<'a> {
    /// The type that it is the partial of.
    pub(crate) of: &'a Ident,
    pub(crate) name: &'a Ident,
    /// The first line of its documentation.
    pub(crate) intro: &'a str,
    pub(crate) attributes: &'a [Attribute],
    pub(crate) visibility: &'a Visibility,
    pub(crate) fields: &'a FieldsNamed,
    pub(crate) rule: Option<Case>,
}

impl PartialStruct<'_> {
    /// Its definition, and the expression that applies a `step` to a `slot` of it.
    pub(crate) fn expand(&self, container: &Container) -> syn::Result<(TokenStream, TokenStream)> {
        let module = container.module();
        let (mut definitions, mut names, mut arms) = (Vec::new(), Vec::new(), Vec::new());
        let mut required = 0_u64;
        for field in &self.fields.named {
            let attributes = FieldAttributes::read(field)?;
            if attributes.is_skipped {
                continue;
            }
            let ident = field.ident.as_ref().expect("it is named");
            let ty = &without_self(&field.ty, self.of);
            let index = u32::try_from(names.len()).map_err(|_| too_many(ident))?;
            if attributes.is_required {
                let bit = 1_u64.checked_shl(index).ok_or_else(|| too_many(ident))?;
                required |= bit;
            }
            let in_json = attributes.names(&ident.unraw().to_string(), self.rule);
            names.push(quote!(#(#in_json)|* => ::core::option::Option::Some(#index)));
            let in_json = &in_json[0];

            let (partial_type, apply) = field_type(ty, &attributes, &module);
            arms.push(quote!(#index => step.field(&mut partial.#ident, #apply)));
            let (visibility, docs) = (&field.vis, docs(&field.attrs));
            let serialize = container.serializes().then(|| quote!(#[serde(rename = #in_json)]));
            definitions.push(quote!(#(#docs)* #serialize #visibility #ident: #partial_type));
        }
        let (name, intro, visibility, derives) = (self.name, self.intro, self.visibility, &container.derives);
        let docs = docs(self.attributes).filter(|attribute| attribute.path().is_ident("cfg"));
        let definition = quote! {
            #(#docs)*
            #[doc = #intro]
            #[allow(missing_docs, non_snake_case, non_camel_case_types, deprecated, reason = "generated")]
            #[derive(
                ::core::clone::Clone, ::core::fmt::Debug, ::core::default::Default #(, #derives)*
            )]
            #visibility struct #name {
                #(#definitions,)*
            }
        };
        let apply = quote! {
            step.object(
                slot,
                #required,
                |name: &::core::primitive::str| match name {
                    #(#names,)*
                    _ => ::core::option::Option::None,
                },
                |partial: &mut #name, index, step| match index {
                    #(#arms,)*
                    _ => false,
                },
            )
        };
        Ok((definition, apply))
    }
}

/// The type of a partial struct's field, and the function that applies a step to its slot.
fn field_type(ty: &Type, attributes: &FieldAttributes, module: &TokenStream) -> (TokenStream, TokenStream) {
    // Errors about the type are shown at the type.
    let span = ty.span();
    let is_whole = attributes.when_complete || attributes.read_with.is_some();
    let apply = match &attributes.read_with {
        Some(read) => quote!(|slot, step| step.when_complete_with::<#ty, _>(slot, |value| #read(value))),
        None if attributes.when_complete => {
            quote_spanned!(span=> |slot, step| step.when_complete::<#ty>(slot))
        }
        None => quote_spanned!(span=> <#ty as #module::Partial>::apply),
    };
    let partial_type = match (attributes.has_state, is_whole) {
        (true, true) => quote_spanned!(span=> #module::FieldState<#ty>),
        (true, false) => quote_spanned!(span=> #module::FieldState<<#ty as #module::Partial>::Partial>),
        // `null` is read like a field that is not there, as for other optional fields.
        (false, true) if is_option(ty) => quote!(#ty),
        (false, true) => quote_spanned!(span=> ::core::option::Option<#ty>),
        (false, false) => quote_spanned!(span=> <#ty as #module::Partial>::Field),
    };
    (partial_type, apply)
}

/// The partial of a newtype's or variant's data, its field, and the function that applies a step to its slot.
pub(crate) fn data_type(
    ty: &Type,
    attributes: &FieldAttributes,
    module: &TokenStream,
) -> (TokenStream, TokenStream, TokenStream) {
    let (slot, step) =
        (quote!(slot: &mut ::core::option::Option<_>), quote!(step: &mut #module::PartialStep<'_, '_>));
    let whole = |apply| (quote!(#ty), quote!(::core::option::Option<#ty>), apply);
    match &attributes.read_with {
        Some(read) => {
            whole(quote!(|#slot, #step| step.when_complete_with::<#ty, _>(slot, |value| #read(value))))
        }
        None if attributes.when_complete => whole(quote!(|#slot, #step| step.when_complete::<#ty>(slot))),
        None => (
            quote!(<#ty as #module::Partial>::Partial),
            quote!(<#ty as #module::Partial>::Field),
            quote!(<#ty as #module::Partial>::apply),
        ),
    }
}

/// Whether the type is written `Option<..>`.
fn is_option(ty: &Type) -> bool {
    let Type::Path(path) = ty else { return false };
    path.path.segments.last().is_some_and(|last| {
        let has_type = matches!(&last.arguments, PathArguments::AngleBracketed(arguments)
            if matches!(arguments.args.first(), Some(GenericArgument::Type(_))));
        last.ident == Ident::new("Option", Span::call_site()) && has_type
    })
}
