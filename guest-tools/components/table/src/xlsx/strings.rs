//! The shared strings of a workbook, and the escapes in them.

use std::fs::File;

use agent_tool_bounded::zip::Zip;

use super::xml::{Node, Xml, XmlError};

/// The most bytes of all shared strings.
const MAX_STRINGS_BYTES: usize = 64 * 1024 * 1024;

/// The most shared strings.
const MAX_STRINGS: usize = 2_000_000;

pub(super) fn read(zip: &mut Zip<File>, part: &str) -> Result<Vec<String>, XmlError> {
    let mut xml = Xml::open(zip, part)?;
    let mut strings = Vec::new();
    let mut bytes = 0;
    let mut text = Rich::default();
    loop {
        match xml.next()? {
            Node::Start(element) => text.open(element.name()),
            Node::Text(part) => text.add(&part),
            Node::Close(element) if element.name() == "si" => {
                let string = text.take();
                bytes += string.len();
                if bytes > MAX_STRINGS_BYTES || strings.len() >= MAX_STRINGS {
                    return Err(XmlError::Form("it has more text than can be read"));
                }
                strings.push(string);
            }
            Node::Close(element) => text.close(element.name()),
            Node::End => return Ok(strings),
        }
    }
}

/// A text in runs, without the hints for its pronunciation.
#[derive(Default)]
pub(super) struct Rich {
    text: String,
    is_text: bool,
    is_hint: bool,
}

impl Rich {
    pub(super) fn open(&mut self, name: &str) {
        match name {
            "t" => self.is_text = !self.is_hint,
            "rPh" => self.is_hint = true,
            _ => {}
        }
    }

    pub(super) fn close(&mut self, name: &str) {
        match name {
            "t" => self.is_text = false,
            "rPh" => self.is_hint = false,
            _ => {}
        }
    }

    pub(super) fn add(&mut self, text: &str) {
        if self.is_text {
            self.text.push_str(text);
        }
    }

    /// The text so far, which starts anew.
    pub(super) fn take(&mut self) -> String {
        let text = unescape(&self.text);
        *self = Self::default();
        text
    }
}

/// Replaces `_x000D_` and the like by the characters (ECMA-376 22.9.2.19).
pub(super) fn unescape(text: &str) -> String {
    let mut result = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("_x") {
        let (before, escape) = rest.split_at(at);
        result.push_str(before);
        match escaped(escape) {
            Some(letter) => {
                result.push(letter);
                rest = escape.get(7..).unwrap_or_default();
            }
            None => {
                result.push_str("_x");
                rest = escape.get(2..).unwrap_or_default();
            }
        }
    }
    result.push_str(rest);
    result
}

fn escaped(escape: &str) -> Option<char> {
    let digits = escape.get(2..6)?;
    let is_hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    if !is_hex || escape.as_bytes().get(6) != Some(&b'_') {
        return None;
    }
    char::from_u32(u32::from_str_radix(digits, 16).ok()?)
}
