//! Texts of a megabyte that make a careless repair slow.
#![expect(clippy::disallowed_types, reason = "slow code is detected by its run time")]

use std::time::Duration;
use std::time::Instant;

use tokenline_core::Limits;
use tokenline_core::syntax_repair::RepairOptions;
use tokenline_core::syntax_repair::repair_syntax;

const LENGTH: usize = 1 << 20;
/// The longest time for a megabyte: generous, for a debug build on a busy machine. A quadratic search takes minutes.
const MOST: Duration = Duration::from_secs(20);

#[test]
fn the_work_is_linear() {
    let fill = |part: &str| part.repeat(LENGTH / part.len());
    let members = (0..LENGTH / 16).map(|index| format!("\"k{index:07}\":[1]")).collect::<Vec<_>>();
    let deep = "{\"a\":[".repeat(60);
    let long_members =
        (0..60).map(|index| format!("\"k{index}\":\"{}\"", fill("x")[..LENGTH / 64].to_owned()));
    let long_members = long_members.collect::<Vec<_>>().join(",");
    let texts = [
        ("long members, closer missing", format!("{{\"x\":{{{long_members}}}")),
        ("long members, closer surplus", format!("{{\"x\":{{\"y\":{{}},{long_members}}}}}}}")),
        ("long members, closers missing", format!("{{\"x\":[{{{long_members}")),
        ("a fault at the end", format!("[{}x]", fill("[1,\"a\"],"))),
        ("open brackets", fill("[")),
        ("open braces", fill("{\"a\":")),
        ("closers", format!("{{}}{}", fill("}"))),
        ("surplus closers with spaces", format!("{{}}{}", fill("} "))),
        ("quotes", format!("[{}", fill("\""))),
        ("single quotes", format!("[{}", fill("'"))),
        ("single-quoted strings", format!("[{}]", fill("'a',"))),
        ("curly quotes", format!("[{}", fill("“"))),
        ("commas", format!("[{}", fill(","))),
        ("trailing commas", format!("[{}]", fill("[1,],"))),
        ("backslashes", format!("[\"{}", fill("\\"))),
        ("escaped apostrophes", format!("[\"{}\"]", fill("\\'"))),
        ("newlines in a string", format!("[\"{}\"]", fill("\n"))),
        ("strings with newlines", format!("[{}1]", fill("\"\n\","))),
        ("spaces after commas", format!("[1{}", fill(" , "))),
        ("spaces", format!("[1,{}", fill(" "))),
        ("comments", format!("[{}1]", fill("/**/"))),
        ("open comments", format!("[{}", fill("/*"))),
        ("strings without commas", format!("[{}]", fill("\"a\" "))),
        ("containers without commas", format!("[{}]", fill("{}"))),
        ("names without commas", format!("{{{}}}", fill("\"a\":\"b\" "))),
        ("bare names", format!("{{{}}}", fill("a:1,"))),
        ("literals", format!("[{}]", fill("True,"))),
        ("mismatched closers", format!("[{}]", fill("[1},"))),
        ("members, closer missing", format!("{{\"x\":{{{}}}", members.join(","))),
        ("members, closers missing", format!("{deep}{{{}}}", members.join(","))),
        (
            "nested members, closer missing",
            format!("{{\"x\":[[{}]", members[..20_000].join("],[").replace(':', ",")),
        ),
        ("members, closer surplus", format!("{{\"x\":{{{}}}}}}}", members.join(","))),
        ("objects, closer surplus", format!("{{{}}}}}", members.join(",").replace("[1]", "{\"a\":1}"))),
        ("arrays, closer surplus", format!("[{}[1]]]", fill("[1],"))),
        ("arrays, closer missing", format!("[{}[1]", fill("[1,2],"))),
        ("arrays, closers missing", format!("{}{}[1]", "[".repeat(8), fill("[1,2],"))),
        ("arrays, closers surplus", format!("[{}[1]]{}", fill("[1],"), "]".repeat(64))),
    ];
    for (name, text) in &texts {
        for is_end_confirmed in [false, true] {
            let limits = Limits { depth: Limits::MAX_DEPTH, ..Limits::default() };
            let options = RepairOptions { limits, is_end_confirmed };
            let start = Instant::now();
            let result = repair_syntax(text, &options, Some(&mut |_| false));
            let time = start.elapsed();
            assert!(result.is_err(), "{name}");
            println!("{name:32} {:6.1} ms", time.as_secs_f64() * 1e3);
            assert!(time < MOST, "{name}: {time:?}");
        }
    }
}
