//! The further requests: their contents and their bounds.

use serde_json::json;
use tokenline_llm::client::{ReaskOptions, extract};
use tokenline_llm::{ResponseError, ResponseOptions};

use super::calls::seen;
use super::{Item, ONE_WRONG, client_of, list, request, server};
use crate::server::{ScriptedServer, Step, events, head};
use crate::soon;

#[tokio::test]
async fn nothing_is_asked_again_unless_asked_for() {
    let server = ScriptedServer::always(|| events(&list(ONE_WRONG))).await;
    let extracted =
        soon(extract::<Item>(&client_of(&server), request(false)).list()).await.expect("a response");
    assert_eq!((extracted.records.len(), extracted.report.rejected()), (3, 1));
    let again = extract::<Item>(&client_of(&server), request(false)).reask(0);
    assert_eq!(soon(again.list()).await.expect("a response").report.reasks().requests, 0);
    assert_eq!(server.requests(), 2);
}

#[tokio::test]
async fn a_reject_has_the_reason_of_each_request_and_the_same_again_is_the_last() {
    let reject = |text: &'static str, reask: ReaskOptions| async move {
        let again = move |number: usize| events(&list(text.split('|').nth(number - 1).unwrap_or(text)));
        let server = server(list(ONE_WRONG), again).await;
        let extraction = extract::<Item>(&client_of(&server), request(false)).reask(reask);
        let extracted = soon(extraction.list()).await.expect("a response");
        let reject = extracted.report.rejects().next().expect("a reject").clone();
        assert_eq!(reject.message, "invalid type: a string, expected u64");
        assert_eq!(extracted.report.reasks().asked, u64::from(server.requests() > 1));
        (reject.attempts().join("; "), server.requests() - 1)
    };
    let wrong = "invalid type: a string, expected u64 (at /n)";
    assert_eq!(
        reject("{\"id\":1,\"n\":\"x\"}", ReaskOptions::new(3)).await,
        (format!("{wrong}; no more, because the model wrote the same again"), 1)
    );
    assert_eq!(
        reject("No.|{\"id\":1,\"n\":-1}", ReaskOptions::new(2)).await,
        ("the response had no record; invalid value: an integer, expected u64 (at /n)".to_owned(), 2)
    );
    // Without a further request, because the bound is 0; and after one, whose 5 tokens are the bound.
    assert_eq!(
        reject("No.", ReaskOptions::new(2).max_requests(0)).await,
        ("no more, because the limit of requests is reached".to_owned(), 0)
    );
    assert_eq!(
        reject("No.", ReaskOptions::new(2).max_output_tokens(5)).await,
        ("the response had no record; no more, because the limit of output tokens is reached".to_owned(), 1)
    );
}

#[tokio::test]
async fn the_same_text_is_asked_for_once() {
    let wrong = "{\"id\":1,\"n\":\"x\"}\n".repeat(50);
    let server = server(list(&wrong), |_| events(&list("{\"id\":1,\"n\":2}"))).await;
    let extracted = soon(extract::<Item>(&client_of(&server), request(false)).reask(2).list()).await;
    let report = extracted.expect("a response").report;
    assert_eq!((report.records(), report.rejected(), report.reasks().requests), (1, 49, 1));
    let attempts = report.rejects().next().expect("a reject").attempts();
    assert_eq!(attempts, ["not asked again, because the same was asked for before"]);
}

#[tokio::test]
async fn a_further_request_has_the_conversation_or_only_the_item() {
    let sent = |reask: ReaskOptions| async move {
        let server = server(list(ONE_WRONG), |_| events(&list("{\"id\":1,\"n\":2}"))).await;
        let extraction = extract::<Item>(&client_of(&server), request(false).max_tokens(9)).reask(reask);
        assert_eq!(soon(extraction.list()).await.expect("a response").records.len(), 4);
        server.log().requests[1].json()
    };
    let body = sent(ReaskOptions::new(1).model("larger")).await;
    let roles: Vec<_> =
        body["messages"].as_array().expect("messages").iter().map(|its| &its["role"]).collect();
    assert_eq!(roles, ["system", "user", "assistant", "user"]);
    assert_eq!((&body["model"], &body["max_tokens"]), (&json!("larger"), &json!(9)));
    assert_eq!(body["messages"][2]["content"], "{\"id\":1,\"n\":\"x\"}");
    assert_eq!(
        body["messages"][3]["content"],
        "This record was rejected: invalid type: a string, expected u64 (at /n)\n\n\
         Write this one record again, corrected, and nothing else."
    );
    let body = sent(ReaskOptions::new(1).item_only()).await;
    let roles: Vec<_> =
        body["messages"].as_array().expect("messages").iter().map(|its| &its["role"]).collect();
    assert_eq!(roles, ["system", "user"]);
    assert_eq!(body["model"], "m");
    assert!(body["messages"][1]["content"].as_str().expect("text").contains("{\"id\":1,\"n\":\"x\"}"));
}

