//! Messages on standard error.

use std::fmt::{Display, Write as _};
use std::io::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};

use console::{Style, Term, set_colors_enabled_stderr};
use indicatif::{ProgressBar, ProgressStyle};

use crate::args::Color;
use crate::excerpt::Excerpt;

static IS_QUIET: AtomicBool = AtomicBool::new(false);

/// Applies `--color` and `--quiet` to all later messages.
pub(crate) fn configure(color: Color, is_quiet: bool) {
    match color {
        Color::Auto => {}
        Color::Always => set_colors_enabled_stderr(true),
        Color::Never => set_colors_enabled_stderr(false),
    }
    IS_QUIET.store(is_quiet, Ordering::Relaxed);
}

/// Writes one line, unless `--quiet`.
pub(crate) fn log(line: impl Display) {
    if !IS_QUIET.load(Ordering::Relaxed) {
        write(&printable(&line.to_string(), &['\t']));
    }
}

/// Writes one line about rejected input, with its position and code in color, and the excerpt below it, unless `--quiet`.
pub(crate) fn log_rejected(line: impl Display, code: &str, excerpt: Option<&Excerpt>) {
    if IS_QUIET.load(Ordering::Relaxed) {
        return;
    }
    let line = printable(&line.to_string(), &['\t']);
    match line.split_once(&format!(" {code}: ")) {
        Some((position, message)) => {
            let (bold, red) = (Style::new().for_stderr().bold(), Style::new().for_stderr().red());
            write(&format!("{} {}: {message}", bold.apply_to(position), red.apply_to(code)));
        }
        None => write(&line),
    }
    if let Some(excerpt) = excerpt {
        write(&excerpt.styled(&Style::new().for_stderr().red()));
    }
}

/// Writes the error that ends the program.
pub(crate) fn log_failure(message: &str) {
    let prefix = Style::new().for_stderr().red().bold().apply_to("tokenline:");
    write(&format!("{prefix} {}", printable(message, &['\t'])));
}

/// Writes why the exit code is 1, also with `--quiet`.
pub(crate) fn log_verdict(reason: impl Display) {
    if IS_QUIET.load(Ordering::Relaxed) { log_failure(&reason.to_string()) } else { log(reason) }
}

/// The same, only with `--quiet`: otherwise other lines say it.
pub(crate) fn log_verdict_if_quiet(reason: impl Display) {
    if IS_QUIET.load(Ordering::Relaxed) {
        log_failure(&reason.to_string());
    }
}

/// Returns the bar, hidden with `--quiet`. It draws on standard error if that is a terminal.
pub(crate) fn progress(bar: ProgressBar) -> ProgressBar {
    if IS_QUIET.load(Ordering::Relaxed) { ProgressBar::hidden() } else { bar }
}

/// The first of the templates for progress, each with the most columns that it takes, that fits the terminal. A template
/// ends with the message, which takes what is left.
pub(crate) fn progress_style(templates: &[(usize, &str)]) -> ProgressStyle {
    let width = usize::from(Term::stderr().size().1);
    let fitting =
        templates.iter().find(|(columns, _)| *columns <= width).map_or("", |(_, template)| template);
    ProgressStyle::with_template(&format!("{fitting}{{wide_msg}}")).expect("a template")
}

/// Writes a line. Ignores errors: a closed standard error must not stop the data.
fn write(line: &str) {
    let _ = std::io::stderr().lock().write_all(format!("{line}\n").as_bytes());
}

/// Escapes control characters except those in `kept`. They come from the input, and could rewrite what a terminal
/// shows.
pub(crate) fn printable(text: &str, kept: &[char]) -> String {
    let mut printable = String::new();
    for character in text.chars() {
        match character {
            character if kept.contains(&character) => printable.push(character),
            '\n' => printable.push_str("\\n"),
            '\r' => printable.push_str("\\r"),
            '\t' => printable.push_str("\\t"),
            // Bidirectional controls can make a line read differently, too. As in JSON, so that records stay valid.
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\0'..='\x1f' | '\x7f'..='\u{9f}' => {
                let _ = write!(printable, "\\u{:04x}", u32::from(character));
            }
            _ => printable.push(character),
        }
    }
    printable
}
