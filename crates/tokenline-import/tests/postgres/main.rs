//! Rows of a real PostgreSQL server.

mod resume;
mod server;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tokenline_conversations::{ConversationValidator, Profile};
use tokenline_import::{ErrorKind, ImportReport, Importer, Mapping, Output, PostgresSource};

use server::{PASSWORD, Server};

const MAPPING: &str = "
    conversation-id = 'thread'
    user-id = 'customer'
    timestamp = 'sent_at'
    role = 'author'
    content = 'body'

    [metadata]
    score = '/extra/score'
";

fn mapping(toml: &str) -> Mapping {
    toml::from_str(toml).unwrap()
}

/// Messages in interleaved conversations, some of which have odd rows.
async fn fill(server: &Server, rows: u64, conversations: u64, body_len: u64) {
    let sql = format!(
        "CREATE TABLE messages (id bigint PRIMARY KEY, thread text, customer text, sent_at timestamptz, author text,
             body text, extra jsonb);
         INSERT INTO messages
         SELECT i * 3, CASE WHEN i % 5003 = 7 THEN NULL ELSE 'thread ' || (i * 7919 % {conversations}) END,
             'user ' || (i * 7919 % {conversations}) % 97,
             CASE WHEN i % 7001 = 11 THEN 'infinity' ELSE '2026-01-01T00:00:00Z'::timestamptz + i * interval '1.5 ms' END,
             CASE WHEN i % 9001 = 13 THEN 'nobody' WHEN i % 2 = 0 THEN 'human' ELSE 'bot' END,
             repeat('Text \"' || i || E'\"\\n', {body_len}),
             CASE WHEN i % 3 = 0 THEN jsonb_build_object('score', i) END
         FROM generate_series(1, {rows}) AS i;
         ANALYZE messages"
    );
    server.execute(&sql).await;
}

