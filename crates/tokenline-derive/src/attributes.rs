//! The attributes `serde` and `partial` of types, variants and fields.

use proc_macro2::{Group, TokenStream, TokenTree};
use quote::{ToTokens, format_ident, quote};
use syn::ext::IdentExt as _;
use syn::meta::ParseNestedMeta;
use syn::punctuated::Punctuated;
use syn::{Attribute, DeriveInput, Error, Field, Ident, LitStr, Path, Token, Type, Variant, parenthesized};

use crate::case::Case;

/// The attributes of a type.
#[derive(Default)]
pub(crate) struct Container {
    path: Option<Path>,
    /// The name of the partial, if not that of the type and `Partial`.
    name: Option<Ident>,
    /// More traits to derive for the partial.
    pub(crate) derives: Vec<Path>,
    pub(crate) rename_all: Option<Case>,
    pub(crate) rename_all_fields: Option<Case>,
    /// The member with the variant's name.
    pub(crate) tag: Option<LitStr>,
    pub(crate) is_transparent: bool,
    when_complete: bool,
    /// Its JSON is not that of its fields or variants, or does not tell the variant.
    is_opaque: bool,
}

impl Container {
    pub(crate) fn read(input: &DeriveInput) -> syn::Result<Self> {
        let mut read = Self::default();
        let mut has_content = false;
        for_each(&input.attrs, "partial", |meta| {
            if meta.path.is_ident("crate") {
                read.path = Some(meta.value()?.parse::<LitStr>()?.parse()?);
            } else if meta.path.is_ident("when_complete") {
                read.when_complete = true;
            } else if meta.path.is_ident("name") {
                read.name = Some(meta.value()?.parse::<LitStr>()?.parse()?);
            } else if meta.path.is_ident("derive") {
                let content;
                parenthesized!(content in meta.input);
                let paths = Punctuated::<Path, Token![,]>::parse_terminated(&content)?;
                // Every partial has these two.
                let is_there = |path: &Path| path.is_ident("Clone") || path.is_ident("Debug");
                read.derives.extend(paths.into_iter().filter(|path| !is_there(path)));
            } else {
                return Err(
                    meta.error("expected `when_complete`, `name = \"..\"`, `derive(..)` or `crate = \"..\"`")
                );
            }
            Ok(())
        })?;
        for_each(&input.attrs, "serde", |meta| {
            if meta.path.is_ident("rename_all") {
                read.rename_all = of_deserialize(&meta)?.as_ref().map(Case::parse).transpose()?;
            } else if meta.path.is_ident("rename_all_fields") {
                read.rename_all_fields = of_deserialize(&meta)?.as_ref().map(Case::parse).transpose()?;
            } else if meta.path.is_ident("tag") {
                read.tag = Some(meta.value()?.parse()?);
            } else if meta.path.is_ident("transparent") {
                read.is_transparent = true;
            } else {
                has_content |= meta.path.is_ident("content");
                let opaque = ["untagged", "from", "try_from"];
                read.is_opaque |= opaque.iter().any(|name| meta.path.is_ident(name));
                skip_value(&meta)?;
            }
            Ok(())
        })?;
        read.is_opaque |= has_content;
        Ok(read)
    }

    pub(crate) fn is_read_when_complete(&self) -> bool {
        self.when_complete || self.is_opaque
    }

    /// The name of the partial of this type.
    pub(crate) fn partial_name(&self, name: &Ident) -> Ident {
        self.name.clone().unwrap_or_else(|| format_ident!("{}Partial", name.unraw()))
    }

