//! Databases and search stores, each behind a feature of the build.

use std::path::PathBuf;

use indicatif::ProgressBar;
#[cfg(feature = "mongodb")]
use tokenline_import::MongoSource;
#[cfg(feature = "opensearch")]
use tokenline_import::OpenSearchSource;
#[cfg(feature = "postgres")]
use tokenline_import::PostgresSource;
#[cfg(feature = "sqlite")]
use tokenline_import::SqliteSource;
use tokenline_import::{ImportError, Importer};

use super::ImportArgs;
use crate::failure::Failure;

/// The data to read from a store.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Stores")]
pub(crate) struct StoreArgs {
    /// SQL, such as 'SELECT * FROM messages' (required for PostgreSQL and SQLite), or a MongoDB filter or OpenSearch
    /// query as JSON (default: all documents).
    #[arg(long, value_name = "QUERY")]
    pub(super) query: Option<String>,
    /// Unique, non-null column to read by, such as the primary key. Needed to resume after a lost connection or from a
    /// checkpoint. MongoDB always uses _id.
    #[arg(long, value_name = "COLUMN")]
    pub(super) key: Option<String>,
    /// Collection of MongoDB.
    #[arg(long, value_name = "NAME")]
    pub(super) collection: Option<String>,
    /// Number of slices of OpenSearch or Elasticsearch that are read in parallel, 1 to 64. Default: 1.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=64))]
    pub(super) slices: Option<u16>,
}

/// A store that is imported.
pub(super) struct Store {
    source: Source,
    /// The path of a file; addresses may have passwords.
    path: Option<String>,
}

enum Source {
    #[cfg(feature = "postgres")]
    Postgres(PostgresSource),
    #[cfg(feature = "mongodb")]
    Mongo(MongoSource),
    #[cfg(feature = "opensearch")]
    OpenSearch(OpenSearchSource),
    #[cfg(feature = "sqlite")]
    Sqlite(SqliteSource),
}

/// The start of addresses, the name of the store, and the feature that it needs.
const STORES: [(&str, &str, &str); 7] = [
    ("postgres://", "PostgreSQL", "postgres"),
    ("postgresql://", "PostgreSQL", "postgres"),
    ("mongodb://", "MongoDB", "mongodb"),
    ("mongodb+srv://", "MongoDB", "mongodb"),
    ("http://", "OpenSearch or Elasticsearch", "opensearch"),
    ("https://", "OpenSearch or Elasticsearch", "opensearch"),
    ("sqlite:", "SQLite", "sqlite"),
];

/// Whether an argument is the address of a store, also of an unknown one: it may have a password, which a message about a
/// file would show.
pub(super) fn is_store(argument: &str) -> bool {
    argument.contains("://") || argument.starts_with("sqlite:")
}

impl Store {
    /// The store with this address.
    pub(super) fn new(address: &str, args: &ImportArgs) -> Result<Self, Failure> {
        let is_at_start = |start: &str| {
            let head = address.trim_start().get(..start.len());
            head.is_some_and(|head| head.eq_ignore_ascii_case(start))
        };
        let Some((start, name, feature)) = STORES.into_iter().find(|(start, ..)| is_at_start(start)) else {
            let scheme = address.split("://").next().unwrap_or_default().trim();
            let known = STORES.map(|(start, ..)| start).join(", ");
            return Err(Failure::Usage(format!(
                "unknown store {scheme}://; the addresses of stores begin with {known}"
            )));
        };
        let address = &*format!("{start}{}", &address.trim_start()[start.len()..]);
        let is_unused = [
            ("--collection", feature != "mongodb" && args.store.collection.is_some()),
            ("--slices", feature != "opensearch" && args.store.slices.is_some()),
            ("--key", feature == "mongodb" && args.store.key.is_some()),
        ];
        if let Some((option, _)) = is_unused.iter().find(|(_, is_unused)| *is_unused) {
            return Err(Failure::Usage(format!("{option} has no effect on {name}")));
        }
        if args.checkpoint.is_some() && args.store.key.is_none() && feature != "mongodb" {
            let message = format!(
                "--checkpoint needs --key to resume with {name}: a unique column, such as the primary key"
            );
            return Err(Failure::Usage(message));
        }
        let path =
            address.strip_prefix("sqlite:").map(|path| path.strip_prefix("//").unwrap_or(path).to_owned());
        match Source::new(feature, address, args) {
            Ok(source) => source.map(|source| Self { source, path }).ok_or_else(|| {
                Failure::Usage(format!(
                    "this build does not read {name}: `cargo install tokenline-cli --features {feature}` installs one that does"
                ))
            }),
            Err(error) => Err(super::failure(error)),
        }
    }

    /// The name in messages, without credentials.
    pub(super) fn name(&self) -> String {
        self.source.name()
    }

