//! Arguments that grow although tools convert values.

use tokenline_core::json::{Kind, Raw, Value};
use tokenline_core::{
    CallDelta, CallUpdate, Coercion, CompletedBy, Options, ToolCallAssembler, ValidateCall, Violation,
};

use crate::random::Random;

/// Parameters whose names begin with `n` are numbers, those with `t` are texts, and others are anything.
struct Typed;

impl ValidateCall for Typed {
    fn validate_call(&self, _: &str, parameters: Value<'_>) -> Result<(), Box<Violation>> {
        let is_valid = |name: &str, value: Value<'_>| match name.as_bytes()[0] {
            b'n' => value.kind() == Kind::Number,
            b't' => value.kind() == Kind::String,
            _ => true,
        };
        let mut members = parameters.as_object().expect("an object").iter();
        let code = tokenline_core::Code::InvalidParameters;
        let is_valid = members.all(|(name, value)| is_valid(name, value));
        if is_valid { Ok(()) } else { Err(Box::new(Violation::new(code, 0, "another type"))) }
    }

    fn coerce(&self, _: &str, parameters: Value<'_>) -> Option<(Raw, Vec<Coercion>)> {
        let (mut text, mut at, mut changes) = (String::new(), parameters.range().start, Vec::new());
        let whole = parameters.raw();
        let base = at;
        for (name, value) in parameters.as_object()? {
            let replacement = match (name.as_bytes()[0], value.kind()) {
                (b'n', Kind::String) => value.as_str()?.into_owned(),
                (b't', Kind::Number) => format!("\"{}\"", value.raw()),
                _ => continue,
            };
            if replacement.parse::<f64>().is_err() && !replacement.starts_with('"') {
                continue;
            }
            text += &whole[at - base..value.range().start - base];
            text += &replacement;
            at = value.range().end;
            changes.push(Coercion::new(format!("/{name}"), value.kind(), Kind::Number));
        }
        text += &whole[at - base..];
        (!changes.is_empty()).then(|| (Raw::new(&text).expect("JSON"), changes))
    }

    fn coerces(&self) -> bool {
        true
    }

    fn is_text(&self, _: &str, parameter: &str) -> bool {
        parameter.starts_with('t')
    }
}

/// The pieces of the arguments after each fragment, and the delivered ones; `None` if the call was rejected.
fn grow(fragments: &[&str]) -> (Vec<String>, Option<String>) {
    let mut calls = ToolCallAssembler::new(&Options::default()).with_updates().with_tools(Typed);
    calls.push(CallDelta { index: Some(0), name: Some("f"), ..CallDelta::default() });
    let (mut pieces, mut delivered) = (Vec::new(), None);
    let mut take = |calls: &mut ToolCallAssembler| {
        let mut joined = String::new();
        while let Some(update) = calls.next_update() {
            match update {
                CallUpdate::Arguments { text, .. } => joined += &text,
                CallUpdate::Ended { outcome, .. } => {
                    delivered = outcome.ok().map(|call| call.parameters.as_str().to_owned());
                }
                _ => {}
            }
        }
        pieces.push(joined);
    };
    for arguments in fragments {
        calls.push(CallDelta { index: Some(0), arguments, ..CallDelta::default() });
        take(&mut calls);
    }
    calls.finish(CompletedBy::FinishReason);
    take(&mut calls);
    (pieces, delivered)
}

#[test]
fn texts_grow_and_other_values_come_when_they_are_complete() {
    let (pieces, delivered) =
        grow(&["{\"t\": \"{a", "b\\", "\"c\", \"n\": 1", "2", ", \"x\": [1,", " \"}\"]", "}"]);
    assert_eq!(pieces, ["{\"t\": \"{a", "b\\", "\"c\"", "", ", \"n\": 12", ", \"x\": [1, \"}\"]", "}", ""]);
    assert_eq!(delivered.as_deref(), Some("{\"t\": \"{ab\\\"c\", \"n\": 12, \"x\": [1, \"}\"]}"));

    // Of a parameter of any type, a text grows once it cannot be a number or a literal.
    let (pieces, _) = grow(&["{\"x\":\"tr", "ick", "\",\"y\":\"12", " k", "m\",\"z\":\"[a", "]\"", "}"]);
    let expected = ["", "{\"x\":\"trick", "\"", ",\"y\":\"12 k", "m\"", ",\"z\":\"[a]\"", "}", ""];
    assert_eq!(pieces, expected);

    // What is converted is certain with the call, and so is what follows it.
    let (pieces, delivered) = grow(&["{\"t\":\"a\",\"n\":\"1\"", ",\"t2\":\"b", "\"}"]);
    assert_eq!(pieces, ["{\"t\":\"a\"", "", "", ",\"n\":1,\"t2\":\"b\"}"]);
    assert_eq!(delivered.as_deref(), Some("{\"t\":\"a\",\"n\":1,\"t2\":\"b\"}"));
}

/// Random arguments in random pieces: the pieces joined are what is delivered, or the beginning of what is rejected.
#[test]
fn the_pieces_of_any_arguments_are_the_delivered_ones() {
    const VALUES: [&str; 16] = [
        "1",
        "-2.5e3",
        "\"1\"",
        "\"1e5\"",
        "\"1x\"",
        "\"\"",
        "\"true\"",
        "\"tru\\u0065\"",
        "\"\\u0031\"",
        "true",
        "null",
        "[{\"a\":\"]\"}, 1]",
        "{\"t\":\"1\"}",
        "\"a\\\\\"",
        "\" 1\"",
        "\"é😀 text, and \\\"more\\\"\"",
    ];
    const SPACES: [&str; 4] = ["", "", " ", "\n\t"];
    let mut grown = 0;
    for seed in 0..20_000 {
        let mut random = Random::new(seed);
        let mut arguments = "{".to_owned();
        let members = random.below(5);
        for number in 0..members {
            let mut space = || *random.pick(&SPACES[..]);
            let spaces = [space(), space(), space(), space()];
            let (kind, value) = (*random.pick(&["n", "t", "x"][..]), *random.pick(&VALUES[..]));
            let comma = if number > 0 { "," } else { "" };
            arguments += &format!(
                "{}{comma}{}\"{kind}{number}\"{}:{}{value}",
                spaces[0], spaces[1], spaces[2], spaces[3]
            );
        }
        arguments += "}";
        let mut cuts: Vec<usize> = (0..random.below(6)).map(|_| random.below(arguments.len() + 1)).collect();
        cuts.extend([0, arguments.len()]);
        cuts.retain(|at| arguments.is_char_boundary(*at));
        cuts.sort_unstable();
        let fragments: Vec<&str> = cuts.windows(2).map(|cut| &arguments[cut[0]..cut[1]]).collect();
        let (pieces, delivered) = grow(&fragments);
        let joined = pieces.concat();
        match delivered {
            Some(delivered) => assert_eq!(joined, delivered, "{fragments:?}"),
            None => assert!(arguments.starts_with(&joined), "{fragments:?}: {joined}"),
        }
        grown += usize::from(pieces.iter().filter(|piece| !piece.is_empty()).count() > 1);
    }
    assert!(grown > 5_000, "{grown}");
}
