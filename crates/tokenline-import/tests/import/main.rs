//! Rows to conversations.

use std::io::{Read, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use proptest::prelude::*;
use tokenline_conversations::{ConversationValidator, Profile};
use tokenline_import::{ErrorKind, FileKind, ImportReport, Importer, Mapping, Output};

fn mapping(toml: &str) -> Mapping {
    toml::from_str(toml).unwrap()
}

const COLUMNS: &str = "
    conversation-id = 'c'
    user-id = 'u'
    timestamp = 't'
    role = 'r'
    content = 'x'
";

/// The conversations of one source, checked by the validator, and the report.
fn import(toml: &str, is_grouped: bool, source: &[u8]) -> (String, ImportReport) {
    let mut output = Vec::new();
    let mut importer =
        Importer::new(&mapping(toml), Output::writer(&mut output)).unwrap().grouped(is_grouped);
    importer.read("rows", None, source).unwrap();
    let report = importer.finish().unwrap();
    let mut validator = ConversationValidator::new(Profile::Strict);
    validator.push(&output);
    let validation = validator.finish().unwrap();
    assert!(validation.is_valid || output.is_empty(), "{:?}", validation.errors);
    assert_eq!(validation.summary.message_count, report.summary.message_count);
    (String::from_utf8(output).unwrap(), report)
}

fn codes(report: &ImportReport) -> Vec<String> {
    report.errors.iter().map(ToString::to_string).collect()
}

#[test]
fn rows_are_grouped_and_ordered() {
    let rows = "\u{feff}t,c,u,r,x\r\n2026-02-10T12:00:02Z,c2,u2,Human,Hi.\r\n\
        2026-02-10T12:00:03Z,c1,u1,gpt,\"Two\nlines, \"\"quoted\"\".\"\n2026-02-10T12:00:01Z,c1,u1,user,One\n";
    let (output, report) = import(COLUMNS, false, rows.as_bytes());
    assert_eq!(
        output,
        "{\"conversation_id\":\"c1\",\"user_id\":\"u1\",\"timestamp\":\"2026-02-10T12:00:01Z\",\"messages\":[\
         {\"role\":\"user\",\"content\":\"One\"},{\"role\":\"assistant\",\"content\":\"Two\\nlines, \\\"quoted\\\".\"}],\
         \"metadata\":{}}\n\
         {\"conversation_id\":\"c2\",\"user_id\":\"u2\",\"timestamp\":\"2026-02-10T12:00:02Z\",\"messages\":[\
         {\"role\":\"user\",\"content\":\"Hi.\"}],\"metadata\":{}}\n"
    );
    assert!(report.is_valid);
    assert_eq!((report.sources[0].kind.as_str(), report.row_count), ("csv", 3));
}

#[test]
fn oddities_have_their_codes() {
    let rows = "c,u,t,r,x\n\
        ,u,1,user,no id\n\
        a,u,1,wizard,unknown role\n\
        a,u,2,user,in the same conversation\n\
        b,u,never,user,no time\n\
        d,u,1,,no role\n\
        e,u,1,user,\n\
        f,u,1,user,one\n\
        f,v,2,user,two users\n\
        g,,1,user,no user\n\
        h,u,,user,empty time\n\
        i,u,1\n\
        k,u,1,user,fine\n\
        k,,2,assistant,the same user\n";
    let (output, report) = import(COLUMNS, false, rows.as_bytes());
    assert_eq!(output.lines().count(), 1);
    assert_eq!(
        codes(&report),
        [
            "rows:2: missing_conversation_id: the conversation id is empty (column c)",
            "rows:3: unknown_role: the mapping does not know the role `wizard` (column r)",
            "rows:5: invalid_timestamp: the time cannot be read (column t)",
            "rows:6: missing_role: the role is empty (column r)",
            "rows:11: missing_order: the time is empty, and orders the messages (column t)",
            "rows:12: malformed_row: the row has 3 fields, the header has 5",
            "rows:7: no_messages: no message of the conversation has a text",
            "rows:8: several_users: the rows of the conversation name several users",
            "rows:10: missing_user_id: no row of the conversation names its user",
        ]
    );
    assert_eq!((report.rejected_row_count, report.rejected_conversation_count), (6, 7));
    assert_eq!(report.summary.skipped_message_count, 0);

    let options = "
        unknown-roles = 'keep'
        empty-messages = 'keep'
        several-users = 'first'
        default-user-id = 'nobody'
        time-zone = 'UTC'
        order = 'c'
    ";
    let (output, report) = import(&format!("{COLUMNS}{options}"), false, rows.as_bytes());
    assert_eq!((output.lines().count(), report.errors.len()), (5, 5), "{:?}", codes(&report));
}

#[test]
fn grouped_rows_stream_and_may_not_appear_again() {
    let rows = "{\"c\":1,\"u\":7,\"t\":2,\"r\":\"user\",\"x\":\"b\"}\n{\"c\":1,\"u\":7,\"t\":1,\"r\":\"user\",\"x\":\"a\"}\n\
        {\"c\":\"z\",\"u\":7,\"t\":1,\"r\":\"user\",\"x\":\"c\"}\n{\"c\":\"1\",\"u\":7,\"t\":3,\"r\":\"user\",\"x\":\"d\"}\n";
    let (output, report) = import(COLUMNS, true, rows.as_bytes());
    let ids: Vec<_> = output.lines().map(|line| line.split('"').nth(3).unwrap()).collect();
    assert_eq!(ids, ["1", "z"]);
    assert!(output.find("\"a\"").unwrap() < output.find("\"b\"").unwrap());
    assert_eq!(codes(&report), ["rows:4: repeated_conversation: an earlier conversation has this id"]);
}

#[test]
fn documents_are_whole_conversations() {
    let documents = r#"[
        {"id": "a", "conversations": [{"from": "human", "value": "Hi."}, {"from": "gpt", "value": "Hello."}]},
        {"conversations": [{"from": "system", "value": "Be kind."}, {"from": "human", "value": "\u0041"}]},
        {"id": "b", "conversations": [{"from": "human"}]},
        {"id": "c", "conversations": {"from": "human"}},
        {"id": "d", "conversations": [{"from": "human", "value": "x"}, {"from": "human", "value": true}]},
        {"id": "a", "conversations": [{"from": "human", "value": "Again."}]}
    ]"#;
    let mapping = toml::to_string(&Mapping {
        conversation_id: Some("id".into()),
        default_user_id: Some("nobody".into()),
        default_timestamp: Some("2026-01-01T00:00:00+01:00".into()),
        ..Mapping::sharegpt()
    });
    let (output, report) = import(&mapping.unwrap(), false, documents.as_bytes());
    let lines: Vec<_> = output.lines().collect();
    assert_eq!(lines.len(), 2);
    assert!(lines[0].starts_with(
        r#"{"conversation_id":"a","user_id":"nobody","timestamp":"2025-12-31T23:00:00Z","messages":[{"role":"user","content":"Hi."}"#
    ));
    assert!(lines[1].starts_with(r#"{"conversation_id":"rows:2""#));
    assert!(
        lines[1].contains(r#"{"role":"system","content":"Be kind."},{"role":"user","content":"\u0041"}"#)
    );
    assert_eq!(
        codes(&report),
        [
            "rows:4: no_messages: no message of the conversation has a text",
            "rows:5: missing_messages: the messages are not an array (column conversations)",
            "rows:6: invalid_content: the content is neither a text nor parts of one (message 2) (column value)",
            "rows:7: repeated_conversation: an earlier conversation has this id",
        ]
    );
    assert_eq!(report.rejected_conversation_count, 4);
}

#[test]
fn extended_json_hits_and_parts_are_understood() {
    let toml = "
        conversation-id = 'thread'
        user-id = '/author/id'
        timestamp = 'at'
        order = '_id'
        role = 'role'
        content = ['title', 'content']
        [metadata]
        tags = 'tags'
        index = '_index'
    ";
    let rows = r#"{"_id":{"$oid":"65c7ab1c0000000000000002"},"thread":{"$numberLong":"7"},"author":{"id":{"$oid":"65c7ab1c00000000000000ff"}},"at":{"$date":{"$numberLong":"1707568496000"}},"role":"user","content":[{"type":"text","text":"two"},{"type":"image_url","image_url":{"url":"x"}},"three"],"tags":[{"$date":"2024-02-10T12:34:56Z"}, 1]}
{"_id":{"$oid":"65c7ab1c0000000000000001"},"thread":7,"author":{"id":"65c7ab1c00000000000000ff"},"at":{"$date":"2024-02-10T12:34:57Z"},"role":"assistant","title":"T","content":"one","tags":null}
{"_index":"chats","_id":"0","_source":{"thread":"7","at":1707568496,"role":"user","content":{"text":{"value":"zero"}}}}
"#;
    let (output, report) = import(toml, false, rows.as_bytes());
    assert!(report.is_valid, "{:?}", codes(&report));
    assert_eq!(
        output,
        "{\"conversation_id\":\"7\",\"user_id\":\"65c7ab1c00000000000000ff\",\"timestamp\":\"2024-02-10T12:34:56Z\",\"messages\":[\
         {\"role\":\"user\",\"content\":\"zero\"},{\"role\":\"assistant\",\"content\":\"T\\none\"},\
         {\"role\":\"user\",\"content\":\"two\\nthree\"}],\
         \"metadata\":{\"index\":\"chats\",\"tags\":[\"2024-02-10T12:34:56Z\",1]}}\n"
    );
}

#[test]
fn kinds_are_detected() {
    for (start, kind) in [
        ("\u{feff} {\"a\":1}", Some(FileKind::JsonLines)),
        ("\n[\n{", Some(FileKind::JsonArray)),
        ("a,b\n1,2", Some(FileKind::Csv)),
        ("a\tb,c\td\n", Some(FileKind::Tsv)),
        ("a;b;c,d\n", Some(FileKind::Csv)),
        ("{\"took\":1,\"hits\":{\"hits\":[{\"_source\":{}}]}}", Some(FileKind::SearchPages)),
        ("{\"_source\":{\"hits\":1,\"took\":2}}", Some(FileKind::JsonLines)),
        ("plain", None),
        ("", None),
    ] {
        assert_eq!(FileKind::detect(start.as_bytes()), kind, "{start}");
    }
    let pages = r#"{"_scroll_id":"s","took":1,"hits":{"total":{"value":2},"hits":[
        {"_id":"1","_source":{"c":"a","u":"u","t":1,"r":"user","x":"one"}}]}}
        {"_scroll_id":"s","took":1,"hits":{"hits":[{"_id":"2","_source":{"c":"a","u":"u","t":2,"r":"user","x":"two"}}]}}
        {"_scroll_id":"s","took":1,"hits":{"hits":[]}}"#;
    let (output, report) = import(COLUMNS, false, pages.as_bytes());
    assert!(report.is_valid && output.contains("one") && output.contains("two"), "{:?}", codes(&report));
    assert_eq!((report.row_count, report.sources[0].kind.as_str()), (2, "search-pages"));
    for empty in [" [\n]\n", "", "\u{feff}", "\u{feff}\n", "\u{feff}[]"] {
        let (output, report) = import(COLUMNS, false, empty.as_bytes());
        assert!(report.is_valid && output.is_empty(), "{:?}", codes(&report));
    }
}

