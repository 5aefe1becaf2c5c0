//! Conversations out of exports.

use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::process::Command;

use serde_json::Value;

use crate::common::{Run, file, folder, tokenline};

const ROWS: &str = "conversation_id,user_id,timestamp,role,content\n\
    c2,u2,2026-02-10T12:34:56Z,human,Hello.\n\
    c1,u1,2026-02-10T12:34:58Z,bot,\"Two\n\"\"lines\"\"\"\n\
    c1,u1,2026-02-10T12:34:57Z,human,Hi.\n";
const CONVERSATIONS: &str = r#"{"conversation_id":"c1","user_id":"u1","timestamp":"2026-02-10T12:34:57Z","messages":[{"role":"user","content":"Hi."},{"role":"assistant","content":"Two\n\"lines\""}],"metadata":{}}
{"conversation_id":"c2","user_id":"u2","timestamp":"2026-02-10T12:34:56Z","messages":[{"role":"user","content":"Hello."}],"metadata":{}}
"#;

pub(crate) fn import(args: &[&str], input: impl AsRef<[u8]>) -> Run {
    tokenline(&[&["conversations", "import"], args].concat(), input)
}

pub(crate) fn many_rows(conversations: u32) -> String {
    let mut rows = "conversation_id,user_id,timestamp,role,content\n".to_owned();
    for number in 0..conversations * 4 {
        let (conversation, role) = (number / 4, if number % 1999 == 7 { "wizard" } else { "user" });
        writeln!(rows, "c{conversation:07},u,{number},{role},Some text that is not too short {number}")
            .unwrap();
    }
    rows
}

#[test]
fn rows_of_every_kind_become_the_same_conversations() {
    let row = |values: [&str; 5]| {
        let names = ["conversation_id", "user_id", "timestamp", "role", "content"];
        names
            .iter()
            .zip(values)
            .map(|(name, value)| (name.to_string(), value.into()))
            .collect::<serde_json::Map<String, Value>>()
    };
    let rows: Vec<Value> = [
        row(["c2", "u2", "2026-02-10T12:34:56Z", "human", "Hello."]),
        row(["c1", "u1", "2026-02-10T12:34:58Z", "bot", "Two\n\"lines\""]),
        row(["c1", "u1", "2026-02-10T12:34:57Z", "human", "Hi."]),
    ]
    .map(Value::Object)
    .into();
    let lines = rows.iter().fold(String::new(), |lines, row| lines + &row.to_string() + "\r\n\n");
    let hits = rows.iter().fold(String::new(), |lines, row| {
        lines + &serde_json::json!({"_index": "chats", "_id": "1", "_source": row}).to_string() + "\n"
    });
    let hit = |row: &Value| serde_json::json!({"_id": "1", "_source": row});
    let page = |rows: &[Value]| serde_json::json!({"_scroll_id": "x", "took": 1, "_shards": {}, "hits": {"total": {"value": 3}, "hits": rows.iter().map(hit).collect::<Vec<_>>()}});
    let pages = format!("{}\n{:#}\n{}", page(&rows[..2]), page(&rows[2..]), page(&[]));
    for (kind, input) in [
        ("csv", ROWS.to_owned()),
        ("csv", format!("\u{feff}{}", ROWS.replace('\n', "\r\n").replace("Two\r\n", "Two\n"))),
        ("csv", ROWS.replace(',', ";")),
        ("tsv", ROWS.replace(',', "\t")),
        ("jsonl", lines),
        ("json-array", Value::from(rows.clone()).to_string()),
        ("json-array", format!("\u{feff}{:#}", Value::from(rows.clone()))),
        ("jsonl", hits),
        ("search-pages", pages),
    ] {
        let run = import(&[], &input);
        assert_eq!((run.code, run.out.as_str()), (0, CONVERSATIONS), "{kind}: {}\n{input}", run.err);
        assert!(run.err.starts_with(&format!("stdin: read as {kind}, 3 ")), "{}", run.err);
        let run = import(&["--kind", kind], &input);
        assert_eq!((run.code, run.out.as_str()), (0, CONVERSATIONS), "{kind}: {}", run.err);
        assert_eq!(run.err, "3 rows: 2 conversations with 3 messages, 0 rejects\n");
    }
}

