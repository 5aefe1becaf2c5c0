//! Documents for the tests of stores, the conversations they make, and servers that stand in for the real ones.
#![allow(dead_code, reason = "each test uses a part of it")]

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::json;
use tokenline_import::{Importer, Mapping, Output};

#[derive(Clone, Debug)]
pub(crate) struct Message {
    pub(crate) id: String,
    pub(crate) number: u64,
    pub(crate) thread: String,
    pub(crate) user: String,
    /// Milliseconds since 1970. Some messages of a thread have the same.
    pub(crate) time: i64,
    pub(crate) role: &'static str,
    pub(crate) text: String,
    pub(crate) channel: Option<&'static str>,
}

/// Numbers that look random, the same in each run.
pub(crate) struct Numbers(pub u64);

impl Numbers {
    pub(crate) fn next(&mut self, below: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % below
    }
}

/// The number of documents in the largest tests: `TOKENLINE_DOCUMENTS`, or 20,000.
pub(crate) fn document_count() -> u64 {
    std::env::var("TOKENLINE_DOCUMENTS").map_or(20_000, |count| count.parse().expect("a number"))
}

pub(crate) fn messages(count: u64) -> Vec<Message> {
    let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15);
    let threads = count / 8 + 1;
    (0..count)
        .map(|number| {
            let thread = numbers.next(threads);
            Message {
                id: format!("{:016x}{number:06x}", numbers.next(u64::MAX)),
                number,
                thread: format!("thread-{thread:05}"),
                user: format!("user-{}", thread % 97),
                time: 1_770_000_000_000 + (numbers.next(50) * 60_000) as i64,
                role: if numbers.next(2) == 0 { "user" } else { "assistant" },
                text: format!(
                    "Message {number}: \"größer\", {}",
                    "lorem ipsum ".repeat(numbers.next(12) as usize)
                ),
                channel: (numbers.next(3) > 0).then_some("web"),
            }
        })
        .collect()
}

pub(crate) fn mapping() -> Mapping {
    let column = |name: &str| Some(name.to_owned());
    Mapping {
        conversation_id: column("thread"),
        user_id: column("user"),
        timestamp: column("sent_at"),
        role: column("role"),
        content: vec!["text".to_owned()],
        metadata: BTreeMap::from([("channel".to_owned(), "channel".to_owned())]),
        ..Mapping::default()
    }
}

/// The conversations, made without the importer: a line for each thread, sorted.
pub(crate) fn expected(messages: &[Message]) -> String {
    expected_by(messages, |message| message.id.clone())
}

/// The same, with messages of the same time in the order of a key.
pub(crate) fn expected_by<K: Ord>(messages: &[Message], key: impl Fn(&Message) -> K) -> String {
    let mut threads = BTreeMap::<&str, Vec<&Message>>::new();
    for message in messages {
        threads.entry(&message.thread).or_default().push(message);
    }
    let mut lines = String::new();
    for (thread, mut messages) in threads {
        messages.sort_by_key(|message| (message.time, key(message)));
        let time = jiff::Timestamp::from_millisecond(messages[0].time).unwrap();
        let turns: Vec<_> = messages
            .iter()
            .map(|message| {
                let content = serde_json::to_string(&message.text).unwrap();
                format!("{{\"role\":\"{}\",\"content\":{content}}}", message.role)
            })
            .collect();
        let channel = messages.iter().find_map(|message| message.channel);
        lines.push_str(&format!(
            "{{\"conversation_id\":\"{thread}\",\"user_id\":\"{}\",\"timestamp\":\"{time}\",\"messages\":[{}],\"metadata\":{}}}\n",
            messages[0].user,
            turns.join(","),
            channel.map_or(json!({}), |channel| json!({ "channel": channel })),
        ));
    }
    lines
}

pub(crate) fn importer(output: &mut Vec<u8>) -> Importer<'_> {
    Importer::new(&mapping(), Output::writer(output)).unwrap()
}

/// The virtual environment with the stand-ins. Without one, the tests are skipped, unless `TOKENLINE_STORES` demands it.
pub(crate) fn stores() -> Option<PathBuf> {
    let given = std::env::var_os("TOKENLINE_STORES").map(PathBuf::from);
    let default =
        || PathBuf::from(std::env::var_os("HOME").unwrap_or_default()).join(".cache/tokenline/stores");
    let path = given.clone().unwrap_or_else(default);
    if path.join("bin/python").exists() {
        return Some(path);
    }
    assert!(given.is_none(), "{} is not a virtual environment", path.display());
    eprintln!("skipped: {} has no stand-ins for stores", path.display());
    None
}

/// A process that is killed when it is dropped.
pub(crate) struct Server {
    pub(crate) child: Child,
    pub(crate) url: String,
}

