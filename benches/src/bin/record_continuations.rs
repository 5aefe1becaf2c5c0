//! `record_continuations BASE_URL DIRECTORY [WAY]...`: asks a real model to go on with JSON answers that were cut off, and
//! records what it writes. The requests for the rest are those of the library.
//!
//! Writes `DIRECTORY/WAY.jsonl`, a record per continuation, for each of the ways
//!
//! - `anchor`: a list of records, cut anywhere; [`RecordContinuation`] asks for its last complete records once more;
//! - `inside`: a list of long records; it asks to go on inside the cut one;
//! - `document`: one JSON document; [`DocumentContinuation`] asks for the rest of it.
//!
//! The cut texts are the beginnings of answers that are in the files beside this one, or of what the model itself went
//! on with, when it was given a shorter beginning and few tokens. `BASE_URL` is what `scripts/local-model serve` prints.
//! The same model, server and machine write the same files again.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::time::Instant;

use serde::Serialize;
use serde_json::Value;
use tokenline::Options;
use tokenline::llm::request::{ChatRequest, Message};
use tokenline::llm::{
    ContinuationMessages, ContinuationOptions, ContinuationStep, Provider, RecordContinuation, ResponseEnd,
};
use tokenline_continuation::{Document, DocumentContinuation, Status};

type Error = Box<dyn std::error::Error>;

const SEED: u64 = 7;
/// From so many bytes on, a record is gone on with inside.
const LONG: usize = 1024;

const RED: &str = "{\"colour\":\"red\",\"note\":\"blood\"}";
const GREEN: &str = "{\"colour\":\"green\",\"note\":\"grass\"}";
const BLUE: &str =
    "{\"colour\":\"blue\",\"note\":\"the sky on a clear day, and the sea on the same day when nobody";
const BLUE_REST: &str = " is in it\"}";
const BLACK: &str = "{\"colour\":\"black\",\"note\":\"coal\"}";

#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Anchor,
    Inside,
    Document,
}

impl Way {
    const ALL: [Self; 3] = [Self::Anchor, Self::Inside, Self::Document];

    fn name(self) -> &'static str {
        match self {
            Self::Anchor => "anchor",
            Self::Inside => "inside",
            Self::Document => "document",
        }
    }

    fn tasks(self) -> Vec<Task> {
        Task::all(match self {
            Self::Anchor => include_str!("record_continuations/anchor.txt"),
            Self::Inside => include_str!("record_continuations/inside.txt"),
            Self::Document => include_str!("record_continuations/document.txt"),
        })
    }

    /// Continuations per task of the task's own text, and of the model's.
    fn counts(self) -> (usize, usize) {
        match self {
            Self::Anchor => (6, 1),
            Self::Inside => (11, 1),
            Self::Document => (7, 1),
        }
    }

    /// The model needs more of it to do what the longer prompts of the last two ways ask for.
    fn help(self, turn: usize) -> Help {
        if self == Self::Anchor {
            return [Help::None, Help::None, Help::Shown, Help::Begun(24)][turn % 4];
        }
        match turn % 8 {
            0 | 4 => Help::None,
            6 => Help::Shown,
            1 | 3 => Help::Begun(24),
            2 | 7 => Help::Begun(8),
            _ => Help::Begun(48),
        }
    }
}

const MAX_TOKENS: [u32; 4] = [60, 80, 100, 120];

/// How the model is helped to do what it is asked for. It is small and trained to go on with texts, not to follow
/// instructions.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Help {
    None,
    /// The conversation before shows how another answer was continued.
    Shown,
    /// Its response is begun for it, with so many bytes, or a word more, of what it is asked to begin with.
    Begun(usize),
}

struct Task {
    name: &'static str,
    form: &'static str,
    prompt: &'static str,
    full: &'static str,
}

impl Task {
    fn all(text: &'static str) -> Vec<Self> {
        let read = |section: &'static str| {
            let (head, rest) = section.split_once('\n')?;
            let (name, form) = head.split_once(' ')?;
            let (prompt, full) = rest.split_once("\n---\n")?;
            Some(Self { name, form, prompt, full: full.trim_end() })
        };
        text.split("=== ")
            .skip(1)
            .map(|section| read(section).expect("a head, a prompt and an answer"))
            .collect()
    }

    /// Where the answer may be cut.
    fn range(&self, way: Way) -> (usize, usize) {
        let len = self.full.len();
        match way {
            Way::Anchor => (len / 6, len - 8),
            Way::Document => (len / 8, len - 4),
            // In the second of the records, which are on one line each.
            Way::Inside => {
                let start = self.full.find('\n').map_or(0, |end| end + 1);
                let end = self.full[start..].find('\n').map_or(len, |end| start + end);
                (start + LONG, end - 4)
            }
        }
    }
}

