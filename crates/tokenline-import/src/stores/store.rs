//! The trait of all stores, and the list of their kinds.

use std::path::Path;
use std::pin::Pin;

use super::STORES;
use crate::{ImportError, Importer};

/// A database or search store, opened by its address.
pub trait Store {
    /// Opens the store of an address. It is not reached before it is read.
    ///
    /// # Errors
    ///
    /// If the address or an option is not valid.
    fn open(address: &str, options: &StoreOptions<'_>) -> Result<Box<dyn Store>, ImportError>
    where
        Self: Sized;

    /// The name in rejects and reports, without credentials.
    fn name(&self) -> String;

    /// Identifies the store in a [checkpoint](Importer::checkpoint), without credentials.
    fn identity(&self) -> String;

    /// The path of the store, if it is a file.
    fn path(&self) -> Option<&Path> {
        None
    }

    /// Reads all rows. Needs a Tokio runtime with I/O and time, which is blocked while conversations are written.
    ///
    /// `on_total` is called with the number of rows, if the store knows it.
    fn read<'a>(self: Box<Self>, importer: &'a mut Importer<'_>, on_total: OnTotal) -> Reading<'a>;
}

/// Takes the number of rows of a store.
pub type OnTotal = Box<dyn Fn(u64) + Send + Sync>;

/// The read of a store. It fails if the store cannot be read, or something cannot be written.
pub type Reading<'a> = Pin<Box<dyn Future<Output = Result<(), ImportError>> + 'a>>;

/// [Opens](Store::open) a store.
pub type Open = fn(&str, &StoreOptions<'_>) -> Result<Box<dyn Store>, ImportError>;

/// The options of stores. A [`StoreKind`] says which of them it takes.
#[derive(Clone, Copy, Debug, Default)]
pub struct StoreOptions<'a> {
    /// The query, in the store's [language](StoreKind::query).
    pub query: Option<&'a str>,
    /// A unique column that is never null, to read by.
    pub key: Option<&'a str>,
    /// The collection.
    pub collection: Option<&'a str>,
    /// The number of slices that are read in parallel.
    pub slices: Option<u16>,
    /// The column with the array of messages, if each row is a whole conversation.
    pub messages: Option<&'a str>,
}

/// A kind of store.
///
/// ```
/// use tokenline_import::StoreKind;
///
/// let (kind, address) = StoreKind::of("MongoDB://localhost/support").expect("a known store");
/// assert_eq!((kind.name, &*address), ("MongoDB", "mongodb://localhost/support"));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct StoreKind {
    /// The name, for messages.
    pub name: &'static str,
    /// The feature that a build needs to open it.
    pub feature: &'static str,
    /// The starts of its addresses.
    pub schemes: &'static [&'static str],
    /// The form of an address, for help.
    pub address: &'static str,
    /// Products, and the environment variables from which each takes credentials that the address lacks.
    pub credentials: &'static [(&'static str, &'static str)],
    /// The language of queries.
    pub query: QueryLanguage,
    /// The key that it always reads by. `None`: it takes a column.
    pub fixed_key: Option<&'static str>,
    /// Whether it needs a collection; others take none.
    pub needs_collection: bool,
    /// Whether it is read in slices.
    pub has_slices: bool,
    /// Opens the store, if the build has the feature.
    pub open: Option<Open>,
}

/// The language of a store's queries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueryLanguage {
    /// SQL. A query is required.
    Sql,
    /// JSON with this name. The default is all documents.
    Json(&'static str),
}

impl StoreKind {
    /// The values of the fields that a row of the list leaves out.
    pub(super) const DEFAULT: Self = Self {
        name: "",
        feature: "",
        schemes: &[],
        address: "",
        credentials: &[],
        query: QueryLanguage::Sql,
        fixed_key: None,
        needs_collection: false,
        has_slices: false,
        open: None,
    };

    /// The kind of store with this address, and the address with its scheme in lower case.
    #[must_use]
    pub fn of(address: &str) -> Option<(&'static Self, String)> {
        let address = address.trim_start();
        STORES.iter().find_map(|kind| {
            let scheme = kind.schemes.iter().find(|scheme| {
                address.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme))
            })?;
            Some((kind, format!("{scheme}{}", &address[scheme.len()..])))
        })
    }
}
