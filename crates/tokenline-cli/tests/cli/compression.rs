//! Compressed inputs. The fixtures were written by gzip, xz, zstd and pzstd: three lines (`three.*`), or 4,000
//! conversations in several blocks or frames, with various checksums, filters and windows; `x.xz` is 1 MiB of `x`.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::common::{Run, file, folder, tokenline};
use crate::extent::positions;
use crate::validate::{errors, json_of};

fn fixture(name: &str) -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/compressed");
    fs::read(folder.join(name)).expect("a fixture")
}

fn validate(input: impl AsRef<[u8]>) -> Run {
    tokenline(&["validate-input", "--input", "-", "--format", "json"], input)
}

#[test]
fn compressed_files_are_read_and_several_files_are_one_dataset() {
    let folder = folder();
    for name in ["three.gz", "three.xz", "three.zst"] {
        let bytes = fixture(name);
        // From a file of any name; two concatenated; truncated; and with a flipped bit.
        let input = file(&folder, &name.replace("three", "in"), &bytes);
        let once = tokenline(&["validate-input", "--input", &input, "--format", "json"], "");
        assert_eq!(errors(&json_of(&once.out)), [(2, "malformed_json")], "{name}");
        let twice = validate([&*bytes, &*bytes].concat());
        assert_eq!(json_of(&twice.out)["total_lines"], 6, "{name}");
        for length in positions(bytes.len() - 9, 30).map(|position| position + 8) {
            let cut = validate(&bytes[..length]);
            assert_eq!(cut.code, 3, "{name}, {length}: {}", cut.out);
            assert!(cut.err.starts_with("tokenline: cannot read stdin: "), "{name}, {length}: {}", cut.err);
        }
        let mut damaged = bytes;
        let middle = damaged.len() / 2;
        damaged[middle] ^= 1;
        assert_eq!(validate(damaged).code, 3, "{name}");
    }
    let pattern = folder.path().join("in.*");
    let pattern = pattern.to_str().expect("UTF-8");
    let report = tokenline(&["validate-input", "--input", pattern, "--format", "json"], "").out;
    let report = json_of(&report);
    assert_eq!((&report["total_lines"], &report["valid_conversation_count"]), (&9.into(), &2.into()));
    assert!(report["errors"][0]["input_path"].as_str().is_some_and(|path| path.ends_with("in.gz")));
    assert!(report["errors"][1]["input_path"].as_str().is_some_and(|path| path.ends_with("in.xz")));
}

#[test]
fn every_variant_of_a_format_is_decompressed() {
    for name in ["blocks.xz", "bcj.xz", "frames.zst", "long.zst", "fast.zst"] {
        let run = validate(fixture(name));
        assert_eq!(run.code, 0, "{name}: {}", run.err);
        assert_eq!(json_of(&run.out)["valid_conversation_count"], 4000, "{name}");
    }
    // A skippable frame first, and one at the end.
    let skippable = b"\x50\x2a\x4d\x18\x04\0\0\0abcd";
    let run = validate([skippable, &*fixture("three.zst"), skippable].concat());
    assert_eq!(json_of(&run.out)["total_lines"], 3);
    let run = validate([&*fixture("three.zst"), &skippable[..10]].concat());
    assert_eq!(run.code, 3, "{}", run.out);
}

/// Runs the program with a limit on its address space.
#[cfg(target_os = "linux")]
fn validate_within(bytes: usize, input: &[u8]) -> Run {
    let script = format!("ulimit -v {}; exec \"$0\" validate-input --input - -j 1", bytes / 1024);
    let mut child = Command::new("sh")
        .args(["-c", &script, env!("CARGO_BIN_EXE_tokenline")])
        // The limit is on addresses, of which glibc would reserve 64 MiB for each thread.
        .env("MALLOC_ARENA_MAX", "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("a shell");
    let _ = child.stdin.take().expect("piped").write_all(input);
    let output = child.wait_with_output().expect("it ends");
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    Run { code: output.status.code().expect("no signal"), out: text(output.stdout), err: text(output.stderr) }
}

/// A few bytes that request a window of 1.5 or 2 GiB: `printf 'x\n' | xz -0 --lzma2=dict=1536MiB`, and a similar
/// Zstandard frame.
#[cfg(target_os = "linux")]
#[test]
fn windows_over_128_mib_are_rejected() {
    let xz: &[u8] = b"\xfd\x37\x7a\x58\x5a\x00\x00\x04\xe6\xd6\xb4\x46\x02\x00\x21\x01\x25\x00\x00\x00\
          \x3b\x78\x7b\x41\x01\x00\x01\x78\x0a\x00\x00\x00\x37\x4a\x51\xdc\x33\xa2\xca\xb0\
          \x00\x01\x1a\x02\xdc\x2e\xa5\x7e\x1f\xb6\xf3\x7d\x01\x00\x00\x00\x00\x04\x59\x5a";
    let zstd: &[u8] = b"\x28\xb5\x2f\xfd\x00\xa8\x11\x00\x00x\n";
    for bomb in [xz, zstd] {
        let run = validate_within(1 << 30, bomb);
        let expected =
            "tokenline: cannot read stdin: decompression needs more than 128 MiB of memory, the limit\n";
        assert_eq!((run.code, &*run.err), (3, expected));
    }
}

/// A line of 384 MiB from a small input: it is one error, and never completely in memory.
#[cfg(target_os = "linux")]
#[test]
fn decompression_bombs_use_bounded_memory() {
    let repeated = |member: &[u8], times| member.repeat(times);
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    gzip.write_all(&vec![b'x'; 1 << 20]).expect("compressed");
    let gzip = gzip.finish().expect("compressed");
    // A frame with a window of 128 KiB and 1,024 blocks of one byte, repeated 128 Ki times: 128 MiB.
    let block = |is_last: u32| ((1_u32 << 17 << 3) | (1 << 1) | is_last).to_le_bytes();
    let mut zstd = b"\x28\xb5\x2f\xfd\x00\x38".to_vec();
    for number in 0..1024 {
        zstd.extend_from_slice(&block(u32::from(number == 1023))[..3]);
        zstd.push(b'x');
    }
    let bombs = [repeated(&gzip, 384), repeated(&fixture("x.xz"), 384), repeated(&zstd, 3)];
    for bomb in bombs {
        let run = validate_within(256 << 20, &bomb);
        assert_eq!(run.code, 1, "{}", run.err);
        assert_eq!(run.out, "stdin:1:1: line_too_long: the line exceeds the limit of 8388608 bytes\n");
    }
}
