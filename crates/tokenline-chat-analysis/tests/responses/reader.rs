//! A response in pieces: the same at any cut; if cut off, an error with the received part.

use std::convert::Infallible;

use crate::common::{EXAMPLE_JSON, valid_response, with};
use futures_util::{StreamExt, stream};
use tokenline_chat_analysis::{
    AnalysisError, AnalysisEvent, AnalysisStream, CheckError, Checked, ConfidenceScore, Received,
    ResponseReader, check,
};

/// The items of a reader: the shown pieces, and the end.
fn read<'a>(pieces: impl IntoIterator<Item = &'a str>) -> (Vec<String>, Result<Checked, CheckError>) {
    let mut reader = ResponseReader::new();
    let mut shown = Vec::new();
    for piece in pieces {
        match reader.push(piece) {
            Ok(text) => shown.push(text.to_owned()),
            Err(error) => {
                assert_eq!(reader.push("more").unwrap_err(), error, "a fault stays");
                assert_eq!(reader.finish().unwrap_err(), error);
                return (shown, Err(error));
            }
        }
    }
    assert_eq!(reader.response(), shown.concat());
    (shown, reader.finish())
}

fn replies() -> Vec<String> {
    let escapes = "A \\\"quoted\\\" word, a tab\\t, \\u00e9, \\ud83c\\udf93 and \\\\ in a row.\\n";
    vec![
        valid_response().to_string(),
        EXAMPLE_JSON.to_owned(),
        with("/response", "X").replace("\"X\"", &format!("\"{escapes}\"")),
        with("/response", "Ünïcödé — 🎓 日本語"),
        format!("Sure:\n```json\n{EXAMPLE_JSON}\n```\n"),
        format!("Use {{curly}} braces: {}", valid_response()),
        format!("As in [1]\n{}\n[2, 3]\n", valid_response()),
        format!("<think>\nHm. {{\"response\": \"no\"}}\n</think>\n{}", valid_response()),
    ]
}

