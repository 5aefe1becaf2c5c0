//! The settings of a parser, from JSON.

use tokenline_core::json::{Parser, Value};
use tokenline_core::{Limits, Mode, Options, Release};

use crate::output::Emit;

/// Which parser is asked for.
pub(crate) enum Kind {
    /// Of a text.
    Text,
    /// Of a provider's response; without a provider, of its text.
    #[cfg(feature = "providers")]
    Response(Option<tokenline_llm::Provider>),
}

/// The settings of a parser.
pub(crate) struct Settings {
    pub(crate) kind: Kind,
    pub(crate) options: Options,
    pub(crate) emit: Emit,
    pub(crate) keeps_integers: bool,
    #[cfg(feature = "calls")]
    pub(crate) calls: CallSettings,
    #[cfg(feature = "schema")]
    pub(crate) schema: Option<tokenline_schema::SchemaValidator>,
    #[cfg(feature = "providers")]
    pub(crate) response: ResponseSettings,
}

/// The settings for calls.
#[cfg(feature = "calls")]
pub(crate) struct CallSettings {
    /// Those that the calls are checked against.
    pub(crate) tools: Option<std::sync::Arc<dyn tokenline_core::ValidateCall + Send + Sync>>,
    pub(crate) reads: tokenline_core::Reads,
    /// Whether rejects have their texts.
    pub(crate) shows_values: bool,
}

/// The settings for responses.
#[cfg(feature = "providers")]
pub(crate) struct ResponseSettings {
    pub(crate) text_as: tokenline_llm::TextMode,
    pub(crate) call_updates: bool,
    pub(crate) text: bool,
}

/// Reads the members of an object whose types the caller has checked.
struct Members<'v>(Value<'v>);

impl Members<'_> {
    fn text(&self, name: &str) -> Option<String> {
        Some(self.0.get(name)?.as_str()?.into_owned())
    }

    fn is(&self, name: &str) -> bool {
        self.0.get(name).and_then(Value::as_bool).unwrap_or_default()
    }

    fn set_limit(&self, name: &str, limit: &mut usize) {
        if let Some(given) = self.0.get(name).and_then(|value| value.as_number()?.as_u64()) {
            *limit = usize::try_from(given).unwrap_or(usize::MAX);
        }
    }

    /// One of several names; the first without one.
    fn choice<T: Copy>(&self, name: &str, allowed: &[(&str, T)]) -> Result<T, String> {
        let Some(given) = self.text(name) else { return Ok(allowed[0].1) };
        let found = allowed.iter().find(|(allowed, _)| *allowed == given);
        found
            .map(|(_, value)| *value)
            .ok_or_else(|| unknown(name, &given, allowed.iter().map(|(name, _)| *name)))
    }
}

/// The message about a name that is none of those allowed.
pub(crate) fn unknown<'n>(option: &str, given: &str, allowed: impl IntoIterator<Item = &'n str>) -> String {
    let mut message = ["unknown ", option, " \"", given, "\"; expected "].concat();
    for (at, name) in allowed.into_iter().enumerate() {
        if at > 0 {
            message.push_str(", ");
        }
        message.push_str(name);
    }
    message
}

