//! The help of all commands: options in groups, and the first sentence of each text for `-h`.

use clap::error::{ContextKind, ContextValue};
use clap::{Arg, ArgAction, Command, CommandFactory as _};

use crate::Args;

/// The groups of options, each with the names of its options.
const GROUPS: &[(&str, &[&str])] = &[
    (
        "Input",
        &[
            "from",
            "text-pointer",
            "id-pointer",
            "chunk-size",
            "input",
            "follow",
            "kind",
            "grouped",
            "query",
            "key",
            "collection",
            "slices",
            "config",
            "id",
            "var",
            "results",
        ],
    ),
    (
        "Model",
        &[
            "provider",
            "base-url",
            "model",
            "api-key-env",
            "header",
            "read-timeout",
            "response-timeout",
            "retries",
        ],
    ),
    (
        "Request",
        &[
            "prompt",
            "system",
            "messages",
            "response-format",
            "continue",
            "reask",
            "max-reasks",
            "max-tokens",
            "temperature",
            "seed",
            "set",
            "no-stream",
            "max-requests",
            "overlap",
            "requested-overlap",
            "budget",
        ],
    ),
    (
        "Mapping",
        &[
            "map",
            "conversation-id",
            "user-id",
            "default-user-id",
            "timestamp",
            "default-timestamp",
            "time-format",
            "time-zone",
            "role",
            "content",
            "order",
            "metadata",
            "map-role",
            "unknown-roles",
            "empty-messages",
            "several-users",
            "temperature",
        ],
    ),
    (
        "Reading",
        &[
            "mode",
            "items",
            "call-format",
            "growing-arguments",
            "tools-in-prompt",
            "header",
            "in-reasoning",
            "schema",
            "schema-dir",
            "tools",
            "coerce",
            "repair",
            "profile",
            "strict",
        ],
    ),
    (
        "Writing",
        &[
            "emit",
            "with-source",
            "eager",
            "output",
            "format",
            "json",
            "language",
            "compact",
            "allow-invalid",
            "store",
            "topic",
            "message",
            "typescript",
        ],
    ),
    (
        "Limits",
        &[
            "max-records",
            "min-records",
            "max-errors",
            "deny",
            "stop-on-repetition",
            "jobs",
            "memory",
            "temporary-dir",
        ],
    ),
    (
        "Reports",
        &[
            "reject-file",
            "show-values",
            "reject-content",
            "report-json",
            "all-errors",
            "show-names",
            "checkpoint",
        ],
    ),
    (
        "Server",
        &[
            "upstream",
            "listen",
            "public",
            "token-env",
            "log-errors",
            "host-name",
            "origin",
            "allow-base-url",
            "open",
            "delay-ms",
        ],
    ),
    (MESSAGES, &["color", "quiet"]),
];

/// Options that only `--help` shows.
const RARE: &[&str] = &[
    "api-key-env",
    "chunk-size",
    "coerce",
    "default-timestamp",
    "default-user-id",
    "eager",
    "empty-messages",
    "header",
    "in-reasoning",
    "key",
    "map-role",
    "max-reasks",
    "max-tokens",
    "memory",
    "metadata",
    "min-records",
    "order",
    "read-timeout",
    "repair",
    "response-timeout",
    "retries",
    "schema-dir",
    "seed",
    "set",
    "several-users",
    "temperature",
    "show-names",
    "show-values",
    "slices",
    "stop-on-repetition",
    "temporary-dir",
    "time-format",
    "time-zone",
    "unknown-roles",
];
/// The most examples that `-h` shows.
const MAX_EXAMPLES: usize = 2;
/// The longest sentence, in bytes, that `-h` shows whole.
const MAX_SENTENCE: usize = 70;

/// The last group, which all commands have.
const MESSAGES: &str = "Messages";

/// The program's arguments.
pub(crate) fn command() -> Command {
    let help = Arg::new("help").short('h').long("help").action(ArgAction::Help).global(true);
    let help = help.help("Print help; `--help` shows all options").help_heading(MESSAGES);
    let version = Arg::new("version").short('V').long("version").action(ArgAction::Version);
    let version = version.help("Print version").help_heading(MESSAGES);
    let program = Args::command().disable_help_flag(true).disable_version_flag(true);
    arranged(program).args([help, version])
}

