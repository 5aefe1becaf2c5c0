//! Databases and search stores.

#[cfg(any(feature = "mongodb", feature = "opensearch"))]
mod field;
#[cfg(any(feature = "mongodb", feature = "opensearch", feature = "postgres"))]
mod interrupt;
#[cfg(feature = "mongodb")]
mod mongodb;
#[cfg(feature = "opensearch")]
mod opensearch;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(any(feature = "mongodb", feature = "opensearch"))]
mod retry;
#[cfg(any(feature = "postgres", feature = "sqlite"))]
mod sql;
#[cfg(feature = "sqlite")]
mod sqlite;
mod store;
#[cfg(feature = "opensearch")]
mod tls;
#[cfg(any(feature = "mongodb", feature = "postgres"))]
mod uuid;

#[cfg(feature = "mongodb")]
pub use mongodb::MongoSource;
#[cfg(feature = "opensearch")]
pub use opensearch::OpenSearchSource;
#[cfg(feature = "postgres")]
pub use postgres::PostgresSource;
#[cfg(feature = "sqlite")]
pub use sqlite::SqliteSource;
pub use store::{OnTotal, Open, QueryLanguage, Reading, Store, StoreKind, StoreOptions};

/// All kinds of stores, also those that this build cannot open.
pub const STORES: &[StoreKind] = &[
    StoreKind {
        name: "PostgreSQL",
        feature: "postgres",
        schemes: &["postgres://", "postgresql://"],
        address: "postgres://HOST/DATABASE",
        credentials: &[("PostgreSQL", "PGUSER and PGPASSWORD")],
        query: QueryLanguage::Sql,
        #[cfg(feature = "postgres")]
        open: Some(PostgresSource::open),
        ..StoreKind::DEFAULT
    },
    StoreKind {
        name: "MongoDB",
        feature: "mongodb",
        schemes: &["mongodb://", "mongodb+srv://"],
        address: "mongodb://HOST/DATABASE",
        query: QueryLanguage::Json("MongoDB filter"),
        fixed_key: Some("_id"),
        needs_collection: true,
        #[cfg(feature = "mongodb")]
        open: Some(MongoSource::open),
        ..StoreKind::DEFAULT
    },
    StoreKind {
        name: "OpenSearch or Elasticsearch",
        feature: "opensearch",
        schemes: &["http://", "https://"],
        address: "https://HOST/INDEX (OpenSearch, Elasticsearch)",
        credentials: &[
            ("OpenSearch", "OPENSEARCH_USERNAME and OPENSEARCH_PASSWORD"),
            ("Elasticsearch", "ELASTICSEARCH_API_KEY, or ELASTICSEARCH_USERNAME and ELASTICSEARCH_PASSWORD"),
        ],
        query: QueryLanguage::Json("OpenSearch query"),
        has_slices: true,
        #[cfg(feature = "opensearch")]
        open: Some(OpenSearchSource::open),
        ..StoreKind::DEFAULT
    },
    StoreKind {
        name: "SQLite",
        feature: "sqlite",
        schemes: &["sqlite:"],
        address: "sqlite:FILE",
        query: QueryLanguage::Sql,
        #[cfg(feature = "sqlite")]
        open: Some(SqliteSource::open),
        ..StoreKind::DEFAULT
    },
];
