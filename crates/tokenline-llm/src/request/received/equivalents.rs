//! Settings beyond the request that several providers have.

use serde_json::{Map, Value as Json, json};
use tokenline_core::json::Value;

use super::own_members::keys;
use crate::Provider;
use crate::providers::Setting;
use crate::request::{ChatRequest, ResponseFormat, ToolChoice};

/// The pointer to a setting in each format that has it.
type Row = &'static [(Provider, &'static str)];

const EFFORT: Row = &[
    (Provider::OpenAiChat, "/reasoning_effort"),
    (Provider::OpenAiResponses, "/reasoning/effort"),
    (Provider::Anthropic, "/output_config/effort"),
    (Provider::Ollama, "/think"),
];

const ROWS: &[Row] = &[
    EFFORT,
    &[
        (Provider::OpenAiChat, "/user"),
        (Provider::OpenAiResponses, "/user"),
        (Provider::Anthropic, "/metadata/user_id"),
    ],
    &[
        (Provider::OpenAiChat, "/top_k"),
        (Provider::Anthropic, "/top_k"),
        (Provider::Gemini, "/generationConfig/topK"),
        (Provider::Cohere, "/k"),
        (Provider::Ollama, "/options/top_k"),
    ],
    &[
        (Provider::OpenAiChat, "/frequency_penalty"),
        (Provider::OpenAiResponses, "/frequency_penalty"),
        (Provider::Gemini, "/generationConfig/frequencyPenalty"),
        (Provider::Cohere, "/frequency_penalty"),
        (Provider::Ollama, "/options/frequency_penalty"),
    ],
    &[
        (Provider::OpenAiChat, "/presence_penalty"),
        (Provider::OpenAiResponses, "/presence_penalty"),
        (Provider::Gemini, "/generationConfig/presencePenalty"),
        (Provider::Cohere, "/presence_penalty"),
        (Provider::Ollama, "/options/presence_penalty"),
    ],
    &[(Provider::OpenAiChat, "/verbosity"), (Provider::OpenAiResponses, "/text/verbosity")],
    &[(Provider::OpenAiChat, "/prompt_cache_key"), (Provider::OpenAiResponses, "/prompt_cache_key")],
    &[(Provider::OpenAiChat, "/safety_identifier"), (Provider::OpenAiResponses, "/safety_identifier")],
    &[(Provider::OpenAiChat, "/service_tier"), (Provider::OpenAiResponses, "/service_tier")],
    &[(Provider::OpenAiChat, "/store"), (Provider::OpenAiResponses, "/store")],
    &[(Provider::OpenAiChat, "/metadata"), (Provider::OpenAiResponses, "/metadata")],
];

/// Whether several tools may be called at once; negated by Anthropic.
const PARALLEL: Row = &[
    (Provider::OpenAiChat, "/parallel_tool_calls"),
    (Provider::OpenAiResponses, "/parallel_tool_calls"),
    (Provider::Anthropic, "/tool_choice/disable_parallel_tool_use"),
];

/// The settings of a received body, with their pointers.
#[derive(Clone, Debug, Default)]
pub(super) struct Equivalents {
    settings: Vec<(usize, &'static str, Json)>,
    /// The pointer, and whether several calls are allowed.
    parallel: Option<(&'static str, bool)>,
}

fn pointer(row: Row, provider: Provider) -> Option<&'static str> {
    row.iter().find(|(of, _)| *of == provider).map(|(_, pointer)| *pointer)
}

/// The pointers to all such settings of a format.
pub(super) fn pointers(provider: Provider) -> impl Iterator<Item = &'static str> {
    ROWS.iter().copied().chain([PARALLEL]).filter_map(move |row| pointer(row, provider))
}

impl Equivalents {
    pub(super) fn read(provider: Provider, body: Value<'_>) -> Self {
        let settings = ROWS.iter().enumerate().filter_map(|(at, row)| {
            let pointer = pointer(row, provider)?;
            let value = body.pointer(pointer).filter(|value| !value.is_null())?;
            Some((at, pointer, value.to_value().ok()?))
        });
        let parallel = pointer(PARALLEL, provider).and_then(|pointer| {
            let value = body.pointer(pointer)?.as_bool()?;
            Some((pointer, value != (provider == Provider::Anthropic)))
        });
        Self { settings: settings.collect(), parallel }
    }

