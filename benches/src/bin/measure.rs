//! Measures all groups, or those named. Prints Markdown tables of medians to standard output and progress to standard
//! error.
//!
//! `scripts/measure` builds and runs this program, and `streams`, which it starts for the memory of streams.

use std::fs;
use std::io;
use std::path::Path;
use std::process::{Command, ExitCode};

use tokenline_benches::contenders::{CORPUS_BYTES, groups, streams};
use tokenline_benches::corpora::{Corpus, Kind};
use tokenline_benches::{published, rounds};

const USAGE: &str = "usage: measure [ROUNDS [BYTES]] [GROUP]...   print the tables of these groups, or all
       measure [ROUNDS [BYTES]] --write      also write them into benches/README.md, then as with --draw
       measure --draw                        draw the plots and the README's table from those in benches/README.md
       measure --corpus KIND BYTES FOLDER    write a corpus of lines and its schema, for measuring other programs
ROUNDS and BYTES must be positive";

const ROUNDS: usize = 31;

#[derive(Default)]
struct Arguments {
    numbers: Vec<usize>,
    groups: Vec<String>,
    write: bool,
    draw: bool,
}

fn main() -> ExitCode {
    let all: Vec<String> = std::env::args().skip(1).collect();
    let outcome = if let Some((kind, bytes, folder)) = corpus_arguments(&all) {
        write_corpus(kind, bytes, folder)
    } else if let Some(arguments) = Arguments::parse(all.into_iter()) {
        run(&arguments)
    } else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("measure: {error}");
            ExitCode::FAILURE
        }
    }
}

impl Arguments {
    fn parse(all: impl Iterator<Item = String>) -> Option<Self> {
        let mut parsed = Self::default();
        for argument in all {
            match argument.parse() {
                Ok(number) if number > 0 && parsed.numbers.len() < 2 && parsed.groups.is_empty() => {
                    parsed.numbers.push(number);
                }
                Err(_) if argument == "--write" => parsed.write = true,
                Err(_) if argument == "--draw" => parsed.draw = true,
                Err(_) if !argument.starts_with('-') => parsed.groups.push(argument),
                _ => return None,
            }
        }
        let alone = parsed.numbers.is_empty() && !parsed.write;
        let is_consistent = parsed.groups.is_empty() || !parsed.write && !parsed.draw;
        (is_consistent && (!parsed.draw || alone)).then_some(parsed)
    }
}

/// The arguments after `--corpus`.
fn corpus_arguments(all: &[String]) -> Option<(Kind, usize, &Path)> {
    let [option, kind, bytes, folder] = all else { return None };
    let kind = Kind::ALL.into_iter().find(|known| known.name() == kind)?;
    (option == "--corpus").then_some((kind, bytes.parse().ok()?, Path::new(folder)))
}

/// Writes `KIND.jsonl` and `KIND.schema.json`.
fn write_corpus(kind: Kind, bytes: usize, folder: &Path) -> io::Result<()> {
    let corpus = Corpus::generate(kind, bytes);
    fs::write(folder.join(format!("{}.jsonl", kind.name())), &corpus.bytes)?;
    fs::write(folder.join(format!("{}.schema.json", kind.name())), corpus.schema)
}

fn run(arguments: &Arguments) -> io::Result<()> {
    if arguments.draw {
        return published::draw(published::repository());
    }
    let rounds = arguments.numbers.first().copied().unwrap_or(ROUNDS);
    let bytes = arguments.numbers.get(1).copied().unwrap_or(CORPUS_BYTES);
    let mut groups = groups(bytes);
    let is_group = |name: &String| name == streams::NAME || groups.iter().any(|group| group.name == *name);
    if let Some(unknown) = arguments.groups.iter().find(|name| !is_group(name)) {
        return Err(io::Error::other(format!("no group {unknown}\n{USAGE}")));
    }
    let is_wanted = |name| arguments.groups.is_empty() || arguments.groups.iter().any(|group| group == name);
    groups.retain(|group| is_wanted(group.name));

    let mut printed = String::new();
    let mut print = |text: String| {
        println!("{text}");
        printed.push_str(&text);
        printed.push('\n');
    };
    let executable = std::env::current_exe()?;
    print(format!("{rounds} interleaved rounds, corpora of {bytes} bytes, {}.\n", machine(&executable)));
    for group in groups {
        eprintln!("{} ...", group.name);
        print(rounds::measure(&group, rounds).to_string());
    }
    if is_wanted(streams::NAME) {
        eprintln!("{} ...", streams::NAME);
        print(memory(&executable)?);
    }
    if arguments.write { published::write(published::repository(), &printed) } else { Ok(()) }
}

/// The table of the program beside this one.
fn memory(executable: &Path) -> io::Result<String> {
    let program = executable.with_file_name(format!("{}{}", streams::NAME, std::env::consts::EXE_SUFFIX));
    let output = Command::new(&program).output().map_err(|error| {
        io::Error::other(format!("{}: {error}. scripts/measure builds it", program.display()))
    })?;
    if !output.status.success() {
        return Err(io::Error::other(format!("{}: {}", program.display(), output.status)));
    }
    String::from_utf8(output.stdout).map_err(io::Error::other)
}

/// The profile, which is the name of the folder of the executable; the processor, or the architecture if the system does
/// not report it; and the number of processors.
fn machine(executable: &Path) -> String {
    let folder = executable.parent().and_then(Path::file_name).unwrap_or_default();
    let profile = folder.to_str().filter(|name| *name != "debug").unwrap_or("dev");
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let processor = info.lines().find(|line| line.starts_with("model name"));
    let processor = processor.and_then(|line| Some(line.split_once(':')?.1.trim()));
    let processor = processor.unwrap_or(std::env::consts::ARCH);
    // All those of the machine: this program may be kept on one.
    let processors = match info.lines().filter(|line| line.starts_with("processor")).count() {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        count => count,
    };
    format!("profile `{profile}`, {processor}, {processors} processors")
}
