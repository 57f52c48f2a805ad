//! The formats of a workbook's cells: which numbers are dates.

use std::collections::HashMap;
use std::fs::File;

use agent_tool_bounded::zip::Zip;

use super::date::DateKind;
use super::xml::{Node, Xml, XmlError};

/// The most formats of cells; Excel ends at 65,490.
const MAX_STYLES: usize = 100_000;

/// The kinds of dates of a workbook's formats.
#[derive(Default)]
pub(super) struct Styles(Vec<Option<DateKind>>);

impl Styles {
    pub(super) fn read(zip: &mut Zip<File>, part: &str) -> Result<Self, XmlError> {
        let mut xml = Xml::open(zip, part)?;
        let mut own = HashMap::new();
        let mut styles = Vec::new();
        let mut is_cells = false;
        loop {
            match xml.next()? {
                Node::Start(element) => match element.name() {
                    "numFmt" => {
                        let id = element.attribute("numFmtId")?.unwrap_or_default();
                        let code = element.attribute("formatCode")?.unwrap_or_default();
                        own.insert(id, DateKind::of_format(&code));
                    }
                    "cellXfs" => is_cells = true,
                    "xf" if is_cells => {
                        let id = element.attribute("numFmtId")?.unwrap_or_default();
                        let kind = match own.get(&id) {
                            Some(kind) => *kind,
                            None => id.parse().ok().and_then(DateKind::of_built_in),
                        };
                        styles.push(kind);
                    }
                    _ => {}
                },
                Node::Close(element) if element.name() == "cellXfs" => is_cells = false,
                Node::Close(_) | Node::Text(_) => {}
                Node::End => return Ok(Self(styles)),
            }
            if own.len() > MAX_STYLES || styles.len() > MAX_STYLES {
                return Err(XmlError::Form("it has too many formats of cells"));
            }
        }
    }

    /// The kind of date that a cell with this style is, if it is one.
    pub(super) fn date_kind(&self, style: usize) -> Option<DateKind> {
        self.0.get(style).copied().flatten()
    }
}
