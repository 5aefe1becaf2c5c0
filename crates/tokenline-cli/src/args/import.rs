//! `tokenline conversations import`.

use std::path::PathBuf;

use clap::ValueEnum;
use tokenline_import::FileKind;

#[derive(Debug, clap::Args)]
pub(crate) struct ImportArgs {
    /// Files with rows or documents, glob patterns such as 'export/*.csv.gz', or `-` for standard input. Input compressed
    /// with gzip, zstd or xz is decompressed.
    ///
    /// Stores are addresses: postgres://HOST/DATABASE, mongodb://HOST/DATABASE, https://HOST/INDEX (OpenSearch,
    /// Elasticsearch), sqlite:FILE. Each needs a build with its feature: postgres, mongodb, opensearch, sqlite; Parquet files
    /// need parquet. For example, `cargo install tokenline-cli --features postgres,parquet`. Users and passwords are taken
    /// from the address or the environment variables that the store's own tools use, and never shown.
    #[arg(value_name = "FILE", default_value = "-")]
    pub(crate) files: Vec<PathBuf>,
    /// Kind of the files. Default: detected from the start of each file, and said.
    #[arg(long, value_enum)]
    pub(crate) kind: Option<KindArg>,
    #[command(flatten)]
    pub(crate) mapping: MappingArgs,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
    /// The rows of each conversation follow each other: write each conversation as soon as the next one begins. A store
    /// is asked for that order. Default: rows are sorted by conversation, on disk if need be.
    #[arg(long)]
    pub(crate) grouped: bool,
    /// Memory for rows that are sorted, in MiB. The rest is in temporary files, one each time the memory is full: with a
    /// usual limit of 1,024 open files, a thousand times as much can be sorted.
    #[arg(long, value_name = "MIB", default_value = "128", value_parser = clap::value_parser!(u32).range(1..=1 << 20))]
    pub(crate) memory: u32,
    /// Directory of the temporary files. Default: that of the system.
    #[arg(long, value_name = "DIR")]
    pub(crate) temporary_dir: Option<PathBuf>,
    /// Output file; `-` is standard output. The file appears at the end. After Ctrl-C it has the complete conversations
    /// up to there.
    #[arg(long, value_name = "FILE", default_value = "-")]
    pub(crate) output: PathBuf,
    /// Write to this file, about once a second, what is needed to go on after the program ended. If the file exists, go
    /// on. Needs --output; rows that are to be sorted are kept in FILE.rows until all are read. Both are removed at the
    /// end.
    #[arg(long, value_name = "FILE")]
    pub(crate) checkpoint: Option<PathBuf>,
    /// Show and report at most N rejects, and count the rest.
    #[arg(long, value_name = "N", default_value = "100")]
    pub(crate) max_errors: usize,
    /// Write the place, code and message of each reject to this file, as JSON Lines, regardless of --max-errors.
    #[arg(long, value_name = "FILE")]
    pub(crate) reject_file: Option<PathBuf>,
    /// Add the mapped columns of each rejected row to --reject-file, including any private data.
    #[arg(long, requires = "reject_file")]
    pub(crate) reject_content: bool,
    /// Write a report to this file, as JSON.
    #[arg(long, value_name = "FILE")]
    pub(crate) report_json: Option<PathBuf>,
    /// Exit with 1 if anything was rejected.
    #[arg(long)]
    pub(crate) deny: bool,
}

