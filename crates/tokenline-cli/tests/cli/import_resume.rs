//! Imports that are interrupted, and go on.

use std::fmt::Write as _;
use std::fs;
use std::io::Read as _;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use serde_json::Value;

use crate::common::{file, folder, tokenline};
use crate::import::{import, many_rows};

/// Ends the program at some moment, and lets it go on.
#[test]
#[cfg(unix)]
fn killed_and_interrupted_imports_go_on() {
    let exports = folder();
    let rows = file(&exports, "rows.csv", many_rows(20_000));
    let check = |grouping: &[&str]| {
        let folder = folder();
        let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
        let (whole, whole_rejects) = (path("whole.jsonl"), path("whole-rejects.jsonl"));
        let run =
            import(&[&[&*rows, "--output", &whole, "--reject-file", &whole_rejects], grouping].concat(), "");
        assert_eq!(run.code, 0, "{}", run.err);
        let (output, rejects, checkpoint) = (path("output.jsonl"), path("rejects.jsonl"), path("checkpoint"));
        let args =
            ["import", &*rows, "--output", &output, "--reject-file", &rejects, "--checkpoint", &checkpoint];
        let args = [&args[..], grouping].concat();
        let mut ended_early = 0;
        for moment in 0..8 {
            let mut child = Command::new(env!("CARGO_BIN_EXE_tokenline"))
                .args(&args)
                .stderr(Stdio::null())
                .spawn()
                .expect("it starts");
            thread::sleep(Duration::from_millis(60 + 60 * moment));
            let signal = if moment % 2 == 0 { "-KILL" } else { "-INT" };
            Command::new("kill")
                .args([signal, &child.id().to_string()])
                .stderr(Stdio::null())
                .status()
                .expect("kill");
            let status = child.wait().expect("it ends");
            ended_early += u32::from(!status.success());
            if status.success() {
                break;
            }
        }
        assert!(ended_early > 0);
        if fs::exists(&checkpoint).unwrap() || fs::read(&output).unwrap() != fs::read(&whole).unwrap() {
            let run = tokenline(&args, "");
            assert_eq!(run.code, 0, "{}", run.err);
        }
        assert!(fs::read(&output).unwrap() == fs::read(&whole).unwrap(), "{grouping:?}");
        assert!(fs::read(&rejects).unwrap() == fs::read(&whole_rejects).unwrap(), "{grouping:?}");
        assert!(!fs::exists(&checkpoint).unwrap() && !fs::exists(path("checkpoint.rows")).unwrap());
    };
    thread::scope(|scope| {
        scope.spawn(|| check(&["--grouped"]));
        check(&[]);
    });
}

/// All rows are read, and sorted conversations are being written.
#[cfg(unix)]
#[test]
fn an_import_that_is_interrupted_while_it_sorts_has_a_report() {
    let folder = folder();
    let rows = file(&folder, "rows.csv", many_rows(40_000));
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (report, rejects, temporary) = (path("report"), path("rejects"), path("temporary"));
    fs::create_dir(&temporary).expect("a folder");
    // Rows in memory and in files.
    for memory in ["1", "128"] {
        for (signal, code) in [("-INT", 130), ("-TERM", 143)] {
            let mut child = Command::new(env!("CARGO_BIN_EXE_tokenline"))
                .args(["import", &rows, "--report-json", &report, "--reject-file", &rejects])
                .args(["--memory", memory, "--temporary-dir", &temporary])
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .expect("it starts");
            let mut output = child.stdout.take().expect("piped");
            // Once it has begun to write, the pipe is full, and it waits.
            let mut start = [0; 1];
            output.read_exact(&mut start).expect("output");
            thread::sleep(Duration::from_millis(100));
            Command::new("kill").args([signal, &child.id().to_string()]).status().expect("kill");
            // The flag is set on another thread.
            thread::sleep(Duration::from_millis(100));
            let mut written = String::from_utf8(start.to_vec()).expect("UTF-8");
            output.read_to_string(&mut written).expect("UTF-8");
            let ended = child.wait_with_output().expect("it ends");
            let errors = String::from_utf8(ended.stderr).expect("UTF-8");
            assert_eq!(ended.status.code(), Some(code), "{errors}");
            assert!(
                errors.ends_with("interrupted: the output has the conversations up to there\n"),
                "{errors}"
            );
            let report: Value = serde_json::from_slice(&fs::read(&report).expect("a report")).expect("JSON");
            assert!(written.ends_with("}\n") && written.lines().count() < 39_000);
            assert_eq!(report["summary"]["conversation_count"], written.lines().count());
            assert_eq!(report["row_count"], 160_000);
            let rejects = fs::read_to_string(&rejects).expect("rejects");
            assert_eq!(report["error_count"], rejects.lines().count());
            assert_eq!(fs::read_dir(&temporary).expect("a folder").count(), 0);
            for name in ["report", "rejects"] {
                fs::remove_file(path(name)).expect("there");
            }
            assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 2);
        }
    }
}