/// The expected output of the importer, computed from text rows.
async fn expected(server: &Server) -> String {
    let sql = "SELECT thread, customer, extract(epoch FROM sent_at), to_char(sent_at AT TIME ZONE 'UTC',
        'YYYY-MM-DD\"T\"HH24:MI:SS.US'), author, body, extra ->> 'score' FROM messages ORDER BY id";
    let mut conversations: BTreeMap<String, Vec<Vec<String>>> = BTreeMap::new();
    for row in server.rows(sql).await {
        if row[0].is_some() {
            let row: Vec<_> = row.into_iter().map(Option::unwrap_or_default).collect();
            conversations.entry(row[0].clone()).or_default().push(row);
        }
    }
    let mut lines = String::new();
    for (id, mut rows) in conversations {
        if rows.iter().any(|row| row[2] == "Infinity" || row[4] == "nobody") {
            continue;
        }
        rows.sort_by_key(|row| row[2].replace('.', "").parse::<u64>().unwrap());
        let time = rows[0][3].trim_end_matches('0').trim_end_matches('.');
        let message = |row: &Vec<String>| {
            let role = if row[4] == "human" { "user" } else { "assistant" };
            format!(r#"{{"role":"{role}","content":{}}}"#, json!(row[5]))
        };
        let messages: Vec<_> = rows.iter().map(message).collect();
        let score = rows.iter().find(|row| !row[6].is_empty());
        let metadata = score.map_or("{}".to_owned(), |row| format!(r#"{{"score":{}}}"#, row[6]));
        lines += &format!(
            "{{\"conversation_id\":{},\"user_id\":{},\"timestamp\":\"{time}Z\",\"messages\":[{}],\"metadata\":{metadata}}}\n",
            json!(id),
            json!(rows[0][1]),
            messages.join(",")
        );
    }
    lines
}

fn source(server: &Server) -> PostgresSource {
    let source = PostgresSource::new(&server.url(), "SELECT * FROM messages").unwrap();
    source.key("id")
}

async fn import(source: &PostgresSource, toml: &str, is_grouped: bool) -> (String, ImportReport) {
    let mut output = Vec::new();
    let importer = Importer::new(&mapping(toml), Output::writer(&mut output)).unwrap();
    let mut importer = importer.grouped(is_grouped);
    source.read(&mut importer).await.unwrap();
    let report = importer.finish().unwrap();
    validate(&output);
    (String::from_utf8(output).unwrap(), report)
}

fn validate(output: &[u8]) {
    let mut validator = ConversationValidator::new(Profile::Strict);
    validator.push(output);
    let validation = validator.finish().unwrap();
    assert!(validation.is_valid || output.is_empty(), "{:?}", validation.errors);
}

/// The error of an import into nowhere.
async fn error(source: &PostgresSource, toml: &str) -> tokenline_import::ImportError {
    let mut importer = Importer::new(&mapping(toml), Output::writer(std::io::sink())).unwrap();
    let error = source.read(&mut importer).await.unwrap_err();
    assert!(!format!("{error} {error:?} {source:?}").contains(PASSWORD), "{error}");
    error
}

#[tokio::test]
async fn values_of_all_types_are_read() {
    let server = Server::start();
    server
        .execute(
            "CREATE TYPE mood AS ENUM ('fine', 'bad');
             CREATE TYPE pair AS (a int, b text);
             CREATE DOMAIN score AS numeric(6, 2);
             CREATE TABLE v (
                 id uuid, i2 int2, i4 int4, i8 int8, f4 float4, f8 float8, nan float8, num numeric, big numeric,
                 points score, t text, vc varchar(9), c char(9), n name, flag boolean, mood mood, tz timestamptz,
                 ts timestamp, d date, far date, j json, jb jsonb, texts text[], ints int[][], pair pair, ip inet,
                 span interval, raw bytea, nothing text);
             INSERT INTO v VALUES (
                 '123e4567-e89b-12d3-a456-426614174000', -32768, 2147483647, -9223372036854775808, 0.1, 1e300, 'NaN',
                 -12345.6700, 123456789012345678901234567890.000001, 7.5, 'é\"\u{1f600}', 'vc', 'c', 'n', true, 'bad',
                 '2026-02-10 12:34:56.789+02', '2026-02-10 12:34:56.5', '2026-02-10', 'infinity', '{\"b\": [1.50, null]}',
                 '{\"x\": {\"y/z\": [1, \"two\"]}}', '{a,NULL,\"b,c\"}', '{{1,2},{3,4}}', ROW(1, 'x'), '10.0.0.1',
                 '1 day 02:03', '\\xdead', NULL)",
        )
        .await;
    let columns = [
        ("i2", json!(-32768)),
        ("i4", json!(2147483647)),
        ("i8", json!(-9223372036854775808_i64)),
        ("f4", json!(0.1)),
        ("f8", json!(1e300)),
        ("nan", json!("NaN")),
        ("num", json!("-12345.6700")),
        ("big", json!("123456789012345678901234567890.000001")),
        ("points", json!("7.50")),
        ("t", json!("é\"\u{1f600}")),
        ("vc", json!("vc")),
        ("c", json!("c")),
        ("n", json!("n")),
        ("flag", json!(true)),
        ("mood", json!("bad")),
        ("tz", json!("2026-02-10T10:34:56.789Z")),
        ("ts", json!("2026-02-10T12:34:56.5")),
        ("d", json!("2026-02-10")),
        ("far", json!("infinity")),
        ("j", json!({ "b": [1.5, null] })),
        ("jb", json!({ "x": { "y/z": [1, "two"] } })),
        ("/jb/x/y~1z/1", json!("two")),
        ("texts", json!(["a", null, "b,c"])),
        ("ints", json!([[1, 2], [3, 4]])),
        ("pair", json!({ "a": 1, "b": "x" })),
        ("ip", json!("10.0.0.1/32")),
        ("span", json!("1 day 02:03:00")),
        ("raw", json!("\\xdead")),
    ];
    let metadata: String = columns.iter().map(|(name, _)| format!("'{name}' = '{name}'\n")).collect();
    let toml = format!(
        "conversation-id = 'id'\nuser-id = 'mood'\ntimestamp = 'd'\ntime-zone = 'Europe/Berlin'\nrole = '/jb/role'\n\
         content = 't'\n[metadata]\nnothing = 'nothing'\nmissing = '/j/missing'\n{metadata}"
    );
    // The role is missing.
    let source = PostgresSource::new(&server.url(), "TABLE v; ").unwrap();
    let (output, report) = import(&source, &toml, false).await;
    assert_eq!(
        (output.as_str(), report.errors[0].to_string().split(": ").nth(2)),
        ("", Some("missing_role"))
    );
    assert_eq!(report.errors[0].column.as_deref(), Some("/jb/role"));

    let toml = toml.replace("'/jb/role'", "'role'");
    let query = "SELECT *, 'user' AS role FROM v -- a comment";
    let (output, _) = import(&PostgresSource::new(&server.url(), query).unwrap(), &toml, false).await;
    let line: Value = serde_json::from_str(&output).unwrap();
    assert_eq!(line["conversation_id"], "123e4567-e89b-12d3-a456-426614174000");
    assert_eq!(line["timestamp"], "2026-02-09T23:00:00Z");
    assert_eq!(line["metadata"].as_object().unwrap().len(), columns.len());
    for (name, expected) in columns {
        assert_eq!(line["metadata"][name], expected, "{name}");
    }
    assert!(output.contains(r#"{"b": [1.50, null]}"#), "numbers keep their digits: {output}");
}

#[tokio::test]
async fn what_does_not_fit_is_an_error_or_a_reject() {
    let server = Server::start();
    server
        .execute(
            "CREATE TABLE m (id int, thread text, customer text, sent_at timestamptz, author text, body text, extra json);
             INSERT INTO m VALUES (1, 'a', 'u', 'infinity', 'user', 'x', NULL), (2, 'b', 'u', now(), 'user', 'x',
                 '{\"score\":1,\"score\":2}'), (3, 'c', 'u', now(), 'user', 'x', '{\"score\":1}'),
                 (3, 'd', 'u', now(), 'user', 'x', '{}'), (NULL, 'e', 'u', now(), 'user', 'x', '{}')",
        )
        .await;
    let query = "SELECT * FROM m";
    let new = |url: &str, query: &str| PostgresSource::new(url, query).unwrap();
    let name = new(&server.url(), query).name().to_owned();

    let (output, report) = import(&new(&server.url(), query), MAPPING, false).await;
    assert_eq!(output.lines().count(), 3);
    let rejects: Vec<_> = report.errors.iter().map(ToString::to_string).collect();
    assert_eq!(
        rejects,
        [
            format!("{name}: row 1: invalid_timestamp: the time cannot be read (column sent_at)"),
            format!("{name}: row 2: malformed_row: the value cannot be read (column /extra/score)"),
        ]
    );
    assert_eq!(report.rejected_conversation_count, 2);

    let columns = "its columns are id, thread, customer, sent_at, author, body, extra";
    for (query, toml, expected) in [
        (
            query,
            MAPPING.replace("author", "autor"),
            format!("the query of {name} has no column `autor`; {columns}"),
        ),
        (
            query,
            MAPPING.replace("/extra", "/other"),
            format!("the query of {name} has no column `/other/score`; {columns}"),
        ),
        (
            query,
            MAPPING.replace("/extra", "/body"),
            format!("the column `/body/score` points into `body` of {name}, which is not JSON but text"),
        ),
    ] {
        let error = error(&new(&server.url(), query), &toml).await;
        assert_eq!((error.kind(), error.to_string()), (ErrorKind::Mapping, expected));
    }
    for (key, expected) in [
        ("number", format!("the query of {name} has no column `number`; {columns}")),
        (
            "id",
            format!(
                "row 4 of {name} has the same value in the key `id` as the row before: use a column that is unique"
            ),
        ),
    ] {
        let error = error(&new(&server.url(), query).key(key), MAPPING).await;
        assert_eq!((error.kind(), error.to_string()), (ErrorKind::Mapping, expected));
    }
    let null = new(&server.url(), "SELECT * FROM m WHERE thread <> 'd'").key("id");
    assert!(error(&null, MAPPING).await.to_string().contains("row 4 of"), "null keys come last");

    let wrong = server.url_with("wr0ng");
    for (url, query, expected) in [
        (&server.url(), "SELECT * FROM missing", "relation \"missing\" does not exist"),
        (&server.url(), "DELETE FROM m RETURNING *", "syntax error"),
        (&wrong, query, "password authentication failed for user \"reader\""),
    ] {
        let error = error(&new(url, query), MAPPING).await;
        assert!(error.to_string().starts_with(&format!("cannot read {name}: ")), "{error}");
        assert!(error.to_string().contains(expected) && !error.to_string().contains("wr0ng"), "{error}");
    }
    server.execute("CREATE FUNCTION f() RETURNS SETOF m LANGUAGE sql AS 'DELETE FROM m RETURNING *'").await;
    let error = error(&new(&server.url(), "SELECT * FROM f()"), MAPPING).await;
    assert!(error.to_string().contains("in a read-only transaction"), "{error}");

    let (folder, port) = server.socket();
    let socket =
        format!("host={} port={port} user=reader password='{PASSWORD}' dbname=postgres", folder.display());
    assert_eq!(import(&new(&socket, query), MAPPING, false).await.0, output);
    server.end("QUIT");
    let gone = new(&server.url(), query).retry_for(Duration::from_secs(60));
    let error = self::error(&gone, MAPPING).await;
    assert!(
        error.to_string().contains("Connection refused"),
        "the first connection is not tried again: {error}"
    );
}

#[tokio::test]
async fn conversations_are_those_of_the_rows() {
    let server = Server::start();
    fill(&server, 30_000, 1000, 2).await;
    let expected = expected(&server).await;
    assert!(expected.lines().count() > 900);
    let estimate = Arc::new(AtomicU64::new(0));
    let noted = Arc::clone(&estimate);
    let source_with_estimate = source(&server).on_total(move |rows| noted.store(rows, Ordering::Relaxed));
    let (ungrouped, report) = import(&source_with_estimate, MAPPING, false).await;
    assert_eq!(ungrouped, expected);
    assert_eq!(estimate.load(Ordering::Relaxed), 30_000);
    assert_eq!((report.row_count, report.rejects_by_code.len()), (30_000, 3));
    let (grouped, grouped_report) = import(&source(&server), MAPPING, true).await;
    assert_eq!(grouped, expected);
    assert_eq!(grouped_report.rejects_by_code, report.rejects_by_code);
    // Without a key, and in the order of the query itself.
    let url = server.url();
    let ordered = PostgresSource::new(&url, "SELECT * FROM messages").unwrap();
    assert_eq!(import(&ordered, MAPPING, true).await.0, expected);
    let ordered = PostgresSource::new(&url, "SELECT * FROM messages ORDER BY thread, sent_at").unwrap();
    assert_eq!(import(&ordered, MAPPING, true).await.0, expected);

    // Interrupted while the server has no rows yet.
    let flag = Arc::new(AtomicBool::new(false));
    let mut importer = Importer::new(&mapping(MAPPING), Output::writer(std::io::sink())).unwrap();
    importer = importer.interrupted_by(Arc::clone(&flag));
    let slow = PostgresSource::new(&url, "SELECT * FROM messages, pg_sleep(60)").unwrap();
    std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(300));
        flag.store(true, Ordering::Relaxed);
    });
    let error =
        tokio::time::timeout(Duration::from_secs(20), slow.read(&mut importer)).await.unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Interrupted);
}