    /// The file that it is.
    pub(super) fn path(&self) -> Option<PathBuf> {
        self.path.as_ref().map(PathBuf::from)
    }

    /// Identifies the store in a checkpoint, without credentials.
    pub(super) fn identity(&self) -> String {
        let path = self.path().map(|path| super::inputs::full_path(&path));
        format!("{} {path:?}", self.source.identity())
    }

    /// Reads the store. The bar has the number of rows, once the store says it.
    pub(super) fn read(self, importer: &mut Importer<'_>, bar: &ProgressBar) -> Result<(), Failure> {
        self.source.read(importer, bar)
    }
}

impl Source {
    /// `None` if the build lacks the feature.
    #[allow(unused_variables, reason = "some stores need more than others")]
    fn new(feature: &str, address: &str, args: &ImportArgs) -> Result<Option<Self>, ImportError> {
        let (query, key) = (args.store.query.as_deref(), args.store.key.as_deref());
        let required = |option: &str| ImportError::mapping(format!("{option} is needed for this store"));
        Ok(match feature {
            #[cfg(feature = "postgres")]
            "postgres" => {
                let source = PostgresSource::new(address, query.ok_or_else(|| required("--query"))?)?;
                Some(Self::Postgres(match key {
                    Some(key) => source.key(key),
                    None => source,
                }))
            }
            #[cfg(feature = "mongodb")]
            "mongodb" => {
                let collection = args.store.collection.as_deref();
                let source = MongoSource::new(address)?
                    .collection(collection.ok_or_else(|| required("--collection"))?);
                Some(Self::Mongo(match query {
                    Some(filter) => source.filter(filter)?,
                    None => source,
                }))
            }
            #[cfg(feature = "opensearch")]
            "opensearch" => {
                let mut source =
                    OpenSearchSource::new(address)?.slices(args.store.slices.map_or(1, usize::from));
                if let Some(query) = query {
                    source = source.query(query)?;
                }
                Some(Self::OpenSearch(match key {
                    Some(key) => source.key(key),
                    None => source,
                }))
            }
            #[cfg(feature = "sqlite")]
            "sqlite" => {
                let path = address.strip_prefix("sqlite:").unwrap_or(address);
                let path = path.strip_prefix("//").unwrap_or(path);
                let source = SqliteSource::new(path, query.ok_or_else(|| required("--query"))?);
                let source = source.json_columns(&args.mapping.messages);
                Some(Self::Sqlite(match key {
                    Some(key) => source.key(key),
                    None => source,
                }))
            }
            _ => None,
        })
    }

    fn name(&self) -> String {
        match *self {
            #[cfg(feature = "postgres")]
            Self::Postgres(ref source) => source.name(),
            #[cfg(feature = "mongodb")]
            Self::Mongo(ref source) => source.name(),
            #[cfg(feature = "opensearch")]
            Self::OpenSearch(ref source) => source.name(),
            #[cfg(feature = "sqlite")]
            Self::Sqlite(ref source) => source.name(),
        }
    }

    fn identity(&self) -> String {
        match *self {
            #[cfg(feature = "postgres")]
            Self::Postgres(ref source) => source.identity(),
            #[cfg(feature = "mongodb")]
            Self::Mongo(ref source) => source.identity(),
            #[cfg(feature = "opensearch")]
            Self::OpenSearch(ref source) => source.identity(),
            #[cfg(feature = "sqlite")]
            Self::Sqlite(ref source) => source.identity(),
        }
    }

    #[allow(unused_variables, reason = "some stores need more than others")]
    fn read(self, importer: &mut Importer<'_>, bar: &ProgressBar) -> Result<(), Failure> {
        #[cfg(feature = "stores")]
        let known = {
            let bar = bar.clone();
            move |rows| bar.set_length(rows)
        };
        match self {
            #[cfg(feature = "postgres")]
            Self::Postgres(source) => wait(source.on_total(known).read(importer)),
            #[cfg(feature = "mongodb")]
            Self::Mongo(source) => wait(source.on_total(known).read(importer)),
            #[cfg(feature = "opensearch")]
            Self::OpenSearch(source) => wait(source.on_total(known).read(importer)),
            #[cfg(feature = "sqlite")]
            Self::Sqlite(source) => source.read(importer).map_err(super::failure),
        }
    }
}

/// Runs a read to its end.
#[cfg(any(feature = "postgres", feature = "mongodb", feature = "opensearch"))]
fn wait(read: impl Future<Output = Result<(), ImportError>>) -> Result<(), Failure> {
    // Pages are fetched and parsed while conversations are written, which blocks.
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.map_err(|error| Failure::io("cannot start", &error))?;
    runtime.block_on(read).map_err(super::failure)
}
