//! Rows of SQLite files.

use std::fs::{self, File};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use rusqlite::Connection;
use tokenline_conversations::{ConversationValidator, Profile};
use tokenline_import::{ErrorKind, ImportReport, Importer, Mapping, Output, SqliteSource};

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

fn import(source: &SqliteSource, toml: &str, is_grouped: bool) -> (String, ImportReport) {
    let mut output = Vec::new();
    let importer = Importer::new(&mapping(toml), Output::writer(&mut output)).unwrap();
    let mut importer = importer.grouped(is_grouped);
    source.read(&mut importer).unwrap();
    let report = importer.finish().unwrap();
    let mut validator = ConversationValidator::new(Profile::Strict);
    validator.push(&output);
    let validation = validator.finish().unwrap();
    assert!(validation.is_valid || output.is_empty(), "{:?}", validation.errors);
    (String::from_utf8(output).unwrap(), report)
}

fn error(source: &SqliteSource, toml: &str) -> (ErrorKind, String) {
    let mut importer = Importer::new(&mapping(toml), Output::writer(std::io::sink())).unwrap();
    let error = source.read(&mut importer).unwrap_err();
    (error.kind(), error.to_string())
}

fn database(folder: &Path, sql: &str) -> Connection {
    let file = Connection::open(folder.join("chat.db")).unwrap();
    file.execute_batch(sql).unwrap();
    file
}

fn source(folder: &Path) -> SqliteSource {
    SqliteSource::new(folder.join("chat.db"), "SELECT * FROM m;")
}

fn rejects(report: &ImportReport) -> Vec<String> {
    report.errors.iter().map(ToString::to_string).collect()
}