#[tokio::test]
async fn connections_are_encrypted_as_the_url_says() {
    let server = Server::start();
    let query =
        "SELECT ssl::text AS thread, 'u' AS customer, now() AS sent_at, 'user' AS author, 'x' AS body,
        '{}'::jsonb AS extra FROM pg_stat_ssl WHERE pid = pg_backend_pid()";
    let source = |url: &str| PostgresSource::new(url, query);
    let is_encrypted = async |url: &str| {
        let output = import(&source(url).unwrap(), MAPPING, false).await.0;
        output.starts_with("{\"conversation_id\":\"true\"")
    };
    let url = server.url();
    let by_name = url.replace("127.0.0.1", "localhost");
    assert!(!is_encrypted(&url).await);
    let refused = error(&source(&format!("{url}?sslmode=require")).unwrap(), MAPPING).await;
    assert!(refused.to_string().contains("server does not support TLS"), "{refused}");
    let certificate = server.encrypt().display().to_string().replace('/', "%2F");
    assert!(is_encrypted(&url).await);
    assert!(!is_encrypted(&format!("{url}?sslmode=disable")).await);
    assert!(is_encrypted(&format!("{url}?sslmode=require")).await);
    assert!(is_encrypted(&format!("{url}?sslmode=verify-ca&sslrootcert={certificate}")).await);
    assert!(is_encrypted(&format!("{by_name}?sslmode=verify-full&sslrootcert={certificate}")).await);
    for options in
        [format!("verify-full&sslrootcert={certificate}"), "verify-full".to_owned(), "verify-ca".to_owned()]
    {
        // The certificate is not that of the address, or not one that the system trusts.
        match source(&format!("{url}?sslmode={options}")) {
            Ok(source) => {
                let refused = error(&source, MAPPING).await;
                assert!(refused.to_string().contains("invalid peer certificate"), "{options}: {refused}");
            }
            Err(error) => assert!(error.to_string().contains("no root certificates"), "{error}"),
        }
    }
}

