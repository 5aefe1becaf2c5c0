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