impl Server {
    /// OSMem, which stands in for OpenSearch.
    pub(crate) fn opensearch() -> Option<Self> {
        let libraries = std::fs::read_dir(stores()?.join("lib")).unwrap();
        let programs = libraries
            .map(|library| library.unwrap().path().join("site-packages/osmem_server/bin/osmem-server"));
        let program =
            programs.into_iter().find(|program| program.exists()).expect("osmem-server is installed");
        // It ends when its input does.
        let child = Command::new(program)
            .args(["-addr", "127.0.0.1:0", "-no-ja"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut server = Self { child, url: String::new() };
        let mut line = String::new();
        BufReader::new(server.child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let started: serde_json::Value = serde_json::from_str(&line).expect("it says where it listens");
        server.url = started["url"].as_str().unwrap().to_owned();
        Some(server)
    }

    /// SecantusDB, which stands in for MongoDB. It keeps its data in the folder.
    pub(crate) fn mongodb(data: &Path, port: Option<u16>) -> Option<Self> {
        let python = stores()?.join("bin/secantusd-py");
        let port =
            port.unwrap_or_else(|| TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port());
        let child = Command::new(python)
            .args([
                "--host",
                "127.0.0.1",
                "--port",
                &port.to_string(),
                "--log-level",
                "ERROR",
                "--storage-path",
            ])
            .arg(data)
            .current_dir(data)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let server = Self { child, url: format!("mongodb://127.0.0.1:{port}") };
        for _ in 0..300 {
            if TcpStream::connect(("127.0.0.1", port)).is_ok() {
                return Some(server);
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        panic!("SecantusDB does not start");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Builds an example, and returns its program. With the features of the tests, whose build has built it already.
pub(crate) fn example(name: &str) -> PathBuf {
    let features = [
        ("parquet", cfg!(feature = "parquet")),
        ("postgres", cfg!(feature = "postgres")),
        ("sqlite", cfg!(feature = "sqlite")),
        ("mongodb", cfg!(feature = "mongodb")),
        ("opensearch", cfg!(feature = "opensearch")),
    ];
    let features: Vec<_> = features.into_iter().filter(|(_, is_on)| *is_on).map(|(name, _)| name).collect();
    let mut build = Command::new(env!("CARGO"));
    build.args(["build", "--quiet", "-p", "tokenline-import", "--example", name]);
    build.args(["--features", &features.join(",")]);
    if !cfg!(debug_assertions) {
        build.arg("--release");
    }
    // With the variables of the tests' own build, dependencies would be compiled again.
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy();
        let is_given = ["CARGO_HOME", "CARGO_INCREMENTAL", "CARGO_TARGET_DIR"].contains(&&*name);
        if name.starts_with("CARGO_") && !is_given {
            build.env_remove(&*name);
        }
    }
    assert!(build.status().unwrap().success());
    // The tests are in `deps`, beside `examples`.
    let tests = std::env::current_exe().unwrap();
    tests.ancestors().nth(2).unwrap().join("examples").join(name)
}

/// A proxy that forwards each request 20 ms late, so that imports take as long on every machine. Returns its address.
pub(crate) fn slow(upstream: &str) -> String {
    let (_, upstream) = upstream.split_once("://").unwrap();
    let upstream = upstream.to_owned();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        for client in listener.incoming() {
            let (Ok(client), Ok(server)) = (client, TcpStream::connect(&upstream)) else { continue };
            let _ = (client.set_nodelay(true), server.set_nodelay(true));
            let forward = |mut from: TcpStream, mut to: TcpStream, delay| {
                std::thread::spawn(move || {
                    let mut buffer = [0; 1 << 16];
                    while let Ok(1..) = from.read(&mut buffer).and_then(|read| {
                        std::thread::sleep(delay);
                        to.write_all(&buffer[..read]).map(|()| read)
                    }) {}
                    let _ = (to.shutdown(Shutdown::Both), from.shutdown(Shutdown::Both));
                });
            };
            forward(client.try_clone().unwrap(), server.try_clone().unwrap(), Duration::from_millis(20));
            forward(server, client, Duration::ZERO);
        }
    });
    address
}

/// Runs ten imports at once, kills each five times at random moments, and lets the last run end. `command` gets the
/// number of the import, and the paths of the output and the checkpoint. Returns the outputs.
pub(crate) fn killed(command: impl Fn(usize, &Path, &Path) -> Command + Sync) -> Vec<String> {
    let resumed = AtomicUsize::new(0);
    let outputs = std::thread::scope(|scope| {
        let (command, resumed) = (&command, &resumed);
        let imports = (0..10).map(|import| scope.spawn(move || killed_import(import, command, resumed)));
        let imports: Vec<_> = imports.collect();
        imports.into_iter().map(|import| import.join().unwrap()).collect()
    });
    let resumed = resumed.into_inner();
    println!("of 50 runs that were killed, {resumed} left a place to go on from");
    assert!(resumed >= 10, "only {resumed} runs left a place to go on from");
    outputs
}

fn killed_import(
    import: usize,
    command: &impl Fn(usize, &Path, &Path) -> Command,
    resumed: &AtomicUsize,
) -> String {
    let dir = tempfile::tempdir().unwrap();
    let (output, checkpoint) = (dir.path().join("out.jsonl"), dir.path().join("checkpoint"));
    let mut numbers = Numbers(99 + import as u64);
    let mut done = 0;
    while done < 5 {
        let child = command(import, &output, &checkpoint).spawn().unwrap();
        let mut run = Server { child, url: String::new() };
        std::thread::sleep(Duration::from_millis(numbers.next(2_500)));
        // A run that has ended already was not killed. The next begins again.
        match run.child.try_wait().unwrap() {
            Some(status) => {
                assert!(status.success(), "{status}");
                std::fs::remove_file(&output).unwrap();
            }
            None => {
                drop(run);
                done += 1;
                let state = std::fs::read(&checkpoint).unwrap_or_default();
                let state: serde_json::Value = serde_json::from_slice(&state).unwrap_or_default();
                // The first checkpoint is written with the first row.
                resumed.fetch_add(usize::from(state["rows"].as_u64() > Some(1)), Ordering::Relaxed);
            }
        }
    }
    let status = command(import, &output, &checkpoint).status().unwrap();
    assert!(status.success(), "{status}");
    assert!(!checkpoint.exists());
    std::fs::read_to_string(output).unwrap()
}

/// A flag that is set soon.
pub(crate) fn interrupt_soon() -> std::sync::Arc<std::sync::atomic::AtomicBool> {
    let flag = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let later = std::sync::Arc::clone(&flag);
    std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_millis(500));
        later.store(true, std::sync::atomic::Ordering::Relaxed);
    });
    flag
}
