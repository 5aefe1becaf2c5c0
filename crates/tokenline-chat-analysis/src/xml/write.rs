//! JSON to XML.

use std::borrow::Cow;
use std::io;

use quick_xml::Writer;
use quick_xml::events::attributes::Attribute;
use quick_xml::events::{BytesEnd, BytesStart, BytesText, Event};
use quick_xml::name::QName;

use super::escape::{Context, InvalidXmlCharacter, escape};
use crate::{LlmAnalysis, LlmResponse, LlmSubject};

/// The version in the root element.
pub(super) const VERSION: &str = "1.0.0";
/// The format in the root element.
pub(super) const FORMAT: &str = "ollama-structured";

impl LlmResponse {
    /// The response as XML, indented by two spaces, without a trailing line feed. Numbers are kept as written.
    ///
    /// ```
    /// use tokenline_chat_analysis::LlmResponse;
    ///
    /// let xml = r#"<llmResponse version="1.0.0" format="ollama-structured">
    ///   <response>Save &lt; 10% at first.</response>
    ///   <analysis>
    ///     <subject name="savings" description="How much to &quot;save&quot;" isNew="true">
    ///       <keyword term="529-plan" confidence="0.90" />
    ///     </subject>
    ///     <summaryUpdate>User asked how much to save.</summaryUpdate>
    ///   </analysis>
    /// </llmResponse>"#;
    /// let response = LlmResponse::from_xml(xml)?.response;
    /// assert_eq!(response.analysis.subjects[0].description, "How much to \"save\"");
    /// assert_eq!(response.to_xml()?, xml);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If a text has a character that XML cannot represent.
    pub fn to_xml(&self) -> Result<String, InvalidXmlCharacter> {
        let mut writer = Writer::new_with_indent(Vec::with_capacity(1024 + self.response.len()), b' ', 2);
        writer.config_mut().add_space_before_slash_in_empty_elements = true;
        match write(&mut writer, self) {
            Ok(()) => {}
            Err(Failure::Character(error)) => return Err(error),
            Err(Failure::Io(error)) => unreachable!("writing to memory cannot fail: {error}"),
        }
        match String::from_utf8(writer.into_inner()) {
            Ok(xml) => Ok(xml),
            Err(error) => unreachable!("only text was written: {error}"),
        }
    }
}

enum Failure {
    Character(InvalidXmlCharacter),
    Io(io::Error),
}

impl From<InvalidXmlCharacter> for Failure {
    fn from(error: InvalidXmlCharacter) -> Self {
        Self::Character(error)
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

type Xml = Writer<Vec<u8>>;

fn write(xml: &mut Xml, root: &LlmResponse) -> Result<(), Failure> {
    let LlmResponse { response, analysis: LlmAnalysis { subjects, summary_update } } = root;
    let root = BytesStart::new("llmResponse").with_attributes([("version", VERSION), ("format", FORMAT)]);
    xml.write_event(Event::Start(root))?;
    text_element(xml, "response", response, "/response")?;
    xml.write_event(Event::Start(BytesStart::new("analysis")))?;
    for (at, entry) in subjects.iter().enumerate() {
        subject(xml, entry, &format!("/analysis/subjects/{at}"))?;
    }
    text_element(xml, "summaryUpdate", summary_update, "/analysis/summaryUpdate")?;
    xml.write_event(Event::End(BytesEnd::new("analysis")))?;
    xml.write_event(Event::End(BytesEnd::new("llmResponse")))?;
    Ok(())
}

fn subject(xml: &mut Xml, subject: &LlmSubject, path: &str) -> Result<(), Failure> {
    let is_new = if subject.is_new { "true" } else { "false" };
    let mut start = BytesStart::new("subject");
    push_attribute(&mut start, "name", &subject.name, &format!("{path}/name"))?;
    push_attribute(&mut start, "description", &subject.description, &format!("{path}/description"))?;
    start.push_attribute(("isNew", is_new));
    if subject.keywords.is_empty() {
        xml.write_event(Event::Empty(start))?;
        return Ok(());
    }
    xml.write_event(Event::Start(start))?;
    for (at, keyword) in subject.keywords.iter().enumerate() {
        let mut start = BytesStart::new("keyword");
        push_attribute(&mut start, "term", &keyword.term, &format!("{path}/keywords/{at}/term"))?;
        start.push_attribute(("confidence", keyword.confidence.as_str()));
        xml.write_event(Event::Empty(start))?;
    }
    xml.write_event(Event::End(BytesEnd::new("subject")))?;
    Ok(())
}

fn text_element(xml: &mut Xml, name: &str, text: &str, path: &str) -> Result<(), Failure> {
    let text = escape(text, Context::Element, path)?;
    xml.write_event(Event::Start(BytesStart::new(name)))?;
    xml.write_event(Event::Text(BytesText::from_escaped(text)))?;
    xml.write_event(Event::End(BytesEnd::new(name)))?;
    Ok(())
}

fn push_attribute(
    start: &mut BytesStart<'_>,
    name: &str,
    text: &str,
    path: &str,
) -> Result<(), InvalidXmlCharacter> {
    let value: Cow<'_, str> = escape(text, Context::Attribute, path)?;
    start.push_attribute(Attribute { key: QName(name), value });
    Ok(())
}
