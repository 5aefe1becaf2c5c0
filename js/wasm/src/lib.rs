//! The WebAssembly module of the npm package: parsers by number, text in, events out.
//!
//! The interface is a dozen functions of numbers. A caller writes text where [`scratch`] or [`input`] says, calls, and
//! reads what [`output`] says is there: frames, whose layout `output.rs` describes. `../src/engine.ts` is the other
//! side.
#![deny(unsafe_code)]

#[cfg(feature = "calls")]
mod calls;
#[cfg_attr(not(feature = "calls"), path = "no_judge.rs")]
mod judge;
mod machine;
mod open;
mod output;
#[cfg(feature = "providers")]
mod response;
#[cfg(feature = "schema")]
mod schema;
mod settings;
mod text;
#[cfg(feature = "calls")]
mod tools;
mod write;

use std::cell::RefCell;

use machine::Machine;
use output::Output;

/// A parser with its buffers.
struct Parser {
    machine: Box<dyn Machine>,
    input: Vec<u8>,
    output: Output,
}

/// Everything that lives between two calls.
struct Host {
    /// The text of a request, then that of its answer.
    scratch: Vec<u8>,
    /// Numbered from 1.
    parsers: Vec<Option<Parser>>,
}

thread_local! {
    static HOST: RefCell<Host> = const { RefCell::new(Host { scratch: Vec::new(), parsers: Vec::new() }) };
}

/// What [`push`] returns if all that was pushed goes on with the open string: there is no output.
const APPENDED: i32 = -1;

impl Host {
    fn parser(&mut self, number: u32) -> &mut Parser {
        let parser = self.parsers.get_mut(number as usize - 1).and_then(Option::as_mut);
        parser.expect("the number of a parser")
    }
}

fn with<R>(f: impl FnOnce(&mut Host) -> R) -> R {
    HOST.with_borrow_mut(f)
}

fn with_parser<R>(number: u32, f: impl FnOnce(&mut Parser) -> R) -> R {
    with(|host| f(host.parser(number)))
}

/// The text of a request that the caller has written.
fn request<R>(len: usize, answer: impl FnOnce(&str) -> Result<R, String>) -> Option<R> {
    let text = with(|host| std::mem::take(&mut host.scratch));
    let answered = match std::str::from_utf8(&text[..len]) {
        Ok(text) => answer(text),
        Err(_) => Err("not UTF-8".to_owned()),
    };
    match answered {
        Ok(answer) => Some(answer),
        Err(message) => {
            with(|host| host.scratch = message.into_bytes());
            None
        }
    }
}

#[expect(unsafe_code, reason = "the names of exports")]
mod exports {
    use super::*;

    /// The features of this build: 1 calls, 2 providers, 4 schemas.
    #[unsafe(no_mangle)]
    extern "C" fn features() -> u32 {
        u32::from(cfg!(feature = "calls"))
            | u32::from(cfg!(feature = "providers")) << 1
            | u32::from(cfg!(feature = "schema")) << 2
    }

    /// Where to write a text of this length, or where the last answer is.
    #[unsafe(no_mangle)]
    extern "C" fn scratch(len: usize) -> *mut u8 {
        with(|host| {
            host.scratch.resize(len, 0);
            host.scratch.as_mut_ptr()
        })
    }

    /// The length of the last answer.
    #[unsafe(no_mangle)]
    extern "C" fn scratch_len() -> usize {
        with(|host| host.scratch.len())
    }

    /// A parser with the settings in the scratch text, which are JSON; 0 if they are wrong, and the answer says how.
    #[unsafe(no_mangle)]
    extern "C" fn parser(len: usize) -> u32 {
        let made = request(len, machine::from_settings);
        made.map_or(0, |(machine, output)| {
            with(|host| {
                let parser = Some(Parser { machine, input: Vec::new(), output });
                let free = host.parsers.iter().position(Option::is_none);
                let at = free.unwrap_or(host.parsers.len());
                if at == host.parsers.len() {
                    host.parsers.push(parser);
                } else {
                    host.parsers[at] = parser;
                }
                at as u32 + 1
            })
        })
    }

    /// Compiles the JSON Schema in the scratch text; 0 if it cannot be, and the answer says why.
    #[cfg(feature = "schema")]
    #[unsafe(no_mangle)]
    extern "C" fn schema(len: usize) -> u32 {
        request(len, schema::compile).unwrap_or(0)
    }

    /// Compiles what is in the scratch text: an array of the tools' definitions, and of the names of those that something else
    /// judges. 0 if it cannot be, and the answer says why.
    #[cfg(feature = "schema")]
    #[unsafe(no_mangle)]
    extern "C" fn tools(len: usize) -> u32 {
        request(len, schema::compile_tools).unwrap_or(0)
    }

    /// Frees what `schema` or `tools` has compiled.
    #[cfg(feature = "schema")]
    #[unsafe(no_mangle)]
    extern "C" fn free_schema(number: u32) {
        schema::free(number);
    }

    /// Where to write the next chunk, of at most this length.
    #[unsafe(no_mangle)]
    extern "C" fn input(parser: u32, len: usize) -> *mut u8 {
        with_parser(parser, |parser| {
            if parser.input.len() < len {
                parser.input.resize(len, 0);
            }
            parser.input.as_mut_ptr()
        })
    }

    /// Reads a chunk of this length. Returns the length of the output, or [`APPENDED`].
    #[unsafe(no_mangle)]
    extern "C" fn push(parser: u32, len: usize) -> i32 {
        with_parser(parser, |Parser { machine, input, output }| {
            output.begin();
            if machine.push(&input[..len], output) { APPENDED } else { output.end() as i32 }
        })
    }

    /// Ends the text; `has_failed` if its source has. Returns the length of the output.
    #[unsafe(no_mangle)]
    extern "C" fn finish(parser: u32, has_failed: u32) -> usize {
        with_parser(parser, |Parser { machine, output, .. }| {
            output.begin();
            machine.finish(has_failed != 0, output);
            output.end()
        })
    }

    /// Where the output is.
    #[unsafe(no_mangle)]
    extern "C" fn output(parser: u32) -> *const u8 {
        with_parser(parser, |parser| parser.output.as_ptr())
    }

    /// 1 if the text is complete so far, 2 if nothing is expected to follow, 4 if the provider has ended it.
    #[unsafe(no_mangle)]
    extern "C" fn status(parser: u32) -> u32 {
        with_parser(parser, |parser| parser.machine.status())
    }

    /// Starts over with another text.
    #[unsafe(no_mangle)]
    extern "C" fn reset(parser: u32) {
        with_parser(parser, |parser| parser.machine.reset());
    }

    /// Frees a parser.
    #[unsafe(no_mangle)]
    extern "C" fn free(parser: u32) {
        with(|host| {
            if let Some(slot) = host.parsers.get_mut((parser as usize).wrapping_sub(1)) {
                *slot = None;
            }
        });
    }
}