#[test]
fn several_files_patterns_and_compression() {
    let folder = folder();
    let (head, rest) = ROWS.split_at(ROWS.find("c1").unwrap());
    file(&folder, "a.csv", head);
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(format!("{}{rest}", &ROWS[..ROWS.find("c2").unwrap()]).as_bytes()).unwrap();
    file(&folder, "b.csv.gz", gzip.finish().unwrap());
    let pattern = folder.path().join("*.csv*");
    let output = folder.path().join("conversations.jsonl");
    let run = import(&[pattern.to_str().unwrap(), "--output", output.to_str().unwrap()], "");
    assert_eq!((run.code, run.out.as_str()), (0, ""), "{}", run.err);
    assert_eq!(fs::read_to_string(&output).unwrap(), CONVERSATIONS);
    let validation = tokenline(&["conversations", "validate", "--input", output.to_str().unwrap()], "");
    assert_eq!(validation.code, 0, "{}", validation.err);
}

#[test]
fn rejects_have_places_and_codes() {
    let folder = folder();
    let rows = format!("{ROWS}c3,u3,never,user,secret\nc4,u4,2026-02-10T12:34:57Z,wizard,secret\n");
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (rejects, report) = (path("rejects.jsonl"), path("report.json"));
    let args = ["--reject-file", &rejects, "--report-json", &report, "--max-errors", "1"];
    let run = import(&args, &rows);
    assert_eq!((run.code, run.out.as_str()), (0, CONVERSATIONS));
    assert_eq!(
        run.err,
        "stdin:6: invalid_timestamp: the time cannot be read (column timestamp)\n\
         stdin: read as csv, 5 rows\n\
         and 1 reject more\n\
         5 rows: 2 conversations with 3 messages, 2 rejects (2 conversations not written)\n"
    );
    let rejects = fs::read_to_string(&rejects).unwrap();
    assert_eq!(rejects.lines().count(), 2);
    assert!(!rejects.contains("secret"));
    assert!(
        rejects.contains(
            r#"{"source":"stdin","row":5,"line":7,"code":"unknown_role","column":"role","message":"#
        )
    );
    let report: Value = serde_json::from_slice(&fs::read(&report).unwrap()).unwrap();
    assert_eq!(
        (&report["error_count"], &report["dropped_error_count"], &report["summary"]["message_count"]),
        (&2.into(), &1.into(), &3.into())
    );
    let run = import(&["--deny"], &rows);
    assert_eq!((run.code, run.out.as_str()), (1, CONVERSATIONS));
    let with_content = path("content.jsonl");
    import(&["--reject-file", &with_content, "--reject-content"], &rows);
    assert!(fs::read_to_string(&with_content).unwrap().contains("secret"));
}

#[test]
fn mappings_and_presets() {
    let folder = folder();
    let map = file(
        &folder,
        "map.toml",
        "conversation-id = '/thread/id'\nuser-id = 'user'\ntimestamp = 'at'\nrole = 'kind'\ncontent = ['a', 'b']\nseparator = ' '\n[roles]\nAgent = 'assistant'\n[metadata]\nlang = 'language'\n",
    );
    let row = r#"{"thread":{"id":{"$oid":"65c7ab1c0000000000000002"}},"user":7,"at":{"$date":"2026-02-10T12:34:56.789+01:00"},"kind":"agent","a":"one","b":[{"type":"text","text":"two"}],"language":"en"}"#;
    let run = import(&["--map", &map, "--metadata", "source=kind"], row);
    assert_eq!(
        run.out,
        "{\"conversation_id\":\"65c7ab1c0000000000000002\",\"user_id\":\"7\",\"timestamp\":\"2026-02-10T11:34:56.789Z\",\"messages\":[{\"role\":\"assistant\",\"content\":\"one two\"}],\"metadata\":{\"lang\":\"en\",\"source\":\"agent\"}}\n",
        "{}",
        run.err
    );

    let defaults = ["--default-user-id", "nobody", "--default-timestamp", "2026-01-01T00:00:00Z"];
    for (input, kind, name) in [
        (
            r#"{"conversations":[{"from":"human","value":"Hi"},{"from":"gpt","value":"Ho"}]}"#,
            "sharegpt",
            "ShareGPT",
        ),
        (
            r#"{"messages":[{"role":"user","content":"Hi"},{"role":"assistant","content":[{"type":"text","text":"Ho"}]}]}"#,
            "openai-fine-tuning",
            "OpenAI fine-tuning",
        ),
    ] {
        let detected = import(&defaults, input);
        assert_eq!(
            detected.out,
            "{\"conversation_id\":\"stdin:1\",\"user_id\":\"nobody\",\"timestamp\":\"2026-01-01T00:00:00Z\",\"messages\":[{\"role\":\"user\",\"content\":\"Hi\"},{\"role\":\"assistant\",\"content\":\"Ho\"}],\"metadata\":{}}\n"
        );
        assert!(
            detected.err.starts_with(&format!("stdin: read as documents of {name}\n")),
            "{}",
            detected.err
        );
        let given = import(&[&defaults[..], &["--kind", kind]].concat(), format!("[{input}]"));
        assert_eq!(given.out, detected.out, "{}", given.err);
    }
}

