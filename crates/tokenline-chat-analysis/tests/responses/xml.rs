//! JSON to XML to JSON.

use crate::common::{EXAMPLE_JSON, EXAMPLE_XML, valid_response, with};
use proptest::prelude::*;
use serde_json::json;
use tokenline_chat_analysis::{
    ConfidenceScore, LlmAnalysis, LlmKeyword, LlmResponse, LlmSubject, XmlError, check,
};

fn read(json: &str) -> LlmResponse {
    check(json).unwrap_or_else(|error| panic!("{error}: {json}")).response
}

#[test]
fn the_example_is_exact_in_both_directions() {
    let reply = read(EXAMPLE_JSON);
    assert_eq!(reply.to_xml().unwrap() + "\n", EXAMPLE_XML);
    let stored = LlmResponse::from_xml(EXAMPLE_XML).unwrap();
    assert_eq!(stored.warnings, []);
    assert_eq!(stored.response, reply);
    assert_eq!(stored.response.to_json_pretty() + "\n", EXAMPLE_JSON);
    assert_eq!(stored.response.analysis.subjects[0].keywords[2].confidence.as_str(), "0.90");
}

/// The text in each place that accepts any text.
fn in_each_place(text: &str) -> [LlmResponse; 3] {
    let read = |path: &str| {
        // Short or blank texts would be rejected.
        read(&with(path, format!("{text} and nothing else")))
    };
    [read("/response"), read("/analysis/subjects/0/description"), read("/analysis/summaryUpdate")]
}

#[test]
fn text_survives_a_round_trip() {
    for text in [
        "42",
        "0.90",
        "true",
        "null",
        "-0",
        "1e5",
        "<b>bold</b> & \"quoted\" 'too'",
        "]]>",
        "<![CDATA[x]]>",
        "<!-- x -->",
        "<?x?>",
        "&amp; &lt; &#65; &#x41; &unknown;",
        "a\nb",
        "a\r\nb",
        "a\rb",
        "a\tb",
        "  two  spaces  ",
        "\n",
        "\u{7f}\u{85}\u{a0}\u{2028}\u{feff}",
        "é — 🎓 日本語",
        "\u{fffd}",
        "\u{e000}\u{10ffff}",
        "{\"json\": [1]}",
    ] {
        for reply in in_each_place(text) {
            let xml = reply.to_xml().unwrap();
            assert_eq!(LlmResponse::from_xml(&xml).unwrap().response, reply, "{xml}");
        }
    }
    let reply = read(&with("/response", "]]> <b> & \"'"));
    assert!(reply.to_xml().unwrap().contains("<response>]]&gt; &lt;b&gt; &amp; \"'</response>"));
    let reply = read(&with("/analysis/subjects/0/description", "a\tb\nc\r\"d\" <e>"));
    assert!(reply.to_xml().unwrap().contains("description=\"a&#9;b&#10;c&#13;&quot;d&quot; &lt;e&gt;\""));
}

#[test]
fn text_that_looks_like_another_type_stays_text() {
    for text in ["42", "0.90", "true", "false", "null"] {
        let stored = LlmResponse::from_xml(&read(&with("/response", text)).to_xml().unwrap()).unwrap();
        assert_eq!(stored.response.to_json(), with_order(text));
    }
}

/// The response on one line, its members in the schema's order.
fn with_order(response: &str) -> String {
    format!(
        "{{\"response\":\"{response}\",\"analysis\":{{\"subjects\":[{{\"name\":\"college-savings\",\"description\":\"How to save for \
         college\",\"isNew\":true,\"keywords\":[{{\"term\":\"529-plan\",\"confidence\":0.9}}]}}],\"summaryUpdate\":\"User asked how to \
         save for college.\"}}}}"
    )
}

#[test]
fn characters_that_xml_cannot_represent_are_errors_with_positions() {
    let bad = (0..0x20_u32).filter(|code| !matches!(code, 9 | 10 | 13)).chain([0xFFFE, 0xFFFF]);
    for character in bad.filter_map(char::from_u32) {
        for (reply, path) in in_each_place(&format!("é🎓{character}")).into_iter().zip([
            "/response",
            "/analysis/subjects/0/description",
            "/analysis/summaryUpdate",
        ]) {
            let error = reply.to_xml().unwrap_err();
            assert_eq!((error.path.as_str(), error.index, error.character), (path, 2, character));
        }
    }
    let error = read(&with("/response", "ab\u{1}")).to_xml().unwrap_err();
    assert_eq!(
        error.to_string(),
        "XML cannot represent the character U+0001, character 3 of the text (at /response)"
    );
}

