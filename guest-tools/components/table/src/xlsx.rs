//! Excel workbooks (ECMA-376), read as streams of XML within bounds.
//!
//! It is no library, because the common ones turn every number into one of 64 bits with a fraction,
//! and trust the sizes that an archive states.

mod date;
mod sheet;
mod strings;
mod styles;
mod xml;

use std::fs::File;

use agent_tool_bounded::Failure;
use agent_tool_bounded::zip::Zip;

use crate::table::{Row, Sheet, SheetEnd, Visibility};
use styles::Styles;
use xml::{Node, Xml, XmlError};

/// The most sheets.
const MAX_SHEETS: usize = 1_000;

/// The largest part of a workbook, such as a sheet, in bytes of XML.
const MAX_XML_BYTES: u64 = 1024 * 1024 * 1024;

/// An open workbook.
pub(crate) struct Workbook {
    path: String,
    zip: Zip<File>,
    sheets: Vec<(Sheet, String)>,
    strings: Vec<String>,
    styles: Styles,
    /// True if day 0 is in 1904, as in old workbooks of Macs.
    from_1904: bool,
}

impl Workbook {
    pub(crate) fn open(path: &str, file: File) -> Result<Self, Failure> {
        let no_workbook = || {
            Failure::new(format!(
                "`{path}` is an archive and no xlsx workbook; this tool reads CSV and xlsx"
            ))
        };
        let mut zip = Zip::open(file).map_err(|error| failed(path, &error))?;
        let top = relations(&mut zip, "_rels/.rels").map_err(|error| failed(path, &error))?;
        let main = top
            .iter()
            .find(|relation| relation.kind == "officeDocument")
            .map(|relation| resolve("", &relation.target))
            .ok_or_else(no_workbook)?;
        Self::load(path, zip, &main).map_err(|error| failed(path, &error))
    }

    fn load(path: &str, mut zip: Zip<File>, main: &str) -> Result<Self, XmlError> {
        let (base, name) = main.rsplit_once('/').unwrap_or(("", main));
        let below = relations(&mut zip, &joined(base, &format!("_rels/{name}.rels")))?;
        let target = |kind: &str| {
            let relation = below.iter().find(|relation| relation.kind == kind);
            relation.map(|relation| resolve(base, &relation.target))
        };
        let (named, from_1904) = sheets(&mut zip, main)?;
        let sheets = named
            .into_iter()
            .filter_map(|(sheet, id)| {
                let relation = below.iter().find(|relation| relation.id == id)?;
                // A sheet can be a chart alone.
                (relation.kind == "worksheet").then(|| (sheet, resolve(base, &relation.target)))
            })
            .collect();
        Ok(Self {
            path: path.to_owned(),
            sheets,
            strings: match target("sharedStrings") {
                Some(part) => strings::read(&mut zip, &part)?,
                None => Vec::new(),
            },
            styles: match target("styles") {
                Some(part) => Styles::read(&mut zip, &part)?,
                None => Styles::default(),
            },
            from_1904,
            zip,
        })
    }

    pub(crate) fn sheets(&self) -> Vec<Sheet> {
        self.sheets.iter().map(|(sheet, _)| sheet.clone()).collect()
    }

    pub(crate) fn rows(
        &mut self,
        sheet: usize,
        visit: &mut dyn FnMut(Row) -> Result<(), Failure>,
    ) -> Result<SheetEnd, Failure> {
        let part = self.sheets.get(sheet).map(|(_, part)| part.clone());
        let part = part.ok_or_else(|| Failure::new("there is no such sheet"))?;
        let book = sheet::Book {
            strings: &self.strings,
            styles: &self.styles,
            from_1904: self.from_1904,
        };
        sheet::read(&mut self.zip, &part, &book, visit).map_err(|error| match error {
            XmlError::Visit(failure) => failure,
            error => failed(&self.path, &error),
        })
    }
}

fn failed(path: &str, error: &dyn std::fmt::Display) -> Failure {
    Failure::new(format!("`{path}` cannot be read: {error}"))
}

/// A relation of a part to another one.
struct Relation {
    id: String,
    /// The last segment of its type: the two editions of the standard differ before it.
    kind: String,
    target: String,
}

fn relations(zip: &mut Zip<File>, part: &str) -> Result<Vec<Relation>, XmlError> {
    let mut relations = Vec::new();
    if !xml::exists(zip, part) {
        return Ok(relations);
    }
    let mut xml = Xml::open(zip, part)?;
    loop {
        match xml.next()? {
            Node::Start(element) if element.name() == "Relationship" => {
                if relations.len() >= 2 * MAX_SHEETS {
                    return Err(XmlError::Form("it has too many relations"));
                }
                let kind = element.attribute("Type")?.unwrap_or_default();
                relations.push(Relation {
                    id: element.attribute("Id")?.unwrap_or_default(),
                    kind: kind.rsplit('/').next().unwrap_or_default().to_owned(),
                    target: element.attribute("Target")?.unwrap_or_default(),
                });
            }
            Node::End => return Ok(relations),
            Node::Start(_) | Node::Close(_) | Node::Text(_) => {}
        }
    }
}

/// The sheets with the ids of their relations, and true if day 0 is in 1904.
fn sheets(zip: &mut Zip<File>, part: &str) -> Result<(Vec<(Sheet, String)>, bool), XmlError> {
    let (mut sheets, mut from_1904) = (Vec::new(), false);
    let mut xml = Xml::open(zip, part)?;
    loop {
        match xml.next()? {
            Node::Start(element) if element.name() == "sheet" => {
                if sheets.len() >= MAX_SHEETS {
                    return Err(XmlError::Form("it has more than 1,000 sheets"));
                }
                let visibility = match element.attribute("state")?.as_deref() {
                    Some("hidden") => Visibility::Hidden,
                    Some("veryHidden") => Visibility::VeryHidden,
                    _ => Visibility::Visible,
                };
                let name = element.attribute("name")?.unwrap_or_default();
                let id = element.attribute("id")?.unwrap_or_default();
                sheets.push((Sheet { name, visibility }, id));
            }
            Node::Start(element) if element.name() == "workbookPr" => {
                let value = element.attribute("date1904")?;
                from_1904 = value.is_some_and(|value| value == "1" || value == "true");
            }
            Node::End => return Ok((sheets, from_1904)),
            Node::Start(_) | Node::Close(_) | Node::Text(_) => {}
        }
    }
}

fn joined(base: &str, name: &str) -> String {
    if base.is_empty() {
        name.to_owned()
    } else {
        format!("{base}/{name}")
    }
}

/// The name of a part from the target of a relation, which starts at `base` or at the root.
fn resolve(base: &str, target: &str) -> String {
    let full = match target.strip_prefix('/') {
        Some(absolute) => absolute.to_owned(),
        None => joined(base, target),
    };
    let mut names: Vec<&str> = Vec::new();
    for name in full.split('/') {
        match name {
            "" | "." => {}
            ".." => {
                names.pop();
            }
            name => names.push(name),
        }
    }
    names.join("/")
}

#[cfg(test)]
mod tests;
