//! Texts with what becomes of their records: the same whoever reads them.
#![allow(dead_code, reason = "each test uses some of this")]

use serde_json::Value;

/// A text, the rules for it, and its outcome.
pub(crate) struct Case(Value);

/// Delivered records, or calls as name and parameters; and the rejects as messages.
pub(crate) type Outcome = (Vec<String>, Vec<String>);

impl Case {
    pub(crate) fn all() -> Vec<Self> {
        let Ok(Value::Array(cases)) = serde_json::from_str(include_str!("../../fixtures/outcomes.json"))
        else {
            unreachable!("the fixture is an array");
        };
        cases.into_iter().map(Self).collect()
    }

    fn text_of(&self, key: &str) -> Option<&str> {
        self.0.get(key)?.as_str()
    }

    fn json_of(&self, key: &str) -> Option<String> {
        self.0.get(key).map(Value::to_string)
    }

    fn list(&self, key: &str) -> Vec<String> {
        let list = self.0[key].as_array().expect("a list").iter();
        list.map(|text| text.as_str().expect("a text").to_owned()).collect()
    }

    pub(crate) fn name(&self) -> &str {
        self.text_of("name").expect("a name")
    }

    pub(crate) fn text(&self) -> &str {
        self.text_of("text").expect("a text")
    }

    pub(crate) fn reads_calls(&self) -> bool {
        self.text_of("reads") == Some("calls")
    }

    /// The schemas that each record must fit.
    pub(crate) fn schemas(&self) -> Vec<String> {
        ["schema", "second_schema"].into_iter().filter_map(|key| self.json_of(key)).collect()
    }

    pub(crate) fn tools(&self) -> Option<String> {
        self.json_of("tools")
    }

    /// The repair: what is replaced, and by what.
    pub(crate) fn repair(&self) -> Option<(String, String)> {
        let [from, to] = &*self.0.get("repair").map(|_| self.list("repair"))? else { unreachable!("a pair") };
        Some((from.clone(), to.clone()))
    }

    pub(crate) fn max_records(&self) -> Option<u64> {
        self.0.get("max_records")?.as_u64()
    }

    pub(crate) fn has_failed(&self) -> bool {
        self.text_of("end") == Some("failed")
    }

    /// Whether a reject is known before its record ends.
    pub(crate) fn is_invalid_while_open(&self) -> bool {
        self.0.get("invalid_while_open").is_some()
    }

    pub(crate) fn expected(&self) -> Outcome {
        (self.list("delivered"), self.list("rejected"))
    }
}
