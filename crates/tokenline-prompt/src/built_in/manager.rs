//! The manager of the built-in prompts, parsed once.

use std::sync::LazyLock;

use crate::{Format, PromptManager};

static MANAGER: LazyLock<PromptManager> =
    LazyLock::new(|| match PromptManager::parse(include_str!("prompts.toml"), Format::Toml) {
        Ok(manager) => manager,
        Err(error) => unreachable!("the tests parse it: {error}"),
    });

pub(crate) fn manager() -> PromptManager {
    MANAGER.clone()
}