#[test]
fn malformed_documents_are_rejected_without_their_content() {
    let rows = b"{\"c\":\"a\",\"u\":\"u\",\"t\":1,\"r\":\"user\",\"x\":\"fine\"}\n{\"secret\n[1]\n{\"c\":\"secret\",\"c\":1}\nsecret\n\xff\n";
    let (output, report) = import(COLUMNS, false, rows);
    assert_eq!((output.lines().count(), report.errors.len()), (1, 5), "{:?}", codes(&report));
    assert!(!serde_json::to_string(&report).unwrap().contains("secret"));
    assert!(report.errors.iter().all(|reject| reject.code.as_str() == "malformed_row"));
}

#[test]
fn rejects_have_content_on_request() {
    let mut rejects = Vec::new();
    let mut output = Vec::new();
    let mut importer = Importer::new(&mapping(COLUMNS), Output::writer(&mut output))
        .unwrap()
        .reject_content(true)
        .rejects_to(Output::writer(&mut rejects));
    importer.read("rows", None, &b"c,u,t,r,x\n\"a\"\"b\",u,1,wizard,hi\nd,,1,user,hi\n"[..]).unwrap();
    importer.finish().unwrap();
    let rejects = String::from_utf8(rejects).unwrap();
    assert!(
        rejects.contains(
            r#""content":"{\"c\":\"a\\\"b\",\"u\":\"u\",\"t\":\"1\",\"r\":\"wizard\",\"x\":\"hi\"}""#
        ),
        "{rejects}"
    );
    assert!(rejects.contains(r#""content":"{\"conversation_id\":\"d\"}""#), "{rejects}");
}

#[test]
fn mappings_are_checked() {
    let mut output = Vec::new();
    for (toml, message) in [
        ("", "the mapping has no column for the conversation id"),
        ("conversation-id = 'c'", "the mapping has neither a column for the user id nor a default user id"),
        (
            "conversation-id = 'c'\nuser-id = 'u'",
            "the mapping has neither a column for the timestamp nor a default timestamp",
        ),
        (
            "conversation-id = 'c'\nuser-id = 'u'\ntimestamp = 't'",
            "the mapping has no column for the content",
        ),
    ] {
        let error = Importer::new(&mapping(toml), Output::writer(&mut output)).unwrap_err();
        assert_eq!(error.to_string(), message);
    }
    let mut importer = Importer::new(&mapping(COLUMNS), Output::writer(&mut output)).unwrap();
    let error = importer.read("rows.csv", None, &b"c,u,t,r,text\n"[..]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "rows.csv has no column `x`; its header is c, u, t, r, text; does it have one?"
    );
    assert!(toml::from_str::<Mapping>("conversation = 'c'").is_err());
}

/// A part of an import that ended early, at this row.
fn run_until(toml: &str, is_grouped: bool, dir: &std::path::Path, rows: &str, stop: Option<usize>) -> bool {
    let open = |name: &str| {
        let mut options = std::fs::File::options();
        options.read(true).write(true).create(true).truncate(false).open(dir.join(name)).unwrap()
    };
    let mut importer = Importer::new(&mapping(toml), Output::file(open("output")))
        .unwrap()
        .grouped(is_grouped)
        .rejects_to(Output::file(open("rejects")))
        .checkpoint(dir.join("checkpoint"), "rows")
        .unwrap();
    match stop {
        Some(stop) => {
            // The source fails after these bytes.
            let result = importer.read("rows", Some(FileKind::Csv), rows.as_bytes()[..stop].chain(Broken));
            assert!(result.is_err());
            // The files hold more than the checkpoint counts.
            drop(importer);
            false
        }
        None => {
            importer.read("rows", Some(FileKind::Csv), rows.as_bytes()).unwrap();
            importer.finish().unwrap();
            true
        }
    }
}

/// A source that fails.
struct Broken;

impl Read for Broken {
    fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
        Err(std::io::Error::other("broken"))
    }
}

#[test]
fn a_killed_import_goes_on_from_its_checkpoint() {
    let mut rows = b"c,u,t,r,x\n".to_vec();
    for row in 0..2000_u32 {
        let conversation = row / 5;
        let role = if row % 97 == 0 { "wizard" } else { "user" };
        writeln!(rows, "c{conversation},u,{row},{role},text {row}").unwrap();
    }
    let rows = String::from_utf8(rows).unwrap();
    for is_grouped in [false, true] {
        let whole = tempfile::tempdir().unwrap();
        assert!(run_until(COLUMNS, is_grouped, whole.path(), &rows, None));
        for stop in [100, 9_000, 20_000, rows.len() - 1] {
            let dir = tempfile::tempdir().unwrap();
            run_until(COLUMNS, is_grouped, dir.path(), &rows, Some(stop));
            assert!(dir.path().join("checkpoint").exists() || (is_grouped && stop == 100));
            run_until(COLUMNS, is_grouped, dir.path(), &rows, Some(stop + 1));
            assert!(run_until(COLUMNS, is_grouped, dir.path(), &rows, None));
            for name in ["output", "rejects"] {
                let read = |dir: &std::path::Path| std::fs::read_to_string(dir.join(name)).unwrap();
                assert_eq!(read(dir.path()), read(whole.path()), "{name} {is_grouped} {stop}");
            }
            assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 2, "the checkpoint is removed");
        }
    }
}