/// The response of the model, and its finish reason.
struct Answer {
    text: String,
    finish: String,
}

/// A line of the files.
#[derive(Serialize)]
struct Recording<'a> {
    task: &'a str,
    form: &'a str,
    prompt: &'a str,
    /// The text that was cut.
    base: &'a str,
    /// Who wrote the end of it.
    base_by: &'a str,
    /// The whole answer, if the task made it.
    full: Option<&'a str>,
    /// Whether the conversation before showed how another answer was continued.
    shown: bool,
    /// So many bytes of the response were given to the model.
    begun: usize,
    max_tokens: u32,
    temperature: f64,
    response: &'a str,
    finish: &'a str,
}

fn main() -> Result<(), Error> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [url, directory, ways @ ..] = &args[..] else {
        return Err("usage: record_continuations BASE_URL DIRECTORY [anchor|inside|document]...".into());
    };
    std::fs::create_dir_all(directory)?;
    for way in Way::ALL {
        if ways.is_empty() || ways.iter().any(|name| name == way.name()) {
            record(url, Path::new(directory), way)?;
        }
    }
    Ok(())
}

fn record(url: &str, directory: &Path, way: Way) -> Result<(), Error> {
    let began = Instant::now();
    let mut file = File::create(directory.join(format!("{}.jsonl", way.name())))?;
    let mut random = Random(SEED);
    let (by_task, by_model) = way.counts();
    let tasks = way.tasks();
    let cuts: Vec<Vec<&str>> = tasks
        .iter()
        .enumerate()
        .map(|(number, task)| cuts(task, way, by_task, number, &mut random))
        .collect();
    let mut count = 0;
    // Each task in turn, so that what was interrupted has some of all.
    for round in 0..by_task + by_model {
        for (number, task) in tasks.iter().enumerate() {
            let (base, base_by) = match cuts[number].get(round) {
                Some(cut) => (Some((*cut).to_owned()), "task"),
                None => (written(url, task, way, &mut random)?, "model"),
            };
            let asked = base.as_ref().and_then(|base| asked(task.prompt, base, way));
            let (Some(base), Some(asked)) = (base, asked) else {
                eprintln!("{}: nothing to ask for in round {round}", task.name);
                continue;
            };
            let help = way.help(number + round);
            let mut messages = if help == Help::Shown { shown(way, task.form) } else { Vec::new() };
            let begun = match (help, asked.last()) {
                (Help::Begun(bytes), Some(last)) => begin(&last.text(), bytes),
                _ => String::new(),
            };
            messages.extend(asked);
            if !begun.is_empty() {
                messages.push(Message::assistant(&begun, []));
            }
            let max_tokens = MAX_TOKENS[random.below(MAX_TOKENS.len())];
            let temperature = if random.below(2) == 0 { 0.0 } else { 0.7 };
            let answer = ask(url, messages, max_tokens, temperature)?;
            count += 1;
            let recording = Recording {
                task: task.name,
                form: task.form,
                prompt: task.prompt,
                base: &base,
                base_by,
                full: (base_by == "task").then_some(task.full),
                shown: help == Help::Shown,
                begun: begun.len(),
                max_tokens,
                temperature,
                response: &answer.text,
                finish: &answer.finish,
            };
            // Left out: what the model itself writes there is offensive.
            if (task.name, base_by) != ("words", "model") {
                writeln!(file, "{}", serde_json::to_string(&recording)?)?;
            }
        }
        eprintln!("{}: {count} in {:.0} s", way.name(), began.elapsed().as_secs_f64());
    }
    Ok(())
}

/// The first bytes of what a prompt asks the response to begin with: to the end of a word. Empty if it asks for nothing.
fn begin(prompt: &str, bytes: usize) -> String {
    let text = match overlap(prompt) {
        Some(overlap) => overlap,
        None => prompt.split_once(":\n").and_then(|(_, rest)| rest.split('\n').next()).unwrap_or_default(),
    };
    let is_end = |(at, char): &(usize, char)| *at >= bytes && !char.is_alphanumeric();
    text.char_indices().find(is_end).map_or(text, |(at, _)| &text[..at]).to_owned()
}

