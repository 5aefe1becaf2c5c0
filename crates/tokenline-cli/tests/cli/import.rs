//! Conversations out of exports.

use std::fmt::Write as _;
use std::fs;
use std::io::{Read as _, Write as _};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use serde_json::Value;

use crate::common::{Run, file, folder, tokenline};

const ROWS: &str = "conversation_id,user_id,timestamp,role,content\n\
    c2,u2,2026-02-10T12:34:56Z,human,Hello.\n\
    c1,u1,2026-02-10T12:34:58Z,bot,\"Two\n\"\"lines\"\"\"\n\
    c1,u1,2026-02-10T12:34:57Z,human,Hi.\n";
const CONVERSATIONS: &str = r#"{"conversation_id":"c1","user_id":"u1","timestamp":"2026-02-10T12:34:57Z","messages":[{"role":"user","content":"Hi."},{"role":"assistant","content":"Two\n\"lines\""}],"metadata":{}}
{"conversation_id":"c2","user_id":"u2","timestamp":"2026-02-10T12:34:56Z","messages":[{"role":"user","content":"Hello."}],"metadata":{}}
"#;

fn import(args: &[&str], input: impl AsRef<[u8]>) -> Run {
    tokenline(&[&["conversations", "import"], args].concat(), input)
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

fn many_rows(conversations: u32) -> String {
    let mut rows = "conversation_id,user_id,timestamp,role,content\n".to_owned();
    for number in 0..conversations * 4 {
        let (conversation, role) = (number / 4, if number % 1999 == 7 { "wizard" } else { "user" });
        writeln!(rows, "c{conversation:07},u,{number},{role},Some text that is not too short {number}")
            .unwrap();
    }
    rows
}

/// Ends the program at some moment, and lets it go on.
#[test]
#[cfg(unix)]
fn killed_and_interrupted_imports_go_on() {
    let exports = folder();
    let rows = file(&exports, "rows.csv", many_rows(20_000));
    let check = |grouping: &[&str]| {
        let folder = folder();
        let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
        let (whole, whole_rejects) = (path("whole.jsonl"), path("whole-rejects.jsonl"));
        let run =
            import(&[&[&*rows, "--output", &whole, "--reject-file", &whole_rejects], grouping].concat(), "");
        assert_eq!(run.code, 0, "{}", run.err);
        let (output, rejects, checkpoint) = (path("output.jsonl"), path("rejects.jsonl"), path("checkpoint"));
        let args =
            ["import", &*rows, "--output", &output, "--reject-file", &rejects, "--checkpoint", &checkpoint];
        let args = [&args[..], grouping].concat();
        let mut ended_early = 0;
        for moment in 0..8 {
            let mut child = Command::new(env!("CARGO_BIN_EXE_tokenline"))
                .args(&args)
                .stderr(Stdio::null())
                .spawn()
                .expect("it starts");
            thread::sleep(Duration::from_millis(60 + 60 * moment));
            let signal = if moment % 2 == 0 { "-KILL" } else { "-INT" };
            Command::new("kill")
                .args([signal, &child.id().to_string()])
                .stderr(Stdio::null())
                .status()
                .expect("kill");
            let status = child.wait().expect("it ends");
            ended_early += u32::from(!status.success());
            if status.success() {
                break;
            }
        }
        assert!(ended_early > 0);
        if fs::exists(&checkpoint).unwrap() || fs::read(&output).unwrap() != fs::read(&whole).unwrap() {
            let run = tokenline(&args, "");
            assert_eq!(run.code, 0, "{}", run.err);
        }
        assert!(fs::read(&output).unwrap() == fs::read(&whole).unwrap(), "{grouping:?}");
        assert!(fs::read(&rejects).unwrap() == fs::read(&whole_rejects).unwrap(), "{grouping:?}");
        assert!(!fs::exists(&checkpoint).unwrap() && !fs::exists(path("checkpoint.rows")).unwrap());
    };
    thread::scope(|scope| {
        scope.spawn(|| check(&["--grouped"]));
        check(&[]);
    });
}

/// All rows are read, and sorted conversations are being written.
#[cfg(unix)]
#[test]
fn an_import_that_is_interrupted_while_it_sorts_has_a_report() {
    let folder = folder();
    let rows = file(&folder, "rows.csv", many_rows(40_000));
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (report, rejects, temporary) = (path("report"), path("rejects"), path("temporary"));
    fs::create_dir(&temporary).expect("a folder");
    // Rows in memory and in files.
    for memory in ["1", "128"] {
        for (signal, code) in [("-INT", 130), ("-TERM", 143)] {
            let mut child = Command::new(env!("CARGO_BIN_EXE_tokenline"))
                .args(["import", &rows, "--report-json", &report, "--reject-file", &rejects])
                .args(["--memory", memory, "--temporary-dir", &temporary])
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .expect("it starts");
            let mut output = child.stdout.take().expect("piped");
            // Once it has begun to write, the pipe is full, and it waits.
            let mut start = [0; 1];
            output.read_exact(&mut start).expect("output");
            thread::sleep(Duration::from_millis(100));
            Command::new("kill").args([signal, &child.id().to_string()]).status().expect("kill");
            // The flag is set on another thread.
            thread::sleep(Duration::from_millis(100));
            let mut written = String::from_utf8(start.to_vec()).expect("UTF-8");
            output.read_to_string(&mut written).expect("UTF-8");
            let ended = child.wait_with_output().expect("it ends");
            let errors = String::from_utf8(ended.stderr).expect("UTF-8");
            assert_eq!(ended.status.code(), Some(code), "{errors}");
            assert!(
                errors.ends_with("interrupted: the output has the conversations up to there\n"),
                "{errors}"
            );
            let report: Value = serde_json::from_slice(&fs::read(&report).expect("a report")).expect("JSON");
            assert!(written.ends_with("}\n") && written.lines().count() < 39_000);
            assert_eq!(report["summary"]["conversation_count"], written.lines().count());
            assert_eq!(report["row_count"], 160_000);
            let rejects = fs::read_to_string(&rejects).expect("rejects");
            assert_eq!(report["error_count"], rejects.lines().count());
            assert_eq!(fs::read_dir(&temporary).expect("a folder").count(), 0);
            for name in ["report", "rejects"] {
                fs::remove_file(path(name)).expect("there");
            }
            assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 2);
        }
    }
}

