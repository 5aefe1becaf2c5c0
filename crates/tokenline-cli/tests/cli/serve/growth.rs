//! The events that a page receives while a response grows.

use super::*;

/// Applies a step of the open record to a value, as a page does.
fn apply(step: &Value, path: &mut Vec<String>, root: &mut Value) {
    let depth = step["depth"].as_u64().expect("a depth") as usize;
    if let Some(key) = step.get("key") {
        path.truncate(depth - 1);
        let key = key.as_str().map_or_else(|| key.to_string(), str::to_owned);
        path.push(key.replace('~', "~0").replace('/', "~1"));
    }
    let opened = |kind: &Value| match kind.as_str() {
        Some("object") => json!({}),
        Some("array") => json!([]),
        _ => json!(""),
    };
    let value = match step["op"].as_str().expect("an op") {
        "open" => opened(&step["kind"]),
        "set" => step["value"].clone(),
        "append" => {
            let pointer: String = path[..depth].iter().map(|key| format!("/{key}")).collect();
            let Some(Value::String(text)) = root.pointer_mut(&pointer) else {
                panic!("no string at {pointer}")
            };
            *text += step["text"].as_str().expect("a text");
            return;
        }
        _ => return,
    };
    if depth == 0 {
        path.clear();
        *root = value;
        return;
    }
    let (key, parents) = path.split_last().expect("a key");
    let pointer: String = parents.iter().map(|key| format!("/{key}")).collect();
    match root.pointer_mut(&pointer) {
        Some(Value::Object(members)) => {
            members.insert(key.replace("~1", "/").replace("~0", "~"), value);
        }
        Some(Value::Array(elements)) => elements.push(value),
        other => panic!("no container at {pointer}: {other:?}"),
    }
}

#[tokio::test]
async fn a_recording_is_shown_as_it_grows() {
    let page = Page::start();
    for chunk_size in [0, 1, 7, 4096, 1 << 20] {
        let events = page.events(&recorded("mixed", chunk_size)).await;
        let ids: Vec<u64> = events.iter().map(|event| event.id).collect();
        assert_eq!(ids, (1..=events.len() as u64).collect::<Vec<_>>());
        assert_eq!((&*events[0].name, &*events[events.len() - 1].name), ("start", "done"));

        let records = named(&events, "record");
        assert_eq!(records.len(), 8);
        let (mut path, mut open, mut grown) = (Vec::new(), Value::Null, 0);
        for event in &events {
            match &*event.name {
                "partial" => apply(&event.data, &mut path, &mut open),
                "record" => {
                    assert_eq!(open, event.data["value"]);
                    grown += 1;
                }
                _ => {}
            }
        }
        assert_eq!(grown, 8);
        let text: String =
            named(&events, "delta").iter().map(|delta| delta["text"].as_str().expect("a text")).collect();
        for record in &records {
            let (start, end) = (record["start"].as_u64().unwrap(), record["end"].as_u64().unwrap());
            let value: Value = serde_json::from_str(&text[start as usize..end as usize]).expect("the record");
            assert_eq!(value, record["value"]);
        }
        let done = named(&events, "done")[0];
        assert_eq!(
            (&done["status"], &done["records"], &done["rejected"]),
            (&json!("complete"), &json!(8), &json!(0))
        );
        let usage = named(&events, "usage");
        let last = usage.last().expect("at the end");
        assert_eq!((&last["output_tokens"], &last["bytes_received"]), (&json!(322), &json!(text.len())));
    }
}

#[tokio::test]
async fn tool_calls_grow_and_a_cut_record_is_rejected_with_its_text() {
    let page = Page::start();
    let events = page.events(&recorded("tool-calls", 0)).await;
    let calls = named(&events, "tool_call");
    assert_eq!(calls.len(), 2);
    for (number, call) in (1..).zip(calls) {
        assert_eq!(call["call"], number);
        let steps: Vec<&Value> =
            named(&events, "partial").into_iter().filter(|step| step["call"] == number).collect();
        assert_eq!(steps[0]["name"], call["value"]["name"]);
        let arguments: String =
            steps[1..].iter().map(|step| step["text"].as_str().expect("a text")).collect();
        let arguments: Value = serde_json::from_str(&arguments).expect("all of them");
        assert_eq!(arguments, call["value"]["parameters"]);
        assert!(steps.len() > 5, "{steps:?}");
    }

    let events = page.events(&recorded("reasoning", 0)).await;
    let reasoning = named(&events, "delta").into_iter().filter(|delta| delta["kind"] == "reasoning");
    assert_eq!(reasoning.count(), 8);

    let events = page.events(&recorded("truncated", 0)).await;
    let rejected = named(&events, "rejected");
    assert_eq!(rejected.len(), 1);
    assert_eq!(rejected[0]["code"], "truncated");
    assert_eq!(rejected[0]["text"], "{\"entity\": \"Baked Pork Rib");

    let events = page.events(&recorded("tool-calls-in-text", 0)).await;
    assert_eq!(named(&events, "tool_call").len(), 4);
}

