//! What every provider's fixtures are held against.

use std::collections::BTreeSet;
use std::path::Path;

use tokenline_llm::{AnswerEvent, Provider, TextAs};

use super::{Seen, at_every_cut, decode, fixture, parser_of};

/// Name, what its text is read as, what it comes to.
pub type Expected = (&'static str, TextAs, &'static [&'static str]);

/// The same of fixtures whose text is read as records.
pub fn as_records(table: &[(&'static str, &'static [&'static str])]) -> Vec<Expected> {
    table.iter().map(|&(name, expected)| (name, TextAs::Records, expected)).collect()
}

/// The fixtures of a provider, in the folder of its name.
pub struct Fixtures {
    pub provider: Provider,
    /// What their names end with; empty where the tables have it.
    pub ending: &'static str,
    /// What they hold that is not known, where they do.
    pub unknown: &'static [(&'static str, &'static str)],
}

impl Fixtures {
    pub fn wire(&self, name: &str) -> Vec<u8> {
        fixture(&format!("{}/{name}{}", self.provider.as_str(), self.ending))
    }

    /// Each comes to what the table says, however it is cut.
    pub fn check(&self, table: &[Expected], is_complete: bool) {
        for &(name, text_as, expected) in table {
            let seen = at_every_cut(parser_of(self.provider, text_as), &self.wire(name));
            assert_eq!(seen.summary(), expected, "{name}");
            assert_eq!(seen.is_complete, is_complete, "{name}");
            let unknown =
                self.unknown.iter().find(|(its, _)| *its == name).map_or("", |(_, unknown)| unknown);
            assert_eq!(seen.unknown, unknown, "{name}");
        }
    }

    /// The tables have all there are, but for these.
    pub fn are_all(&self, table: &[Expected], others: &[&str]) {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(self.provider.as_str());
        let files: BTreeSet<String> = std::fs::read_dir(folder)
            .expect("the folder is there")
            .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
            .collect();
        let names = table.iter().map(|(name, ..)| *name).chain(others.iter().copied());
        assert_eq!(files, names.map(|name| format!("{name}{}", self.ending)).collect());
    }

    /// Broken off after any byte, each delivers nothing but what it does as a whole.
    pub fn break_off(&self, table: &[Expected]) {
        for &(name, text_as, _) in table {
            let wire = self.wire(name);
            let mut parser = parser_of(self.provider, text_as);
            let whole = delivered(&decode(&mut parser, [&wire[..]]));
            for end in 0..wire.len() {
                let cut = delivered(&decode(&mut parser, [&wire[..end]]));
                match self.provider {
                    // What ends only with the stream may come after what would follow it.
                    Provider::Gemini => {
                        assert!(cut.iter().all(|item| whole.contains(item)), "{name} up to {end}");
                    }
                    _ => assert_eq!(cut, whole[..cut.len()], "{name} up to {end}"),
                }
            }
        }
    }
}

/// Records and calls, without why they count as complete.
pub fn delivered(seen: &Seen) -> Vec<String> {
    let delivered = seen.events.iter().filter_map(|event| match event {
        AnswerEvent::Record { choice, block, record } => Some(format!("{choice} {block} {}", record.value)),
        AnswerEvent::ToolCall { choice, call, .. } => {
            Some(format!("{choice} {} {} {:?}", call.name, call.parameters, call.call_id))
        }
        _ => None,
    });
    delivered.collect()
}
