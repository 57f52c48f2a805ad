//! The items and the results of a `foreach`. Results are JSON text in one slot for each item, which
//! the iterations after it share. With `on-error = "continue"` all items are tried; otherwise the
//! first failure ends the loop.

use super::{
    shared::Write,
    start::{Iteration, PriorResults, Slots},
};
use crate::{definition::OnError, value::Resolved, workflow::Node};
use agent_host_types::{
    json::JsonText,
    output::{ContentPart, FilePart, ToolResultOutput},
    workflow::{Artifact, NodeFailure, NodeOutput},
};
use serde_json::{Map, Value, json};
use std::{
    borrow::Cow,
    collections::BTreeMap,
    fmt::Write as _,
    sync::{Arc, OnceLock},
};

/// The most items of a `foreach`.
pub const MAX_ITEMS: usize = 10_000;

/// The text between the results of iterations.
const SEPARATOR: &str = "\n\n---\n\n";

#[derive(Debug)]
pub(super) struct Each {
    items: Vec<JsonText>,
    results: Slots,
    is_parallel: bool,
    /// Whether a failure leaves the other items alone.
    continues: bool,
    failures: BTreeMap<u32, NodeFailure>,
    /// The files and the writes of iterations that have some.
    files: BTreeMap<u32, Vec<FilePart>>,
    writes: BTreeMap<u32, Vec<Write>>,
}

/// Reads the list of a `foreach`; an absent one is empty.
pub(super) fn items(list: &Resolved<'_>) -> Result<Vec<JsonText>, NodeFailure> {
    let refuse = |kind: &str| {
        let message = format!("`foreach` needs a list, but its reference is {kind}");
        NodeFailure::new("not-a-list", message)
    };
    let json = match list {
        Resolved::Null => return Ok(Vec::new()),
        Resolved::Text(_) => return Err(refuse("a text")),
        Resolved::Json(json) => json,
    };
    if !json.as_str().starts_with('[') {
        return Err(refuse("another value"));
    }
    let items: Vec<JsonText> =
        serde_json::from_str(json.as_str()).map_err(|_| refuse("not readable"))?;
    if items.len() > MAX_ITEMS {
        let message = format!(
            "`foreach` has {} items, and the maximum is {MAX_ITEMS}",
            items.len()
        );
        return Err(NodeFailure::new("too-many-items", message));
    }
    Ok(items)
}

impl Each {
    pub(super) fn new(items: Vec<JsonText>, is_parallel: bool, on_error: OnError) -> Self {
        Self {
            results: items.iter().map(|_| OnceLock::new()).collect(),
            items,
            is_parallel,
            continues: on_error == OnError::Continue,
            failures: BTreeMap::new(),
            files: BTreeMap::new(),
            writes: BTreeMap::new(),
        }
    }

    /// Returns the number of items.
    pub(super) fn len(&self) -> u32 {
        u32::try_from(self.items.len()).unwrap_or(u32::MAX)
    }

    /// Returns an iteration. Results before it depend on timing if iterations run in parallel, so
    /// there are none then.
    pub(super) fn iteration(&self, index: u32) -> Option<Iteration> {
        let prior_results = match self.is_parallel {
            true => PriorResults::default(),
            false => PriorResults {
                slots: Arc::clone(&self.results),
                count: index as usize,
            },
        };
        Some(Iteration {
            item: self.items.get(index as usize)?.clone(),
            index,
            total: self.len(),
            prior_results,
        })
    }

    /// Returns the item with whose failure the loop ended.
    pub(super) fn stopped_at(&self) -> Option<u32> {
        let first = self.failures.first_key_value();
        first.filter(|_| !self.continues).map(|(index, _)| *index)
    }

    /// Ends the loop before this item: nothing after it is tried.
    pub(super) fn stop_at(&mut self, index: u32, failure: NodeFailure) {
        self.continues = false;
        self.failures.entry(index).or_insert(failure);
    }

    /// Records the end of an iteration. One after the item that ended the loop does not count.
    pub(super) fn settle(&mut self, index: u32, output: NodeOutput, writes: Vec<Write>) {
        if self.stopped_at().is_some_and(|at| at <= index) {
            return;
        }
        if let Some(error) = output.error {
            self.failures.insert(index, error);
            return;
        }
        if !writes.is_empty() {
            self.writes.insert(index, writes);
        }
        let result = match output.output {
            Some(ToolResultOutput::Json(json)) => Some(json),
            Some(ToolResultOutput::Content(parts)) => {
                let files = parts.into_iter().filter_map(|part| match part {
                    ContentPart::File(file) => Some(file),
                    ContentPart::Text { .. } => None,
                });
                let files: Vec<FilePart> = files.collect();
                if !files.is_empty() {
                    self.files.insert(index, files);
                }
                text_json(&output.text)
            }
            Some(
                ToolResultOutput::Text(_)
                | ToolResultOutput::ErrorText(_)
                | ToolResultOutput::ErrorJson(_)
                | ToolResultOutput::ExecutionDenied(_),
            )
            | None => text_json(&output.text),
        };
        if let (Some(slot), Some(result)) = (self.results.get(index as usize), result) {
            // An iteration settles once.
            let _ = slot.set(result);
        }
    }