#[test]
fn at_any_cut_the_same_is_shown() {
    for text in replies() {
        let whole = check(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
        for cut in (0..=text.len()).filter(|at| text.is_char_boundary(*at)) {
            let (shown, end) = read([&text[..cut], &text[cut..]]);
            assert_eq!(shown.concat(), whole.response.response, "cut at {cut}");
            assert_eq!(end.as_ref(), Ok(&whole), "cut at {cut}");
        }
        let characters: Vec<_> = text.split_inclusive(|_| true).collect();
        let (shown, end) = read(characters);
        assert_eq!(shown.concat(), whole.response.response);
        assert_eq!(end, Ok(whole));
    }
}

#[test]
fn the_response_is_shown_while_it_grows() {
    let (shown, end) = read([
        "{\"response\": \"A 529",
        " plan\\u00",
        "e9 \\ud83c",
        "\\udf93 is",
        " it.\", \"analysis\"",
        ": {\"subjects\": [], ",
        "\"summaryUpdate\": \"Nothing but savings.\"}}",
    ]);
    assert_eq!(shown, ["A 529", " plan", "é ", "🎓 is", " it.", "", ""]);
    end.unwrap();
    // In any order of the members.
    let mut late = valid_response().as_object().unwrap().clone();
    let response = late.remove("response").unwrap();
    late.insert("response".to_owned(), response);
    let text = serde_json::to_string(&late).unwrap();
    let (shown, end) = read([text.as_str()]);
    assert_eq!(shown.concat(), end.unwrap().response.response);
    // Other members with this name are not shown.
    let inner = "{\"analysis\":{\"response\":\"no\",\"subjects\":[],\"summaryUpdate\":\"Nothing but savings.\"},\"response\":\"yes\"}";
    assert_eq!(read([inner]).0, ["yes"]);
}

#[test]
fn a_truncated_response_is_an_error_with_the_received_part() {
    // A brace in the text is an error of its own, if nothing follows it.
    for text in replies().into_iter().filter(|text| !text.contains("{curly}")) {
        let whole = check(&text).unwrap().response.response;
        let last = text.rfind('}').unwrap();
        for cut in (0..=last).filter(|at| text.is_char_boundary(*at)) {
            let (shown, end) = read([&text[..cut]]);
            let error = end.expect_err("it is cut");
            let received: &Received = error.received().unwrap_or_else(|| panic!("{error:?} at {cut}"));
            assert_eq!(received.text, text[..cut]);
            assert_eq!(received.response, shown.concat());
            assert!(whole.starts_with(&received.response));
        }
    }
    let cut = "{\n  \"response\": \"A 529 plan is\", \"analysis\": {\"subj";
    let error = check(cut).unwrap_err();
    assert_eq!(
        error.to_string(),
        "2:50: truncated: expected the rest of the string, found the end of the input"
    );
    assert_eq!(error.received().unwrap().response, "A 529 plan is");
}

#[test]
fn an_object_cut_off_before_its_first_member() {
    for cut in ["{", "{\n", "{ \n\n", "Sure:\n```json\n{\n"] {
        let error = check(cut).unwrap_err();
        assert!(matches!(error, CheckError::Truncated { .. }), "{error:?}");
        assert!(error.to_string().ends_with("found the end of the input"), "{error}");
    }
}

#[test]
fn endless_responses_are_rejected() {
    let mut reader = ResponseReader::new();
    let piece = "and so on ".repeat(1000);
    let error = (0..2000).find_map(|_| reader.push(&piece).err()).expect("an end");
    assert!(matches!(error, CheckError::TooLarge(_)), "{error:?}");
    assert!(error.received().is_some_and(|received| received.text.len() > 8_000_000));
}

fn pieces(text: &str, size: usize) -> Vec<Result<String, Infallible>> {
    text.chars().collect::<Vec<_>>().chunks(size).map(|piece| Ok(piece.iter().collect())).collect()
}

#[tokio::test(flavor = "current_thread")]
async fn a_stream_yields_the_text_and_then_the_response() {
    let text = with("/response", "word ".repeat(1500));
    // More silent pieces than one poll reads.
    let events: Vec<_> = AnalysisStream::new(stream::iter(pieces(&text, 1))).collect().await;
    let whole = check(&text).unwrap();
    let (last, texts) = events.split_last().unwrap();
    assert_eq!(*last, Ok(AnalysisEvent::Response(whole.clone())));
    let shown: String = texts
        .iter()
        .map(|event| match event {
            Ok(AnalysisEvent::Text(text)) if !text.is_empty() => text.as_str(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(shown, whole.response.response);
}

#[tokio::test(flavor = "current_thread")]
async fn a_failed_source_is_an_error_with_the_received_part() {
    let source = stream::iter([
        Ok("{\"response\": \"A 529 "),
        Ok("plan\", \"ana"),
        Err("gone"),
        Ok("never asked for"),
    ]);
    let mut reply = AnalysisStream::new(source);
    assert_eq!(reply.next().await, Some(Ok(AnalysisEvent::Text("A 529 ".to_owned()))));
    assert_eq!(reply.received().unwrap().response, "A 529 ");
    assert_eq!(reply.next().await, Some(Ok(AnalysisEvent::Text("plan".to_owned()))));
    let Some(Err(AnalysisError::Source { error, received })) = reply.next().await else { panic!() };
    assert_eq!((error, received.text.as_str()), ("gone", "{\"response\": \"A 529 plan\", \"ana"));
    assert_eq!(received.response, "A 529 plan");
    assert_eq!(reply.next().await, None);
}

#[tokio::test(flavor = "current_thread")]
async fn the_first_error_ends_a_stream() {
    let faulty = with("/analysis/summaryUpdate", "short");
    let text = "A 529 plan is a good start.".to_owned();
    let source = stream::iter([Ok::<_, Infallible>(faulty + "\n"), Ok("{}".to_owned())]);
    let mut reply = AnalysisStream::new(source);
    let mut events = Vec::new();
    while let Some(event) = reply.next().await {
        events.push(event);
    }
    // The text in the same piece is shown.
    let [shown, Err(AnalysisError::Check(CheckError::Invalid(_)))] = &events[..] else {
        panic!("{events:?}")
    };
    assert_eq!(*shown, Ok(AnalysisEvent::Text(text)));
}

#[test]
fn confidences_keep_their_literals() {
    let confidence = |literal: &str| literal.parse::<ConfidenceScore>();
    assert_eq!(confidence("0.90").unwrap().to_string(), "0.90");
    for bad in ["", " 0.9", "0.9 ", "+0.9", ".9", "1.", "true", "\"0.9\"", "NaN", "1.0001", "-0.1", "[0]"] {
        assert!(confidence(bad).is_err(), "{bad}");
    }
    assert_eq!(ConfidenceScore::try_from(0.5).unwrap().as_str(), "0.5");
    assert!(ConfidenceScore::try_from(f64::NAN).is_err() && ConfidenceScore::try_from(1.5).is_err());
    let reply = check(EXAMPLE_JSON).unwrap().response;
    let value = serde_json::to_value(&reply).unwrap();
    assert_eq!(value, serde_json::from_str::<serde_json::Value>(EXAMPLE_JSON).unwrap());
    let again: tokenline_chat_analysis::LlmResponse = serde_json::from_value(value).unwrap();
    assert_eq!(again.analysis.subjects[0].keywords[2].confidence.as_str(), "0.9");
}
