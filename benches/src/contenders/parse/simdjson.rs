//! simdjson, a library in C++, in a program of its own that `scripts/measure` builds: `benches/peers/simdjson.cpp`. Both
//! programs take turns, so that one of them is idle while the other is timed.

use std::env;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use super::Run;
use crate::corpora::Corpus;

/// The variable with the path of the program.
const PROGRAM: &str = "SIMDJSON_PROGRAM";

/// Whether there is a program.
pub(super) fn is_built() -> bool {
    env::var_os(PROGRAM).is_some()
}

/// A run that the program times.
pub(super) fn parse_many(corpus: &Corpus) -> Run<'_> {
    let mut program = Program::start(&corpus.bytes);
    Box::new(move || {
        let (nanoseconds, records) = program.pass();
        assert_eq!(records, corpus.records, "records of {}", corpus.name);
        Duration::from_nanos(nanoseconds)
    })
}

struct Program {
    child: Child,
    /// `None` after it was closed, which ends the program.
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Program {
    fn start(lines: &[u8]) -> Self {
        let mut command = Command::new(env::var_os(PROGRAM).expect("a program"));
        command.arg(lines.len().to_string()).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("the program of simdjson runs");
        let mut input = child.stdin.take().expect("piped");
        let output = BufReader::new(child.stdout.take().expect("piped"));
        input.write_all(lines).expect("the program reads the lines");
        Self { child, input: Some(input), output }
    }

    /// The nanoseconds and the records of a pass.
    fn pass(&mut self) -> (u64, usize) {
        let mut line = String::new();
        self.input.as_mut().expect("not ended").write_all(b"\n").expect("the program reads");
        self.output.read_line(&mut line).expect("the program writes text");
        let figures = line.trim_end().split_once(' ').expect("the program parses every line");
        (figures.0.parse().expect("nanoseconds"), figures.1.parse().expect("a number of records"))
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.input = None;
        // It ended, or it ends with its input.
        let _ = self.child.wait();
    }
}
