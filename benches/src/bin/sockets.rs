//! `sockets [ROUNDS]`: 1,000 responses over loopback sockets, each with an event of 4 bytes of text every 20 or 50 ms.
//! Prints the time from sending a record's last byte to the record, and the client's CPU time, as a Markdown table.
//!
//! Needs Linux, and 2,010 open files (`ulimit -n`).

use std::io;
use std::process::ExitCode;
use std::time::Duration;

use tokenline_benches::contenders::sse::sockets::{Contender, Figures, STREAMS, round};
use tokenline_benches::rounds::median;

const ROUNDS: usize = 3;
/// The contender that the others are compared with.
const BASE: Contender = Contender::Naive;

fn main() -> ExitCode {
    let rounds = match std::env::args().nth(1).map(|rounds| rounds.parse()) {
        None => ROUNDS,
        Some(Ok(rounds @ 1..)) => rounds,
        Some(_) => {
            eprintln!("usage: sockets [ROUNDS]");
            return ExitCode::from(2);
        }
    };
    match table(rounds) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("sockets: {error}");
            ExitCode::FAILURE
        }
    }
}

fn table(rounds: usize) -> io::Result<()> {
    println!("{STREAMS} streams, {rounds} interleaved rounds.\n");
    println!(
        "| us (times `{}`) | event every | median | 99th percentile | CPU time per event |",
        BASE.name().replace('`', "")
    );
    println!("|---|--:|--:|--:|--:|");
    for milliseconds in [20, 50] {
        let mut figures = Contender::ALL.map(|_| Vec::new());
        for number in 0..rounds {
            for step in 0..Contender::ALL.len() {
                let index = (number + step) % Contender::ALL.len();
                let figure = round(Contender::ALL[index], STREAMS, Duration::from_millis(milliseconds))?;
                eprintln!("{milliseconds} ms, round {number}, {}: {figure:?}", Contender::ALL[index].name());
                figures[index].push(figure);
            }
        }
        let base = Contender::ALL.iter().position(|contender| *contender == BASE).expect("a contender");
        for (contender, own) in Contender::ALL.iter().zip(&figures) {
            let cell = |of: fn(&Figures) -> f64| {
                let ratios = own.iter().zip(&figures[base]).map(|(own, base)| of(own) / of(base));
                format!("{:.1} ({:.2})", median(own.iter().map(of)), median(ratios))
            };
            println!(
                "| {} | {milliseconds} ms | {} | {} | {} |",
                contender.name(),
                cell(|figures| figures.median),
                cell(|figures| figures.percentile_99),
                cell(|figures| figures.cpu),
            );
        }
    }
    Ok(())
}
