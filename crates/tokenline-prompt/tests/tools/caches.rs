//! Caching: what is reused, and for how long.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use tokenline_core::{CallFormat, ToolDefinition};
use tokenline_prompt::tools::{CacheCount, CacheCounts, CacheSizes, Language, ToolCalling, ToolPrompter};

use crate::common::tools;

fn count(hits: u64, misses: u64, entries: usize) -> CacheCount {
    let mut count = CacheCount::default();
    (count.hits, count.misses, count.entries) = (hits, misses, entries);
    count
}

#[test]
fn a_value_is_shared_between_threads_and_clones() {
    fn assert_shared<T: Clone + Send + Sync + 'static>(_: &T) {}
    let prompter = ToolPrompter::new();
    assert_shared(&prompter);
    let clone = prompter.clone().with_language(Language::Chinese);
    std::thread::spawn(move || clone.tool_set(&tools()).unwrap()).join().unwrap();
    prompter.tool_set(&tools()).unwrap();
    assert_eq!(prompter.cache_counts().tool_sets, count(1, 1, 1));
    let counts = prompter.cache_counts();
    assert_eq!(counts, CacheCounts { tool_sets: counts.tool_sets, ..CacheCounts::default() });
}

#[test]
fn templates_are_compiled_once() {
    let prompter = ToolPrompter::new();
    let chinese = prompter.clone().with_language(Language::Chinese);
    for _ in 0..3 {
        for format in [CallFormat::Jsonl, CallFormat::SingleJson] {
            prompter.prompt(&format.clone().into(), &tools()).unwrap();
            chinese.prompt(&format.into(), &tools()).unwrap();
        }
    }
    assert_eq!(prompter.cache_counts().templates, count(8, 4, 4));
    // Malformed templates are not cached.
    let broken = prompter.clone().with_template(&CallFormat::Jsonl, "{{");
    assert!(broken.prompt(&CallFormat::Jsonl.into(), &tools()).is_err());
    assert_eq!(prompter.cache_counts().templates, count(8, 5, 4));
}

#[test]
fn tools_are_compiled_once() {
    let prompter = ToolPrompter::new();
    let sets: Vec<_> = (0..3).map(|_| prompter.tool_set(&tools()).unwrap()).collect();
    assert!(sets.iter().all(|set| Arc::ptr_eq(set, &sets[0])));
    assert_eq!(prompter.cache_counts().tool_sets, count(2, 1, 1));
    // Different sets are compiled separately.
    let one = |name: &str| ToolDefinition::new(name);
    for tools in [
        vec![],
        vec![one("ab")],
        vec![one("a"), one("b")],
        vec![one("b"), one("a")],
        vec![one("a").with_description("-"), one("b")],
    ] {
        prompter.tool_set(&tools).unwrap();
    }
    assert_eq!(prompter.cache_counts().tool_sets, count(2, 6, 6));
    let error = prompter.tool_set(&[one("a"), one("a")]).unwrap_err();
    assert_eq!(error.to_string(), "tool \"a\": two tools have this name");
    assert_eq!(prompter.cache_counts().tool_sets.entries, 6);
}

#[test]
fn a_client_is_asked_once() {
    let prompter = ToolPrompter::new();
    let asked = AtomicU32::new(0);
    let client = || asked.fetch_add(1, Ordering::Relaxed) > 0;
    for _ in 0..3 {
        assert_eq!(prompter.tool_calling_support("a", &client).as_str(), "jsonl");
    }
    assert_eq!(prompter.tool_calling_support("b", &client), ToolCalling::FunctionCalling);
    assert_eq!(asked.load(Ordering::Relaxed), 2);
    assert_eq!(prompter.cache_counts().support, count(2, 2, 2));
    // It may support function calling by now.
    prompter.clear_caches();
    assert_eq!(prompter.tool_calling_support("a", &client), ToolCalling::FunctionCalling);
}

#[test]
fn the_sizes_are_limits() {
    let sizes = CacheSizes { templates: 1, tool_sets: 2, support: 3 };
    let prompter = ToolPrompter::new().with_cache_sizes(sizes);
    for at in 0..20 {
        let own =
            prompter.clone().with_template(&CallFormat::Jsonl, format!("{at} {{{{ tool_descriptions }}}}"));
        let tools = [ToolDefinition::new(format!("tool_{at}"))];
        let calling = prompter.tool_calling_support(at.to_string(), &|| false);
        assert!(own.prompt(&calling, &tools).unwrap().text().unwrap().starts_with(&at.to_string()));
        prompter.parser(&calling, &tools).unwrap();
    }
    let counts = prompter.cache_counts();
    assert_eq!(counts.templates, count(0, 20, 1));
    assert_eq!(counts.tool_sets, count(0, 20, 2));
    assert_eq!(counts.support, count(0, 20, 3));
}
