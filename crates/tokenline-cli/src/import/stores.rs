//! Databases and search stores, each behind a feature of the build.

use indicatif::ProgressBar;
use tokenline_import::{Importer, QueryLanguage, STORES, Store, StoreKind, StoreOptions};

use super::ImportArgs;
use crate::failure::Failure;

/// The data to read from a store.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Stores")]
pub(crate) struct StoreArgs {
    #[arg(long, value_name = "QUERY", help = query_help())]
    pub(super) query: Option<String>,
    #[arg(long, value_name = "COLUMN", help = key_help())]
    pub(super) key: Option<String>,
    #[arg(long, value_name = "NAME", help = format!("Collection of {}", names("or", |kind| kind.needs_collection)))]
    pub(super) collection: Option<String>,
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=64), help = slices_help())]
    pub(super) slices: Option<u16>,
}

/// Whether an argument is the address of a store, also of an unknown one: it may have a password, which a message about a
/// file would show.
pub(super) fn is_store(argument: &str) -> bool {
    argument.contains("://") || schemes().any(|scheme| argument.starts_with(scheme))
}

fn schemes() -> impl Iterator<Item = &'static str> {
    STORES.iter().flat_map(|kind| kind.schemes).copied()
}

/// Opens the store with this address.
pub(super) fn open(address: &str, args: &ImportArgs) -> Result<Box<dyn Store>, Failure> {
    let Some((kind, address)) = StoreKind::of(address) else {
        let scheme = address.split("://").next().unwrap_or_default().trim();
        let known = schemes().collect::<Vec<_>>().join(", ");
        return Err(Failure::Usage(format!(
            "unknown store {scheme}://; the addresses of stores begin with {known}"
        )));
    };
    let StoreKind { name, feature, fixed_key, needs_collection, .. } = *kind;
    let StoreArgs { query, key, collection, slices } = &args.store;
    let is_unused = [
        ("--collection", !needs_collection && collection.is_some()),
        ("--slices", !kind.has_slices && slices.is_some()),
        ("--key", fixed_key.is_some() && key.is_some()),
    ];
    if let Some((option, _)) = is_unused.iter().find(|(_, is_unused)| *is_unused) {
        return Err(Failure::Usage(format!("{option} has no effect on {name}")));
    }
    if args.checkpoint.is_some() && key.is_none() && fixed_key.is_none() {
        return Err(Failure::Usage(format!(
            "--checkpoint needs --key to resume with {name}: a unique column, such as the primary key"
        )));
    }
    let Some(open) = kind.open else {
        return Err(Failure::Usage(format!(
            "this build does not read {name}: `cargo install --path crates/tokenline-cli --features {feature}`, in a clone \
             of the repository, installs one that does"
        )));
    };
    let is_missing = [
        ("--query", kind.query == QueryLanguage::Sql && query.is_none()),
        ("--collection", needs_collection && collection.is_none()),
    ];
    if let Some((option, _)) = is_missing.iter().find(|(_, is_missing)| *is_missing) {
        return Err(Failure::Usage(format!("{option} is needed for this store")));
    }
    let options = StoreOptions {
        query: query.as_deref(),
        key: key.as_deref(),
        collection: collection.as_deref(),
        slices: *slices,
        messages: args.mapping.messages.as_deref(),
    };
    open(&address, &options).map_err(super::failure)
}

/// Reads a store. The bar has the number of rows, once the store says it.
pub(super) fn read(
    store: Box<dyn Store>,
    importer: &mut Importer<'_>,
    bar: &ProgressBar,
) -> Result<(), Failure> {
    // Pages are fetched and parsed while conversations are written, which blocks.
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.map_err(|error| Failure::io("cannot start", &error))?;
    let bar = bar.clone();
    runtime.block_on(store.read(importer, Box::new(move |rows| bar.set_length(rows)))).map_err(super::failure)
}

/// The help of the inputs: files, and the addresses of stores.
pub(super) fn inputs_help(files: &str) -> String {
    let addresses: Vec<_> = STORES.iter().map(|kind| kind.address).collect();
    let features: Vec<_> = STORES.iter().map(|kind| kind.feature).collect();
    let credentials =
        STORES.iter().flat_map(|kind| kind.credentials).enumerate().map(|(at, (name, variables))| {
            let takes_them = if at == 0 { " takes them" } else { "" };
            format!("{name}{takes_them} from {variables}")
        });
    format!(
        "{files}.\n\n\
        Stores are addresses: {}. Each needs a build with its feature: {}; Parquet files need parquet. For example, \
        `cargo install --path crates/tokenline-cli --features postgres,parquet` in a clone of the repository. The address \
        may lack user and password: {}. They are never shown.",
        addresses.join(", "),
        features.join(", "),
        credentials.collect::<Vec<_>>().join(", ")
    )
}

fn query_help() -> String {
    let json = STORES.iter().filter_map(|kind| match kind.query {
        QueryLanguage::Json(name) => Some(name),
        QueryLanguage::Sql => None,
    });
    format!(
        "SQL, such as 'SELECT * FROM messages' (required for {}), or a {} as JSON (default: all documents)",
        names("and", |kind| kind.query == QueryLanguage::Sql),
        list("or", json)
    )
}

fn key_help() -> String {
    let fixed =
        STORES.iter().filter_map(|kind| Some(format!(". {} always uses {}", kind.name, kind.fixed_key?)));
    let start = "Unique, non-null column to read by, such as the primary key. Needed to resume after a lost connection or \
        from a checkpoint";
    fixed.fold(start.to_owned(), |help, sentence| help + &sentence)
}

fn slices_help() -> String {
    let names = names("or", |kind| kind.has_slices);
    format!("Number of slices of {names} that are read in parallel, 1 to 64. Default: 1")
}

/// The names of some kinds of stores.
fn names(conjunction: &str, is_named: impl Fn(&StoreKind) -> bool) -> String {
    list(conjunction, STORES.iter().filter(|kind| is_named(kind)).map(|kind| kind.name))
}

/// The items as in a sentence: `a, b or c`.
fn list<'a>(conjunction: &str, items: impl Iterator<Item = &'a str>) -> String {
    let mut items: Vec<_> = items.collect();
    let last = items.pop().unwrap_or_default();
    if items.is_empty() { last.to_owned() } else { format!("{} {conjunction} {last}", items.join(", ")) }
}