#[tokio::test]
async fn quotas_count_what_is_decided() {
    let again = |_| events(&list("{\"id\":1,\"n\":2}"));
    // The reject is not final, so that the budget of 0 holds.
    let server = server(list(ONE_WRONG), again).await;
    let extraction =
        extract::<Item>(&client_of(&server), request(false)).with_options(|its| its.error_budget(0));
    let extracted = soon(extraction.reask(1).list()).await.expect("a response");
    assert!(extracted.error.is_none() && extracted.records.len() == 4, "{extracted:?}");
    // Without further requests it is exceeded.
    let server = self::server(list(ONE_WRONG), again).await;
    let extraction =
        extract::<Item>(&client_of(&server), request(false)).with_options(|its| its.error_budget(0));
    let extracted = soon(extraction.list()).await.expect("a response");
    assert!(matches!(extracted.error, Some(ResponseError::TooManyRejected(_))), "{extracted:?}");
    assert_eq!((extracted.records.len(), server.requests()), (1, 1));
    let server = self::server(list(ONE_WRONG), again).await;
    let extraction =
        extract::<Item>(&client_of(&server), request(false)).with_options(|its| its.max_records(2));
    let extracted = soon(extraction.reask(ReaskOptions::new(1).in_place()).list()).await.expect("a response");
    let ids: Vec<_> = extracted.records.iter().map(|record| record.value.id).collect();
    assert_eq!((ids, extracted.report.records()), (vec![0, 1], 2));
}

#[tokio::test]
async fn a_hook_comes_first_and_what_it_cannot_repair_is_asked_for() {
    let lines = "{\"id\":0,\"n\":NaN}\n{\"id\":1,\"n\":\"x\"}\n";
    let server = server(list(lines), |_| events(&list("{\"id\":1,\"n\":2}"))).await;
    let options =
        |options: ResponseOptions| options.repair(|rejected| Some(rejected.text.replace("NaN", "7")));
    assert_eq!(seen(&server, false, options).await, ["record 0", "record 1"]);
    assert_eq!(server.requests(), 2);
}

#[tokio::test]
async fn only_so_many_are_in_flight() {
    let lines: String = (0..9).map(|id| format!("{{\"id\":{id},\"n\":\"x\"}}\n")).collect();
    let server = server(list(&lines), |_| vec![head("text/event-stream"), Step::Hold]).await;
    let extraction =
        extract::<Item>(&client_of(&server), request(false)).reask(ReaskOptions::new(1).max_in_flight(2));
    let mut items = soon(extraction.send()).await.expect("a response").records();
    let read = tokio::time::timeout(std::time::Duration::from_millis(300), items.next());
    assert!(read.await.is_err(), "all further requests are open");
    assert_eq!(server.requests(), 1 + 2);
}

#[tokio::test]
async fn another_client_is_asked() {
    let (first, larger) = (
        server(list(ONE_WRONG), |_| Vec::new()).await,
        server(list("{\"id\":1,\"n\":2}"), |_| Vec::new()).await,
    );
    let reask = ReaskOptions::new(1).client(client_of(&larger)).model("larger");
    let extraction = extract::<Item>(&client_of(&first), request(false)).reask(reask);
    assert_eq!(soon(extraction.list()).await.expect("a response").records.len(), 4);
    assert_eq!((first.requests(), larger.requests()), (1, 1));
    assert_eq!(larger.log().requests[0].json()["model"], "larger");
}