#[test]
fn a_response_without_subjects_or_keywords() {
    for json in [with("/analysis/subjects", json!([])), with("/analysis/subjects/0/keywords", json!([]))] {
        let reply = read(&json);
        assert_eq!(LlmResponse::from_xml(&reply.to_xml().unwrap()).unwrap().response, reply);
    }
    let xml = read(&with("/analysis/subjects/0/keywords", json!([]))).to_xml().unwrap();
    assert!(xml.contains("isNew=\"true\" />\n    <summaryUpdate>"), "{xml}");
}

#[test]
fn equivalent_xml_is_read() {
    let reply = read(&valid_response().to_string());
    let xml = reply.to_xml().unwrap();
    for other in [
        format!("\u{feff}{xml}"),
        format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!-- kept -->\n{xml}\n"),
        xml.replace('\n', "").replace("  ", ""),
        xml.replace(" />", "></keyword>"),
        xml.replace(
            "version=\"1.0.0\" format=\"ollama-structured\"",
            "format='ollama-structured'  version='1.0.0'",
        ),
        xml.replace("A 529 plan is", "<![CDATA[A 529]]> pl<!-- x -->an&#32;i&#x73;"),
        xml.replace('\n', "\r\n"),
    ] {
        let stored = LlmResponse::from_xml(&other).unwrap_or_else(|error| panic!("{error}: {other}"));
        assert_eq!(stored.response, reply, "{other}");
    }
}

#[test]
fn invalid_xml_is_an_error_with_its_position() {
    let xml = read(&valid_response().to_string()).to_xml().unwrap();
    let with = |from: &str, to: &str| {
        assert!(xml.contains(from), "{from}");
        xml.replace(from, to)
    };
    for (bad, expected) in [
        (String::new(), "1:1: the XML is truncated"),
        ("no XML".to_owned(), "1:1: text is not allowed here"),
        (with("llmResponse", "reply"), "1:1: expected `<llmResponse>`"),
        (with("1.0.0", "2.0.0"), "1:1: expected version=\"1.0.0\""),
        (with(" format=\"ollama-structured\"", ""), "1:1: `<llmResponse>` lacks the attribute `format`"),
        (with("<response>", "<response lang=\"en\">"), "2:3: `<response>` has no attributes"),
        (with("A 529 plan", "A <b>529</b> plan"), "2:15: expected only text in `<response>`"),
        (with("A 529 plan", "A &nbsp; plan"), "2:15: unknown character or entity"),
        (with("A 529 plan", "A &#1; plan"), "2:15: unknown character or entity"),
        (with("A 529 plan", "A \u{1} plan"), "2:13: XML cannot represent the character U+0001"),
        (with("A 529 plan", "A <![CDATA[\u{1}]]> plan"), "2:15: XML cannot represent the character U+0001"),
        (with("A 529 plan", "A <!-- \0 --> plan"), "2:15: XML cannot represent the character U+0000"),
        (xml[..xml.find("plan is").unwrap()].to_owned(), "2:19: the XML is truncated"),
        (format!("\u{feff}{}", with("isNew=\"true\"", "isNew=\"yes\"")), "4:5: expected isNew"),
        (with("isNew=\"true\"", "isNew=\"yes\""), "4:5: expected isNew=\"true\" or isNew=\"false\""),
        (
            with("isNew=\"true\"", "isNew=\"true\" id=\"1\""),
            "4:5: `<subject>` has no attributes but name, description, isNew",
        ),
        (with("term=\"529-plan\"", "term=\"529-plan\" term=\"x\""), "5:7: not XML: "),
        (with("\"0.9\"", "\"nine\""), "5:7: expected a confidence: a number from 0 to 1 in JSON notation"),
        (with("\"0.9\"", "\"9\""), "5:7: expected a confidence: a number from 0 to 1 in JSON notation"),
        (with("    </subject>", "text</subject>"), "5:51: text is not allowed here"),
        (with("<analysis>", "<!DOCTYPE x [<!ENTITY a \"b\">]><analysis>"), "3:3: a DOCTYPE is not allowed"),
        (with("</analysis>", "</secret>"), "8:3: expected `</analysis>`"),
        (with("</llmResponse>", ""), "9:1: the XML is truncated"),
        (with("</llmResponse>", "</llmResponse> <x/>"), "9:16: expected the end after `</llmResponse>`"),
        // Its content is invalid.
        (with("529-plan\"", "529 plan\""), "5:7: schema_violation: does not match the pattern"),
        (
            with("User asked how to save for college.", "Short."),
            "7:5: schema_violation: fewer characters than minLength 10",
        ),
        (with("A 529 plan is a good start.", " \n "), "2:3: the response is blank (at /response)"),
    ] {
        let error = LlmResponse::from_xml(&bad).expect_err(&bad);
        assert!(error.to_string().starts_with(expected), "{error}\nexpected {expected}\n{bad}");
        assert_eq!(
            matches!(error, XmlError::Check(_)),
            expected.contains("schema_violation") || expected.contains("blank")
        );
    }
    // A million nested elements do not overflow the stack.
    let deep = "<response>".repeat(1_000_000);
    assert!(
        LlmResponse::from_xml(&format!("<llmResponse version=\"1.0.0\" format=\"ollama-structured\">{deep}"))
            .is_err()
    );
    for cut in (0..xml.len()).filter(|at| xml.is_char_boundary(*at)) {
        assert!(LlmResponse::from_xml(&xml[..cut]).is_err(), "cut at {cut}");
    }
}