#[test]
fn values_are_read_by_their_storage_class() {
    let folder = tempfile::tempdir().unwrap();
    database(
        folder.path(),
        r#"CREATE TABLE m (id INTEGER PRIMARY KEY, thread, customer, sent_at, author, body, extra);
        INSERT INTO m VALUES
            (1, 7, 'u', 1770726896.25, 'human', 'é "quoted"', '{"score": 1.50}'),
            (2, 7, 'u', '2026-02-10T12:34:57Z', 'bot', 42, NULL),
            (3, 'blob', 'u', 1770726896, 'bot', x'00ff', NULL),
            (4, 'json', 'u', 1770726896, 'bot', 'x', '{"score": 1'),
            (5, 'twice', 'u', 1770726896, 'bot', 'x', '{"score": 1, "score": 2}'),
            (6, 'utf8', 'u', 1770726896, 'bot', CAST(x'ff' AS TEXT), NULL),
            (7, x'07', 'u', 1770726896, 'bot', 'x', NULL),
            (8, NULL, 'u', 1770726896, 'bot', 'x', NULL),
            (9, 'c', 'u', 1770726896, 'bot', 'x', x'00'),
            (10, 'd', 'u', 1770726896, 'bot', 'x', '[]');"#,
    );
    let (output, report) = import(&source(folder.path()), MAPPING, false);
    let lines: Vec<_> = output.lines().collect();
    assert_eq!(
        lines[0],
        r#"{"conversation_id":"7","user_id":"u","timestamp":"2026-02-10T12:34:56.25Z","messages":[{"role":"user","content":"é \"quoted\""},{"role":"assistant","content":"42"}],"metadata":{"score":1.50}}"#
    );
    assert!(lines.len() == 2 && lines[1].contains(r#"{"conversation_id":"d""#), "{output}");
    assert_eq!(
        rejects(&report),
        [
            "chat.db: row 3: invalid_content: the content is neither a text nor parts of one (column body)",
            "chat.db: row 4: malformed_row: the value cannot be read (column /extra/score)",
            "chat.db: row 5: malformed_row: the value cannot be read (column /extra/score)",
            "chat.db: row 6: invalid_content: the content is neither a text nor parts of one (column body)",
            "chat.db: row 7: invalid_conversation_id: the conversation id is neither a text nor a number (column thread)",
            "chat.db: row 8: missing_conversation_id: the conversation id is empty (column thread)",
            "chat.db: row 9: malformed_row: the value cannot be read (column /extra/score)",
        ]
    );
    for key in ["id", "body"] {
        let keyed = source(folder.path()).key(key);
        let (grouped, keyed_report) = import(&keyed, MAPPING, true);
        assert_eq!((grouped.as_str(), keyed_report.error_count), (&output[..], report.error_count), "{key}");
    }
}

#[test]
fn documents_are_whole_conversations() {
    let folder = tempfile::tempdir().unwrap();
    database(
        folder.path(),
        r#"CREATE TABLE m (id INTEGER PRIMARY KEY, customer, at, messages);
        INSERT INTO m VALUES (1, 'u', 0, '[{"role": "user", "content": "Hi."}]');"#,
    );
    let toml = "conversation-id = 'id'\nuser-id = 'customer'\ntimestamp = 'at'\nmessages = 'messages'\nrole = 'role'\n\
        content = 'content'";
    let (output, _) = import(&source(folder.path()).json_columns(["messages"]), toml, false);
    let expected = r#"{"conversation_id":"1","user_id":"u","timestamp":"1970-01-01T00:00:00Z","messages":[{"role":"user","content":"Hi."}],"metadata":{}}"#;
    assert_eq!(output.trim_end(), expected);
    assert_eq!(rejects(&import(&source(folder.path()), toml, false).1).len(), 1, "a text is not an array");
}

#[test]
fn what_does_not_fit_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    database(
        folder.path(),
        "CREATE TABLE m (id, thread, customer, sent_at, author, body, extra);
        INSERT INTO m VALUES (1, 'a', 'u', 0, 'user', 'x', NULL), (1, 'b', 'u', 0, 'user', 'x', NULL),
            (NULL, 'c', 'u', 0, 'user', 'x', NULL);",
    );
    let columns = "its columns are id, thread, customer, sent_at, author, body, extra";
    let mapping_error = |text: &str| (ErrorKind::Mapping, text.to_owned());
    let expected = mapping_error(&format!("the query of chat.db has no column `autor`; {columns}"));
    assert_eq!(error(&source(folder.path()), &MAPPING.replace("author", "autor")), expected);
    let expected = mapping_error(&format!("the query of chat.db has no column `key`; {columns}"));
    assert_eq!(error(&source(folder.path()).key("key"), MAPPING), expected);
    // Nulls come first.
    let expected =
        "row 1 of chat.db has no value in the key `id`: use a column that is unique and never null";
    assert_eq!(error(&source(folder.path()).key("id"), MAPPING), mapping_error(expected));
    let query = "SELECT * FROM m WHERE id IS NOT NULL";
    let repeated = SqliteSource::new(folder.path().join("chat.db"), query).key("id");
    assert!(error(&repeated, MAPPING).1.starts_with("row 2 of chat.db has the same value in the key `id`"));
    for (query, expected) in [
        ("SELECT * FROM missing", "no such table: missing"),
        ("DELETE FROM m", "syntax error"),
        ("SELECT * FROM m) AS q; DELETE FROM m; --", "syntax error"),
    ] {
        let (kind, text) = error(&SqliteSource::new(folder.path().join("chat.db"), query), MAPPING);
        assert!(kind == ErrorKind::Source && text.contains(expected), "{text}");
    }
    let (kind, text) = error(&SqliteSource::new(folder.path().join("none.db"), query), MAPPING);
    assert_eq!((kind, text.starts_with("cannot read none.db: ")), (ErrorKind::Source, true));
    assert!(!folder.path().join("none.db").exists());
}

const CHILD_FOLDER: &str = "TOKENLINE_TEST_FOLDER";
const CHILD_GROUPED: &str = "TOKENLINE_TEST_GROUPED";

/// The process that is killed: an import with a checkpoint.
#[test]
#[ignore = "run by another test, in a process of its own"]
fn child() {
    let variable = |name| std::env::var(name).unwrap();
    let (folder, is_grouped) = (variable(CHILD_FOLDER), variable(CHILD_GROUPED) == "true");
    let folder = Path::new(&folder);
    let file = |name| {
        let mut options = File::options();
        Output::file(
            options.read(true).write(true).create(true).truncate(false).open(folder.join(name)).unwrap(),
        )
    };
    let importer = Importer::new(&mapping(MAPPING), file("conversations")).unwrap();
    let importer = importer.grouped(is_grouped).rejects_to(file("rejects"));
    // Slow enough for several checkpoints.
    let importer = importer.on_progress(|_| std::thread::sleep(Duration::from_millis(200)));
    let mut importer = importer.checkpoint(folder.join("checkpoint"), "test").unwrap();
    let source = SqliteSource::new(folder.join("../chat.db"), "SELECT * FROM m");
    source.key("id").read(&mut importer).unwrap();
    let report = importer.finish().unwrap();
    fs::write(folder.join("report"), serde_json::to_string(&report).unwrap()).unwrap();
}

/// Runs the child to its end; returns how often it was killed.
fn run_child(folder: &Path, is_grouped: bool, max_kills: u32) -> u32 {
    // Different in each run of the test.
    let mut random = std::process::id();
    let mut kills = 0;
    fs::create_dir(folder).unwrap();
    loop {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["child", "--exact", "--ignored", "--nocapture"])
            .env(CHILD_FOLDER, folder)
            .env(CHILD_GROUPED, is_grouped.to_string())
            .stdout(std::process::Stdio::null())
            .spawn()
            .unwrap();
        if kills < max_kills {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            std::thread::sleep(Duration::from_millis(1100 + u64::from(random >> 16) % 900));
            if child.try_wait().unwrap().is_none() {
                child.kill().unwrap();
                child.wait().unwrap();
                kills += 1;
                continue;
            }
        }
        assert!(child.wait().unwrap().success());
        return kills;
    }
}

