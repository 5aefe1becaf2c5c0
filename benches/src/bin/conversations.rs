//! `conversations [MEGABYTES [ROUNDS]]`: measures several ways to validate a file of conversations, each in a separate
//! process: MB/s and peak memory. Prints a Markdown table to standard output.
//!
//! `conversations write MEGABYTES FILE` writes such a file, for measuring other programs.

use std::collections::HashSet;
use std::error::Error;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, BufWriter, Write as _};
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::Instant;

use tokenline_benches::corpora::{Corpus, Kind};
use tokenline_conversations::{ConversationValidator, Profile, RecordValidator, Snapshot};

const MEGABYTES: usize = 256;
const ROUNDS: usize = 7;
/// The size of the corpus that a file repeats with different ids.
const PART: usize = 4_000_000;

type Way = fn(&Path) -> io::Result<u64>;

const WAYS: &[(&str, Way)] = &[
    ("`read_until` + serde_json + jsonschema", straightforward),
    ("`RecordValidator`, the same schema", records),
    ("`ConversationValidator`", one_thread),
    ("`ConversationValidator`, 2 threads", two_threads),
    ("`Snapshot`", snapshot),
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let number =
        |at: usize, default: usize| arguments.get(at).map_or(Some(default), |number| number.parse().ok());
    let outcome = match (&*arguments, number(0, MEGABYTES), number(1, ROUNDS)) {
        (["run", way, file], ..) => run(way, Path::new(file)),
        (["write", megabytes, file], ..) => match megabytes.parse() {
            Ok(megabytes) => write(megabytes, Path::new(file)).map_err(Into::into),
            Err(_) => return usage(),
        },
        (_, Some(megabytes @ 1..), Some(rounds @ 1..)) if arguments.len() <= 2 => table(megabytes, rounds),
        _ => return usage(),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("conversations: {error}");
            ExitCode::FAILURE
        }
    }
}

fn usage() -> ExitCode {
    eprintln!("usage: conversations [MEGABYTES [ROUNDS]]\n       conversations write MEGABYTES FILE");
    ExitCode::from(2)
}

/// Measures all ways in interleaved rounds.
fn table(megabytes: usize, rounds: usize) -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("conversations.jsonl");
    write(megabytes, &file)?;
    let bytes = file.metadata()?.len();
    let mut times = vec![Vec::new(); WAYS.len()];
    let mut peaks = vec![0; WAYS.len()];
    let mut counts = HashSet::new();
    for round in 0..=rounds {
        eprintln!("round {round} of {rounds}");
        for (at, _) in WAYS.iter().enumerate() {
            // Read the file first, so that it is in memory for every way.
            io::copy(&mut File::open(&file)?, &mut io::sink())?;
            let output =
                Command::new(std::env::current_exe()?).args(["run", &at.to_string()]).arg(&file).output()?;
            let line = String::from_utf8(output.stdout)?;
            let [valid, seconds, peak] = &*line.split_whitespace().collect::<Vec<_>>() else {
                return Err(format!("{}: {}", WAYS[at].0, String::from_utf8_lossy(&output.stderr)).into());
            };
            counts.insert((*valid).to_owned());
            // The first round is for warming up.
            if round > 0 {
                times[at].push(seconds.parse::<f64>()?);
                peaks[at] = peaks[at].max(peak.parse::<u64>()?);
            }
        }
    }
    if counts.len() != 1 {
        return Err(format!("the ways disagree on the number of valid conversations: {counts:?}").into());
    }
    let valid = counts.into_iter().next().unwrap_or_default();
    println!("{bytes} bytes, {valid} conversations, {rounds} interleaved rounds.\n");
    println!("| | MB/s | times as fast | peak MB |\n|---|--:|--:|--:|");
    for (at, (name, _)) in WAYS.iter().enumerate() {
        let ratio = median(times[0].iter().zip(&times[at]).map(|(first, own)| first / own));
        let speed = bytes as f64 / 1e6 / median(times[at].iter().copied());
        println!("| {name} | {speed:.0} | {ratio:.2} | {:.1} |", peaks[at] as f64 / 1e3);
    }
    Ok(())
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Runs one way, and prints the number of valid conversations, the seconds, and the peak memory in kB.
fn run(way: &str, file: &Path) -> Result<(), Box<dyn Error>> {
    let (_, way) = way.parse().ok().and_then(|way: usize| WAYS.get(way)).ok_or("no such way")?;
    let start = Instant::now();
    let valid = way(file)?;
    let seconds = start.elapsed().as_secs_f64();
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.split_whitespace().next());
    println!("{valid} {seconds} {}", peak.unwrap_or("0"));
    Ok(())
}

/// Typical code without tokenline. It has no summary, and reports no errors.
fn straightforward(file: &Path) -> io::Result<u64> {
    let schema = tokenline_conversations::schema(Profile::Open);
    let validator = jsonschema::options().should_validate_formats(true).build(&schema).expect("a schema");
    let mut source = BufReader::new(File::open(file)?);
    let (mut line, mut ids) = (Vec::new(), HashSet::new());
    while source.read_until(b'\n', &mut line)? > 0 {
        if let Ok(value) = serde_json::from_slice::<serde_json::Value>(&line)
            && validator.is_valid(&value)
            && let Some(id) = value["conversation_id"].as_str()
        {
            ids.insert(id.to_owned());
        }
        line.clear();
    }
    Ok(ids.len() as u64)
}

fn conversations(file: &Path, jobs: usize) -> io::Result<u64> {
    let mut validator = ConversationValidator::new(Profile::Open).jobs(jobs);
    validator.read("", File::open(file)?)?;
    Ok(validator.finish()?.valid_conversation_count)
}

fn one_thread(file: &Path) -> io::Result<u64> {
    conversations(file, 1)
}

fn two_threads(file: &Path) -> io::Result<u64> {
    conversations(file, 2)
}

fn records(file: &Path) -> io::Result<u64> {
    let schema = tokenline::schema::SchemaValidator::new(&tokenline_conversations::schema(Profile::Open));
    let mut validator = RecordValidator::new(schema.expect("a schema"));
    validator.read("", File::open(file)?)?;
    Ok(validator.finish()?.valid_line_count)
}

fn snapshot(file: &Path) -> io::Result<u64> {
    let report = Snapshot::new(Profile::Open).write("", File::open(file)?, io::sink())?;
    Ok(report.valid_conversation_count)
}

/// Writes conversations with distinct ids.
fn write(megabytes: usize, file: &Path) -> io::Result<()> {
    let corpus = Corpus::generate(Kind::Conversations, PART);
    let text = str::from_utf8(&corpus.bytes).expect("a corpus is UTF-8");
    let mut out = BufWriter::new(File::create(file)?);
    let mut written = 0;
    for part in 0.. {
        for line in text.lines() {
            let line = line.replacen("\"conv_", &format!("\"conv_{part:x}_"), 1);
            writeln!(out, "{line}")?;
            written += line.len() + 1;
            if written >= megabytes * 1_000_000 {
                return out.flush();
            }
        }
    }
    unreachable!("returns once enough is written")
}
