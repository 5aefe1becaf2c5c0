//! Rules that a program states as closures over the type of the records.

use tokenline_core::Options;
use tokenline_llm::{Provider, ResponseEvent, ResponseOptions, ResponseParser};

use crate::common::{chunk, text};

#[derive(serde::Deserialize)]
struct Invoice {
    net: u64,
    total: u64,
}

fn diagnostics(parser: ResponseParser<Invoice>, lines: &str) -> (Vec<u64>, Vec<String>) {
    let mut parser = parser;
    parser.push(text(lines));
    parser.push(chunk("{}", "stop"));
    parser.finish();
    let (mut totals, mut rejected) = (Vec::new(), Vec::new());
    while let Some(event) = parser.next_event() {
        match event {
            ResponseEvent::Record { record, .. } => totals.push(record.value.total),
            ResponseEvent::Rejected { diagnostic, .. } => rejected.push(diagnostic.to_string()),
            _ => {}
        }
    }
    (totals, rejected)
}

fn sold(invoice: &Invoice) -> Result<(), String> {
    if invoice.net > 0 { Ok(()) } else { Err("nothing was sold".to_owned()) }
}

#[test]
fn all_rules_apply_and_the_first_broken_one_is_reported() {
    let parser = ResponseParser::<Invoice>::new(Provider::OpenAiChat, Options::lenient())
        .validated_with(sold)
        .validated_with(|invoice| {
            let is_sum = invoice.total >= invoice.net;
            is_sum.then_some(()).ok_or_else(|| format!("the total {} is below the net", invoice.total))
        });
    let lines = concat!(
        "{\"net\":1,\"total\":2}\n",
        "{\"net\":0,\"total\":2}\n",
        "{\"net\":3,\"total\":2}\n",
        "{\"net\":0,\"total\":\"2\"}\n",
        "{\"net\":5,\"total\":7}\n",
    );
    let (totals, rejected) = diagnostics(parser, lines);
    assert_eq!(totals, [2, 7]);
    assert_eq!(
        rejected,
        [
            "2:1: schema_violation: nothing was sold",
            "3:1: schema_violation: the total 2 is below the net",
            // Not of the type: no rule is asked.
            "4:18: schema_violation: invalid type: a string, expected u64 (at /total)",
        ]
    );
}

#[test]
fn what_a_rule_rejects_may_be_repaired() {
    let options = ResponseOptions::from(Options::lenient()).repair(|rejected| {
        let is_mine = rejected.diagnostic.message == "nothing was sold";
        is_mine.then(|| rejected.text.replace("\"net\":0", "\"net\":1"))
    });
    // In the options the rule says what it is of.
    let options = options.validated_with(sold);
    let parser = ResponseParser::<Invoice>::new(Provider::OpenAiChat, options);
    let (totals, rejected) = diagnostics(parser, "{\"net\":0,\"total\":9}\n");
    assert_eq!((totals, rejected), (vec![9], Vec::new()));
}
