//! Compiled schemas and tools: runs with the same text share them, and together they are bounded.

use std::sync::{Arc, Mutex, PoisonError};

use tokenline::schema::{SchemaValidator, ToolSet};

/// The largest schema, or list of tools, in bytes.
pub(super) const MAX_TEXT: usize = 256 << 10;
/// The most violations of a reject that are looked for.
const MAX_VIOLATIONS: usize = 20;
/// How much memory a schema takes for each of its bytes, without its patterns.
const BYTES_PER_BYTE: usize = 100;
/// The most memory of all that are in use or kept, in bytes. What is in use is never dropped.
const MAX_BYTES: usize = 256 << 20;

/// The compiled rules of all runs, and some of those that ended.
#[derive(Default)]
pub(super) struct RuleCache(Mutex<Vec<Entry>>);

/// Why rules cannot be used.
#[derive(Debug)]
pub(super) enum Refused {
    /// They are wrong, or too large.
    Invalid(String),
    /// Those in use leave no room for others.
    Full,
}

impl From<String> for Refused {
    fn from(message: String) -> Self {
        Self::Invalid(message)
    }
}

impl From<&str> for Refused {
    fn from(message: &str) -> Self {
        Self::Invalid(message.to_owned())
    }
}

/// The least recently used comes first.
struct Entry {
    text: Box<str>,
    rules: Rules,
    bytes: usize,
}

#[derive(Clone)]
enum Rules {
    Schema(Arc<SchemaValidator>),
    Tools(Arc<ToolSet>),
}

impl Rules {
    fn is_used(&self) -> bool {
        match self {
            Self::Schema(schema) => Arc::strong_count(schema) > 1,
            Self::Tools(tools) => Arc::strong_count(tools) > 1,
        }
    }

    fn pattern_bytes(&self) -> usize {
        match self {
            Self::Schema(schema) => schema.pattern_bytes(),
            Self::Tools(tools) => tools.pattern_bytes(),
        }
    }
}

impl RuleCache {
    pub(super) fn schema(&self, text: &str) -> Result<Arc<SchemaValidator>, Refused> {
        let find = |rules: &Rules| match rules {
            Rules::Schema(schema) => Some(Arc::clone(schema)),
            Rules::Tools(_) => None,
        };
        self.get("schema", text, find, || {
            let validator: SchemaValidator = text.parse().map_err(|error| format!("schema: {error}"))?;
            Ok(Rules::Schema(Arc::new(validator.show_names(true).all_violations(MAX_VIOLATIONS))))
        })
    }

    pub(super) fn tools(&self, text: &str) -> Result<Arc<ToolSet>, Refused> {
        let find = |rules: &Rules| match rules {
            Rules::Tools(tools) => Some(Arc::clone(tools)),
            Rules::Schema(_) => None,
        };
        self.get("tools", text, find, || {
            let tools = ToolSet::from_json_str(text).map_err(|error| format!("tools: {error}"))?;
            Ok(Rules::Tools(Arc::new(tools.show_names(true).all_violations(MAX_VIOLATIONS))))
        })
    }

    fn get<T>(
        &self,
        name: &str,
        text: &str,
        find: impl Fn(&Rules) -> Option<T>,
        compile: impl FnOnce() -> Result<Rules, String>,
    ) -> Result<T, Refused> {
        if text.len() > MAX_TEXT {
            return Err(Refused::Invalid(format!("{name}: larger than {} KiB", MAX_TEXT >> 10)));
        }
        // Locked while it compiles: two at once would take twice the memory, which is not counted yet.
        let mut entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = entries.iter().position(|entry| *entry.text == *text && find(&entry.rules).is_some());
        let entry = match known {
            Some(at) => entries.remove(at),
            None => {
                let rules = compile()?;
                let bytes = rules.pattern_bytes() + text.len() * BYTES_PER_BYTE;
                make_room(&mut entries, bytes)?;
                Entry { text: text.into(), rules, bytes }
            }
        };
        let found = find(&entry.rules);
        entries.push(entry);
        Ok(found.expect("the entry has rules of this kind"))
    }
}

/// Drops rules that no run uses until there is room for others.
fn make_room(entries: &mut Vec<Entry>, bytes: usize) -> Result<(), Refused> {
    let mut total: usize = bytes + entries.iter().map(|entry| entry.bytes).sum::<usize>();
    entries.retain(|entry| {
        let is_kept = total <= MAX_BYTES || entry.rules.is_used();
        if !is_kept {
            total -= entry.bytes;
        }
        is_kept
    });
    if total <= MAX_BYTES { Ok(()) } else { Err(Refused::Full) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// About 20 MiB.
    fn large(at: usize) -> String {
        format!(r#"{{"const":"{at} {}"}}"#, "x".repeat(200 << 10))
    }

    #[test]
    fn runs_with_the_same_text_share_what_is_compiled() {
        let cache = RuleCache::default();
        let first = cache.schema(r#"{"type":"object"}"#).expect("a schema");
        let again = cache.schema(r#"{"type":"object"}"#).expect("a schema");
        let other = cache.schema(r#"{"type": "object"}"#).expect("a schema");
        assert!(Arc::ptr_eq(&first, &again) && !Arc::ptr_eq(&first, &other));
        let tools = cache.tools(r#"[{"name":"a"}]"#).expect("tools");
        assert!(Arc::ptr_eq(&tools, &cache.tools(r#"[{"name":"a"}]"#).expect("tools")));
        // A text that is both.
        assert!(matches!(cache.tools("{}"), Err(Refused::Invalid(_))));
        assert!(cache.schema("{}").is_ok());
    }

    #[test]
    fn together_they_are_bounded() {
        let cache = RuleCache::default();
        let kept: Vec<_> = (0..13).map(|at| cache.schema(&large(at)).expect("room")).collect();
        assert!(matches!(cache.schema(&large(13)), Err(Refused::Full)));
        assert!(cache.schema(&large(3)).is_ok(), "it is compiled already");
        drop(kept);
        for at in 13..40 {
            cache.schema(&large(at)).expect("no run uses the others");
        }
        let entries = cache.0.lock().expect("the lock");
        let bytes: usize = entries.iter().map(|entry| entry.bytes).sum();
        assert!(bytes <= MAX_BYTES && entries.len() == 13, "{bytes} bytes, {} entries", entries.len());
    }
}
