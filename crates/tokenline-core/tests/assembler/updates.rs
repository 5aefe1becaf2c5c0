//! Updates on how calls grow: the pieces of the arguments, joined, are the delivered arguments.

use tokenline_core::json::{Kind, Raw, Value};
use tokenline_core::{
    CallDelta, CallUpdate, Coercion, CompletedBy, Options, Release, ToolCallAssembler, ValidateCall,
    Violation,
};

use crate::random::Random;

/// Turns numbers in `x` into strings.
struct Coerces;

impl ValidateCall for Coerces {
    fn validate_call(&self, _: &str, parameters: Value<'_>) -> Result<(), Box<Violation>> {
        match parameters.get("x") {
            Some(x) if x.kind() == Kind::Number => {
                Err(Box::new(Violation::new(tokenline_core::Code::InvalidParameters, 0, "a string")))
            }
            _ => Ok(()),
        }
    }

    fn coerce(&self, _: &str, parameters: Value<'_>) -> Option<(Raw, Vec<Coercion>)> {
        let number = parameters.get("x")?.as_number()?;
        let changed = Raw::from(serde_json::json!({"x": number.as_str()}));
        Some((changed, vec![Coercion::new("/x", Kind::Number, Kind::String)]))
    }

    fn coerces(&self) -> bool {
        true
    }
}

/// The pieces of the arguments, joined, and the delivered arguments.
fn updates(calls: &mut ToolCallAssembler) -> (String, Option<String>) {
    let (mut joined, mut delivered) = (String::new(), None);
    while let Some(update) = calls.next_update() {
        match update {
            CallUpdate::Began { .. } => assert!(joined.is_empty() && delivered.is_none()),
            CallUpdate::Arguments { text, .. } => {
                assert!(delivered.is_none() && !text.is_empty());
                joined.push_str(&text);
            }
            CallUpdate::Ended { outcome, .. } => {
                delivered = Some(outcome.expect("a call").parameters.as_str().to_owned());
            }
            other => panic!("{other:?}"),
        }
    }
    (joined, delivered)
}

#[test]
fn the_pieces_are_the_delivered_arguments() {
    for arguments in [
        "null",
        " null\n",
        "",
        "  ",
        "{}",
        " { } ",
        "{}{}",
        "{\"x\":1}",
        "\n {\"x\": 1.50 }\n",
        "{}{\"x\":2}",
        "null {\"x\":2}",
        "\"{\\\"x\\\":3}\"",
        "\"\"",
        "{\"x\":\"é😀\",\"y\":[{}]}",
        "{\"x\":1}{\"x\":1}",
        "{\"x\":1}{}",
        "{\"x\":1}null",
        "{}null {\"x\":1}",
        "{ \"x\":1}{ }",
        "{\"x\":1}{}{}",
        "{\"x\":1}{\"x\":1}{\"x\":1}",
    ] {
        for has_tools in [false, true] {
            for release in [Release::Confirmed, Release::OnBalance] {
                let cuts: Vec<usize> =
                    (0..=arguments.len()).filter(|at| arguments.is_char_boundary(*at)).collect();
                for (first, &left) in cuts.iter().enumerate() {
                    for &right in &cuts[first..] {
                        let mut calls =
                            ToolCallAssembler::new(&Options::default().release(release)).with_updates();
                        if has_tools {
                            calls = calls.with_tools(Coerces);
                        }
                        calls.push(CallDelta { index: Some(0), name: Some("f"), ..CallDelta::default() });
                        for arguments in [&arguments[..left], &arguments[left..right], &arguments[right..]] {
                            calls.push(CallDelta { index: Some(0), arguments, ..CallDelta::default() });
                        }
                        calls.finish(CompletedBy::FinishReason);
                        let (joined, delivered) = updates(&mut calls);
                        assert_eq!(Some(joined), delivered, "{arguments:?} cut at {left} and {right}");
                    }
                }
            }
        }
    }
}

/// The parts of which a server's arguments are put together: placeholders, objects, strings that hold them, white space.
const PARTS: [&str; 14] = [
    "{}",
    "{ }",
    "null",
    " ",
    "\n",
    "{\"a\":1}",
    "{\"a\":1}",
    "{ \"a\":1}",
    "{\"b\":[{}]}",
    "{\"a\":\"null{}\"}",
    "\"\"",
    "\"{}\"",
    ENCODED,
    ENCODED,
];

/// A string that holds an object.
const ENCODED: &str = "\"{\\\"a\\\":1}\"";

/// The arguments that these parts are, by the rules over all of them; `None` if they contradict each other.
fn arguments_of(parts: &[&str]) -> Option<String> {
    let mut objects = parts.iter().filter(|part| part.contains(':'));
    let Some(first) = objects.next() else {
        // One placeholder is delivered as it is written.
        let mut placeholders = parts.iter().filter(|part| !part.trim().is_empty());
        let is_spaced = matches!((placeholders.next(), placeholders.next()), (Some(&"{ }"), None));
        return Some(if is_spaced { "{ }" } else { "{}" }.to_owned());
    };
    let object = if *first == ENCODED { "{\"a\":1}" } else { first };
    objects.all(|other| other == first || *other == object).then(|| object.to_owned())
}

#[test]
fn glued_arguments_are_the_same_in_any_pieces() {
    for seed in 0..10_000 {
        let mut random = Random::new(seed);
        let parts: Vec<&str> = (0..1 + random.below(5)).map(|_| *random.pick(&PARTS[..])).collect();
        let text = parts.concat();
        let expected = arguments_of(&parts);
        let has_more = random.once_in(2);
        let mut first = None;
        for _ in 0..4 {
            let mut cuts = vec![0, text.len()];
            cuts.extend((0..random.below(5)).map(|_| random.below(text.len() + 1)));
            cuts.sort_unstable();
            let mut calls = ToolCallAssembler::new(&Options::default()).with_updates();
            let entry = |arguments| CallDelta { index: Some(0), arguments, ..CallDelta::default() };
            calls.push(CallDelta { id: Some("c"), name: Some("f"), ..entry("") });
            for cut in cuts.windows(2) {
                calls.push(entry(&text[cut[0]..cut[1]]));
            }
            if has_more {
                // Another call, which confirms arguments with members.
                let arguments = "{\"z\":1}";
                calls.push(CallDelta { index: Some(1), name: Some("g"), arguments, ..CallDelta::default() });
            }
            calls.finish(CompletedBy::FinishReason);
            let (mut joined, mut ended) = (String::new(), Vec::new());
            while let Some(update) = calls.next_update() {
                match update {
                    CallUpdate::Arguments { number: 1, text } => joined.push_str(&text),
                    CallUpdate::Ended { number: 1, outcome } => {
                        ended.push(outcome.map_err(|call| call.to_string()));
                    }
                    _ => {}
                }
            }
            let [outcome] = &ended[..] else { panic!("seed {seed}, {text:?}: {ended:?}") };
            let delivered = outcome.as_ref().ok().map(|call| call.parameters.as_str().to_owned());
            assert_eq!(delivered, expected, "seed {seed}, {text:?} at {cuts:?}: {outcome:?}");
            assert!(delivered.is_none_or(|delivered| joined == delivered), "seed {seed}, {text:?}: {joined}");
            // The message and its place do not depend on the pieces either.
            let outcome = outcome.as_ref().map(|call| call.completion).map_err(Clone::clone);
            assert_eq!(
                first.get_or_insert_with(|| outcome.clone()),
                &outcome,
                "seed {seed}, {text:?} at {cuts:?}"
            );
        }
    }
}
