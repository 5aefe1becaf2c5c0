//! `table [ROUNDS [BYTES]] [GROUP]...`: measures these groups, or all. Prints Markdown tables of medians to standard output
//! and progress to standard error.

use std::process::ExitCode;

use tokenline_benches::contenders::{CORPUS_BYTES, Group, Unit, groups};
use tokenline_benches::rounds::{self, Cell};

const ROUNDS: usize = 31;

fn main() -> ExitCode {
    let mut arguments = Vec::new();
    let mut names = Vec::new();
    for argument in std::env::args().skip(1) {
        match argument.parse() {
            Ok(number) if number > 0 && arguments.len() < 2 && names.is_empty() => arguments.push(number),
            Err(_) if !argument.starts_with('-') => names.push(argument),
            _ => return usage(),
        }
    }
    let rounds = arguments.first().copied().unwrap_or(ROUNDS);
    let bytes = arguments.get(1).copied().unwrap_or(CORPUS_BYTES);
    let mut groups = groups(bytes);
    if names.iter().any(|name| groups.iter().all(|group| group.name != *name)) {
        return usage();
    }
    groups.retain(|group| names.is_empty() || names.iter().any(|name| group.name == *name));
    println!("{rounds} interleaved rounds, corpora of {bytes} bytes, {}.", processor());
    for group in groups {
        eprintln!("{} ...", group.name);
        print(&group, &rounds::measure(&group, rounds));
    }
    ExitCode::SUCCESS
}

fn usage() -> ExitCode {
    eprintln!("usage: table [ROUNDS [BYTES]] [GROUP]...; ROUNDS and BYTES must be positive");
    ExitCode::from(2)
}

fn print(group: &Group, table: &[Vec<Cell>]) {
    let unit = match group.unit {
        Unit::MegabytesPerSecond => "MB/s",
        Unit::NanosecondsPerToken => "ns per chunk",
        Unit::NanosecondsPerEvent => "ns per event",
        Unit::Microseconds => "us",
    };
    println!("\n`{}`: {}, {unit} (times as fast as the first row)\n", group.name, group.title);
    print!("| |");
    for corpus in &group.corpora {
        print!(" {} |", corpus.name);
    }
    println!("\n|---|{}", "--:|".repeat(group.corpora.len()));
    for (contender, row) in group.contenders.iter().zip(table) {
        print!("| {} |", contender.name);
        for Cell { value, ratio } in row {
            let decimals = if *value < 100.0 { 1 } else { 0 };
            print!(" {value:.decimals$} ({ratio:.2}) |");
        }
        println!();
    }
}

/// The processor model if the system reports it, else the architecture.
fn processor() -> String {
    std::fs::read_to_string("/proc/cpuinfo")
        .ok()
        .and_then(|info| {
            let line = info.lines().find(|line| line.starts_with("model name"))?;
            Some(line.split_once(':')?.1.trim().to_owned())
        })
        .unwrap_or_else(|| std::env::consts::ARCH.to_owned())
}