/// The program's arguments without those that help hides, for completions.
pub(crate) fn visible_command() -> Command {
    visible(&command())
}

fn visible(command: &Command) -> Command {
    let mut shown = Command::new(command.get_name().to_owned())
        .disable_help_flag(true)
        .disable_version_flag(true)
        .args(command.get_arguments().filter(|arg| !arg.is_hide_set()).cloned())
        .subcommands(command.get_subcommands().filter(|command| !command.is_hide_set()).map(visible));
    if let Some(about) = command.get_about() {
        shown = shown.about(about.clone());
    }
    if let Some(version) = command.get_version() {
        shown = shown.version(version.to_owned());
    }
    shown
}

/// Removes commands and options that help hides from the tips of a usage error.
pub(crate) fn hide_in_tips(error: &mut clap::Error) {
    let program = visible_command();
    let usage = error.get(ContextKind::Usage).map(ToString::to_string).unwrap_or_default();
    // `Usage: tokenline conversations validate [OPTIONS] ..`
    let words = usage.split_whitespace().skip(2);
    let path = words
        .map_while(|word| word.chars().all(|char| char.is_ascii_lowercase() || char == '-').then_some(word));
    let command = path.fold(&program, |command, name| command.find_subcommand(name).unwrap_or(command));
    let options = program.get_arguments().chain(command.get_arguments());
    let options: Vec<String> = options.filter_map(|arg| Some(format!("--{}", arg.get_long()?))).collect();
    let commands = command.get_subcommands().map(|command| command.get_name().to_owned()).collect();
    for (kind, shown) in [(ContextKind::SuggestedArg, options), (ContextKind::SuggestedSubcommand, commands)]
    {
        match error.remove(kind) {
            Some(ContextValue::String(name)) if shown.contains(&name) => {
                error.insert(kind, ContextValue::String(name));
            }
            Some(ContextValue::Strings(names)) => {
                let names: Vec<String> = names.into_iter().filter(|name| shown.contains(name)).collect();
                if !names.is_empty() {
                    error.insert(kind, ContextValue::Strings(names));
                }
            }
            _ => {}
        }
    }
}

fn arranged(mut command: Command) -> Command {
    if let Some(examples) = command.get_after_help().map(ToString::to_string) {
        let long = command.get_after_long_help().map_or_else(|| examples.clone(), ToString::to_string);
        command = command.after_help(first_examples(&examples)).after_long_help(long);
    }
    command.mut_args(in_group).mut_subcommands(arranged)
}

/// The option in its group, with a short form of its text.
fn in_group(arg: Arg) -> Arg {
    let name = arg.get_long().unwrap_or_default().to_owned();
    let group = GROUPS.iter().find(|(_, names)| names.contains(&&*name));
    let arg = match group {
        Some((group, _)) => arg.help_heading(*group).hide_short_help(RARE.contains(&&*name)),
        None => arg,
    };
    let Some(text) = arg.get_long_help().or(arg.get_help()).map(ToString::to_string) else { return arg };
    let short = shortened(&text).to_owned();
    arg.help(short).long_help(text)
}

/// The first sentence of a text, without the period; of a long one, the part before a colon or a semicolon.
fn shortened(text: &str) -> &str {
    let is_end = |at: &usize| text[at + 2..].starts_with(|next: char| !next.is_lowercase());
    let end = text.match_indices(". ").map(|(at, _)| at).find(is_end);
    let sentence = text[..end.unwrap_or(text.len())].trim_end_matches('.');
    if sentence.len() <= MAX_SENTENCE {
        return sentence;
    }
    let is_open = |at: &usize| sentence[..*at].matches('(').count() > sentence[..*at].matches(')').count();
    let ends = [": ", "; "].into_iter().flat_map(|end| sentence.match_indices(end)).map(|(at, _)| at);
    &sentence[..ends.filter(|at| !is_open(at)).min().unwrap_or(sentence.len())]
}

/// The first of the examples. One that takes several lines ends those but the last with a backslash.
fn first_examples(examples: &str) -> String {
    let mut left = MAX_EXAMPLES + 1;
    let is_first = |line: &&str| {
        let is_taken = left > 0;
        left -= usize::from(is_taken && !line.ends_with('\\'));
        is_taken
    };
    examples.lines().take_while(is_first).collect::<Vec<_>>().join("\n")
}