/// The future can run on any thread.
#[test]
fn reading_can_move_between_threads() {
    fn is_send(_: &impl Send) {}
    let source = PostgresSource::new("postgres://nobody@localhost/none", "SELECT 1").unwrap();
    let mut importer = Importer::new(&mapping(MAPPING), Output::writer(std::io::sink())).unwrap();
    is_send(&source.read(&mut importer));
}

/// A collation that ignores the case, for the keys and the conversations.
#[tokio::test]
async fn texts_that_differ_in_case_are_different() {
    let server = Server::start();
    server
        .execute(
            "CREATE COLLATION ci (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
             CREATE TABLE messages (id text COLLATE ci, thread text COLLATE ci, customer text, sent_at timestamptz,
                 author text, body text, extra jsonb);
             INSERT INTO messages
             SELECT CASE WHEN i % 2 = 0 THEN 'k' ELSE 'K' END || i / 2, CASE WHEN i % 3 = 0 THEN 'conv' ELSE 'CONV' END,
                 'u', now() + i * interval '1 s', 'user', i::text, NULL FROM generate_series(0, 59) AS i",
        )
        .await;
    for is_grouped in [false, true] {
        let (output, report) = import(&source(&server), MAPPING, is_grouped).await;
        assert!(report.is_valid, "{:?}", report.errors);
        let counts: Vec<_> = output.lines().map(|line| line.matches("\"role\"").count()).collect();
        assert_eq!(counts, [40, 20], "{is_grouped}");
    }
}