    /// Adds the settings that this provider has to the request, and removes their pointers.
    pub(super) fn carry(self, upstream: Provider, request: &mut ChatRequest, left_out: &mut Vec<String>) {
        for (at, from, value) in self.settings {
            let value = if at == 0 { effort(upstream, value) } else { Some(value) };
            if let (Some(to), Some(value)) = (pointer(ROWS[at], upstream), value) {
                set(&mut request.extra, &keys(to), value);
                left_out.retain(|pointer| pointer != from);
            }
        }
        if let Some((from, allowed)) = self.parallel
            && (allowed || set_parallel(upstream, request))
        {
            left_out.retain(|pointer| pointer != from);
        }
    }
}

/// The nearest effort that a provider has.
fn effort(upstream: Provider, value: Json) -> Option<Json> {
    match (upstream, value.as_str()) {
        (Provider::Anthropic, Some("minimal")) => Some(json!("low")),
        (Provider::Anthropic, Some("none")) => None,
        // It refuses levels for models that do not think.
        (Provider::Ollama, effort) => (effort == Some("none")).then_some(json!(false)),
        (Provider::OpenAiChat | Provider::OpenAiResponses, Some("max")) => Some(json!("high")),
        _ => Some(value),
    }
}

/// Forbids several calls at once, if the provider can.
fn set_parallel(upstream: Provider, request: &mut ChatRequest) -> bool {
    let Some(to) = pointer(PARALLEL, upstream) else { return false };
    if request.tools.is_empty() {
        // There is nothing to call.
        return true;
    }
    if upstream != Provider::Anthropic {
        set(&mut request.extra, &keys(to), false.into());
        return true;
    }
    match request.tool_choice {
        ToolChoice::None => return true,
        ToolChoice::Auto => set(&mut request.extra, &keys("/tool_choice/type"), "auto".into()),
        ToolChoice::Required | ToolChoice::Tool(_) => {}
    }
    set(&mut request.extra, &keys(to), true.into());
    true
}

fn set(members: &mut Map<String, Json>, keys: &[String], value: Json) {
    let Some((name, rest)) = keys.split_first() else { return };
    if rest.is_empty() {
        members.insert(name.clone(), value);
    } else if let Json::Object(inner) = members.entry(name).or_insert_with(|| json!({})) {
        set(inner, rest, value);
    }
}

/// Removes the settings that a provider refuses, or that have lost their meaning, and reports them.
pub(super) fn drop_unsupported(
    provider: Provider,
    upstream: Provider,
    request: &mut ChatRequest,
    left_out: &mut Vec<String>,
) {
    let is_anthropic = provider == Provider::Anthropic;
    let is_possible = match &request.tool_choice {
        ToolChoice::Auto | ToolChoice::None => true,
        ToolChoice::Required => !request.tools.is_empty(),
        ToolChoice::Tool(name) => request.tools.iter().any(|tool| tool.name == *name),
    };
    if !is_possible {
        // The tool is one of the provider's own, and was left out.
        request.tool_choice = ToolChoice::Auto;
        left_out.push("/tool_choice".to_owned());
    }
    for setting in upstream.info().unsupported {
        let pointer = match setting {
            Setting::Seed => request.seed.take().map(|_| "/seed"),
            Setting::Stop if request.stop.is_empty() => None,
            Setting::Stop => {
                request.stop.clear();
                Some(if is_anthropic { "/stop_sequences" } else { "/stop" })
            }
            Setting::ToolChoice if request.tool_choice == ToolChoice::Auto => None,
            Setting::ToolChoice => {
                request.tool_choice = ToolChoice::Auto;
                Some("/tool_choice")
            }
            Setting::JsonFormat if request.response_format != ResponseFormat::Json => None,
            Setting::JsonFormat => {
                request.response_format = ResponseFormat::Text;
                Some(if provider == Provider::OpenAiResponses { "/text/format" } else { "/response_format" })
            }
        };
        left_out.extend(pointer.map(str::to_owned));
    }
}