#[test]
fn bad_usage_is_said() {
    let folder = folder();
    let rows = file(&folder, "rows.csv", "thread,text\n");
    for (args, input, message) in [
        (&[&*rows][..], "", format!("{rows} has no column `conversation_id`; its header is thread, text; does it have one?")),
        (&["--time-zone", "Mars/Olympus"], ROWS, "unknown time zone `Mars/Olympus`".to_owned()),
        (&["--time-format", "iso"], ROWS, "unknown format of times `iso`: use auto, seconds, milliseconds, or a pattern such as %Y-%m-%d %H:%M:%S".to_owned()),
        (&["--metadata", "x"], ROWS, "--metadata x: expected NAME=COLUMN".to_owned()),
        (&["--checkpoint", "x"], ROWS, "--output needs a file: standard output is for data".to_owned()),
        (&[], "no structure", "stdin is neither JSON nor CSV: give its kind".to_owned()),
    ] {
        let run = import(args, input);
        assert_eq!((run.code, run.out.as_str()), (2, ""), "{args:?}");
        assert!(run.err.contains(&message), "{args:?}: {}", run.err);
    }
    let run = import(&["missing.csv"], "");
    assert_eq!(run.code, 3, "{}", run.err);
    // A quote that is never closed.
    let endless = format!("{ROWS}c9,u,1,user,\"{}", "x\n".repeat(9 << 20));
    let path = file(&folder, "endless.csv", endless);
    let run = import(&[&path, "--grouped"], "");
    assert_eq!((run.code, run.out.lines().count()), (3, 1), "{}", run.err);
    assert!(
        run.err.contains("endless.csv, line 6: a row is longer than 16 MiB; a closing quote may be missing"),
        "{}",
        run.err
    );
}