/// The messages that ask for the rest, with the prompt; `None` if the library does not ask in this way.
fn asked(prompt: &str, base: &str, way: Way) -> Option<Vec<Message>> {
    if way == Way::Document {
        let document = Document::of(base);
        if document.status() != Status::Open {
            return None;
        }
        let machine = DocumentContinuation::resume(prompt, document, ContinuationOptions::new());
        return Some(vec![Message::user(machine.next_request()?.prompt)]);
    }
    let further = further(&[base])?;
    let is_inside = overlap(&further.last()?.text()).is_some();
    ((way == Way::Inside) == is_inside)
        .then(|| std::iter::once(Message::user(prompt)).chain(further).collect())
}

/// The request of the library after these truncated responses.
fn further(responses: &[&str]) -> Option<Vec<Message>> {
    let mut machine = RecordContinuation::new(ContinuationOptions::new(), Options::lenient());
    for response in responses {
        machine.begin();
        machine.push(response);
        while machine.next_event().is_some() {}
        machine.finish(ResponseEnd::Cut);
        while machine.next_event().is_some() {}
    }
    match machine.step() {
        ContinuationStep::Ask(Some(ContinuationMessages { assistant, user })) if machine.failures() == 0 => {
            let assistant = assistant.map(|text| Message::assistant(text, []));
            Some(assistant.into_iter().chain([Message::user(user)]).collect())
        }
        _ => None,
    }
}

/// The overlap that a prompt asks the response to begin with.
fn overlap(prompt: &str) -> Option<&str> {
    Some(prompt.rsplit_once("continue directly after them:\n\n")?.1)
}

/// A conversation in which another answer was cut off, and continued as it was asked for.
fn shown(way: Way, form: &str) -> Vec<Message> {
    if way == Way::Document {
        let cut = "{\"colours\":[{\"name\":\"red\",\"hex\":\"#ff0000\",\"warm\":true},{\"name\":\"green\",\"hex\":\
                   \"#00ff00\",\"warm\":false},{\"name\":\"blue\",\"hex\":\"#0000ff\",\"warm\":false},{\"name\":\
                   \"orange\",\"hex\":\"#ffa500\",\"warm\":true},{\"name\":\"pi";
        let mut messages =
            asked("Write a list of colours as one JSON document.", cut, way).expect("it is open");
        let text = messages[0].text().into_owned();
        let rest = "nk\",\"hex\":\"#ffc0cb\",\"warm\":true}],\"total\":5}";
        messages.push(Message::assistant(format!("{}{rest}", overlap(&text).unwrap_or_default()), []));
        return messages;
    }
    let (open, separator, close, what) = match form {
        "lines" => ("", "\n", "", "JSON Lines, one JSON object a line"),
        _ => ("[", ",\n", "]", "a JSON array of objects"),
    };
    let mut messages = vec![Message::user(format!("List colours as {what}, like {open}{BLACK}{close}"))];
    let first = format!("{open}{RED}{separator}{GREEN}{separator}{}", &BLUE[..40]);
    let again = format!("{GREEN}{separator}{BLUE}");
    let rest = format!("{BLUE_REST}{separator}{BLACK}{close}");
    // A short record is gone on with inside if it was cut again.
    let further = match way {
        Way::Inside => further(&[&first, &again]),
        _ => further(&[&first]),
    };
    messages.extend(further.expect("it was cut off"));
    let text = messages.last().map(|message| message.text().into_owned()).unwrap_or_default();
    let begin = overlap(&text).unwrap_or(&again);
    messages.push(Message::assistant(format!("{begin}{rest}"), []));
    messages
}

/// A truncated response of the model that begins as the task's full response does; `None` if it is of no use.
fn written(url: &str, task: &Task, way: Way, random: &mut Random) -> Result<Option<String>, Error> {
    let (low, high) = task.range(way);
    for attempt in 0..3 {
        let most = if way == Way::Inside { (high - low) / 3 } else { (high - low) / 2 };
        let begin = boundary(task.full, low + random.below(most));
        let max_tokens = 20 + random.below(if way == Way::Inside { 30 } else { 60 }) as u32;
        let temperature = if attempt % 2 == 0 { 0.7 } else { 0.0 };
        let messages = vec![Message::user(task.prompt), Message::assistant(&task.full[..begin], [])];
        let answer = ask(url, messages, max_tokens, temperature)?;
        // The server returns the beginning with what follows it.
        let base = answer.text;
        if answer.finish == "length" && asked(task.prompt, &base, way).is_some() {
            return Ok(Some(base));
        }
        eprintln!("{}: of no use ({}): {base:?}", task.name, answer.finish);
    }
    Ok(None)
}

