//! A PostgreSQL server in a temporary folder.

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio_postgres::{Client, NoTls, SimpleQueryMessage};

pub(crate) const USER: &str = "reader";
pub(crate) const PASSWORD: &str = "s3cret pass@word";

/// A server on a loopback port. It ends with this value.
pub(crate) struct Server {
    folder: tempfile::TempDir,
    bin: PathBuf,
    port: u16,
    process: Mutex<Option<Child>>,
}

impl Server {
    /// Creates a database and starts its server. Panics if PostgreSQL is not installed.
    pub(crate) fn start() -> Self {
        let bin = binaries();
        let folder = tempfile::Builder::new().prefix("tokenline-pg").tempdir().unwrap();
        let passwords = folder.path().join("password");
        fs::write(&passwords, PASSWORD).unwrap();
        if is_root() {
            run(Command::new("chown").args(["-R", "postgres:"]).arg(folder.path()));
        }
        let mut init = as_owner(&bin.join("initdb"));
        init.args([
            "--username",
            USER,
            "--auth=scram-sha-256",
            "--encoding=UTF8",
            "--locale=C.UTF-8",
            "--no-sync",
        ]);
        init.arg("--pwfile").arg(&passwords).arg("--pgdata").arg(folder.path().join("data"));
        run(&mut init);
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let server = Self { folder, bin, port, process: Mutex::new(None) };
        server.restart();
        server
    }

    /// Starts the server after it has ended.
    pub(crate) fn restart(&self) {
        let deadline = Instant::now() + Duration::from_secs(60);
        while !self.try_start() {
            // The processes of a killed server end a little later.
            assert!(Instant::now() < deadline, "the server does not start: {}", self.log());
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    fn try_start(&self) -> bool {
        let log = fs::File::options().create(true).append(true).open(self.folder.path().join("log")).unwrap();
        let mut command = as_owner(&self.bin.join("postgres"));
        command.arg("-D").arg(self.folder.path().join("data"));
        command.arg("-k").arg(self.folder.path()).args(["-p", &self.port.to_string()]);
        command.args(["-c", "listen_addresses=127.0.0.1", "-c", "fsync=off"]);
        let mut process = command.stdout(log.try_clone().unwrap()).stderr(log).spawn().unwrap();
        let ready = || {
            let mut command = Command::new(self.bin.join("pg_isready"));
            let port = self.port.to_string();
            command.args(["-q", "-h", "127.0.0.1", "-p", &port]).status().unwrap().success()
        };
        while process.try_wait().unwrap().is_none() {
            if ready() {
                *self.process() = Some(process);
                return true;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        false
    }

    /// Ends the server at once, by a signal: `QUIT` or `KILL`.
    pub(crate) fn end(&self, signal: &str) {
        if let Some(mut process) = self.process().take() {
            let _ = Command::new("kill").args([&format!("-{signal}"), &process.id().to_string()]).status();
            let _ = process.wait();
        }
    }

    pub(crate) fn url(&self) -> String {
        self.url_with("s3cret%20pass%40word")
    }

    pub(crate) fn url_with(&self, password: &str) -> String {
        format!("postgres://{USER}:{password}@127.0.0.1:{}/postgres", self.port)
    }

    pub(crate) fn socket(&self) -> (&Path, u16) {
        (self.folder.path(), self.port)
    }

    /// Makes the server encrypt connections with a certificate for `localhost`. Returns the path of the certificate.
    pub(crate) fn encrypt(&self) -> PathBuf {
        let certified = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        let path = |name: &str| self.folder.path().join(name);
        fs::write(path("cert.pem"), certified.cert.pem()).unwrap();
        fs::write(path("key.pem"), certified.signing_key.serialize_pem()).unwrap();
        run(Command::new("chmod").arg("600").arg(path("key.pem")));
        if is_root() {
            run(Command::new("chown").arg("postgres:").args([path("cert.pem"), path("key.pem")]));
        }
        let settings = format!(
            "ssl = on\nssl_cert_file = '{}'\nssl_key_file = '{}'\n",
            path("cert.pem").display(),
            path("key.pem").display()
        );
        fs::write(path("data").join("postgresql.auto.conf"), settings).unwrap();
        self.end("QUIT");
        self.restart();
        path("cert.pem")
    }

    pub(crate) async fn client(&self) -> Client {
        let (client, connection) = tokio_postgres::connect(&self.url(), NoTls).await.unwrap();
        tokio::spawn(connection);
        client
    }

    pub(crate) async fn execute(&self, sql: &str) {
        self.client().await.batch_execute(sql).await.unwrap();
    }

    /// The rows of a query, as text.
    pub(crate) async fn rows(&self, sql: &str) -> Vec<Vec<Option<String>>> {
        let messages = self.client().await.simple_query(sql).await.unwrap();
        let row = |message| match message {
            SimpleQueryMessage::Row(row) => {
                Some((0..row.len()).map(|at| row.get(at).map(str::to_owned)).collect())
            }
            _ => None,
        };
        messages.into_iter().filter_map(row).collect()
    }

    fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }

    fn process(&self) -> std::sync::MutexGuard<'_, Option<Child>> {
        self.process.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end("QUIT");
    }
}

fn binaries() -> PathBuf {
    let installed = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let version = |folder: &PathBuf| folder.file_name()?.to_str()?.parse::<u32>().ok();
    let newest = installed.map(|entry| entry.path()).max_by_key(version).map(|folder| folder.join("bin"));
    newest
        .filter(|bin| bin.join("postgres").exists())
        .expect("PostgreSQL is needed: crates/tokenline-import/run --install")
}

fn is_root() -> bool {
    Command::new("id").arg("-u").output().is_ok_and(|output| output.stdout == b"0\n")
}

/// A command run by a user that PostgreSQL accepts: it refuses to run as root.
fn as_owner(program: &Path) -> Command {
    if !is_root() {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid=postgres", "--regid=postgres", "--clear-groups"]).arg(program);
    command.current_dir("/");
    command
}

fn run(command: &mut Command) {
    let output = command.stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}
