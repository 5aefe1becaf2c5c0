//! Texts designed to cost time or memory.
#![expect(clippy::disallowed_types, reason = "slow code is detected by its run time")]

use std::time::{Duration, Instant};

use tokenline_core::{CallFormat, Limits};

use crate::driver::{Driver, Seen, read};

/// The length of a hostile text, about.
const BYTES: usize = 300_000;

/// Reads the text at once and in small chunks, in every format. The time must be linear in its size.
fn survive(text: &str) {
    for format in CallFormat::BUILT_IN {
        let begun = Instant::now();
        let whole = read(format.detector(), [text]);
        // It takes milliseconds in linear time, minutes in quadratic time.
        assert!(begun.elapsed() < Duration::from_secs(20), "{format}: {:?}", begun.elapsed());
        let mut driver = Driver::new(format.detector());
        for piece in text.as_bytes().chunks(7) {
            driver.push(std::str::from_utf8(piece).expect("ASCII"));
        }
        driver.finish();
        assert!(begun.elapsed() < Duration::from_secs(40), "{format}: {:?}", begun.elapsed());
        assert_eq!(driver.seen, whole, "{format}");
    }
}

#[test]
fn openers_without_end() {
    for opener in
        ["[a(", "[a(x=", "[", "<function=", "<function=a>", "<function=a>{", "<tool_call>", "<tool_call>{"]
    {
        survive(&opener.repeat(BYTES / opener.len()));
    }
    for opener in
        ["[TOOL_CALLS]", "[TOOL_CALLS]a", "[TOOL_CALLS][{", "<parameter=", "</function>", "a(", "a\n", "\n<"]
    {
        survive(&opener.repeat(BYTES / opener.len()));
    }
    for opener in [
        "<function=a>\n<parameter=",
        "<invoke name=\"a\"><parameter name=",
        "<tool_call>a\n<arg_key>",
        "[TOOL_CALLS]a[CALL_ID]",
        "]<]minimax[>[<invoke name=\"a\">]<]minimax[>[<",
        "<ifm|tool_call>a\n<ifm|arg_key>b</ifm|arg_key><ifm|arg_type>",
        "<|channel|>",
        "<|tool_call>call:a{b:<|\"|>",
        "<function=a><parameter=x>1</parameter>junk\n",
        "<function=a><parameter=x>\n</parameter> ",
        "<tool_call>{'a':'",
        "<tool_call>{\"a\":'",
        "<tool_call>a(",
        "[f(x=(",
        "Action: a\nAction Input: ",
        "[Calling tool: a({",
    ] {
        survive(&opener.repeat(BYTES / opener.len()));
    }
}

#[test]
fn a_call_that_does_not_end() {
    let filler = "x<\n ".repeat(BYTES / 4);
    for start in [
        "<function=a>{\"x\":\"",
        "<function=a>\n<parameter=x>\n",
        "<function=a>{\"x\":NaN ",
        "<tool_call>{\"x\":\"",
        "[TOOL_CALLS]a{\"x\":\"",
        "[f(x='''",
        "[f(x=foo ",
        "weather(x='",
        "<function=a>\n<parameter=x>\n</parameter>x",
        "<tool_call>{'a':'",
        "<|python_start|>[f(x='",
    ] {
        survive(&format!("{start}{filler}"));
    }
    // Pieces that end with their lines.
    for start in ["<function=a>\n<parameter=x>\n", "<tool_call>{\"name\":\"a\",\"arguments\":{}}", "[f(x='''"]
    {
        survive(&format!("{start}{}", "\n".repeat(BYTES)));
        survive(&format!("{start}{}", "abcdef\n".repeat(BYTES / 7)));
    }
    let many = (0..BYTES / 8).map(|at| format!("a{at}=1,")).collect::<String>();
    survive(&format!("[f({many})]"));
    let many = (0..BYTES / 16).map(|at| format!("<parameter=p{at}></parameter>")).collect::<String>();
    survive(&format!("<function=a>{many}</function>"));
}

#[test]
fn white_space_that_does_not_end() {
    let blanks = " ".repeat(BYTES);
    for start in [
        "<function=",
        "<function=a>",
        "<function=a><parameter=x>",
        "<tool_call>",
        "[{",
        "<|tool_call>call:f{x:",
        "<|tool_call>call:f{x:\"a\"",
        "<|channel|>",
        "<function name=\"a\"><param name=\"x\">",
        "<function name=\"a\"><param name=\"x\"><![CDATA[",
        "<function=a>\n<parameter=x>\n",
    ] {
        survive(&format!("{start}{blanks}"));
    }
}

#[test]
fn nesting_is_limited() {
    for (start, opener, closer, end) in [
        ("[f(x=", "[", "]", ")]"),
        ("[f(x=", "{'a':", "}", ")]"),
        ("[f(x='a',y=", "(", ",)", ")]"),
        ("<function=f>{\"x\":", "[", "]", "}</function>"),
        ("[TOOL_CALLS]f{\"x\":", "[", "]", "}\n"),
        ("<tool_call>{\"name\":\"f\",\"arguments\":{\"x\":", "[", "]", "}}</tool_call>"),
    ] {
        let text = |depth: usize| {
            let inner = if opener == "[" { "" } else { "1" };
            format!("{start}{}{inner}{}{end}", opener.repeat(depth), closer.repeat(depth))
        };
        // The call and its parameters are two levels.
        let deepest = Limits::default().depth - 2;
        let seen = read(CallFormat::Auto.detector(), [text(deepest).as_str()]);
        assert!(matches!(&seen[..], [Seen::Call { .. }]), "{start}: {seen:?}");
        for depth in [deepest + 1, 100_000] {
            let seen = read(CallFormat::Auto.detector(), [text(depth).as_str()]);
            assert!(matches!(&seen[..], [Seen::Fault { code: "too_deep", .. }]), "{start}: {seen:?}");
        }
    }
}
