//! The truncated text within a budget: the path to the cut, and the text before it.
//!
//! The end of the text is shown from the beginning of a member on, as far back as fits. It follows the path: each open
//! container with the name of its open member and, as far as the budget allows, the members before that. `…` marks each
//! gap; inside a string it follows the quote.

use std::borrow::Cow;

use tokenline_core::json::{Kind, OpenContainer};

use crate::document::Document;
use crate::text::{tail, trim_start};
use crate::tokens::members;

const GAP: &str = "…";
const GAP_MEMBER: &str = "…,";

/// The text if it fits, otherwise its end after a gap mark.
pub(crate) fn ending(text: &str, budget: usize) -> Cow<'_, str> {
    if text.len() <= budget {
        Cow::Borrowed(text)
    } else if budget <= 2 * GAP.len() {
        Cow::Borrowed(tail(text, budget))
    } else {
        Cow::Owned([GAP, tail(text, budget - GAP.len())].concat())
    }
}

pub(crate) fn outline(document: &Document, budget: usize) -> Cow<'_, str> {
    let text = document.text();
    if text.len() <= budget {
        return Cow::Borrowed(text);
    }
    let path = document.open_containers();
    let Some(cut) = document.cut().filter(|_| !path.is_empty()) else { return ending(text, budget) };
    let window = document.parser.token_before(text.len() - budget);
    // The open token may be long: only where it begins matters.
    let seen = members(text, window, cut.token.map_or(text.len(), |token| token.start() + 1));

    // A quarter is kept for the last members of the outer containers.
    let for_tail = budget - budget / 4;
    // Each member that the tail may begin with, and its level.
    let mut starts: Vec<(usize, usize)> = Vec::new();
    for (inner, members) in seen.iter().rev().take(path.len()).enumerate() {
        starts.extend(members.iter().map(|&at| (at, path.len() - 1 - inner)));
    }
    starts.sort_unstable();
    for (at, level) in starts {
        let mut heads = heads(text, &path[..=level], at);
        let used = heads.iter().map(String::len).sum::<usize>() + text.len() - at;
        if used <= for_tail {
            add_recent(document, &path[..=level], &mut heads, budget - used);
            return Cow::Owned(heads.concat() + &text[at..]);
        }
    }

    // Not even one member fits: show the name of the open member and the end of its value; or the end of the innermost
    // container; or the end of the text.
    let (head, from) = match cut.token {
        Some(token) => {
            let quotes = usize::from(text.as_bytes()[token.start()] == b'"');
            let from = token.start() + quotes;
            (heads(text, &path, cut.member).concat() + &text[cut.member..from], from)
        }
        None => {
            let from = path[path.len() - 1].start + 1;
            (heads(text, &path, from).concat(), from)
        }
    };
    if head.len() + text.len() - from <= budget {
        return Cow::Owned(head + &text[from..]);
    }
    match budget.checked_sub(head.len() + GAP.len()).filter(|left| *left >= (budget / 4).max(4)) {
        Some(left) => Cow::Owned(head + GAP + tail(&text[from..], left)),
        None => ending(text, budget),
    }
}

/// The opening of each container of the path, with a gap mark if members before its open member are left out. In the last
/// container, the open member begins at `to`.
fn heads(text: &str, path: &[OpenContainer], to: usize) -> Vec<String> {
    let mut heads = Vec::with_capacity(path.len());
    for (level, open) in path.iter().enumerate() {
        let next = path.get(level + 1);
        let to = next.map_or(to, member_start);
        let mut head = String::from(if open.kind == Kind::Object { "{" } else { "[" });
        if !trim_start(&text[open.start + 1..to]).is_empty() {
            head.push_str(GAP_MEMBER);
        }
        if let Some(name) = next.and_then(|next| next.name.clone()) {
            head.push_str(&text[name.start - 1..=name.end]);
            head.push(':');
        }
        heads.push(head);
    }
    heads
}

fn member_start(open: &OpenContainer) -> usize {
    open.name.as_ref().map_or(open.start, |name| name.start - 1)
}

/// Shows the members before the open one, of the inner containers first, for as long as they fit.
fn add_recent(document: &Document, path: &[OpenContainer], heads: &mut [String], mut left: usize) {
    let text = document.text();
    for level in (0..path.len() - 1).rev() {
        let to = member_start(&path[level + 1]);
        let first = path[level].start + 1;
        let from = document.parser.token_before(to.saturating_sub(left));
        let seen = members(text, from.max(path[level].start), to);
        let fits = |at: &&usize| to - **at <= left && **at >= first;
        let Some(&at) = seen.last().and_then(|level| level.iter().find(fits)) else { continue };
        // Without a gap before them, the mark is removed.
        let gap = if trim_start(&text[first..at]).is_empty() { "" } else { GAP_MEMBER };
        let head = &mut heads[level];
        if let Some(rest) = head.get(1..).and_then(|rest| rest.strip_prefix(GAP_MEMBER)) {
            *head = [&head[..1], gap, &text[at..to], rest].concat();
            left = left.saturating_sub(to - at);
        }
    }
}
