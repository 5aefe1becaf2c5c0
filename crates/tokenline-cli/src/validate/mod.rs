//! `tokenline validate` and `tokenline conversations validate`: reports the errors of invalid lines.

mod args;
mod commands;
mod errors;
mod format;
mod hint;
mod session;
mod summary;

pub(crate) use args::{ConversationsArgs, ValidateArgs, jobs};
pub(crate) use commands::{conversations, records};
pub(crate) use session::progress_bar;