/// Which column is what. A column is the name of a column or a member, or a JSON Pointer such as /author/id.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Mapping")]
pub(crate) struct MappingArgs {
    /// Mapping, TOML or JSON: the options below without their dashes, `content` and `metadata` as an array and a table,
    /// and `[roles]` with other names of roles. Options override it.
    #[arg(long, value_name = "FILE")]
    pub(crate) map: Option<PathBuf>,
    /// Column of the conversation id. Default without --map: conversation_id; whole conversations are numbered.
    #[arg(long, value_name = "COLUMN")]
    pub(crate) conversation_id: Option<String>,
    /// Column of the user id. Rows in which it is empty belong to the user of the others. Default without
    /// --map and --default-user-id: user_id.
    #[arg(long, value_name = "COLUMN")]
    pub(crate) user_id: Option<String>,
    /// User of the conversations that name none.
    #[arg(long, value_name = "ID")]
    pub(crate) default_user_id: Option<String>,
    /// Column of the time. That of a conversation is the earliest of its rows. Default without --map and
    /// --default-timestamp: timestamp.
    #[arg(long, value_name = "COLUMN")]
    pub(crate) timestamp: Option<String>,
    /// Time of the conversations that have none, in RFC 3339.
    #[arg(long, value_name = "TIME")]
    pub(crate) default_timestamp: Option<String>,
    /// Format of times: auto (RFC 3339, seconds below 100,000,000,000, milliseconds from there on), seconds,
    /// milliseconds, or a pattern such as '%d.%m.%Y %H:%M'. Default: auto.
    #[arg(long, value_name = "FORMAT")]
    pub(crate) time_format: Option<String>,
    /// Time zone of times without an offset, such as Europe/Berlin or UTC. Default: none, such times are rejected.
    #[arg(long, value_name = "ZONE")]
    pub(crate) time_zone: Option<String>,
    /// Column of the role. Usual names such as human, bot and gpt are understood; --map can name others.
    /// Default without --map: role.
    #[arg(long, value_name = "COLUMN")]
    pub(crate) role: Option<String>,
    /// Column of the text. Repeatable: the texts are joined by line feeds. Default without --map: content.
    #[arg(long, value_name = "COLUMN")]
    pub(crate) content: Vec<String>,
    /// Column that orders the messages of a conversation: numbers, times or texts. Default: the time.
    #[arg(long, value_name = "COLUMN")]
    pub(crate) order: Option<String>,
    /// Column with the array of messages, if each document is a whole conversation. --role, --content and --order are then
    /// columns of its elements.
    #[arg(long, value_name = "COLUMN")]
    pub(crate) messages: Option<String>,
    /// Column of a member of the metadata. Repeatable.
    #[arg(long, value_name = "NAME=COLUMN")]
    pub(crate) metadata: Vec<String>,
    /// What to do with an unknown role. Default: reject the conversation.
    #[arg(long, value_enum, value_name = "ACTION")]
    pub(crate) unknown_roles: Option<UnknownRolesArg>,
    /// What to do with a message without text. Default: skip it.
    #[arg(long, value_enum, value_name = "ACTION")]
    pub(crate) empty_messages: Option<EmptyMessagesArg>,
    /// What to do with a conversation whose rows name several users. Default: reject it.
    #[arg(long, value_enum, value_name = "ACTION")]
    pub(crate) several_users: Option<SeveralUsersArg>,
}

/// What to read from a store.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Stores")]
pub(crate) struct StoreArgs {
    /// What to read: SQL such as 'SELECT * FROM messages', a filter of MongoDB or a query of OpenSearch as JSON. Required
    /// for PostgreSQL and SQLite.
    #[arg(long, value_name = "QUERY")]
    pub(crate) query: Option<String>,
    /// Column that is unique and never empty, such as the primary key. Rows are read in its order, so that reading goes
    /// on after a broken connection, and from a checkpoint. MongoDB always uses _id.
    #[arg(long, value_name = "COLUMN")]
    pub(crate) key: Option<String>,
    /// Collection of MongoDB.
    #[arg(long, value_name = "NAME")]
    pub(crate) collection: Option<String>,
    /// Number of slices of OpenSearch or Elasticsearch that are read in parallel, 1 to 64. Default: 1.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=64))]
    pub(crate) slices: Option<u16>,
}

/// The kind of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum KindArg {
    /// A JSON object per line: a row, a document, or a hit with `_source`.
    Jsonl,
    /// A JSON array of objects.
    JsonArray,
    /// Comma-separated values with a header.
    Csv,
    /// Tab-separated values with a header.
    Tsv,
    /// Apache Parquet; needs a build with the feature `parquet`.
    Parquet,
    /// Responses of a search in Elasticsearch or OpenSearch.
    SearchPages,
    /// JSON Lines or an array of documents with `conversations` of `from` and `value`.
    Sharegpt,
    /// JSON Lines or an array of documents with `messages` of `role` and `content`.
    OpenaiFineTuning,
}

impl KindArg {
    /// The kind of the file, if it is known without the mapping.
    pub(crate) fn file_kind(self) -> Option<FileKind> {
        Some(match self {
            Self::Jsonl => FileKind::JsonLines,
            Self::JsonArray => FileKind::JsonArray,
            Self::Csv => FileKind::Csv,
            Self::Tsv => FileKind::Tsv,
            Self::Parquet => FileKind::Parquet,
            Self::SearchPages => FileKind::SearchPages,
            Self::Sharegpt | Self::OpenaiFineTuning => return None,
        })
    }
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum UnknownRolesArg {
    /// Reject the conversation.
    Reject,
    /// Write the role as it is.
    Keep,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum EmptyMessagesArg {
    /// Leave the message out, and count it.
    Skip,
    /// Write the message.
    Keep,
    /// Reject the conversation.
    Reject,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum SeveralUsersArg {
    /// Reject the conversation.
    Reject,
    /// Take the user of the first message.
    First,
}
