//! The table of the built-in syntaxes.

use std::str;

/// The table: a JSON array of rows, each member on a line of its own.
pub(super) const JSON: &str = include_str!("syntaxes.json");

/// The same, as it is read: without the feature `call-examples`, without the members that are for people only.
pub(super) const READ: &str = if cfg!(feature = "call-examples") { JSON } else { FOR_READERS };

/// The members for people.
const FOR_PEOPLE: [&str; 3] = ["\"note\":", "\"example\":", "\"source\":"];

const FOR_READERS: &str = {
    const ALL: ([u8; JSON.len()], usize) = without_members_for_people();
    const KEPT: [u8; ALL.1] = {
        let (mut kept, mut at) = ([0; ALL.1], 0);
        while at < kept.len() {
            kept[at] = ALL.0[at];
            at += 1;
        }
        kept
    };
    match str::from_utf8(&KEPT) {
        Ok(table) => table,
        Err(_) => panic!("the lines of a text are text"),
    }
};

/// The lines of the table without their indents and line ends, except those with a member for people; and their length.
const fn without_members_for_people() -> ([u8; JSON.len()], usize) {
    let json = JSON.as_bytes();
    let (mut kept, mut len, mut at) = ([0; JSON.len()], 0, 0);
    while at < json.len() {
        while at < json.len() && matches!(json[at], b' ' | b'\n') {
            at += 1;
        }
        let (start, is_for_people) = (len, is_for_people(json, at));
        while at < json.len() && json[at] != b'\n' {
            kept[len] = json[at];
            (at, len) = (at + 1, len + 1);
        }
        if is_for_people {
            let is_last = kept[len - 1] != b',';
            // Then the comma before it is one too many.
            len = if is_last { start - 1 } else { start };
        }
    }
    (kept, len)
}

const fn is_for_people(json: &[u8], at: usize) -> bool {
    let mut member = 0;
    while member < FOR_PEOPLE.len() {
        let name = FOR_PEOPLE[member].as_bytes();
        let mut same = 0;
        while same < name.len() && at + same < json.len() && json[at + same] == name[same] {
            same += 1;
        }
        if same == name.len() {
            return true;
        }
        member += 1;
    }
    false
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn only_members_for_people_are_left_out() {
        let mut rows: Vec<Value> = serde_json::from_str(JSON).expect("a table");
        for row in rows.iter_mut().filter_map(Value::as_object_mut) {
            row.retain(|name, _| !FOR_PEOPLE.contains(&&*format!("\"{name}\":")));
        }
        assert_eq!(serde_json::from_str::<Vec<Value>>(FOR_READERS).expect("a table"), rows);
    }
}
