//! XML to JSON.

use std::error::Error;
use std::fmt;

use quick_xml::errors::IllFormedError;
use quick_xml::events::{BytesStart, Event};
use quick_xml::{Reader, XmlVersion};
use tokenline_core::json::Parser;
use tokenline_core::{CompletedBy, Record, Recovered, Span};

use super::escape::{find_not_xml, is_xml};
use super::place::{Places, line_and_column};
use super::write::{FORMAT, VERSION};
use crate::check::{Checked, check_record};
use crate::reader::MAX_BYTES;
use crate::{CheckError, ConfidenceScore, LlmAnalysis, LlmKeyword, LlmResponse, LlmSubject, Received};

/// The reason a stored response cannot be read.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum XmlError {
    /// The text is not XML, or not in the format of stored responses.
    Xml {
        /// The line, counted from 1.
        line: u64,
        /// The column: bytes, counted from 1.
        column: u64,
        /// One sentence for people.
        message: String,
    },
    /// The stored response is invalid. The diagnostic has the line and column of the element in the XML, and the path
    /// in the JSON.
    Check(CheckError),
}

impl fmt::Display for XmlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Xml { line, column, message } => write!(f, "{line}:{column}: {message}"),
            Self::Check(error) => error.fmt(f),
        }
    }
}

impl Error for XmlError {}

impl LlmResponse {
    /// Parses and checks a response stored as XML. See [`to_xml`](Self::to_xml) for an example.
    ///
    /// White space between elements, comments, an XML declaration and CDATA sections are accepted; a DOCTYPE, and
    /// unknown elements or attributes are not.
    ///
    /// # Errors
    ///
    /// If the XML is malformed or has another format, or the response is invalid.
    pub fn from_xml(xml: &str) -> Result<Checked, XmlError> {
        if xml.len() > MAX_BYTES {
            return Err(XmlError::Check(CheckError::TooLarge(Received::default())));
        }
        let xml = xml.strip_prefix('\u{feff}').unwrap_or(xml);
        let (response, places) = XmlReader::new(xml).read()?;
        let json = response.to_json();
        let mut parser = Parser::new();
        let value = match parser.parse(&json) {
            Ok(value) => value,
            Err(error) => unreachable!("it was just written: {error}"),
        };
        let (completion, recovered) = (CompletedBy::EndOfInput, Recovered::NONE);
        let span = Span::new(0, json.len() as u64);
        let record = Record { value, line: 1, column: 1, span, completion, recovered };
        let mut review = check_record(&record, 1);
        match review.response {
            Some(response) => Ok(Checked { response, warnings: review.warnings }),
            None => {
                let mut error = review.errors.swap_remove(0);
                if let CheckError::Invalid(diagnostic) | CheckError::Blank(diagnostic) = &mut error {
                    let offset = places.of(diagnostic.instance_path.as_deref().unwrap_or_default());
                    (diagnostic.line, diagnostic.column) = line_and_column(xml, offset);
                    diagnostic.span = Span::new(offset as u64, xml.len() as u64);
                }
                Err(XmlError::Check(error))
            }
        }
    }
}

/// The reader of a stored response.
struct XmlReader<'x> {
    xml: &'x str,
    reader: Reader<&'x [u8]>,
    /// The start of the latest event.
    at: usize,
    places: Places,
}

/// The next child or the end of an element.
enum Child<'x> {
    Start(BytesStart<'x>),
    End,
}

impl<'x> XmlReader<'x> {
    fn new(xml: &'x str) -> Self {
        let mut reader = Reader::from_str(xml);
        let config = reader.config_mut();
        config.expand_empty_elements = true;
        config.check_comments = true;
        Self { xml, reader, at: 0, places: Places::default() }
    }

    fn read(mut self) -> Result<(LlmResponse, Places), XmlError> {
        let Child::Start(root) = self.child()? else { return Err(self.fault("expected `<llmResponse>`")) };
        self.expect(&root, "llmResponse")?;
        self.check_attributes(&root, &["version", "format"])?;
        for (name, expected) in [("version", VERSION), ("format", FORMAT)] {
            if self.attribute(&root, name)? != expected {
                return Err(self.fault(format!("expected {name}=\"{expected}\"")));
            }
        }
        let response = self.text_element("response", "/response")?;
        let analysis = self.analysis()?;
        self.end("llmResponse")?;
        loop {
            match self.next()? {
                Event::Eof => return Ok((LlmResponse { response, analysis }, self.places)),
                Event::Text(text) if is_blank(&text) => {}
                _ => return Err(self.fault("expected the end after `</llmResponse>`")),
            }
        }
    }