/// A checkpoint knows what it reads and writes: another file in its place is refused, and stays as it is.
#[cfg(unix)]
#[test]
fn a_checkpoint_refuses_other_files() {
    let folder = folder();
    let path = |name: &str| folder.path().join(name).to_str().expect("UTF-8").to_owned();
    let rows = many_rows(30_000);
    let input = file(&folder, "rows.csv", &rows);
    let (output, checkpoint) = (path("out"), path("checkpoint"));
    let args = ["import", &*input, "--grouped", "--output", &output, "--checkpoint", &checkpoint];
    for wait in [2_000, 1_500, 1_200, 800] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_tokenline"))
            .args(args)
            .stderr(Stdio::null())
            .spawn()
            .expect("it starts");
        let started = std::time::Instant::now();
        // Once it has written some conversations.
        while fs::metadata(&output).map_or(0, |file| file.len()) < 100_000
            && started.elapsed() < Duration::from_millis(wait)
        {
            thread::sleep(Duration::from_millis(2));
        }
        let _ = Command::new("kill").args(["-INT", &child.id().to_string()]).stderr(Stdio::null()).status();
        if child.wait().expect("it ends").code() == Some(130) {
            break;
        }
        let _ = fs::remove_file(&output);
    }
    assert!(fs::exists(&checkpoint).unwrap(), "it was interrupted");
    let written = fs::read(&output).unwrap();
    let other = vec![b'x'; written.len() + 10];
    fs::write(&output, &other).unwrap();
    let run = tokenline(&args, "");
    assert!(run.code == 3 && run.err.contains("the file is not the one of the checkpoint"), "{}", run.err);
    assert!(fs::read(&output).unwrap() == other, "it was shortened");
    fs::write(&output, &written).unwrap();
    fs::write(&input, rows.replacen('1', "2", 1)).unwrap();
    let run = tokenline(&args, "");
    assert!(run.code == 2 && run.err.contains("is the checkpoint of another import"), "{}", run.err);
    fs::write(&input, &rows).unwrap();
    assert_eq!(tokenline(&args, "").code, 0);
    let whole = path("whole");
    assert_eq!(tokenline(&["import", &input, "--grouped", "--output", &whole], "").code, 0);
    assert!(fs::read(&output).unwrap() == fs::read(&whole).unwrap());
}

/// A conversation whose first rows were rejected before the checkpoint is rejected after it, too.
#[test]
fn a_resumed_import_knows_what_was_rejected_and_what_it_reads() {
    let folder = folder();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let head = format!("conversation_id,user_id,timestamp,role,content\nA,u,1,user,{}\n", "hi ".repeat(400));
    let mut rows = format!("{head}A,u,never,user,hi\n");
    for number in 0..20_000 {
        writeln!(rows, "c{number},u,1,user,hi").unwrap();
    }
    // The source fails after most rows: a row that is too long.
    let broken = format!("{rows}\"{}", "x".repeat(17 << 20));
    let good = format!("{rows}A,u,2,user,again\n");
    let source = file(&folder, "rows.csv", broken);
    let (output, checkpoint) = (path("output"), path("checkpoint"));
    let args = [&*source, "--grouped", "--output", &output, "--checkpoint", &checkpoint, "--max-errors", "0"];
    assert_eq!(import(&args, "").code, 3);
    // The same start, by which the file is known.
    fs::write(&source, &head).unwrap();
    let run = import(&args, "");
    assert_eq!(run.code, 3);
    assert!(run.err.contains("rows.csv has fewer rows than the checkpoint counts"), "{}", run.err);
    fs::write(&source, good).unwrap();
    for other in ["--kind=tsv", "--empty-messages=keep"] {
        let run = import(&[&args[..], &[other]].concat(), "");
        assert_eq!(run.code, 2);
        assert!(run.err.contains("is the checkpoint of another import"), "{}", run.err);
    }
    let run = import(&args, "");
    assert_eq!(run.code, 0, "{}", run.err);
    let output = fs::read_to_string(&output).unwrap();
    assert_eq!((output.lines().count(), output.contains("\"A\"")), (20_000, false));
    assert!(run.err.contains("2 rejects (2 conversations not written)"), "{}", run.err);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
}
