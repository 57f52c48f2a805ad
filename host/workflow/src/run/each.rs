//! The items and the results of a `foreach`. Results are JSON text in one slot for each item, which
//! the iterations after it share.

use super::{
    shared::Write,
    start::{Iteration, PriorResults, Slots},
};
use crate::{value::Resolved, workflow::Node};
use agent_host_types::{
    json::JsonText,
    output::{ContentPart, FilePart, ToolResultOutput},
    workflow::{Artifact, NodeFailure, NodeOutput},
};
use serde_json::{Map, Value};
use std::{
    collections::BTreeMap,
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
    /// The first item that failed.
    pub(super) failed: Option<(u32, NodeFailure)>,
    /// The files and the writes of iterations that have some.
    files: BTreeMap<u32, Vec<FilePart>>,
    writes: BTreeMap<u32, Vec<Write>>,
}

/// Reads the list of a `foreach`; an absent one is empty.
pub(super) fn items(list: &Resolved<'_>) -> Result<Vec<JsonText>, NodeFailure> {
    let refuse = |kind: &str| {
        let message = format!("`foreach` needs a list, and its reference is {kind}");
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
            "`foreach` has {} items, and at most {MAX_ITEMS} are allowed",
            items.len()
        );
        return Err(NodeFailure::new("too-many-items", message));
    }
    Ok(items)
}

impl Each {
    pub(super) fn new(items: Vec<JsonText>, is_parallel: bool) -> Self {
        Self {
            results: items.iter().map(|_| OnceLock::new()).collect(),
            items,
            is_parallel,
            failed: None,
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

    /// Records the end of an iteration. One after a failed item does not count.
    pub(super) fn settle(&mut self, index: u32, output: NodeOutput, writes: Vec<Write>) {
        if self.failed.as_ref().is_some_and(|(at, _)| *at <= index) {
            return;
        }
        if let Some(error) = output.error {
            self.failed = Some((index, error));
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

    /// Joins the results up to the first failure.
    pub(super) fn finish(self, node: &Node) -> (NodeOutput, Vec<Write>) {
        let kept = match &self.failed {
            Some((index, _)) => *index as usize,
            None => self.items.len(),
        };
        let results: Vec<&JsonText> = self
            .results
            .iter()
            .take(kept)
            .filter_map(OnceLock::get)
            .collect();
        let text = joined(&results);
        let kept_files = self.files.into_iter();
        let kept_files = kept_files.take_while(|(index, _)| (*index as usize) < kept);
        let files: Vec<FilePart> = kept_files.flat_map(|(_, files)| files).collect();
        let error = self.failed.map(|(index, error)| NodeFailure {
            failed_index: Some(index),
            ..error
        });
        let writes = match error {
            Some(_) => Vec::new(),
            None => self.writes.into_values().flatten().collect(),
        };
        let output = NodeOutput {
            artifacts: list(&results)
                .map(|list| ("results".to_owned(), list))
                .into_iter()
                .collect(),
            metadata: Map::from_iter([("iterations".to_owned(), Value::from(results.len()))]),
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

fn joined(results: &[&JsonText]) -> String {
    let mut joined = String::new();
    for (index, result) in results.iter().enumerate() {
        if index > 0 {
            joined.push_str(SEPARATOR);
        }
        joined.push_str(Resolved::of_json((*result).clone()).as_text());
    }
    joined
}

/// Returns the list of results; where one nests too deep for a list, the list of their JSON as
/// text.
fn list(results: &[&JsonText]) -> Option<Artifact> {
    let parts = results.iter().map(|result| result.as_str());
    // One text: the results may be large.
    let mut text =
        String::with_capacity(parts.clone().map(|part| part.len() + 1).sum::<usize>() + 2);
    for (index, part) in parts.clone().enumerate() {
        text.push(if index == 0 { '[' } else { ',' });
        text.push_str(part);
    }
    text.push_str(if results.is_empty() { "[]" } else { "]" });
    let list = JsonText::parse(&text).ok();
    let list = list.or_else(|| JsonText::try_from(&parts.collect::<Value>()).ok());
    list.map(Artifact::Value)
}

/// Returns a text as a JSON string, which nothing prevents.
fn text_json(text: &str) -> Option<JsonText> {
    JsonText::try_from(&Value::from(text)).ok()
}
