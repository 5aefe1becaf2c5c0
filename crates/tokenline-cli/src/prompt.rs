//! `tokenline prompt`: renders prompt templates, and parses the responses.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::pin::pin;

use futures_util::StreamExt as _;
use serde::ser::{Serialize, SerializeMap as _, Serializer};
use serde_json::Value;
use tokenline::Options;
use tokenline::json::Raw;
use tokenline::llm::ResponseError;
use tokenline::llm::request::ChatRequest;
use tokenline::prompt::{
    ObjectsWarning, Prompt, PromptError, PromptManager, RenderedPrompt, Response, ResponseType,
};

use crate::args::{EmitKind, ModelArgs};
use crate::emit::{Emitter, EventOrigin};
use crate::failure::{Failure, Verdict};
use crate::log::{log, log_verdict};
use crate::output::stdout;
use crate::parse::Rules;
use crate::{extract, in_runtime, load, model};

commands! {
    /// Render prompt templates, and parse the responses.
    Command {
        /// List the prompts and their response types.
        #[command(after_help = "\
Examples:
  tokenline prompt list
  tokenline prompt list --config prompts.toml")]
        List(ConfigArgs) => list,
        Render(RenderArgs) => render,
        Apply(ApplyArgs) => apply,
        Run(PromptRunArgs) => run,
    }
}

/// Print a rendered prompt, preceded by its system prompt, if any.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tokenline prompt render --id extract-definitions --var text='DNA carries genes.'
  tokenline prompt render --config prompts.toml --id define --var text=@page.txt --json")]
pub(crate) struct RenderArgs {
    #[command(flatten)]
    prompt: PromptArgs,
    #[command(flatten)]
    terms: TermArgs,
    /// Print {"system", "prompt"} as one line of JSON instead.
    #[arg(long)]
    json: bool,
}

/// Parse a response according to its prompt's response type.
///
/// Prints text unchanged, json as one line, and jsonl as JSON Lines. Exits with 1 if the response to a json prompt
/// contains no JSON or breaks the schema. Rejected lines of a jsonl response are warnings.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tokenline prompt apply --id extract-definitions response.txt
  tokenline prompt apply --config prompts.toml --id define < response.txt")]
pub(crate) struct ApplyArgs {
    #[command(flatten)]
    prompt: PromptArgs,
    /// File with the response, at most 64 MiB; `-` is standard input.
    #[arg(default_value = "-")]
    file: PathBuf,
}

/// Send a prompt to a model, and parse the response according to the prompt's response type.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tokenline prompt run --id extract-definitions --var text=@page.txt \\
    --provider ollama --model gemma3")]
pub(crate) struct PromptRunArgs {
    #[command(flatten)]
    prompt: PromptArgs,
    #[command(flatten)]
    terms: TermArgs,
    #[command(flatten)]
    model: ModelArgs,
}

