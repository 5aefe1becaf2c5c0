//! Connections that break, processes that are killed, checkpoints.

use super::*;

/// Reads all rows, and ends the server in the meantime, in every way.
async fn import_with_breaks(
    server: &Arc<Server>,
    source: &PostgresSource,
    is_grouped: bool,
) -> Result<String, String> {
    let mut output = Vec::new();
    let (breaker, mut breaks) = (Arc::clone(server), 0);
    let importer = Importer::new(&mapping(MAPPING), Output::writer(&mut output)).unwrap();
    let mut importer = importer.grouped(is_grouped).on_progress(move |progress| {
        let due = 30_000 * (breaks + 1);
        if progress.rows < due || breaks == 4 {
            return;
        }
        breaks += 1;
        match breaks {
            1 | 4 => breaker.end("QUIT"),
            2 => breaker.end("KILL"),
            _ => {
                let breaker = Arc::clone(&breaker);
                let terminated = std::thread::spawn(move || {
                    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
                    let sql = "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity
                        WHERE application_name = 'tokenline' AND backend_type = 'client backend'";
                    runtime.block_on(breaker.rows(sql))
                });
                assert_eq!(terminated.join().unwrap().len(), 1);
                return;
            }
        }
        let breaker = Arc::clone(&breaker);
        std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(300));
            breaker.restart();
        });
    });
    source.read(&mut importer).await.map_err(|error| error.to_string())?;
    let report = importer.finish().unwrap();
    assert_eq!(report.row_count, 150_000);
    validate(&output);
    Ok(String::from_utf8(output).unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn reading_goes_on_after_the_connection_broke() {
    let server = Arc::new(Server::start());
    fill(&server, 150_000, 5000, 30).await;
    for is_grouped in [true, false] {
        let source = source(&server);
        let undisturbed = import(&source, MAPPING, is_grouped).await.0;
        assert!(undisturbed.len() > 30_000_000, "more than fits into buffers");
        let broken = import_with_breaks(&server, &source, is_grouped).await.unwrap();
        assert!(broken == undisturbed, "grouped: {is_grouped}");
    }
    let without_key = PostgresSource::new(&server.url(), "SELECT * FROM messages").unwrap();
    let error = import_with_breaks(&server, &without_key, false).await.unwrap_err();
    assert!(error.contains("broke after row") && error.ends_with("a key is needed to go on"), "{error}");
    assert!(!error.contains(PASSWORD));
    // The server may still be starting again.
    tokio::time::sleep(Duration::from_secs(3)).await;
    let impatient = source(&server).retry_for(Duration::ZERO);
    let error = import_with_breaks(&server, &impatient, false).await.unwrap_err();
    assert!(error.starts_with("cannot read "), "{error}");
    tokio::time::sleep(Duration::from_secs(3)).await;
}

const CHILD_URL: &str = "TOKENLINE_TEST_URL";
const CHILD_FOLDER: &str = "TOKENLINE_TEST_FOLDER";
const CHILD_GROUPED: &str = "TOKENLINE_TEST_GROUPED";

/// The process that is killed: an import with a checkpoint.
#[tokio::test]
#[ignore = "run by another test, in a process of its own"]
async fn child() {
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
    let importer = importer.on_progress(|_| std::thread::sleep(Duration::from_millis(100)));
    let mut importer = importer.checkpoint(folder.join("checkpoint"), "test").unwrap();
    let source = PostgresSource::new(&variable(CHILD_URL), "SELECT * FROM messages").unwrap();
    let source = source.key("id");
    source.read(&mut importer).await.unwrap();
    let report = importer.finish().unwrap();
    fs::write(folder.join("report"), serde_json::to_string(&report).unwrap()).unwrap();
}

/// Runs the child to its end; returns how often it was killed.
fn run_child(
    server: &Server,
    folder: &Path,
    is_grouped: bool,
    mut lives: impl Iterator<Item = Duration>,
) -> u32 {
    let mut kills = 0;
    loop {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["resume::child", "--exact", "--ignored", "--nocapture"])
            .env(CHILD_URL, server.url())
            .env(CHILD_FOLDER, folder)
            .env(CHILD_GROUPED, is_grouped.to_string())
            .stdout(std::process::Stdio::null())
            .spawn()
            .unwrap();
        let Some(life) = lives.next() else {
            assert!(child.wait().unwrap().success());
            return kills;
        };
        std::thread::sleep(life);
        match child.try_wait().unwrap() {
            Some(status) => {
                assert!(status.success());
                return kills;
            }
            None => {
                child.kill().unwrap();
                child.wait().unwrap();
                kills += 1;
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_import_goes_on_after_the_process_was_killed() {
    let server = Server::start();
    fill(&server, 150_000, 4000, 2).await;
    for is_grouped in [true, false] {
        let (undisturbed, killed) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        run_child(&server, undisturbed.path(), is_grouped, std::iter::empty());
        // Different in each run of the test.
        let mut random = std::process::id();
        let lives = std::iter::repeat_with(|| {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            Duration::from_millis(1100 + u64::from(random >> 16) % 1300)
        });
        let kills = run_child(&server, killed.path(), is_grouped, lives.take(5));
        assert!(kills >= 2, "{kills}");
        for name in ["conversations", "rejects", "report"] {
            let read = |folder: &tempfile::TempDir| fs::read(folder.path().join(name)).unwrap();
            assert!(read(&killed) == read(&undisturbed), "{name}, grouped: {is_grouped}");
        }
        let conversations = fs::read(killed.path().join("conversations")).unwrap();
        assert!(conversations == expected(&server).await.as_bytes());
        assert!(!fs::read_to_string(killed.path().join("report")).unwrap().contains(PASSWORD));
        assert!(!killed.path().join("checkpoint").exists());
    }
}

#[tokio::test]
async fn a_checkpoint_of_other_options_is_refused() {
    let server = Server::start();
    fill(&server, 5000, 100, 1).await;
    let folder = tempfile::tempdir().unwrap();
    let begin = |is_grouped| {
        let options = File::options().read(true).write(true).create(true).truncate(false).clone();
        let output = Output::file(options.open(folder.path().join("conversations")).unwrap());
        let importer = Importer::new(&mapping(MAPPING), output).unwrap().grouped(is_grouped);
        importer.checkpoint(folder.path().join("checkpoint"), "test").unwrap()
    };
    let source = |key: Option<&str>| {
        let source = PostgresSource::new(&server.url(), "SELECT * FROM messages").unwrap();
        match key {
            Some(key) => source.key(key),
            None => source,
        }
    };
    for (first, second, expected) in [
        (None, Some("id"), "that needs a key"),
        (None, None, "that needs a key"),
        (Some("id"), None, "that of another import"),
    ] {
        let _ = fs::remove_file(folder.path().join("checkpoint"));
        let _ = fs::remove_file(folder.path().join("checkpoint.rows"));
        let mut importer = begin(true);
        source(first).read(&mut importer).await.unwrap();
        drop(importer);
        let mut importer = begin(true);
        let error = source(second).read(&mut importer).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Mapping);
        assert!(error.to_string().contains(expected), "{error}");
    }
}

/// A row for each position that a checkpoint can have.
const ROWS: &str = r#"
    (1, 'a'), (2, E'quote '' \\ " é'), (3, NULL), (4, 'a'), (5, NULL), (6, '10'), (7, ''), (8, 'B')
"#;

#[tokio::test]
async fn reading_goes_on_after_every_row() {
    let server = Server::start();
    let keys = [
        ("smallint", "i::smallint"),
        ("uuid", "md5(i::text)::uuid"),
        ("text", r#"chr(96 + i % 5) || E' \\ '' " ' || i"#),
        ("varchar(20)", "repeat('é', i)"),
        ("char(9)", "'k ' || i"),
        ("timestamptz", "'2026-01-01 00:00:00.000001+05'::timestamptz - i * interval '1 year 1 us'"),
        ("timestamp", "'0044-03-15 BC'::timestamp + i * interval '1 us'"),
        ("numeric", "i * 1e-20 - 3e-20"),
        ("float8", "sqrt(i::float8)"),
        ("inet", "'10.0.0.0'::inet + (20 - i)"),
        ("bytea", r"decode(lpad(to_hex(i * 20), 2, '0') || '00', 'hex')"),
        ("mood", "('{m0,m1,m2,m3,m4,m5,m6,m7,m8,m9}'::text[])[i]::mood"),
    ];
    server
        .execute("CREATE TYPE mood AS ENUM ('m9', 'm1', 'm2', 'm3', 'm4', 'm5', 'm6', 'm7', 'm8', 'm0')")
        .await;
    for (r#type, key) in keys {
        let folder = tempfile::tempdir().unwrap();
        let table = format!(
            "DROP TABLE IF EXISTS messages;
             CREATE TABLE messages (id {type} PRIMARY KEY, thread text, customer text, sent_at timestamptz, author text,
                 body text, extra jsonb);
             INSERT INTO messages SELECT {key}, t, 'u', now(), 'user', 'x', NULL FROM (VALUES {ROWS}) AS v (i, t)"
        );
        server.execute(&table).await;
        for is_grouped in [false, true] {
            let order = if is_grouped { "thread, m.id" } else { "m.id" };
            let rows =
                server.rows(&format!("SELECT thread, id::text FROM messages AS m ORDER BY {order}")).await;
            for (at, row) in rows.iter().enumerate() {
                let _ = fs::remove_file(folder.path().join("checkpoint"));
                let begin = || {
                    let mut options = File::options();
                    let options = options.read(true).write(true).create(true).truncate(false);
                    let output = Output::file(options.open(folder.path().join("conversations")).unwrap());
                    let importer = Importer::new(&mapping(MAPPING), output).unwrap().grouped(is_grouped);
                    importer.checkpoint(folder.path().join("checkpoint"), "test").unwrap()
                };
                let mut first = begin();
                source(&server).read(&mut first).await.unwrap();
                drop(first);
                let path = folder.path().join("checkpoint");
                let mut state: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
                let position = if is_grouped { json!([row[0], row[1]]) } else { json!([row[1]]) };
                state["position"] = json!(position.to_string());
                state["rows"] = json!(0);
                fs::write(&path, state.to_string()).unwrap();
                let mut second = begin();
                source(&server).read(&mut second).await.unwrap();
                let read = second.finish().unwrap().row_count;
                assert_eq!(read, (rows.len() - at - 1) as u64, "{type} {is_grouped} {row:?}");
            }
        }
    }
}
