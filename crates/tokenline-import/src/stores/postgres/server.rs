//! Where the server is, and how to connect to it.

use std::error::Error as _;
use std::path::Path;
use std::time::Duration;

use percent_encoding::percent_decode_str;
use tokio_postgres::config::{Host, SslMode};
use tokio_postgres::{Config, Error};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::tls::{self, Verification};
use crate::ImportError;

/// A server and a database of it.
#[derive(Clone)]
pub(super) struct Server {
    pub(super) config: Config,
    pub(super) tls: MakeRustlsConnect,
    /// Host and database, without credentials.
    pub(super) name: String,
}

const DEFAULT_PORT: u16 = 5432;
/// The timeouts that end a connection to a server that no longer responds.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(15);
const KEEPALIVE_IDLE: Duration = Duration::from_secs(30);
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(10);
const KEEPALIVE_RETRIES: u32 = 3;
const SOCKET_DIRS: [&str; 2] = ["/var/run/postgresql", "/tmp"];

impl Server {
    /// Reads a URL. What it lacks is taken from the variables that libpq reads.
    pub(super) fn new(url: &str, variable: impl Fn(&str) -> Option<String>) -> Result<Self, ImportError> {
        let variable = |name: &str| variable(name).filter(|value| !value.is_empty());
        let url = url.trim();
        let (url, mut ssl_mode, mut root_cert) = tls_options(url)?;
        if !url.contains("sslmode") {
            ssl_mode = ssl_mode.or_else(|| variable("PGSSLMODE"));
        }
        root_cert = root_cert.or_else(|| variable("PGSSLROOTCERT"));
        let mut config: Config =
            if url.is_empty() { Config::new() } else { url.parse().map_err(|_| invalid_url())? };

        if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
            let hosts = variable("PGHOST").unwrap_or_else(|| {
                let port = variable("PGPORT").unwrap_or_else(|| DEFAULT_PORT.to_string());
                let has_socket = |dir: &&&str| Path::new(**dir).join(format!(".s.PGSQL.{port}")).exists();
                SOCKET_DIRS.iter().find(has_socket).map_or("localhost", |dir| *dir).to_owned()
            });
            for host in hosts.split(',') {
                config.host(host);
            }
        }
        if let (true, Some(ports)) = (config.get_ports().is_empty(), variable("PGPORT")) {
            for port in ports.split(',') {
                config.port(port.parse().map_err(|_| ImportError::mapping("PGPORT is not a port"))?);
            }
        }
        if let (None, Some(user)) = (config.get_user(), variable("PGUSER")) {
            config.user(user);
        }
        if let (None, Some(password)) = (config.get_password(), variable("PGPASSWORD")) {
            config.password(password);
        }
        if let (None, Some(database)) = (config.get_dbname(), variable("PGDATABASE")) {
            config.dbname(database);
        }
        config.application_name("tokenline");
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(CONNECT_TIMEOUT);
        }
        if config.get_keepalives_interval().is_none() {
            config.keepalives_idle(KEEPALIVE_IDLE);
            config.keepalives_interval(KEEPALIVE_INTERVAL);
            config.keepalives_retries(KEEPALIVE_RETRIES);
        }

        let is_local = config.get_hosts().iter().all(|host| matches!(host, Host::Unix(_)))
            && config.get_hostaddrs().is_empty();
        let verification = match ssl_mode.as_deref() {
            None => match root_cert {
                Some(_) if config.get_ssl_mode() == SslMode::Require => Verification::Authority,
                _ => Verification::None,
            },
            Some("disable" | "allow") => {
                config.ssl_mode(SslMode::Disable);
                Verification::None
            }
            Some("prefer") => {
                config.ssl_mode(SslMode::Prefer);
                Verification::None
            }
            Some("require") => {
                config.ssl_mode(SslMode::Require);
                if root_cert.is_some() { Verification::Authority } else { Verification::None }
            }
            Some(mode @ ("verify-ca" | "verify-full")) => {
                config.ssl_mode(SslMode::Require);
                if mode == "verify-ca" { Verification::Authority } else { Verification::Full }
            }
            Some(_) => {
                return Err(ImportError::mapping(
                    "unknown sslmode: use disable, prefer, require, verify-ca or verify-full",
                ));
            }
        };
        if is_local {
            // libpq does not encrypt Unix sockets either.
            config.ssl_mode(SslMode::Disable);
        }
        let tls = tls::connector(verification, root_cert.as_deref())?;
        let name = name(&config);
        Ok(Self { config, tls, name })
    }

    /// A description of the error, without the password.
    pub(super) fn describe(&self, error: &Error) -> String {
        let mut text = match error.as_db_error() {
            Some(error) => error.message().to_owned(),
            None => error.to_string(),
        };
        let mut source = if error.as_db_error().is_some() { None } else { error.source() };
        while let Some(error) = source {
            text = format!("{text}: {error}");
            source = error.source();
        }
        match self.config.get_password().map(String::from_utf8_lossy) {
            Some(password) if !password.is_empty() => text.replace(&*password, "***"),
            _ => text,
        }
    }
}