#[tokio::test]
async fn a_schema_of_the_page_rejects_and_says_where() {
    let page = Page::start();
    let mut request = recorded("definitions", 0);
    request["schema"] = json!({"properties": {"entity": {"maxLength": 3}}});
    let events = page.events(&request).await;
    assert_eq!((named(&events, "record").len(), named(&events, "rejected").len()), (2, 6));
    let rejected = named(&events, "rejected")[0];
    assert_eq!(rejected["instance_path"], "/entity");
    assert!(rejected["text"].as_str().expect("a text").starts_with("{\"type\": \"definition\""));
}

/// A block that begins again, and many choices: positions are those of each text.
#[tokio::test]
async fn the_text_of_a_reject_is_that_at_its_place() {
    let event = |choice: usize, text: &str| {
        format!("data: {}\n\n", json!({"choices": [{"index": choice, "delta": {"content": text}}]}))
    };
    let mut body: String = event(0, "{\"zero\": 1");
    body.extend((1..20).map(|choice| event(choice, &format!("{{\"n\": {choice}, bad}}\n"))));
    body += &event(0, ", bad} tail tail\n");
    let server = serve(Recording::new("m", body + STOP)).await;
    let events = Page::of(Some(&server)).events(&request()).await;
    let rejected = named(&events, "rejected");
    assert_eq!(rejected.len(), 20);
    for reject in rejected {
        let choice = reject.get("choice").and_then(Value::as_u64).unwrap_or(0);
        match reject["text"].as_str() {
            Some(text) => assert_eq!(text, format!("{{\"n\": {choice}, bad}}")),
            // Dropped for others, or about the whole response.
            None => assert!(choice == 0, "{reject}"),
        }
    }
}

#[tokio::test]
async fn calls_have_their_own_numbers() {
    let call = |index: usize, id: &str, arguments: &str| {
        let call = json!({"index": index, "id": id, "function": {"name": "ls", "arguments": arguments}});
        format!("data: {}\n\n", json!({"choices": [{"index": 0, "delta": {"tool_calls": [call]}}]}))
    };
    let body = call(0, "same", "{\"path\":\"a\"}") + &call(1, "same", "{\"path\":\"b\"}") + STOP;
    let server = serve(Recording::new("m", body)).await;
    let mut request = request();
    request["tools"] = json!([{"name": "ls", "parameters": {"required": ["path"]}}]);
    let events = Page::of(Some(&server)).events(&request).await;
    let calls: Vec<_> = named(&events, "tool_call")
        .iter()
        .map(|call| (call["call"].clone(), call["value"]["parameters"]["path"].clone()))
        .collect();
    assert_eq!(calls, [(json!(1), json!("a")), (json!(2), json!("b"))]);
}

#[tokio::test]
async fn calls_in_the_text_are_read_if_the_request_says_so() {
    let calls = "<tool_call>{\"name\":\"ls\",\"arguments\":{\"path\":\"a\"}}</tool_call>\n\
                 {\"name\":\"ls\",\"arguments\":{\"path\":\"b\"}}\n";
    let body = chat(calls.split_inclusive(' ').map(str::to_owned), STOP);
    let server = serve(Recording::new("m", body)).await;
    let mut request = request();
    request["tools"] = json!([{"name": "ls", "parameters": {"required": ["path"]}}]);
    for (call_format, called, noted) in [(None, 0, 2), (Some("auto"), 2, 0), (Some("hermes"), 1, 0)] {
        request["call_format"] = json!(call_format);
        let events = Page::of(Some(&server)).events(&request).await;
        let notes = named(&events, "note").iter().filter(|note| note["code"] == "call_in_text").count();
        let found = (named(&events, "tool_call").len(), notes);
        assert_eq!(found, (called, noted), "{call_format:?}: {events:?}");
    }
}