/// Prompt configuration.
#[derive(Debug, clap::Args)]
pub(crate) struct ConfigArgs {
    /// Prompt configuration, TOML or JSON, at most 16 MiB: `system` (system prompt), `terms` (default variables), and for
    /// each `prompts.ID` a `prompt`, a `response-type` (text, json or jsonl) and a `schema` (for jsonl: `object-schema`).
    /// Default: the built-in prompts.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

/// One prompt.
#[derive(Debug, clap::Args)]
pub(crate) struct PromptArgs {
    #[command(flatten)]
    config: ConfigArgs,
    /// Prompt id, as listed by `prompt list`.
    #[arg(long)]
    id: String,
}

/// Template variables.
#[derive(Debug, clap::Args)]
pub(crate) struct TermArgs {
    /// Set a template variable to a string. `NAME=@FILE` reads it from a file, `NAME=@-` from standard input, at most
    /// 16 MiB. Repeatable.
    #[arg(long, value_name = "NAME=TEXT")]
    var: Vec<String>,
    /// File with template variables of any type: a JSON object such as {"text": ..., "classes": [...]}, at most 16 MiB;
    /// `-` is standard input. --var takes precedence.
    #[arg(long, value_name = "FILE")]
    input: Option<PathBuf>,
}

fn list(args: &ConfigArgs) -> Result<Verdict, Failure> {
    let prompts = prompts(args)?;
    let mut out = stdout();
    for id in prompts.ids() {
        let Some(prompt) = prompts.prompt(id) else { continue };
        let response_type = prompt.response_type();
        writeln!(out, "{id:<28}{response_type}").map_err(Failure::output)?;
        for alias in prompt.aliases().iter().filter(|alias| *alias != id) {
            // Skip an alias that is another prompt's own id.
            if prompts.prompt(alias).is_some_and(|other| std::ptr::eq(other, prompt)) {
                writeln!(out, "{alias:<28}{response_type}, as {id}").map_err(Failure::output)?;
            }
        }
    }
    Ok(Verdict::Success)
}

fn render(args: &RenderArgs) -> Result<Verdict, Failure> {
    let RenderedPrompt { system, prompt, .. } =
        rendered(&prompts(&args.prompt.config)?, &args.prompt, &args.terms)?;
    let text = if args.json {
        format!(r#"{{"system":{},"prompt":{}}}"#, Value::from(system), Value::from(prompt))
    } else if system.is_empty() {
        prompt
    } else {
        format!("{system}\n\n{prompt}")
    };
    write_text(&text)
}

fn apply(args: &ApplyArgs) -> Result<Verdict, Failure> {
    let prompts = prompts(&args.prompt.config)?;
    // Check before waiting for standard input.
    let prompt = prompt_of(&prompts, &args.prompt)?;
    let (source, response) = load::response_bytes(&args.file)?;
    if prompt.response_type() == ResponseType::Text {
        // Unchanged, even if it is not UTF-8.
        stdout().write_all(&response).map_err(Failure::output)?;
        return Ok(Verdict::Success);
    }
    write_response(prompts.apply_bytes(&args.prompt.id, response), &source)
}

/// Writes a response by its type, and logs its warnings.
fn write_response(response: Result<Response, PromptError>, source: &str) -> Result<Verdict, Failure> {
    match response {
        Ok(Response::Text(text)) => {
            stdout().write_all(text.as_bytes()).map_err(Failure::output)?;
            Ok(Verdict::Success)
        }
        Ok(Response::Json(value)) => write_text(&value.to_compact()),
        Ok(Response::Jsonl(objects)) => {
            let mut emitter = Emitter::new(EmitKind::Records, source);
            for record in objects.records() {
                emitter.owned_record(EventOrigin::Input, &record.map(Clone::clone))?;
            }
            emitter.flush()?;
            for warning in objects.warnings() {
                match warning {
                    ObjectsWarning::Rejected(diagnostic) => log(format_args!("{source}:{diagnostic}")),
                    other => log(format_args!("{source}: {other}")),
                }
            }
            Ok(Verdict::Success)
        }
        Err(PromptError::Response(error)) => {
            log_verdict(format_args!("{source}: {error}"));
            Ok(Verdict::Rejected)
        }
        Err(error) => Err(Failure::Usage(error.to_string())),
    }
}

fn run(args: &PromptRunArgs) -> Result<Verdict, Failure> {
    in_runtime(send(args))
}

async fn send(args: &PromptRunArgs) -> Result<Verdict, Failure> {
    let prompts = prompts(&args.prompt.config)?;
    let prompt = prompt_of(&prompts, &args.prompt)?;
    let RenderedPrompt { system, prompt: text, .. } = rendered(&prompts, &args.prompt, &args.terms)?;
    let mut request = model::request(&args.model)?;
    if !system.is_empty() {
        request = request.system(system);
    }
    let request = request.user(text);
    if prompt.response_type() == ResponseType::Jsonl {
        let schema = prompts.validator(&args.prompt.id).map_err(|error| Failure::Usage(error.to_string()))?;
        let rules = Rules {
            options: Options::lenient(),
            options_for_records: Options::lenient(),
            schema: schema.cloned(),
            tools: None,
            emit: EmitKind::Records,
            has_call_format: false,
            rejected_texts: None,
            repetition: None,
        };
        return extract::extract(&rules, &args.model, &request, None, (None, None)).await;
    }
    let is_text = prompt.response_type() == ResponseType::Text;
    let text = response_text(&args.model, &request, is_text).await?;
    if is_text {
        Ok(Verdict::Success)
    } else {
        write_response(prompts.apply(&args.prompt.id, text), &args.model.model)
    }
}

/// Sends a request, and returns the text of the response; with `is_text`, writes it as it arrives instead.
async fn response_text(args: &ModelArgs, request: &ChatRequest, is_text: bool) -> Result<String, Failure> {
    let request = model::client(args)?.stream(request).map_err(|error| model::failure(&error))?;
    let response = request.send().await.map_err(|error| model::failure(&error))?;
    let mut deltas = pin!(response.text());
    let mut text = String::new();
    while let Some(delta) = deltas.next().await {
        match delta {
            Ok(delta) if is_text => {
                let mut out = stdout();
                out.write_all(delta.as_bytes()).and_then(|()| out.flush()).map_err(Failure::output)?;
            }
            Ok(delta) if text.len() + delta.len() > load::MAX_RESPONSE as usize => {
                let limit = load::MAX_RESPONSE >> 20;
                return Err(Failure::Source(format!(
                    "{}: the response has more than {limit} MiB, the limit; set --max-tokens",
                    args.model
                )));
            }
            Ok(delta) => text.push_str(&delta),
            Err(error @ ResponseError::Truncated(_)) => log(format_args!("{}: {error}", args.model)),
            Err(ResponseError::Source(error)) => return Err(model::failure(&error)),
            Err(error) => return Err(Failure::Source(error.to_string())),
        }
    }
    Ok(text)
}

fn prompts(args: &ConfigArgs) -> Result<PromptManager, Failure> {
    let Some(path) = &args.config else { return Ok(PromptManager::built_in()) };
    // A missing file is an I/O error, not a bad configuration.
    std::fs::metadata(path).map_err(|error| Failure::unreadable(path, &error))?;
    PromptManager::load(path).map_err(|error| Failure::Usage(error.to_string()))
}

fn prompt_of<'a>(prompts: &'a PromptManager, args: &PromptArgs) -> Result<&'a Prompt, Failure> {
    prompts.validator(&args.id).map_err(|error| Failure::Usage(error.to_string()))?;
    prompts.prompt(&args.id).ok_or_else(|| Failure::Usage(format!("no prompt has the id `{}`", args.id)))
}

