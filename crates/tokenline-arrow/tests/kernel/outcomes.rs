//! The texts that every reader gives the same outcomes, in the same words.

use arrow_array::StringArray;
use tokenline_arrow::{ExtractOptions, Extractor};
use tokenline_schema::ToolSet;

use crate::outcome_cases::Case;
use crate::rows::only;

#[test]
fn outcomes_are_those_of_the_library() {
    // Columns have neither hooks nor quotas, and one schema, and a text does not fail.
    let is_here = |case: &Case| {
        case.repair().is_none()
            && case.max_records().is_none()
            && case.schemas().len() < 2
            && !case.has_failed()
    };
    for case in Case::all().iter().filter(|case| is_here(case)) {
        let mut options = ExtractOptions::new();
        for schema in case.schemas() {
            options = options.schema(schema.parse().expect("a schema"));
        }
        if let Some(tools) = case.tools() {
            options = options.tools(ToolSet::from_json_str(&tools).expect("tools"));
        }
        let kernel = Extractor::new(options).expect("the options are consistent");
        let row = only(&kernel.extract(&StringArray::from(vec![case.text()])).expect("a batch"));
        let records = row.records.iter().map(|entry| {
            let [_line, _start, _end, _completion, json] = fields(entry);
            json.to_owned()
        });
        let calls = row.calls.iter().map(|entry| {
            let [_line, _start, _end, _completion, _id, name, parameters] = fields(entry);
            format!("{name} {parameters}")
        });
        let rejected = row.rejects.iter().map(|entry| {
            let [line, column, _start, _end, code, message, instance, _schema] = fields(entry);
            let path = match instance {
                "null" | "" => String::new(),
                path => format!(" (at {path})"),
            };
            format!("{line}:{column}: {code}: {message}{path}")
        });
        assert_eq!((records.chain(calls).collect(), rejected.collect()), case.expected(), "{}", case.name());
    }
}

fn fields<const N: usize>(entry: &str) -> [&str; N] {
    let fields: Vec<&str> = entry.splitn(N, " | ").collect();
    fields.try_into().expect("an entry has all fields")
}
