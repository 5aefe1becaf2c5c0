//! Partials of enums.

use proc_macro2::TokenStream;
use quote::{ToTokens as _, format_ident, quote};
use syn::ext::IdentExt as _;
use syn::{DataEnum, DeriveInput, Error, Fields};

use crate::attributes::{Container, FieldAttributes, VariantAttributes, docs, without_self};
use crate::structs::{PartialStruct, data_type};
use crate::{implementation, when_complete};

pub(crate) fn expand(
    input: &DeriveInput,
    data: &DataEnum,
    container: &Container,
) -> syn::Result<TokenStream> {
    let is_plain = container.tag.is_none() && data.variants.iter().all(|variant| variant.fields.is_empty());
    if is_plain {
        return Ok(when_complete(input, container));
    }
    let name = &input.ident;
    let (module, visibility, derives) = (container.module(), &input.vis, &container.derives);
    let partial = container.partial_name(name);

    let (mut structs, mut definitions) = (Vec::new(), Vec::new());
    // Of variants with data, or of all where the name is a member's value: the number of a name, and what to do.
    let (mut names, mut arms) = (Vec::new(), Vec::new());
    let mut units = Vec::new();
    for variant in &data.variants {
        let attributes = VariantAttributes::read(variant)?;
        if attributes.is_skipped {
            continue;
        }
        let ident = &variant.ident;
        let in_json = attributes.names(&ident.unraw().to_string(), container.rename_all);
        let pattern = quote!(#(#in_json)|*);
        let in_json = &in_json[0];
        let docs = docs(&variant.attrs);
        let serialize = container.serializes().then(|| quote!(#[serde(rename = #in_json)]));
        let index = u32::try_from(names.len()).expect("an enum has fewer variants");

        let (data_type, apply) = match &variant.fields {
            Fields::Unit => {
                definitions.push(quote!(#(#docs)* #serialize #ident));
                names.push(quote!(#pattern => ::core::option::Option::Some(#index)));
                if container.tag.is_some() {
                    arms.push(quote!(#index => step.unit_variant(slot, #partial::#ident)));
                } else {
                    arms.push(quote!(#index => step.null_variant(slot, #partial::#ident)));
                    units.push(quote!(#pattern => ::core::option::Option::Some(#partial::#ident)));
                }
                continue;
            }
            Fields::Unnamed(fields) if fields.unnamed.len() == 1 => {
                let field = &fields.unnamed[0];
                let attributes = FieldAttributes::of_newtype(field)?;
                let (data_type, _, apply) = data_type(&without_self(&field.ty, name), &attributes, &module);
                (data_type, apply)
            }
            Fields::Named(fields) => {
                let fields_name = format_ident!("{}{}Partial", name.unraw(), ident.unraw());
                let definition = PartialStruct {
                    of: name,
                    name: &fields_name,
                    intro: &format!("The fields of [`{partial}::{ident}`] while they are being written."),
                    attributes: &[],
                    visibility,
                    fields: &public(fields),
                    rule: attributes.rename_all.or(container.rename_all_fields),
                };
                let (definition, apply) = definition.expand(container)?;
                structs.push(definition);
                (quote!(#fields_name), quote!(|slot, step| { #apply }))
            }
            Fields::Unnamed(_) => {
                let message = "a variant with several unnamed fields cannot be read while it grows; \
                    add `#[partial(when_complete)]` to the enum";
                return Err(Error::new_spanned(variant, message));
            }
        };
        definitions.push(quote!(#(#docs)* #serialize #ident(#data_type)));
        names.push(quote!(#pattern => ::core::option::Option::Some(#index)));
        arms.push(quote! {
            #index => step.variant(
                slot,
                |partial| match partial {
                    #partial::#ident(data) => ::core::option::Option::Some(data),
                    #[allow(unreachable_patterns, reason = "there may be one variant")]
                    _ => ::core::option::Option::None,
                },
                #partial::#ident,
                #apply,
            )
        });
    }

    let index_of = quote! {
        |name: &::core::primitive::str| match name {
            #(#names,)*
            _ => ::core::option::Option::None,
        }
    };
    let apply = quote! {
        |slot: &mut ::core::option::Option<#partial>, index, step: &mut #module::PartialStep<'_, '_>| match index {
            #(#arms,)*
            _ => {}
        }
    };
    let (read, serialize) = match &container.tag {
        Some(tag) => (
            quote!(step.internally_tagged(slot, #tag, #index_of, #apply)),
            container.serializes().then(|| quote!(#[serde(tag = #tag)])),
        ),
        None => {
            let unit = quote! {
                |name: &::core::primitive::str| match name {
                    #(#units,)*
                    _ => ::core::option::Option::None,
                }
            };
            (quote!(step.externally_tagged(slot, #unit, #index_of, #apply)), None)
        }
    };
    let intro = format!("A [`{name}`] while it is being written, once its variant is certain.");
    let types = [&partial.to_token_stream(), &quote!(::core::option::Option<#partial>)];
    let implementation = implementation(name, container, types, &read);
    Ok(quote! {
        #(#structs)*

        #[doc = #intro]
        #[allow(missing_docs, non_camel_case_types, deprecated, reason = "generated")]
        #[derive(::core::clone::Clone, ::core::fmt::Debug #(, #derives)*)]
        #serialize
        #visibility enum #partial {
            #(#definitions,)*
        }

        #implementation
    })
}

/// The same fields, as visible as a variant's are.
fn public(fields: &syn::FieldsNamed) -> syn::FieldsNamed {
    let mut fields = fields.clone();
    for field in &mut fields.named {
        field.vis = syn::parse_quote!(pub);
    }
    fields
}
