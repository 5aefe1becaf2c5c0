//! `tokenline serve`: a page on which an extraction appears while the model is still writing.

mod app;
mod args;
mod assets;
mod event_data;
mod event_log;
mod events;
mod file;
mod guard;
mod inspect;
mod marks;
mod model;
mod options;
mod recorded;
mod request;
mod routes;
mod rules;
mod run;
mod runs;
mod server;
mod server_choice;
mod text_tail;

pub(crate) use args::ServeArgs;
pub(crate) use server::run;