impl Settings {
    pub(crate) fn read(text: &str) -> Result<Self, String> {
        let mut parser = Parser::new();
        let given = Members(parser.parse(text).map_err(|_| "the settings are not JSON")?);
        let mut options =
            match given.choice("mode", &[("lenient", Mode::Lenient), ("strict", Mode::Strict)])? {
                Mode::Strict => Options::strict(),
                _ => Options::lenient(),
            };
        options.release = given.choice(
            "release",
            &[
                ("confirmed", Release::Confirmed),
                ("on_balance", Release::OnBalance),
                ("at_finish", Release::AtFinish),
            ],
        )?;
        let mut limits = Limits::default();
        given.set_limit("lineBytes", &mut limits.line_bytes);
        given.set_limit("depth", &mut limits.depth);
        given.set_limit("sseLineBytes", &mut limits.sse_line_bytes);
        given.set_limit("sseEventBytes", &mut limits.sse_event_bytes);
        // The caller keeps them.
        limits.diagnostics = 0;
        options.limits = limits;
        options = options.in_reasoning(given.is("inReasoning")).whole_values(given.is("wholeValues"));
        options.partials = given.is("partials");
        if let Some(pointer) = given.text("items") {
            let wrong = || ["items \"", &pointer, "\" is not a JSON Pointer such as \"/items\""].concat();
            options = options.items(&pointer).map_err(|_| wrong())?;
        }
        let emit = [("events", Emit::Events), ("values", Emit::Values), ("counts", Emit::Counts)];
        #[cfg(feature = "calls")]
        let (options, calls) = CallSettings::read(&given, options)?;
        Ok(Self {
            #[cfg(feature = "providers")]
            kind: Self::kind(&given)?,
            #[cfg(not(feature = "providers"))]
            kind: Kind::Text,
            options,
            emit: given.choice("emit", &emit)?,
            keeps_integers: given.is("bigints"),
            #[cfg(feature = "calls")]
            calls,
            #[cfg(feature = "schema")]
            schema: number(&given, "schema").and_then(crate::schema::validator),
            #[cfg(feature = "providers")]
            response: ResponseSettings::read(&given)?,
        })
    }

    #[cfg(feature = "providers")]
    fn kind(given: &Members<'_>) -> Result<Kind, String> {
        let Some(name) = given.text("provider") else {
            let is_response = given.text("kind").as_deref() == Some("response");
            return Ok(if is_response { Kind::Response(None) } else { Kind::Text });
        };
        let all = tokenline_llm::Provider::ALL.iter().map(|provider| provider.as_str());
        match tokenline_llm::Provider::from_name(&name) {
            None => Err(unknown("provider", &name, all)),
            provider => Ok(Kind::Response(provider)),
        }
    }
}

#[cfg(feature = "schema")]
fn number(given: &Members<'_>, name: &str) -> Option<u32> {
    given.0.get(name)?.as_number()?.as_u64()?.try_into().ok()
}

#[cfg(feature = "calls")]
impl CallSettings {
    fn read(given: &Members<'_>, mut options: Options) -> Result<(Options, Self), String> {
        use tokenline_core::{CallFormat, Reads};

        let reads = [
            ("records", Reads::Records),
            ("tool_calls", Reads::ToolCalls),
            ("records_and_tool_calls", Reads::RecordsAndToolCalls),
        ];
        let reads = given.choice("reads", &reads)?;
        if let Some(name) = given.text("callFormat") {
            let format = CallFormat::from_name(&name);
            options = options.calls(format.ok_or_else(|| ["unknown callFormat \"", &name, "\""].concat())?);
        } else if reads != Reads::Records {
            options = options.calls(CallFormat::Auto);
        }
        let options = options.records_beside_calls(reads == Reads::RecordsAndToolCalls);
        let shows_values = given.is("showValues");
        Ok((options, Self { tools: Self::tools(given), reads, shows_values }))
    }

    #[cfg(not(feature = "schema"))]
    fn tools(given: &Members<'_>) -> Option<std::sync::Arc<dyn tokenline_core::ValidateCall + Send + Sync>> {
        use crate::tools::{NamedTools, names};
        Some(std::sync::Arc::new(NamedTools(names(given.0.get("toolNames")?))))
    }

    #[cfg(feature = "schema")]
    fn tools(given: &Members<'_>) -> Option<std::sync::Arc<dyn tokenline_core::ValidateCall + Send + Sync>> {
        Some(std::sync::Arc::new(crate::schema::tools(number(given, "tools")?)?))
    }
}

#[cfg(feature = "providers")]
impl ResponseSettings {
    fn read(given: &Members<'_>) -> Result<Self, String> {
        use tokenline_llm::TextMode;

        let modes = [
            ("records", TextMode::Records),
            ("tool_calls", TextMode::ToolCalls),
            ("records_and_tool_calls", TextMode::RecordsAndToolCalls),
            ("native_calls", TextMode::NativeCalls),
            ("text", TextMode::Text),
        ];
        Ok(Self {
            text_as: given.choice("textAs", &modes)?,
            call_updates: given.is("callUpdates"),
            text: given.is("text"),
        })
    }
}