    /// Joins the results, up to the item that ended the loop.
    pub(super) fn finish(mut self, node: &Node) -> (NodeOutput, Vec<Write>) {
        let tried = match self.stopped_at() {
            Some(index) => index as usize,
            None => self.items.len(),
        };
        let settled = (0..).zip(self.results.iter().take(tried));
        let ends = settled.filter_map(|(index, slot)| match self.failures.get(&index) {
            Some(failure) => Some(Err((index, failure))),
            None => slot.get().map(Ok),
        });
        let ends: Vec<Result<&JsonText, (u32, &NodeFailure)>> = ends.collect();
        let results = || ends.iter().filter_map(|end| end.ok());
        let text = joined(&ends);
        let items = ends.iter().map(|end| item_json(*end));
        let lists = [
            (
                "results",
                list(results().map(|result| result.as_str().into())),
            ),
            ("items", list(items)),
        ];
        let artifacts = lists
            .into_iter()
            .filter_map(|(key, list)| Some((key.to_owned(), list?)))
            .collect();
        let metadata = Map::from_iter([("iterations".to_owned(), Value::from(results().count()))]);
        let files = std::mem::take(&mut self.files).into_iter();
        let files = files.take_while(|(index, _)| (*index as usize) < tried);
        let files: Vec<FilePart> = files.flat_map(|(_, files)| files).collect();
        let first = self.failures.first_key_value();
        let error = first.map(|(index, error)| NodeFailure {
            failed_index: Some(*index),
            ..error.clone()
        });
        let writes = match error {
            Some(_) => Vec::new(),
            None => std::mem::take(&mut self.writes)
                .into_values()
                .flatten()
                .collect(),
        };
        let output = NodeOutput {
            artifacts,
            metadata,
            output: (!files.is_empty()).then(|| with_files(&text, files)),
            error,
            ..NodeOutput::of_text(&node.id, node.agent(), text)
        };
        (output, writes)
    }
}

fn with_files(text: &str, files: Vec<FilePart>) -> ToolResultOutput {
    let text = ContentPart::Text {
        text: text.to_owned(),
    };
    let files = files.into_iter().map(ContentPart::File);
    ToolResultOutput::Content(std::iter::once(text).chain(files).collect())
}

/// Joins the text of each item: its result, or a section that says how it failed.
fn joined(ends: &[Result<&JsonText, (u32, &NodeFailure)>]) -> String {
    let mut joined = String::new();
    for (index, end) in ends.iter().enumerate() {
        if index > 0 {
            joined.push_str(SEPARATOR);
        }
        match end {
            Ok(result) => joined.push_str(Resolved::of_json((*result).clone()).as_text()),
            Err((item, failure)) => {
                // Writing to a string does not fail.
                let _ = write!(joined, "[item {item}: failed]\n{failure}");
            }
        }
    }
    joined
}

/// Returns `{"ok": true, "value"}` or `{"ok": false, "error"}` as text.
fn item_json(end: Result<&JsonText, (u32, &NodeFailure)>) -> Cow<'static, str> {
    let item = match end {
        Ok(result) => format!("{{\"ok\":true,\"value\":{}}}", result.as_str()),
        Err((_, NodeFailure { code, message, .. })) => {
            json!({"ok": false, "error": {"code": code, "message": message}}).to_string()
        }
    };
    item.into()
}

/// Returns a list of JSON texts; where one nests too deep for a list, the list of their JSON as
/// text.
fn list<'a>(parts: impl Iterator<Item = Cow<'a, str>>) -> Option<Artifact> {
    let parts: Vec<Cow<'a, str>> = parts.collect();
    // One text: the results may be large.
    let mut text =
        String::with_capacity(parts.iter().map(|part| part.len() + 1).sum::<usize>() + 2);
    for (index, part) in parts.iter().enumerate() {
        text.push(if index == 0 { '[' } else { ',' });
        text.push_str(part);
    }
    text.push_str(if parts.is_empty() { "[]" } else { "]" });
    let list = JsonText::parse(&text).ok();
    let texts = || parts.iter().map(|part| &**part).collect::<Value>();
    let list = list.or_else(|| JsonText::try_from(&texts()).ok());
    list.map(Artifact::Value)
}

/// Returns a text as a JSON string, which nothing prevents.
fn text_json(text: &str) -> Option<JsonText> {
    JsonText::try_from(&Value::from(text)).ok()
}