    fn analysis(&mut self) -> Result<LlmAnalysis, XmlError> {
        let Child::Start(start) = self.child()? else { return Err(self.fault("expected `<analysis>`")) };
        self.expect(&start, "analysis")?;
        self.check_attributes(&start, &[])?;
        self.places.insert("/analysis", self.at);
        let mut subjects = Vec::new();
        let summary_update = loop {
            match self.child()? {
                Child::Start(start) if start.name().as_ref() == "subject" => {
                    let path = format!("/analysis/subjects/{}", subjects.len());
                    subjects.push(self.subject(&start, &path)?);
                }
                Child::Start(start) => {
                    break self.text_of(&start, "summaryUpdate", "/analysis/summaryUpdate")?;
                }
                Child::End => return Err(self.fault("expected `<summaryUpdate>`")),
            }
        };
        self.end("analysis")?;
        Ok(LlmAnalysis { subjects, summary_update })
    }

    fn subject(&mut self, start: &BytesStart<'_>, path: &str) -> Result<LlmSubject, XmlError> {
        self.check_attributes(start, &["name", "description", "isNew"])?;
        self.places.insert(path, self.at);
        let name = self.attribute(start, "name")?;
        let description = self.attribute(start, "description")?;
        let is_new = match &*self.attribute(start, "isNew")? {
            "true" => true,
            "false" => false,
            _ => return Err(self.fault("expected isNew=\"true\" or isNew=\"false\"")),
        };
        let mut keywords = Vec::new();
        while let Child::Start(start) = self.child()? {
            self.expect(&start, "keyword")?;
            self.check_attributes(&start, &["term", "confidence"])?;
            self.places.insert(format!("{path}/keywords/{}", keywords.len()), self.at);
            let term = self.attribute(&start, "term")?;
            let confidence: Result<ConfidenceScore, _> = self.attribute(&start, "confidence")?.parse();
            let confidence = confidence.map_err(|error| self.fault(error.to_string()))?;
            keywords.push(LlmKeyword { term, confidence });
            self.end("keyword")?;
        }
        Ok(LlmSubject { name, description, is_new, keywords })
    }

    fn text_element(&mut self, name: &str, path: &str) -> Result<String, XmlError> {
        match self.child()? {
            Child::Start(start) => self.text_of(&start, name, path),
            Child::End => Err(self.fault(format!("expected `<{name}>`"))),
        }
    }

    /// The text of an element, after its start tag.
    fn text_of(&mut self, start: &BytesStart<'_>, name: &str, path: &str) -> Result<String, XmlError> {
        self.expect(start, name)?;
        self.check_attributes(start, &[])?;
        self.places.insert(path, self.at);
        let mut text = String::new();
        loop {
            match self.next()? {
                Event::Text(part) => text.push_str(&part.xml10_content()),
                Event::CData(data) => text.push_str(&data.xml10_content()),
                Event::GeneralRef(reference) => {
                    let char = match reference.resolve_char_ref() {
                        Ok(Some(char)) => Some(char),
                        Ok(None) => predefined(&reference),
                        Err(_) => None,
                    };
                    let Some(char) = char.filter(|char| is_xml(*char)) else {
                        return Err(self.fault("unknown character or entity"));
                    };
                    text.push(char);
                }
                Event::End(_) => return Ok(text),
                Event::Eof => return Err(self.fault("the XML is truncated")),
                _ => return Err(self.fault(format!("expected only text in `<{name}>`"))),
            }
        }
    }

