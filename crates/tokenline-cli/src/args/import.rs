//! `tokenline conversations import`.

use std::path::PathBuf;

use clap::ValueEnum;
use tokenline_import::FileKind;

#[derive(Debug, clap::Args)]
pub(crate) struct ImportArgs {
    /// Files with rows or documents, glob patterns such as 'export/*.csv.gz', or `-` for standard input. Input
    /// compressed with gzip, zstd or xz is decompressed.
    ///
    /// Stores are addresses: postgres://HOST/DATABASE, mongodb://HOST/DATABASE, https://HOST/INDEX (OpenSearch,
    /// Elasticsearch), sqlite:FILE. Each needs a build with its feature: postgres, mongodb, opensearch, sqlite; Parquet
    /// files need parquet. For example, `cargo install tokenline-cli --features postgres,parquet`. The address may lack
    /// user and password: PostgreSQL takes them from PGUSER and PGPASSWORD, OpenSearch from OPENSEARCH_USERNAME and
    /// OPENSEARCH_PASSWORD, Elasticsearch from ELASTICSEARCH_API_KEY, or ELASTICSEARCH_USERNAME and
    /// ELASTICSEARCH_PASSWORD. They are never shown.
    #[arg(value_name = "FILE", default_value = "-")]
    pub(crate) files: Vec<PathBuf>,
    /// Kind of the files. Default: detected from the start of each file, and reported.
    #[arg(long, value_enum)]
    pub(crate) kind: Option<KindArg>,
    /// The rows of each conversation are contiguous: write it when the next one begins, without sorting. Stores are
    /// asked to sort by conversation. Default: sort the rows, on disk if need be.
    #[arg(long)]
    pub(crate) grouped: bool,
    /// Memory for sorting, in MiB. Beyond it, sorted parts go to temporary files that are all open at the end: with a
    /// limit of 1,024 open files, about 1,000 times this size.
    #[arg(long, value_name = "MIB", default_value = "128", value_parser = clap::value_parser!(u32).range(1..=1 << 20))]
    pub(crate) memory: u32,
    /// Directory of the temporary files. Default: that of the system.
    #[arg(long, value_name = "DIR")]
    pub(crate) temporary_dir: Option<PathBuf>,
    /// Output file; `-` is standard output. It appears when the import ends; with --checkpoint it grows during the
    /// import. After Ctrl-C or a failure, it has the conversations written so far: without
    /// --grouped none before all rows are read.
    #[arg(long, value_name = "FILE", default_value = "-")]
    pub(crate) output: PathBuf,
    /// Save the state to this file about once a second. If it exists, resume from it: run the same command again; other
    /// inputs and outputs are refused. Needs --output. Rows that are to be sorted are kept in FILE.rows, ids of --grouped
    /// conversations in FILE.ids. All three are removed at the end.
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
    #[command(flatten)]
    pub(crate) mapping: MappingArgs,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

/// Which column is what. A column is the name of a column or a member, or a JSON Pointer such as /author/id.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Mapping")]
pub(crate) struct MappingArgs {
    /// Mapping file, TOML or JSON. Its keys are the options of this section without the leading `--`; `content` is an
    /// array, `metadata` a table, `[roles]` a table of other names of roles, and `separator` joins several texts.
    /// Options override it.
    #[arg(long, value_name = "FILE")]
    pub(crate) map: Option<PathBuf>,
    /// Column of the conversation id. A column is the name of a column of a table or of a member of a document, or a
    /// JSON Pointer into a document, such as /author/id. Default without --map: conversation_id; whole conversations
    /// are numbered.
    #[arg(long, value_name = "COLUMN")]
    pub(crate) conversation_id: Option<String>,
    /// Column of the user id. A row without one takes the user of the other rows of its conversation. Default without
    /// --map and --default-user-id: user_id.
    #[arg(long, value_name = "COLUMN")]
    pub(crate) user_id: Option<String>,
    /// User id of conversations without one.
    #[arg(long, value_name = "ID")]
    pub(crate) default_user_id: Option<String>,
    /// Column of the message time. A conversation gets the earliest of its rows. Default without --map and
    /// --default-timestamp: timestamp.
    #[arg(long, value_name = "COLUMN")]
    pub(crate) timestamp: Option<String>,
    /// Time of conversations without one, in RFC 3339.
    #[arg(long, value_name = "TIME")]
    pub(crate) default_timestamp: Option<String>,
    /// Format of times: auto, seconds, milliseconds, or a pattern such as '%d.%m.%Y %H:%M'. auto reads RFC 3339 and
    /// Unix times: numbers below 100,000,000,000 as seconds, others as milliseconds. Default: auto.
    #[arg(long, value_name = "FORMAT")]
    pub(crate) time_format: Option<String>,
    /// Time zone of times without an offset, such as Europe/Berlin or UTC. Default: none, such times are rejected.
    #[arg(long, value_name = "ZONE")]
    pub(crate) time_zone: Option<String>,
    /// Column of the role. Usual names such as human, bot and gpt are understood; --map can name others. Default
    /// without --map: role.
    #[arg(long, value_name = "COLUMN")]
    pub(crate) role: Option<String>,
    /// Column of the text. Repeatable: the texts are joined by line feeds. Default without --map: content.
    #[arg(long, value_name = "COLUMN")]
    pub(crate) content: Vec<String>,
    /// Column that orders the messages of a conversation: numbers, times or texts. Default: the time.
    #[arg(long, value_name = "COLUMN")]
    pub(crate) order: Option<String>,
    /// Column with the array of messages, if each document is a whole conversation. --role, --content and --order are
    /// then columns of its elements.
    #[arg(long, value_name = "COLUMN")]
    pub(crate) messages: Option<String>,
    /// Take the metadata member NAME from COLUMN. Repeatable; the first message with a value counts.
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
    /// SQL, such as 'SELECT * FROM messages' (required for PostgreSQL and SQLite), or a MongoDB filter or OpenSearch
    /// query as JSON (default: all documents).
    #[arg(long, value_name = "QUERY")]
    pub(crate) query: Option<String>,
    /// Unique, non-null column to read by, such as the primary key. Needed to resume after a lost connection or from a
    /// checkpoint. MongoDB always uses _id.
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
    /// Values with a header, separated by commas, or by semicolons if the header has more of them.
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