    /// Where the trait is.
    pub(crate) fn module(&self) -> TokenStream {
        match &self.path {
            Some(path) => quote!(#path::partial),
            None => quote!(::tokenline::partial),
        }
    }

    /// Whether `serde::Serialize` is derived for the partial.
    pub(crate) fn serializes(&self) -> bool {
        let is_serialize = |path: &Path| path.segments.last().is_some_and(|last| last.ident == "Serialize");
        self.derives.iter().any(is_serialize)
    }
}

/// The attributes of a field.
#[derive(Default)]
pub(crate) struct FieldAttributes {
    /// Its name in JSON, if not that of the field.
    rename: Option<LitStr>,
    aliases: Vec<LitStr>,
    pub(crate) is_skipped: bool,
    pub(crate) when_complete: bool,
    pub(crate) is_required: bool,
    pub(crate) has_state: bool,
    /// The function that reads it in place of its type's `Deserialize`.
    pub(crate) read_with: Option<TokenStream>,
}

impl FieldAttributes {
    pub(crate) fn read(field: &Field) -> syn::Result<Self> {
        let mut read = Self::default();
        let mut flattened = None;
        for_each(&field.attrs, "partial", |meta| {
            let flag = match meta.path.get_ident().map(Ident::to_string).as_deref() {
                Some("when_complete") => &mut read.when_complete,
                Some("required") => &mut read.is_required,
                Some("state") => &mut read.has_state,
                Some("skip") => &mut read.is_skipped,
                _ => return Err(meta.error("expected `when_complete`, `required`, `state` or `skip`")),
            };
            *flag = true;
            Ok(())
        })?;
        for_each(&field.attrs, "serde", |meta| {
            if meta.path.is_ident("rename") {
                read.rename = of_deserialize(&meta)?.or(read.rename.take());
            } else if meta.path.is_ident("alias") {
                read.aliases.push(meta.value()?.parse()?);
            } else if meta.path.is_ident("with") {
                let module: Path = meta.value()?.parse::<LitStr>()?.parse()?;
                read.read_with = Some(quote!(#module::deserialize));
            } else if meta.path.is_ident("deserialize_with") {
                let function: Path = meta.value()?.parse::<LitStr>()?.parse()?;
                read.read_with = Some(function.into_token_stream());
            } else {
                read.is_skipped |= meta.path.is_ident("skip") || meta.path.is_ident("skip_deserializing");
                if meta.path.is_ident("flatten") {
                    flattened = Some(meta.error(
                        "a flattened field cannot be read while the record grows; add `#[partial(skip)]` to leave it out",
                    ));
                }
                skip_value(&meta)?;
            }
            Ok(())
        })?;
        match flattened {
            Some(error) if !read.is_skipped => Err(error),
            _ => Ok(read),
        }
    }

    /// Of the one field of a newtype: what applies to fields with a name is refused.
    pub(crate) fn of_newtype(field: &Field) -> syn::Result<Self> {
        let read = Self::read(field)?;
        if read.is_required || read.has_state || read.is_skipped {
            let message = "the field of a newtype can only be `#[partial(when_complete)]`";
            return Err(Error::new_spanned(field, message));
        }
        Ok(read)
    }

    /// The names in JSON, without repetitions.
    pub(crate) fn names(&self, field: &str, rule: Option<Case>) -> Vec<String> {
        distinct(self.name(field, rule), &self.aliases)
    }

    fn name(&self, field: &str, rule: Option<Case>) -> String {
        let renamed = || rule.map_or_else(|| field.to_owned(), |rule| rule.of_field(field));
        self.rename.as_ref().map_or_else(renamed, LitStr::value)
    }
}

/// The attributes of a variant.
#[derive(Default)]
pub(crate) struct VariantAttributes {
    rename: Option<LitStr>,
    aliases: Vec<LitStr>,
    pub(crate) rename_all: Option<Case>,
    pub(crate) is_skipped: bool,
}

impl VariantAttributes {
    pub(crate) fn read(variant: &Variant) -> syn::Result<Self> {
        let mut read = Self::default();
        for_each(&variant.attrs, "partial", |meta| Err(meta.error("a variant has no such attribute")))?;
        for_each(&variant.attrs, "serde", |meta| {
            if meta.path.is_ident("rename") {
                read.rename = of_deserialize(&meta)?.or(read.rename.take());
            } else if meta.path.is_ident("alias") {
                read.aliases.push(meta.value()?.parse()?);
            } else if meta.path.is_ident("rename_all") {
                read.rename_all = of_deserialize(&meta)?.as_ref().map(Case::parse).transpose()?;
            } else if ["with", "deserialize_with", "untagged", "other"]
                .iter()
                .any(|name| meta.path.is_ident(name))
            {
                return Err(meta.error(
                    "a variant with this attribute cannot be read while it grows; add `#[partial(when_complete)]` to the enum",
                ));
            } else {
                read.is_skipped |= meta.path.is_ident("skip") || meta.path.is_ident("skip_deserializing");
                skip_value(&meta)?;
            }
            Ok(())
        })?;
        Ok(read)
    }

    /// The names in JSON, without repetitions; the first one is written.
    pub(crate) fn names(&self, variant: &str, rule: Option<Case>) -> Vec<String> {
        distinct(self.name(variant, rule), &self.aliases)
    }

    fn name(&self, variant: &str, rule: Option<Case>) -> String {
        let renamed = || rule.map_or_else(|| variant.to_owned(), |rule| rule.of_variant(variant));
        self.rename.as_ref().map_or_else(renamed, LitStr::value)
    }
}

fn distinct(name: String, aliases: &[LitStr]) -> Vec<String> {
    let mut names = vec![name];
    for alias in aliases.iter().map(LitStr::value) {
        if !names.contains(&alias) {
            names.push(alias);
        }
    }
    names
}

/// The type with its own name in place of `Self`, which would be the partial where it is written.
pub(crate) fn without_self(ty: &Type, name: &Ident) -> Type {
    fn replaced(tokens: TokenStream, name: &Ident) -> TokenStream {
        let replace = |token| match token {
            TokenTree::Ident(ident) if ident == "Self" => TokenTree::Ident(name.clone()),
            TokenTree::Group(group) => {
                TokenTree::Group(Group::new(group.delimiter(), replaced(group.stream(), name)))
            }
            other => other,
        };
        tokens.into_iter().map(replace).collect()
    }
    syn::parse2(replaced(ty.to_token_stream(), name)).unwrap_or_else(|_| ty.clone())
}

fn for_each(
    attributes: &[Attribute],
    name: &str,
    mut read: impl FnMut(ParseNestedMeta<'_>) -> syn::Result<()>,
) -> syn::Result<()> {
    attributes
        .iter()
        .filter(|attribute| attribute.path().is_ident(name))
        .try_for_each(|attribute| attribute.parse_nested_meta(&mut read))
}

/// The value of `name = ".."`, or of `name(deserialize = "..")`.
fn of_deserialize(meta: &ParseNestedMeta<'_>) -> syn::Result<Option<LitStr>> {
    if meta.input.peek(Token![=]) {
        return Ok(Some(meta.value()?.parse()?));
    }
    let mut value = None;
    meta.parse_nested_meta(|meta| {
        let text = meta.value()?.parse()?;
        if meta.path.is_ident("deserialize") {
            value = Some(text);
        }
        Ok(())
    })?;
    Ok(value)
}

/// Passes over what follows an attribute that does not matter here.
fn skip_value(meta: &ParseNestedMeta<'_>) -> syn::Result<()> {
    if meta.input.peek(Token![=]) {
        meta.value()?.parse::<syn::Expr>()?;
    } else if meta.input.peek(syn::token::Paren) {
        let content;
        parenthesized!(content in meta.input);
        content.parse::<TokenStream>()?;
    }
    Ok(())
}

/// The documentation of an item.
pub(crate) fn docs(attributes: &[Attribute]) -> impl Iterator<Item = &Attribute> {
    attributes.iter().filter(|attribute| attribute.path().is_ident("doc") || attribute.path().is_ident("cfg"))
}

/// The error for a number of fields or variants that no bit mask or index holds.
pub(crate) fn too_many(ident: &Ident) -> Error {
    Error::new(ident.span(), "a struct with a required field has at most 64 fields")
}