    /// Advances to the next child element, or to the end of the open one.
    fn child(&mut self) -> Result<Child<'x>, XmlError> {
        loop {
            match self.next()? {
                Event::Start(start) => return Ok(Child::Start(start)),
                Event::End(_) => return Ok(Child::End),
                Event::Text(text) if is_blank(&text) => {}
                Event::Decl(_) if self.at == 0 => {}
                Event::Eof => return Err(self.fault("the XML is truncated")),
                Event::DocType(_) => return Err(self.fault("a DOCTYPE is not allowed")),
                _ => return Err(self.fault("text is not allowed here")),
            }
        }
    }

    fn end(&mut self, name: &str) -> Result<(), XmlError> {
        match self.child()? {
            Child::End => Ok(()),
            Child::Start(_) => Err(self.fault(format!("expected `</{name}>`"))),
        }
    }

    /// The next event other than comments and processing instructions.
    fn next(&mut self) -> Result<Event<'x>, XmlError> {
        loop {
            self.at = self.reader.buffer_position() as usize;
            let event = self.reader.read_event().map_err(|error| {
                self.at = self.reader.error_position() as usize;
                self.fault(match error {
                    // The name of the mismatched tag may be text.
                    quick_xml::Error::IllFormed(IllFormedError::MismatchedEndTag { expected, .. }) => {
                        format!("expected `</{expected}>`")
                    }
                    quick_xml::Error::IllFormed(_) => "the tags do not match".to_owned(),
                    error => format!("not XML: {error}"),
                })
            })?;
            let text: &str = match &event {
                Event::Text(text) | Event::Comment(text) => text,
                Event::CData(text) => text,
                _ => "",
            };
            if let Some((_, bad)) = find_not_xml(text) {
                return Err(
                    self.fault(format!("XML cannot represent the character U+{:04X}", u32::from(bad)))
                );
            }
            match event {
                Event::Comment(_) | Event::PI(_) => {}
                event => return Ok(event),
            }
        }
    }

    fn expect(&self, start: &BytesStart<'_>, name: &str) -> Result<(), XmlError> {
        if start.name().as_ref() == name { Ok(()) } else { Err(self.fault(format!("expected `<{name}>`"))) }
    }

    /// Checks for unknown and repeated attributes.
    fn check_attributes(&self, start: &BytesStart<'_>, names: &[&str]) -> Result<(), XmlError> {
        for attribute in start.attributes() {
            let attribute = attribute.map_err(|error| self.fault(format!("not XML: {error}")))?;
            if !names.contains(&attribute.key.as_ref()) {
                let name = start.name();
                let message = match names {
                    [] => format!("`<{}>` has no attributes", name.as_ref()),
                    names => format!("`<{}>` has no attributes but {}", name.as_ref(), names.join(", ")),
                };
                return Err(self.fault(message));
            }
        }
        Ok(())
    }

    fn attribute(&self, start: &BytesStart<'_>, name: &str) -> Result<String, XmlError> {
        let attribute = start.attributes().flatten().find(|attribute| attribute.key.as_ref() == name);
        let Some(attribute) = attribute else {
            return Err(self.fault(format!("`<{}>` lacks the attribute `{name}`", start.name().as_ref())));
        };
        let value = attribute.normalized_value(XmlVersion::Explicit1_0);
        let value = value
            .map_err(|_| self.fault(format!("`{name}` has a reference to an unknown character or entity")))?;
        if attribute.value.contains('<') {
            return Err(self.fault(format!("`{name}` contains `<`: write `&lt;`")));
        }
        match find_not_xml(&value) {
            Some((_, bad)) => {
                Err(self.fault(format!("XML cannot represent the character U+{:04X}", u32::from(bad))))
            }
            None => Ok(value.into_owned()),
        }
    }

    /// An error at the start of the latest event.
    fn fault(&self, message: impl Into<String>) -> XmlError {
        let (line, column) = line_and_column(self.xml, self.at);
        XmlError::Xml { line, column, message: message.into() }
    }
}

/// Whether a text is XML white space only.
fn is_blank(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b' ' | b'\t' | b'\r' | b'\n'))
}

/// The entities predefined by XML.
fn predefined(name: &str) -> Option<char> {
    match name {
        "lt" => Some('<'),
        "gt" => Some('>'),
        "amp" => Some('&'),
        "apos" => Some('\''),
        "quot" => Some('"'),
        _ => None,
    }
}
