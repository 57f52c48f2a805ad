//! XML of untrusted origin, as a stream: no entity is defined, no value is long, nothing is deep.

use std::borrow::Cow;
use std::fmt;
use std::fs::File;
use std::io::{self, BufReader, Read, Take};

use agent_tool_bounded::Failure;
use agent_tool_bounded::zip::{Content, Zip, ZipError};
use quick_xml::XmlVersion;
use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::{BytesEnd, BytesStart, Event};
use quick_xml::reader::Reader;

use super::MAX_XML_BYTES;
use crate::metered::{Meter, Metered};

/// The most elements within each other.
const MAX_DEPTH: usize = 64;

/// An error of a workbook.
#[derive(Debug)]
pub(crate) enum XmlError {
    Zip(ZipError),
    Xml(quick_xml::Error),
    /// A form that contradicts the format.
    Form(&'static str),
    /// A part that is named and not there, or twice.
    Part(String),
    /// The visitor of rows failed.
    Visit(Failure),
}

impl From<ZipError> for XmlError {
    fn from(error: ZipError) -> Self {
        Self::Zip(error)
    }
}

impl From<quick_xml::Error> for XmlError {
    fn from(error: quick_xml::Error) -> Self {
        Self::Xml(error)
    }
}

impl From<Failure> for XmlError {
    fn from(failure: Failure) -> Self {
        Self::Visit(failure)
    }
}

impl fmt::Display for XmlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Zip(error) => error.fmt(f),
            Self::Xml(quick_xml::Error::Io(error)) => error.fmt(f),
            Self::Xml(error) => write!(f, "its XML is damaged: {error}"),
            Self::Form(how) => f.write_str(how),
            Self::Part(name) => write!(f, "its part `{name}` is not there once"),
            Self::Visit(failure) => failure.fmt(f),
        }
    }
}

/// True if the archive has the part.
pub(super) fn exists(zip: &Zip<File>, part: &str) -> bool {
    zip.entries().iter().any(|entry| entry.name == part)
}

type Source<'a> = BufReader<Metered<Take<Content<&'a mut File>>>>;

/// A part that is being read.
pub(super) struct Xml<'a> {
    reader: Reader<Source<'a>>,
    meter: Meter,
    buffer: Vec<u8>,
    depth: usize,
}

/// The next piece of a part.
pub(super) enum Node<'b> {
    Start(Element<'b>),
    Close(Closed<'b>),
    /// A part of a text; nothing for a comment.
    Text(Cow<'b, str>),
    /// The end of the part.
    End,
}

/// The end of an element.
pub(super) struct Closed<'b>(BytesEnd<'b>);

impl Closed<'_> {
    /// The name without a prefix.
    pub(super) fn name(&self) -> &str {
        self.0.local_name().into_inner()
    }
}

/// The start of an element.
pub(super) struct Element<'b>(BytesStart<'b>);

impl Element<'_> {
    /// The name without a prefix.
    pub(super) fn name(&self) -> &str {
        self.0.local_name().into_inner()
    }

    /// The value of an attribute by its name without a prefix.
    pub(super) fn attribute(&self, name: &str) -> Result<Option<String>, XmlError> {
        for attribute in self.0.attributes().with_checks(false) {
            let attribute = attribute.map_err(quick_xml::Error::from)?;
            if attribute.key.local_name().into_inner() == name {
                let value = attribute.normalized_value(XmlVersion::Implicit1_0)?;
                return Ok(Some(value.into_owned()));
            }
        }
        Ok(None)
    }
}

impl<'a> Xml<'a> {
    pub(super) fn open(zip: &'a mut Zip<File>, part: &str) -> Result<Self, XmlError> {
        let mut found = zip
            .entries()
            .iter()
            .enumerate()
            .filter(|(_, entry)| entry.name == part)
            .map(|(index, _)| index);
        let (Some(index), None) = (found.next(), found.next()) else {
            return Err(XmlError::Part(part.to_owned()));
        };
        let (source, meter) = Metered::new(zip.content(index)?.take(MAX_XML_BYTES));
        let mut reader = Reader::from_reader(BufReader::new(source));
        reader.config_mut().expand_empty_elements = true;
        Ok(Self {
            reader,
            meter,
            buffer: Vec::new(),
            depth: 0,
        })
    }

    /// Reads the next piece.
    pub(super) fn next(&mut self) -> Result<Node<'_>, XmlError> {
        self.buffer.clear();
        self.meter.reset();
        Ok(match self.reader.read_event_into(&mut self.buffer)? {
            Event::DocType(_) => return Err(XmlError::Form("its XML defines a document type")),
            Event::Eof if self.depth > 0 => return Err(XmlError::Form("its XML ends too early")),
            Event::Eof => Node::End,
            Event::End(element) => {
                self.depth = self.depth.saturating_sub(1);
                Node::Close(Closed(element))
            }
            Event::Start(element) => {
                self.depth += 1;
                if self.depth > MAX_DEPTH {
                    return Err(XmlError::Form("its XML is too deep"));
                }
                Node::Start(Element(element))
            }
            Event::Text(text) => Node::Text(text.xml10_content()),
            Event::CData(text) => Node::Text(text.xml10_content()),
            Event::GeneralRef(reference) => {
                let text = match reference.resolve_char_ref()? {
                    Some(letter) => Cow::Owned(letter.to_string()),
                    None => resolve_predefined_entity(&reference.into_inner())
                        .map(Cow::Borrowed)
                        .ok_or(XmlError::Form("its XML uses an entity that it cannot have"))?,
                };
                Node::Text(text)
            }
            // The reader makes two of the last kind.
            Event::Comment(_) | Event::Decl(_) | Event::PI(_) | Event::Empty(_) => {
                Node::Text(Cow::Borrowed(""))
            }
        })
    }
}

impl From<io::Error> for XmlError {
    fn from(error: io::Error) -> Self {
        Self::Zip(error.into())
    }
}