/// Sends a request to OpenAI's endpoint for chat completions, over plain HTTP.
fn ask(url: &str, messages: Vec<Message>, max_tokens: u32, temperature: f64) -> Result<Answer, Error> {
    let request = ChatRequest::new("local")
        .messages(messages)
        .max_tokens(max_tokens)
        .temperature(temperature)
        .seed(SEED)
        .streamed(false);
    let body = request.to_body(Provider::OpenAiChat)?;
    let host = url.trim_end_matches('/').strip_prefix("http://").ok_or("the base URL begins with http://")?;
    let mut stream = TcpStream::connect(host)?;
    // With HTTP/1.0 the body ends with the connection, and is not chunked.
    write!(
        stream,
        "POST /v1/chat/completions HTTP/1.0\r\nhost: {host}\r\ncontent-type: application/json\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    )?;
    let mut response = String::new();
    stream.read_to_string(&mut response)?;
    let (head, body) = response.split_once("\r\n\r\n").ok_or("no response")?;
    if head.split(' ').nth(1) != Some("200") {
        return Err(response.into());
    }
    let body: Value = serde_json::from_str(body)?;
    let choice = &body["choices"][0];
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let answer = text(&choice["message"]["content"]).zip(text(&choice["finish_reason"]));
    let (text, finish) = answer.ok_or_else(|| format!("not a completion: {body}"))?;
    Ok(Answer { text, finish })
}

/// Where a text is cut.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Text,
    Name,
    Number,
    Token,
    Record,
    Escape,
}

const PLACES: [Place; 6] =
    [Place::Text, Place::Name, Place::Number, Place::Token, Place::Record, Place::Escape];

/// Beginnings of the task's answer, cut at each kind of place in turn.
fn cuts(task: &Task, way: Way, count: usize, first: usize, random: &mut Random) -> Vec<&'static str> {
    let (low, high) = task.range(way);
    let places = places(task.full, if task.form == "lines" { 0 } else { 1 });
    let mut cuts = Vec::<&str>::new();
    let mut turn = first;
    while cuts.len() < count {
        let place = PLACES[turn % PLACES.len()];
        turn += 1;
        let there = places.iter().filter(|(at, kind)| *kind == place && (low..high).contains(at));
        let left: Vec<usize> =
            there.map(|(at, _)| *at).filter(|at| cuts.iter().all(|cut| cut.len() != *at)).collect();
        if !left.is_empty() {
            cuts.push(&task.full[..left[random.below(left.len())]]);
        }
    }
    cuts
}

/// The kind of each place at which the text may be cut. Records are in so many containers.
fn places(text: &str, outside: usize) -> Vec<(usize, Place)> {
    let (mut depth, mut places, mut string, mut escape) = (0, Vec::new(), None, 0);
    let mut before = ' ';
    for (at, char) in text.char_indices() {
        let is_number = |char: char| char.is_ascii_alphanumeric() || matches!(char, '+' | '-' | '.');
        places.push((
            at,
            match string {
                Some(_) if escape > 0 => Place::Escape,
                Some(kind) => kind,
                None if is_number(before) => Place::Number,
                None if depth <= outside => Place::Record,
                None => Place::Token,
            },
        ));
        before = char;
        if escape > 0 {
            escape = if char == 'u' && escape == 1 { 5 } else { escape };
            escape -= 1;
            continue;
        }
        match (char, string) {
            ('\\', Some(_)) => escape = 1,
            ('"', Some(_)) => string = None,
            (_, Some(_)) => {}
            ('"', None) => {
                let rest = &text[at + 1..];
                let end = rest.find('"').map_or("", |end| rest[end + 1..].trim_start());
                string = Some(if end.starts_with(':') { Place::Name } else { Place::Text });
            }
            ('[' | '{', None) => depth += 1,
            (']' | '}', None) => depth -= 1,
            _ => {}
        }
    }
    places
}

fn boundary(text: &str, at: usize) -> usize {
    (0..=at).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

/// A small generator of numbers, the same everywhere: xorshift.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 16) % limit.max(1) as u64) as usize
    }
}
