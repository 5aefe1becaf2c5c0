//! Reasoning, in tags or opened in the prompt.

use tokenline_core::Options;

use crate::common::{Role, Seen, at_every_split, decode_with_text, text_at_every_split};

/// The records, the reasoning and the text.
fn read(options: &Options, input: &str) -> (Vec<String>, String, String) {
    let whole = at_every_split(options, input.as_bytes());
    text_at_every_split(options, input.as_bytes(), &whole);
    let (seen, segments) = decode_with_text(options, [input.as_bytes()]);
    let text = |of: Role| {
        let spans = segments.iter().filter(|(role, _)| *role == of);
        spans.map(|(_, span)| &input[span.start as usize..span.end as usize]).collect()
    };
    (seen.iter().map(Seen::summary).collect(), text(Role::Reasoning), text(Role::Text))
}

#[test]
fn a_closing_tag_alone_ends_reasoning_that_the_prompt_opened() {
    let options = Options::lenient().in_reasoning(true);
    for (input, records, reasoning, text) in [
        (
            "I see {\"a\":1}.\n</think>\n\nSo:\n{\"a\":2}\n",
            "newline {\"a\":2}",
            "I see {\"a\":1}.\n",
            "\n\nSo:\n",
        ),
        ("Plain.</think>{\"a\":2}\n", "newline {\"a\":2}", "Plain.", ""),
        ("</think>{\"a\":2}\n", "newline {\"a\":2}", "", ""),
        ("<b>x</b> < </thin </think>{\"a\":2}\n", "newline {\"a\":2}", "<b>x</b> < </thin ", ""),
        ("{\"a\":1}\n[1]</think>{\"a\":2}\n", "newline {\"a\":2}", "{\"a\":1}\n[1]", ""),
        ("[THINK is not a tag</think>{\"a\":2}\n", "newline {\"a\":2}", "[THINK is not a tag", ""),
        // The model writes the opening tag as well, or another one.
        ("<think>Hm.</think>{\"a\":2}\n", "newline {\"a\":2}", "Hm.", ""),
        ("[THINK]Hm.</think>[/THINK]{\"a\":2}\n", "newline {\"a\":2}", "Hm.</think>", ""),
        // After it, only an opening tag begins reasoning.
        ("a</think>{\"a\":2}\n<think>{\"a\":3}</think>", "newline {\"a\":2}", "a", "<think>"),
    ] {
        let (seen, reasoned, said) = read(&options, input);
        let delivered: Vec<_> = seen.iter().filter(|line| line.starts_with("newline")).collect();
        assert_eq!(delivered, [records], "{input:?}");
        assert!(reasoned.starts_with(reasoning), "{input:?}: {reasoned:?}");
        assert!(said.trim().starts_with(text.trim()) || text == "<think>", "{input:?}: {said:?}");
    }
    assert_eq!(read(&options, ""), (vec![], String::new(), String::new()));
    for unclosed in ["Hm", "<", "<thin", "Hm </think", "{\"a\":1}\n"] {
        assert_eq!(read(&options, unclosed).0, ["truncated"], "{unclosed:?}");
    }
}

#[test]
fn the_tags_of_kimi_are_not_ascii() {
    let options = Options::lenient();
    for (input, reasoning) in [
        ("◁think▷Hm {\"a\":1}◁/think▷{\"a\":2}\n", "Hm {\"a\":1}"),
        ("◁think▷◁/think◁/think▷{\"a\":2}\n", "◁/think"),
        ("◁think▷ ◁◁/think▷{\"a\":2}\n", " ◁"),
    ] {
        let (seen, reasoned, _) = read(&options, input);
        assert_eq!((seen, reasoned.as_str()), (vec!["newline {\"a\":2}".to_owned()], reasoning), "{input:?}");
    }
    // Other characters begin with the same byte.
    for prose in ["“Hm”\n", "◁ Hm\n", "◁thinking▷\n", "• one\n"] {
        assert_eq!(read(&options, prose), (vec!["(prose)".to_owned()], String::new(), prose.to_owned()));
    }
}