/// A checkpoint knows what it reads and writes: another file in its place is refused, and stays as it is.
#[cfg(unix)]
#[test]
fn a_checkpoint_refuses_other_files() {
    let folder = folder();
    let path = |name: &str| folder.path().join(name).to_str().expect("UTF-8").to_owned();
    let rows = many_rows(30_000);
    let input = file(&folder, "rows.csv", &rows);
    let (output, checkpoint) = (path("out"), path("checkpoint"));
    let args = ["import", &*input, "--grouped", "--output", &output, "--checkpoint", &checkpoint];
    for wait in [2_000, 1_500, 1_200, 800] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_tokenline"))
            .args(args)
            .stderr(Stdio::null())
            .spawn()
            .expect("it starts");
        let started = std::time::Instant::now();
        // Once it has written some conversations.
        while fs::metadata(&output).map_or(0, |file| file.len()) < 100_000
            && started.elapsed() < Duration::from_millis(wait)
        {
            thread::sleep(Duration::from_millis(2));
        }
        let _ = Command::new("kill").args(["-INT", &child.id().to_string()]).stderr(Stdio::null()).status();
        if child.wait().expect("it ends").code() == Some(130) {
            break;
        }
        let _ = fs::remove_file(&output);
    }
    assert!(fs::exists(&checkpoint).unwrap(), "it was interrupted");
    let written = fs::read(&output).unwrap();
    let other = vec![b'x'; written.len() + 10];
    fs::write(&output, &other).unwrap();
    let run = tokenline(&args, "");
    assert!(run.code == 3 && run.err.contains("the file is not the one of the checkpoint"), "{}", run.err);
    assert!(fs::read(&output).unwrap() == other, "it was shortened");
    fs::write(&output, &written).unwrap();
    fs::write(&input, rows.replacen('1', "2", 1)).unwrap();
    let run = tokenline(&args, "");
    assert!(run.code == 2 && run.err.contains("is the checkpoint of another import"), "{}", run.err);
    fs::write(&input, &rows).unwrap();
    assert_eq!(tokenline(&args, "").code, 0);
    let whole = path("whole");
    assert_eq!(tokenline(&["import", &input, "--grouped", "--output", &whole], "").code, 0);
    assert!(fs::read(&output).unwrap() == fs::read(&whole).unwrap());
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

/// A conversation whose first rows were rejected before the checkpoint is rejected after it, too.
#[test]
fn a_resumed_import_knows_what_was_rejected_and_what_it_reads() {
    let folder = folder();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let head = format!("conversation_id,user_id,timestamp,role,content\nA,u,1,user,{}\n", "hi ".repeat(400));
    let mut rows = format!("{head}A,u,never,user,hi\n");
    for number in 0..20_000 {
        writeln!(rows, "c{number},u,1,user,hi").unwrap();
    }
    // The source fails after most rows: a row that is too long.
    let broken = format!("{rows}\"{}", "x".repeat(17 << 20));
    let good = format!("{rows}A,u,2,user,again\n");
    let source = file(&folder, "rows.csv", broken);
    let (output, checkpoint) = (path("output"), path("checkpoint"));
    let args = [&*source, "--grouped", "--output", &output, "--checkpoint", &checkpoint, "--max-errors", "0"];
    assert_eq!(import(&args, "").code, 3);
    // The same start, by which the file is known.
    fs::write(&source, &head).unwrap();
    let run = import(&args, "");
    assert_eq!(run.code, 3);
    assert!(run.err.contains("rows.csv has fewer rows than the checkpoint counts"), "{}", run.err);
    fs::write(&source, good).unwrap();
    for other in ["--kind=tsv", "--empty-messages=keep"] {
        let run = import(&[&args[..], &[other]].concat(), "");
        assert_eq!(run.code, 2);
        assert!(run.err.contains("is the checkpoint of another import"), "{}", run.err);
    }
    let run = import(&args, "");
    assert_eq!(run.code, 0, "{}", run.err);
    let output = fs::read_to_string(&output).unwrap();
    assert_eq!((output.lines().count(), output.contains("\"A\"")), (20_000, false));
    assert!(run.err.contains("2 rejects (2 conversations not written)"), "{}", run.err);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
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