#[test]
fn a_checkpoint_of_another_import_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let rows = "c,u,t,r,x\na,u,1,user,hi\nb,u,1,user,hi\nc,u,1,user,hi\n";
    run_until(COLUMNS, false, dir.path(), rows, Some(30));
    let output = || Output::file(std::fs::File::create(dir.path().join("other")).unwrap());
    let other = Importer::new(&mapping(COLUMNS), output()).unwrap().grouped(true);
    let error = other.checkpoint(dir.path().join("checkpoint"), "rows").unwrap_err();
    assert!(error.to_string().contains("is the checkpoint of another import"), "{error}");
    let mut writer = Vec::new();
    let error =
        Importer::new(&mapping(COLUMNS), Output::writer(&mut writer)).unwrap().checkpoint("x", "rows");
    assert_eq!(error.unwrap_err().to_string(), "a checkpoint needs an output that is a file");
}

#[test]
fn a_sorted_file_begins_with_its_first_conversation() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("output");
    let mut importer =
        Importer::new(&mapping(COLUMNS), Output::file(std::fs::File::create(&path).unwrap())).unwrap();
    // More than a buffer holds.
    let long = "x".repeat(200_000);
    let rows = format!("c,u,t,r,x\na,u,1,user,{long}\nb,u,1,user,hi\nc,u,1,user,hi\n");
    importer.read("rows", None, rows.as_bytes()).unwrap();
    importer.finish().unwrap();
    let output = std::fs::read_to_string(&path).unwrap();
    assert!(
        output.starts_with(r#"{"conversation_id":"a""#) && output.lines().count() == 3,
        "{}",
        output.len()
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Sorted in little memory, or read as documents that are grouped: the same conversations.
    #[test]
    fn sorting_and_grouping_agree(rows in prop::collection::vec((0..6_u8, 0..4_u8, "[a-z\"\\\\\n\u{e9}]{0,6}"), 0..40)) {
        let line = |(at, (conversation, order, text)): (usize, &(u8, u8, String))| {
            serde_json::json!({"c": format!("c{conversation}"), "u": "u", "t": order, "r": "user", "x": format!("{at}{text}")})
        };
        let mut sorted: Vec<_> = rows.iter().enumerate().map(line).collect();
        let lines = |rows: &[serde_json::Value]| rows.iter().fold(String::new(), |all, row| all + &row.to_string() + "\n");
        let shuffled = lines(&sorted);
        sorted.sort_by_key(|row| row["c"].as_str().unwrap().to_owned());
        let grouped = lines(&sorted);
        let mut output = Vec::new();
        let mut importer = Importer::new(&mapping(COLUMNS), Output::writer(&mut output)).unwrap().memory(100);
        importer.read("rows", None, shuffled.as_bytes()).unwrap();
        importer.finish().unwrap();
        prop_assert_eq!(String::from_utf8(output).unwrap(), import(COLUMNS, true, grouped.as_bytes()).0);
    }
}

/// Exports in the shapes that tools and APIs document. `UPDATE=1` writes what is expected.
#[test]
fn exports_become_conversations() {
    let fixtures = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    let mut count = 0;
    for folder in std::fs::read_dir(fixtures).unwrap() {
        let folder = folder.unwrap().path();
        if folder.ends_with("parquet") && cfg!(not(feature = "parquet")) {
            continue;
        }
        let files: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|file| file.unwrap().path()).collect();
        let export = files.iter().find(|file| file.file_stem().unwrap() == "export").unwrap();
        let toml = std::fs::read_to_string(folder.join("mapping.toml")).unwrap();
        let (output, report) = import(&toml, false, &std::fs::read(export).unwrap());
        let summary = format!(
            "{output}{}: {} rows, {} messages skipped\n{}",
            report.sources[0].kind,
            report.row_count,
            report.summary.skipped_message_count,
            codes(&report).join("\n")
        );
        let expected = folder.join("expected.txt");
        if std::env::var_os("UPDATE").is_some() {
            std::fs::write(&expected, &summary).unwrap();
        }
        assert_eq!(summary, std::fs::read_to_string(&expected).unwrap(), "{}", folder.display());
        count += 1;
    }
    assert_eq!(count, 10 + usize::from(cfg!(feature = "parquet")));
}