#[test]
fn an_import_goes_on_after_the_process_was_killed() {
    let folder = tempfile::tempdir().unwrap();
    database(
        folder.path(),
        r#"CREATE TABLE m (id INTEGER PRIMARY KEY, thread TEXT COLLATE NOCASE, customer, sent_at, author, body, extra);
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 60000)
        INSERT INTO m SELECT i * 3,
            CASE WHEN i % 503 = 7 THEN NULL WHEN i % 701 = 3 THEN x'00' || i ELSE substr('Aa', 1 + i % 2, 1) || (i * 7919 % 2000) END,
            'u', i, CASE WHEN i % 9001 = 13 THEN 'nobody' WHEN i % 2 = 0 THEN 'human' ELSE 'bot' END, 'Text ' || i,
            CASE WHEN i % 3 = 0 THEN json_object('score', i) END FROM n;"#,
    );
    for is_grouped in [true, false] {
        let run = |name: &str, max_kills| {
            let folder = folder.path().join(format!("{name} {is_grouped}"));
            let kills = run_child(&folder, is_grouped, max_kills);
            let read = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
            (kills, ["conversations", "rejects", "report"].map(read))
        };
        let (_, undisturbed) = run("undisturbed", 0);
        let (kills, killed) = run("killed", 4);
        assert!(kills >= 1 && killed == undisturbed, "grouped: {is_grouped}, kills: {kills}");
        let expected = {
            let source = SqliteSource::new(folder.path().join("chat.db"), "SELECT * FROM m");
            import(&source, MAPPING, false).0
        };
        assert!(killed[0].lines().count() > 1000 && killed[0] == expected);
    }
}

#[test]
fn a_checkpoint_without_a_key_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    database(
        folder.path(),
        "CREATE TABLE m (id, thread, customer, sent_at, author, body, extra);
        INSERT INTO m VALUES (1, 'a', 'u', 0, 'user', 'x', NULL), (2, 'b', 'u', 0, 'user', 'x', NULL);",
    );
    let begin = || {
        let mut options = File::options();
        let options = options.read(true).write(true).create(true).truncate(false);
        let output = Output::file(options.open(folder.path().join("conversations")).unwrap());
        let importer = Importer::new(&mapping(MAPPING), output).unwrap().grouped(true);
        importer.checkpoint(folder.path().join("checkpoint"), "test").unwrap()
    };
    source(folder.path()).read(&mut begin()).unwrap();
    for second in [source(folder.path()), source(folder.path()).key("id")] {
        let error = second.read(&mut begin()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Mapping);
        assert!(error.to_string().contains("that needs a key"), "{error}");
    }
}

#[test]
fn numbers_and_texts_of_the_same_id_are_one_conversation() {
    let folder = tempfile::tempdir().unwrap();
    database(
        folder.path(),
        r"CREATE TABLE m (id TEXT COLLATE NOCASE, thread, customer, sent_at, author, body, extra);
        INSERT INTO m VALUES
            ('a', 7, 'u', 1, 'human', '1', NULL), ('b', 8, 'u', 2, 'human', '2', NULL),
            ('c', '7', 'u', 3, 'human', '3', NULL), ('A', 'x', 'u', 4, 'human', '4', NULL),
            ('B', 'X', 'u', 5, 'human', '5', NULL), ('C', 'x', 'u', 6, 'human', '6', NULL);",
    );
    for is_grouped in [false, true] {
        let source = source(folder.path()).key("id");
        let (output, report) = import(&source, MAPPING, is_grouped);
        assert!(report.is_valid, "{:?}", report.errors);
        let counts: Vec<_> = output.lines().map(|line| line.matches("\"role\"").count()).collect();
        assert_eq!(counts, [2, 1, 1, 2], "{is_grouped} {output}");
    }
}