/// Takes the options of TLS that only libpq knows out of a URL.
fn tls_options(url: &str) -> Result<(String, Option<String>, Option<String>), ImportError> {
    let is_url = url.starts_with("postgres://") || url.starts_with("postgresql://");
    if !is_url {
        return Ok((url.to_owned(), None, None));
    }
    let (address, options) = url.split_once('?').unwrap_or((url, ""));
    // Part of a password would be taken for a host.
    if address.matches('@').count() > 1 || options.contains('@') {
        return Err(invalid_url());
    }
    let (mut ssl_mode, mut root_cert, mut others) = (None, None, Vec::new());
    for option in options.split('&').filter(|option| !option.is_empty()) {
        match option.split_once('=') {
            Some(("sslmode", value)) => ssl_mode = Some(value.to_owned()),
            Some(("sslrootcert", value)) => {
                let path = percent_decode_str(value).decode_utf8().map_err(|_| invalid_url())?;
                root_cert = Some(path.into_owned());
            }
            _ => others.push(option),
        }
    }
    let url = if others.is_empty() { address.to_owned() } else { format!("{address}?{}", others.join("&")) };
    Ok((url, ssl_mode, root_cert))
}

/// The parser's own message can quote a part of the password.
#[cold]
fn invalid_url() -> ImportError {
    ImportError::mapping(
        "the URL of the server is not valid: write postgres://user:password@host:port/database, with special \
         characters percent-encoded, such as %40 for @",
    )
}

fn name(config: &Config) -> String {
    let ports = config.get_ports();
    let hosts = config.get_hosts().iter().map(|host| match host {
        Host::Tcp(name) => name.clone(),
        Host::Unix(path) => path.display().to_string(),
    });
    let hosts: Vec<_> = match hosts.len() {
        0 => config.get_hostaddrs().iter().map(ToString::to_string).collect(),
        _ => hosts.collect(),
    };
    let with_port = |(at, host): (usize, &String)| match ports.get(at).or(ports.first()) {
        Some(port) if *port != DEFAULT_PORT => format!("{host}:{port}"),
        _ => host.clone(),
    };
    let hosts: Vec<_> = hosts.iter().enumerate().map(with_port).collect();
    let database = config.get_dbname().or(config.get_user()).unwrap_or_default();
    format!("{}/{database}", hosts.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(url: &str) -> Result<Server, ImportError> {
        Server::new(url, |name| (name == "PGPASSWORD").then(|| "from the variable".to_owned()))
    }

    #[test]
    fn names_have_no_credentials() {
        for (url, expected) in [
            ("postgres://ada:s3cret@db.example/shop", "db.example/shop"),
            ("postgresql://ada:s3cret@db.example:5432/shop?sslmode=require", "db.example/shop"),
            (
                "postgres://ada@db.example:5433/shop?sslmode=verify-full&connect_timeout=3",
                "db.example:5433/shop",
            ),
            ("postgres://ada:s3cret@one,two:5433/shop", "one,two:5433/shop"),
            ("postgres://ada:s3/cret@one/shop", "one/shop"),
            ("host=/run/postgresql user=ada password='s3 cret' dbname=shop", "/run/postgresql/shop"),
            ("postgres://ada@one", "one/ada"),
        ] {
            assert_eq!(server(url).unwrap().name, expected, "{url}");
        }
    }

    #[test]
    fn what_the_url_lacks_is_taken_from_variables() {
        let variables = [
            ("PGHOST", "db"),
            ("PGPORT", "5433"),
            ("PGUSER", "ada"),
            ("PGPASSWORD", "s3cret"),
            ("PGDATABASE", "shop"),
        ];
        let variable =
            |name: &str| variables.iter().find(|known| known.0 == name).map(|known| known.1.to_owned());
        let server = Server::new("", variable).unwrap();
        assert_eq!(server.name, "db:5433/shop");
        assert_eq!(server.config.get_password(), Some(&b"s3cret"[..]));
        let server = Server::new("postgres://eve:other@one:1/two", variable).unwrap();
        assert_eq!((&server.name[..], server.config.get_user()), ("one:1/two", Some("eve")));
        assert_eq!(server.config.get_password(), Some(&b"other"[..]));
    }

    #[test]
    fn errors_do_not_quote_a_password() {
        for url in [
            "postgres://ada:s3cret@x@db.example/shop",
            "postgres://ada:s3cret?x@db.example/shop",
            "postgres://ada:s3cret@db.example:port/shop",
            "postgres://ada:s3cret@db.example/shop?s3cret=1",
            "postgres://ada:s3cret@db.example/shop?sslmode=s3cret",
            "host=db password=my s3cret",
            "s3cret",
        ] {
            let error = server(url).map(|server| server.name).unwrap_err();
            assert!(!error.to_string().contains("s3cret"), "{url}: {error}");
        }
    }

    #[test]
    fn tls_follows_the_mode() {
        for (url, expected) in [
            ("postgres://db/shop", SslMode::Prefer),
            ("postgres://db/shop?sslmode=disable", SslMode::Disable),
            ("postgres://db/shop?sslmode=prefer", SslMode::Prefer),
            ("postgres://db/shop?sslmode=require", SslMode::Require),
            ("postgres://db/shop?sslmode=verify-full", SslMode::Require),
            ("host=db sslmode=require", SslMode::Require),
            ("host=/run/postgresql sslmode=require", SslMode::Disable),
        ] {
            assert_eq!(server(url).unwrap().config.get_ssl_mode(), expected, "{url}");
        }
        assert!(server("postgres://db/shop?sslmode=verify-full&sslrootcert=%2Fnot%20there").is_err());
    }
}