/// However an import ends, it has a report, and its temporary files are gone with it.
#[test]
fn imports_that_end_early_have_a_report() {
    let folder = tempfile::tempdir().unwrap();
    let mut rows = "c,u,t,r,x\n".to_owned();
    for row in 0..60_000 {
        rows.push_str(&format!("c{:05},u,{row},user,text {row}\n", row * 7 % 20_000));
    }
    let is_empty = || std::fs::read_dir(folder.path()).unwrap().next().is_none();
    // The moments of the interrupt: while rows are read, after the last one, and while conversations are written.
    for (moment, rows_read, written) in
        [("read", 0..60_000, 0..1), ("sort", 60_000..60_001, 0..1), ("write", 60_000..60_001, 4_096..8_192)]
    {
        let flag = Arc::new(AtomicBool::new(false));
        let set = Arc::clone(&flag);
        let mut output = Vec::new();
        let mut importer = Importer::new(&mapping(COLUMNS), Output::writer(&mut output))
            .unwrap()
            .memory(1 << 20)
            .temporary_dir(folder.path())
            .interrupted_by(Arc::clone(&flag))
            .on_progress(move |progress| {
                let is_due = match moment {
                    "read" => progress.rows > 20_000,
                    "write" => progress.conversations > 0,
                    _ => false,
                };
                set.fetch_or(is_due, Ordering::Relaxed);
            });
        let read = importer.read("rows", Some(FileKind::Csv), rows.as_bytes());
        assert_eq!(read.is_err(), moment == "read");
        let report = if moment == "read" {
            importer.suspend().unwrap()
        } else {
            flag.fetch_or(moment == "sort", Ordering::Relaxed);
            let (report, error) = importer.finish_with_report().unwrap();
            assert_eq!(error.unwrap().kind(), ErrorKind::Interrupted);
            report
        };
        assert!(rows_read.contains(&report.row_count), "{moment}: {}", report.row_count);
        let conversations = report.summary.conversation_count;
        assert!(written.contains(&conversations), "{moment}: {conversations}");
        let lines = output.split_inclusive(|byte| *byte == b'\n');
        assert_eq!(lines.filter(|line| line.ends_with(b"}\n")).count() as u64, conversations, "{moment}");
        assert!(is_empty(), "{moment}");
    }
}