/// The peak of the resident memory does not grow with the input.
#[test]
#[cfg(target_os = "linux")]
fn memory_is_bounded() {
    let folder = folder();
    let rows = file(&folder, "rows.csv", many_rows(100_000));
    for grouping in ["--grouped", "--memory=8"] {
        let output = Command::new("bash")
            .args(["-c", "ulimit -v 400000; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_tokenline")])
            .args(["import", &rows, grouping, "--output", "/dev/null"])
            .output()
            .expect("it starts");
        assert!(output.status.success(), "{grouping}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn addresses_with_passwords_are_not_repeated() {
    for address in ["POSTGRES://u:secret@h/db", "mysql://u:secret@h/db", " mongodb://u:secret@h/db"] {
        let run = import(&[address, "--query", "x"], "");
        assert_eq!(run.code, 2, "{}", run.err);
        assert!(!run.err.contains("secret"), "{}", run.err);
    }
    let run = import(&["http://u:secret@h/index"], "");
    assert!(
        run.err.contains("cargo install --path crates/tokenline-cli --features opensearch"),
        "{}",
        run.err
    );
}

#[test]
fn what_was_imported_can_be_imported_again() {
    let run = import(&[], CONVERSATIONS);
    assert_eq!((run.code, run.out.as_str()), (0, CONVERSATIONS), "{}", run.err);
}

/// Wrong commands and unreadable rows do no damage.
#[test]
fn files_are_not_lost_and_conversations_have_no_gaps() {
    let folder = folder();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let rows = file(&folder, "rows.csv", ROWS);
    let (output, checkpoint) = (path("output"), path("checkpoint"));
    for args in [
        &["--output", &output, "--report-json", &output][..],
        &["--output", &output, "--reject-file", &output],
        &["--output", &output, "--checkpoint", &output],
        &["--output", &path("checkpoint.rows"), "--checkpoint", &checkpoint],
        &["--output", &output, "--checkpoint", &checkpoint, "--report-json", &output],
    ] {
        let run = import(&[&[&*rows], args].concat(), "");
        assert_eq!(run.code, 2, "{args:?}: {}", run.err);
        assert!(run.err.contains("name the same file"), "{args:?}: {}", run.err);
    }
    // A missing column.
    fs::write(&output, "kept").unwrap();
    let run = import(&[&rows, "--content", "nope", "--output", &output, "--checkpoint", &checkpoint], "");
    assert_eq!((run.code, fs::read_to_string(&output).unwrap().as_str()), (2, "kept"), "{}", run.err);

    // Not UTF-8, a duplicate member.
    let head = "conversation_id,user_id,timestamp,role,content\nA,u,1,user,hi\n";
    let run = import(&["--deny"], [head.as_bytes(), b"A,u,2,user,\xff\n"].concat());
    assert_eq!((run.code, run.out.as_str()), (1, ""), "{}", run.err);
    let row = |more: &str| {
        format!(r#"{{"conversation_id":"A","user_id":"u","timestamp":1,"role":"user","content":"hi"{more}}}"#)
    };
    let run = import(&[], format!("{}\n{}\n", row(""), row(r#","x":1,"x":2"#)));
    assert_eq!((run.code, run.out.as_str()), (0, ""), "{}", run.err);
    // The rest of the file is in the quote.
    let run = import(&["--grouped"], format!("{head}B,u,1,user,\"open\nC,u,1,user,hi\n"));
    assert_eq!((run.code, run.out.lines().count()), (3, 0), "{}", run.err);
    assert!(run.err.contains("stdin, line 3: a quote is never closed"), "{}", run.err);
}

#[test]
fn much_metadata_is_not_much_text() {
    let long = "x".repeat(50_000);
    let messages = vec![serde_json::json!({"role": "user", "content": "short"}); 400];
    let document = serde_json::json!({"user_id": "u", "timestamp": 1, "extra": long, "messages": messages});
    let run = import(&["--messages", "messages", "--metadata", "extra=extra"], document.to_string());
    assert_eq!((run.code, run.out.lines().count()), (0, 1), "{}", run.err);
}

#[test]
fn unknown_roles_are_named_and_mapped() {
    let row = |role: &str| {
        serde_json::json!({
            "conversation_id": "c", "user_id": "u", "timestamp": "2026-02-10T12:34:56Z", "role": role, "content": "Hi."
        })
    };
    let rows = [row("Customer"), row("my secret text")].map(|row| row.to_string()).join("\n");
    let run = import(&[], &rows);
    let messages: Vec<_> = run.err.lines().collect();
    let known = "the mapping does not know the role";
    assert_eq!(
        messages[0],
        format!("stdin:1: unknown_role: {known} `Customer` (column role)"),
        "{}",
        run.err
    );
    // What is no name may be a text.
    assert_eq!(messages[1], format!("stdin:2: unknown_role: {known} (column role)"));
    assert!(run.err.contains("--map-role NAME=ROLE"), "{}", run.err);

    let run = import(&["--map-role", "customer=user", "--map-role", "my secret text=assistant"], &rows);
    assert!(run.out.contains(r#""role":"user""#) && run.out.contains(r#""role":"assistant""#), "{}", run.err);
    assert!(!run.err.contains("--map-role"), "{}", run.err);
    let run = import(&["--map-role", "customer"], &rows);
    assert_eq!((run.code, &*run.err), (2, "tokenline: --map-role customer: expected NAME=ROLE\n"));
    // An option overrides the file, whatever the case.
    let folder = folder();
    let map = "conversation-id = 'conversation_id'\nuser-id = 'user_id'\ntimestamp = 'timestamp'\nrole = 'role'\ncontent = ['content']\n[roles]\nCUSTOMER = 'system'\n";
    let map = file(&folder, "map.toml", map);
    let run = import(&["--map", &map, "--map-role", "customer=user"], row("customer").to_string());
    assert!(run.out.contains(r#""role":"user""#), "{}{}", run.out, run.err);
}

#[test]
fn rejects_of_an_array_on_one_line_have_their_index() {
    let rows = r#"[{"conversation_id":"a"},{"conversation_id":"b"},5]"#;
    let run = import(&[], rows);
    let rejects: Vec<_> = run.err.lines().filter(|line| line.starts_with("stdin:1: ")).collect();
    assert_eq!(rejects.len(), 3, "{}", run.err);
    for (number, reject) in (1..).zip(rejects) {
        assert!(reject.contains(&format!(" (document {number})")), "{reject}");
    }
}
