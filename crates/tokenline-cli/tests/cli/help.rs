//! The help of all commands, at 80 columns, as a user sees it.

use std::env;
use std::fs;
use std::path::Path;
use std::process::Command;

/// The most lines that `-h` may have: a screen.
const MAX_LINES: usize = 60;

fn help(command: &[&str], flag: &str) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_tokenline"))
        .args(command)
        .arg(flag)
        .env("COLUMNS", "80")
        .output()
        .expect("the program runs");
    assert!(output.status.success(), "{command:?} {flag}");
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// The names of the commands below one.
fn subcommands(help: &str) -> Vec<&str> {
    let Some((_, rest)) = help.split_once("Commands:\n") else { return Vec::new() };
    let names = rest.lines().take_while(|line| !line.is_empty());
    // The rest of a description is indented deeper.
    let names = names.filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    names.filter(|name| !name.is_empty() && *name != "help").collect()
}

#[test]
fn help_is_as_in_the_fixtures() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/help");
    let is_update = env::var_os("UPDATE_FIXTURES").is_some_and(|value| value == "1");
    if is_update {
        fs::create_dir_all(&fixtures).expect("the folder of the fixtures");
    }
    let (mut open, mut seen) = (vec![Vec::new()], 0);
    while let Some(command) = open.pop() {
        let name = [&["tokenline".to_owned()][..], &command].concat().join("-");
        let arguments: Vec<_> = command.iter().map(String::as_str).collect();
        let short = help(&arguments, "-h");
        for (flag, text) in [("-h", &short), ("--help", &help(&arguments, "--help"))] {
            let path = fixtures.join(format!("{name}{flag}.txt"));
            if is_update {
                fs::write(&path, text).expect("a fixture");
            }
            let expected = fs::read_to_string(&path).unwrap_or_default();
            assert_eq!(*text, expected, "{name} {flag}; UPDATE_FIXTURES=1 writes {}", path.display());
        }
        let lines = short.lines().count();
        assert!(lines <= MAX_LINES, "{name} -h has {lines} lines");
        assert!(!short.contains("\nOptions:\n"), "an option of {name} is in no group of `help.rs`:\n{short}");
        open.extend(subcommands(&short).iter().map(|name| [&command[..], &[(*name).to_owned()]].concat()));
        seen += 1;
    }
    assert!(seen > 25, "{seen} commands");
}