fn rendered(prompts: &PromptManager, args: &PromptArgs, terms: &TermArgs) -> Result<RenderedPrompt, Failure> {
    prompts.render(&args.id, terms_of(terms)?).map_err(|error| Failure::Usage(error.to_string()))
}

/// Template variables in the order given: those of a file, and texts, which take precedence.
struct Terms {
    input: Option<Raw>,
    texts: Vec<(String, String)>,
}

impl Serialize for Terms {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        if let Some(input) = &self.input {
            input.with_value(|input| {
                for (name, value) in input.as_object().into_iter().flatten() {
                    if self.texts.iter().all(|(text, _)| *text != *name) {
                        map.serialize_entry(name, &Raw::from(value))?;
                    }
                }
                Ok(())
            })?;
        }
        for (name, text) in &self.texts {
            map.serialize_entry(name, text)?;
        }
        map.end()
    }
}

fn terms_of(args: &TermArgs) -> Result<Terms, Failure> {
    let from_stdin = args.var.iter().filter(|var| var.ends_with("=@-")).count()
        + usize::from(args.input.as_ref().is_some_and(|path| path.as_os_str() == "-"));
    if from_stdin > 1 {
        return Err(Failure::Usage("only one of --var and --input can be standard input".to_owned()));
    }
    let mut terms = Terms { input: None, texts: Vec::new() };
    if let Some(path) = &args.input {
        let text = load::text_or_stdin("--input", path)?;
        let invalid = |reason: &str| Failure::Usage(format!("--input {}: {reason}", path.display()));
        let input = Raw::new(&text).map_err(|error| invalid(&error.to_string()))?;
        if !input.as_str().starts_with('{') {
            return Err(invalid("expected a JSON object of template variables"));
        }
        terms.input = Some(input);
    }
    for var in &args.var {
        let pair = var.split_once('=').filter(|(name, _)| !name.is_empty());
        let (name, value) = pair.ok_or_else(|| Failure::Usage(format!("--var {var}: expected NAME=TEXT")))?;
        let value = match value.strip_prefix('@') {
            Some(file) => load::text_or_stdin(&format!("--var {name}"), Path::new(file))?,
            None => value.to_owned(),
        };
        terms.texts.retain(|(other, _)| other != name);
        terms.texts.push((name.to_owned(), value));
    }
    Ok(terms)
}

fn write_text(text: &str) -> Result<Verdict, Failure> {
    writeln!(stdout(), "{text}").map_err(Failure::output)?;
    Ok(Verdict::Success)
}