fn any_text(least: usize, most: usize) -> impl Strategy<Value = String> {
    let character = prop_oneof![
        8 => prop::char::range(' ', '~'),
        2 => prop::sample::select(vec!['<', '>', '&', '"', '\'', ']', '\n', '\r', '\t', '\\', '/', '\u{2028}', '\u{7f}']),
        2 => any::<char>().prop_filter("XML can hold it", |char| *char >= ' ' && !matches!(char, '\u{fffe}' | '\u{ffff}')),
    ];
    prop::collection::vec(character, least..=most).prop_map(String::from_iter)
}

fn any_name() -> impl Strategy<Value = String> {
    prop::collection::vec("[a-z0-9]{2,8}", 1..=5).prop_map(|words| words.join("-"))
}

fn any_confidence() -> impl Strategy<Value = ConfidenceScore> {
    let literal = prop_oneof![
        "0\\.[0-9]{1,20}",
        "[1-9]e-[1-9]",
        "[1-9]\\.[0-9]{1,4}E-0[1-9]",
        Just("0".to_owned()),
        Just("1".to_owned()),
        Just("1.00".to_owned()),
        Just("-0.0".to_owned()),
        Just("10e-1".to_owned()),
    ];
    literal.prop_map(|literal| literal.parse().expect("a number from 0 to 1"))
}

fn any_response() -> impl Strategy<Value = LlmResponse> {
    let keyword =
        (any_name(), any_confidence()).prop_map(|(term, confidence)| LlmKeyword { term, confidence });
    let subject = (any_name(), any_text(10, 60), any::<bool>(), prop::collection::vec(keyword, 0..=10))
        .prop_map(|(name, description, is_new, keywords)| LlmSubject { name, description, is_new, keywords });
    let response = any_text(0, 200).prop_map(|text| text + "x");
    (response, prop::collection::vec(subject, 0..=3), any_text(10, 200)).prop_map(
        |(response, subjects, summary_update)| LlmResponse {
            response,
            analysis: LlmAnalysis { subjects, summary_update },
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn any_response_survives_a_round_trip(reply in any_response()) {
        for json in [reply.to_json(), reply.to_json_pretty()] {
            let checked = check(&json).unwrap_or_else(|error| panic!("{error}: {json}"));
            prop_assert_eq!(&checked.response, &reply);
            let xml = checked.response.to_xml().unwrap();
            let stored = LlmResponse::from_xml(&xml).unwrap_or_else(|error| panic!("{error}: {xml}"));
            prop_assert_eq!(&stored.response, &reply);
            // Literals and order, not only values.
            prop_assert_eq!(stored.response.to_json(), reply.to_json());
            prop_assert_eq!(stored.response.to_xml().unwrap(), xml);
        }
        // An independent JSON parser agrees.
        let theirs: serde_json::Value = serde_json::from_str(&reply.to_json_pretty()).unwrap();
        prop_assert_eq!(serde_json::to_value(&reply).unwrap(), theirs);
    }
}
