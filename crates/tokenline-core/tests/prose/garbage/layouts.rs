//! Layouts in which models write records.

use tokenline_core::{CallFormat, Options};

/// A way to write records.
pub(super) struct Layout {
    pub(super) name: &'static str,
    /// How many records are in one unit: garbage stands between units.
    pub(super) unit: usize,
    /// Before and after all.
    around: [&'static str; 2],
    /// White space before each line, including garbage.
    pub(super) indent: &'static str,
    write: fn(std::ops::Range<usize>) -> String,
    pub(super) calls: Option<CallFormat>,
    /// Whether the records are the items of each value.
    has_items: bool,
    pub(super) is_json_fence: bool,
}

const PLAIN: Layout = Layout {
    name: "plain lines",
    unit: 1,
    around: ["", ""],
    indent: "",
    write: |ids| record(ids.start),
    calls: None,
    has_items: false,
    is_json_fence: false,
};

/// The layouts of JSON.
pub(super) fn of_json() -> Vec<Layout> {
    vec![
        PLAIN,
        Layout { name: "json fence", around: ["```json\n", "```\n"], is_json_fence: true, ..PLAIN },
        Layout { name: "indented", indent: "  ", ..PLAIN },
        Layout { name: "bulleted", write: |ids| format!("- {}", record(ids.start)), ..PLAIN },
        Layout {
            name: "numbered",
            write: |ids| format!("{}. {}", ids.start + 1, record(ids.start)),
            ..PLAIN
        },
        Layout {
            name: "prose before each",
            write: |ids| match ids.start % 4 {
                0 => format!("Record no. {} is {}", ids.start, record(ids.start)),
                1 => format!("See [{}]: {}", ids.start, record(ids.start)),
                2 => format!("Use {{x}} for {}", record(ids.start)),
                _ => format!("**Answer** ([link](http://x)) = {}", record(ids.start)),
            },
            ..PLAIN
        },
        Layout {
            name: "an array on each line",
            unit: 2,
            write: |ids| format!("[{}]", joined(ids, ",")),
            ..PLAIN
        },
        Layout {
            name: "arrays pretty printed",
            unit: 50,
            write: |ids| format!("[\n  {}\n]", joined(ids, ",\n  ")),
            ..PLAIN
        },
        Layout {
            name: "an array not indented",
            unit: 50,
            write: |ids| format!("[\n{}\n]", joined(ids, ",\n")),
            ..PLAIN
        },
        Layout { name: "objects pretty printed", write: |ids| pretty(ids.start), ..PLAIN },
        Layout {
            name: "arrays in a list",
            unit: 3,
            write: |ids| format!("* [{}]", joined(ids, ", ")),
            ..PLAIN
        },
    ]
}

/// The layouts of tool calls.
pub(super) fn of_calls() -> Vec<Layout> {
    vec![
        Layout {
            name: "hermes",
            write: |ids| match ids.start % 2 {
                0 => format!("<tool_call>{}</tool_call>", call(ids.start)),
                _ => format!("<tool_call>\n{}\n</tool_call>", call(ids.start)),
            },
            calls: Some(CallFormat::Hermes),
            ..PLAIN
        },
        Layout {
            name: "mistral",
            write: |ids| match ids.start % 2 {
                0 => format!("[TOOL_CALLS] [{}]", call(ids.start)),
                _ => format!("[TOOL_CALLS]f[ARGS]{}", record(ids.start)),
            },
            calls: Some(CallFormat::Mistral),
            ..PLAIN
        },
        Layout {
            name: "pythonic",
            write: |ids| format!("[f(id={})]", ids.start),
            calls: Some(CallFormat::Pythonic),
            ..PLAIN
        },
        Layout {
            name: "function tag",
            write: |ids| format!("<function=f>{}</function>", record(ids.start)),
            calls: Some(CallFormat::FunctionTag),
            ..PLAIN
        },
    ]
}

/// The layouts of records inside other values.
pub(super) fn of_items() -> Vec<Layout> {
    vec![
        Layout {
            name: "items on a line",
            unit: 2,
            write: |ids| format!("{{\"n\":1,\"items\":[{}]}}", joined(ids, ",")),
            has_items: true,
            ..PLAIN
        },
        Layout {
            name: "items pretty printed",
            unit: 10,
            write: |ids| format!("{{\n  \"n\": 1,\n  \"items\": [\n    {}\n  ]\n}}", joined(ids, ",\n    ")),
            has_items: true,
            ..PLAIN
        },
    ]
}

impl Layout {
    pub(super) fn options(&self) -> Options {
        match &self.calls {
            Some(format) => Options::lenient().calls(format.clone()),
            None if self.has_items => Options::lenient().items("/items").expect("a pointer"),
            None => Options::lenient(),
        }
    }

    pub(super) fn head(&self) -> &'static str {
        self.around[0]
    }

    pub(super) fn tail(&self) -> &'static str {
        self.around[1]
    }

    /// `count` records, in their units.
    pub(super) fn units(&self, count: usize) -> Vec<String> {
        let starts = (0..count).step_by(self.unit);
        starts.map(|start| (self.write)(start..(start + self.unit).min(count))).collect()
    }

    /// The text of each record as delivered.
    pub(super) fn expected(&self, count: usize) -> Vec<String> {
        (0..count)
            .map(|id| match (self.name, &self.calls) {
                ("objects pretty printed", _) => pretty(id),
                (_, None) => record(id),
                ("hermes", _) => call(id),
                ("mistral", _) if id % 2 == 0 => call(id),
                // A call that is not written as JSON is delivered as `{"name","parameters"}`.
                (_, Some(_)) => format!("{{\"name\":\"f\",\"parameters\":{}}}", record(id)),
            })
            .collect()
    }
}

fn record(id: usize) -> String {
    format!("{{\"id\":{id}}}")
}

fn call(id: usize) -> String {
    format!("{{\"name\":\"f\",\"arguments\":{}}}", record(id))
}

fn pretty(id: usize) -> String {
    format!("{{\n  \"id\":{id},\n  \"in\": {{\n    \"x\": [1, 2]\n  }}\n}}")
}

fn joined(ids: std::ops::Range<usize>, between: &str) -> String {
    ids.map(record).collect::<Vec<_>>().join(between)
}
