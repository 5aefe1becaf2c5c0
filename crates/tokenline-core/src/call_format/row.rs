//! Reads rows of the table from JSON, or from any format that serde reads.

use serde::de::{Deserialize, Deserializer, Error};
use serde_json::Value;

use super::{CallSyntax, ParameterTags, Reads, Trim};

impl<'de> Deserialize<'de> for CallSyntax {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let row = Value::deserialize(deserializer)?;
        let syntax = Self::from_row(&row).map_err(D::Error::custom)?;
        syntax.check().map_err(D::Error::custom)?;
        Ok(syntax)
    }
}

/// What is wrong with a row.
type Fault = String;

impl CallSyntax {
    fn from_row(row: &Value) -> Result<Self, Fault> {
        let mut syntax = Self::default();
        for (key, value) in members(row)? {
            let member = Member { key, value };
            match key.as_str() {
                "name" => syntax.name = member.text()?,
                "models" => syntax.models = member.texts()?,
                "reads" => syntax.reads = member.readers()?,
                "block" => syntax.block = member.pairs()?,
                "call" => syntax.call = member.pairs()?,
                "needs_block" => syntax.needs_block = member.flag()?,
                "between" => syntax.between = member.texts()?,
                "name_end" => syntax.name_end = member.texts()?,
                "id" => syntax.id = Some(member.text()?),
                "header_is_id" => syntax.header_is_id = member.flag()?,
                "before" => syntax.before = member.texts()?,
                "after" => syntax.after = member.texts()?,
                "parameter" => syntax.parameter = Some(ParameterTags::from_row(value)?),
                "quote" => syntax.quote = Some(member.text()?),
                "namespace" => syntax.namespace = member.flag()?,
                "key_is_name" => syntax.key_is_name = member.flag()?,
                "plain" => syntax.plain = member.flag()?,
                "needs_known_tool" => syntax.needs_known_tool = member.flag()?,
                "markup" => syntax.markup = member.texts()?,
                "note" => syntax.note = member.text()?,
                "example" => syntax.example = member.text()?,
                "source" => syntax.source = member.text()?,
                _ => return Err(member.unknown()),
            }
        }
        Ok(syntax)
    }

    /// Checks what its type does not say.
    fn check(&self) -> Result<(), &'static str> {
        let needs_no_marker = |reads: &Reads| matches!(reads, Reads::PythonLine | Reads::NamedLine);
        let mut markers = self.openers().chain(self.markup.iter().map(String::as_str));
        let tags = self.parameter.iter().flat_map(|parameter| &parameter.tags);
        if self.reads.is_empty() {
            return Err("`reads` must name at least one reader");
        }
        if self.openers().next().is_none() && !self.reads.iter().all(needs_no_marker) {
            return Err("`block` or `call` must have an opening marker");
        }
        if markers.any(|marker| marker.is_empty() || marker.starts_with('\n')) {
            return Err("a marker must not be empty or begin with a newline");
        }
        let parameter = self.parameter.iter();
        let of_parameters = parameter.flat_map(|it| {
            let type_tags = it.type_tags.iter().flat_map(|(open, close)| [open, close]);
            it.key_end.iter().chain(&it.value).chain(&it.type_attribute).chain(type_tags)
        });
        let lists = [&self.name_end, &self.before, &self.after, &self.between].into_iter().flatten();
        if lists.chain(&self.id).chain(&self.quote).chain(of_parameters).any(String::is_empty) {
            return Err("a marker must not be empty");
        }
        if self.name.is_empty() {
            return Err("`name` must not be empty");
        }
        let needs_call = |reads: &Reads| matches!(reads, Reads::Named | Reads::Elements);
        if self.reads.iter().any(needs_call) && self.call.is_empty() {
            return Err("`named` and `elements` need `call`: the name follows its opening marker");
        }
        if self.parameter.as_ref().is_some_and(|it| it.tags.is_empty() || it.key_end.is_empty()) {
            return Err("`parameter` needs `tags` and `key_end`");
        }
        if tags.clone().any(|(open, close)| open.is_empty() || close.is_empty()) {
            return Err("the `tags` of a `parameter` must not be empty");
        }
        Ok(())
    }
}

impl ParameterTags {
    fn from_row(row: &Value) -> Result<Self, Fault> {
        let mut tags = Self::default();
        for (key, value) in members(row)? {
            let member = Member { key, value };
            match key.as_str() {
                "tags" => tags.tags = member.pairs()?,
                "key_end" => tags.key_end = member.texts()?,
                "value" => tags.value = Some(member.text()?),
                "type_tags" => tags.type_tags = Some(member.pair(value)?),
                "type_attribute" => tags.type_attribute = Some(member.text()?),
                "trim" => {
                    tags.trim = match value.as_str() {
                        Some("nothing") => Trim::Nothing,
                        Some("newline") => Trim::Newline,
                        Some("everything") => Trim::Everything,
                        _ => return Err(member.fault("`nothing`, `newline` or `everything`")),
                    }
                }
                "json" => tags.json = member.flag()?,
                _ => return Err(member.unknown()),
            }
        }
        Ok(tags)
    }
}

fn members(row: &Value) -> Result<&serde_json::Map<String, Value>, Fault> {
    row.as_object().ok_or_else(|| "a call syntax must be an object".to_owned())
}

/// A member of a row.
#[derive(Clone, Copy)]
struct Member<'r> {
    key: &'r str,
    value: &'r Value,
}

impl Member<'_> {
    fn fault(self, expected: &str) -> Fault {
        format!("`{}` must be {expected}", self.key)
    }

    fn unknown(self) -> Fault {
        format!("unknown member `{}`", self.key)
    }

    fn text(self) -> Result<String, Fault> {
        self.value.as_str().map(str::to_owned).ok_or_else(|| self.fault("a string"))
    }

    fn flag(self) -> Result<bool, Fault> {
        self.value.as_bool().ok_or_else(|| self.fault("true or false"))
    }

    fn elements(self) -> Result<impl Iterator<Item = Self>, Fault> {
        let elements = self.value.as_array().ok_or_else(|| self.fault("an array"))?;
        Ok(elements.iter().map(move |value| Self { value, ..self }))
    }

    fn texts(self) -> Result<Vec<String>, Fault> {
        self.elements()?.map(Self::text).collect()
    }

    fn pairs(self) -> Result<Vec<(String, String)>, Fault> {
        self.elements()?.map(|element| element.pair(element.value)).collect()
    }

    fn pair(self, value: &Value) -> Result<(String, String), Fault> {
        match value.as_array().map(Vec::as_slice) {
            Some([Value::String(open), Value::String(close)]) => Ok((open.clone(), close.clone())),
            _ => Err(self.fault("an opening and a closing marker")),
        }
    }

    fn readers(self) -> Result<Vec<Reads>, Fault> {
        let reader = |element: Self| match element.value.as_str() {
            Some("objects") => Ok(Reads::Objects),
            Some("named") => Ok(Reads::Named),
            Some("named_line") => Ok(Reads::NamedLine),
            Some("python") => Ok(Reads::Python),
            Some("python_line") => Ok(Reads::PythonLine),
            Some("elements") => Ok(Reads::Elements),
            Some("messages") => Ok(Reads::Messages),
            _ => Err(element.fault("the names of readers, such as `objects` or `named`")),
        };
        self.elements()?.map(reader).collect()
    }
}
