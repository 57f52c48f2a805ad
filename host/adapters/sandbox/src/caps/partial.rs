//! `agent:tool/partial`: the pieces of a result, of which users see the text while the call runs.

#[cfg(test)]
mod tests;

use crate::{
    bindings::{
        partial,
        types::{ContentPart, FileData, FilePart, ToolResultOutput},
    },
    caps::{
        result_size::{mark_cut, most_bytes, part_bytes},
        stdio,
        telemetry::Telemetry,
    },
};
use agent_host_types::limits::Limits;
use std::{mem, sync::Arc};

/// The type of bytes that continue no file.
const UNKNOWN: &str = "application/octet-stream";

/// The pieces of one call.
pub(crate) struct PartialCtx {
    telemetry: Arc<Telemetry>,
    parts: Vec<ContentPart>,
    /// The bytes that still fit.
    left: usize,
    /// Whether something was left out. Nothing is added after that, so the result has no hole.
    is_cut: bool,
}

impl PartialCtx {
    pub(crate) fn new(telemetry: Arc<Telemetry>, limits: &Limits) -> Self {
        Self {
            telemetry,
            parts: Vec::new(),
            left: most_bytes(limits),
            is_cut: false,
        }
    }

    /// Makes the result of a call: its pieces, and what it returned.
    pub(crate) fn complete(&mut self, returned: ToolResultOutput) -> ToolResultOutput {
        if self.parts.is_empty() && !self.is_cut {
            return returned;
        }
        match returned {
            ToolResultOutput::Text(text) => {
                self.add_text(text);
            }
            ToolResultOutput::Content(parts) => {
                for part in parts {
                    match part {
                        ContentPart::Text(text) => self.add_text(text),
                        file @ ContentPart::File(_) => self.add(file),
                    };
                }
            }
            whole => return whole,
        }
        let mut parts = mem::take(&mut self.parts);
        let output = match parts.as_mut_slice() {
            [ContentPart::Text(text)] => ToolResultOutput::Text(mem::take(text)),
            _ => ToolResultOutput::Content(parts),
        };
        if self.is_cut {
            mark_cut(output)
        } else {
            output
        }
    }

    /// Reserves the bytes of a piece; returns whether they fit.
    fn reserve(&mut self, bytes: usize) -> bool {
        match self.left.checked_sub(bytes) {
            Some(left) if !self.is_cut => self.left = left,
            _ => self.is_cut = true,
        }
        !self.is_cut
    }

    fn add(&mut self, part: ContentPart) -> bool {
        let fits = self.reserve(part_bytes(&part));
        if fits {
            self.parts.push(part);
        }
        fits
    }

    fn add_text(&mut self, more: String) -> bool {
        if more.is_empty() {
            return !self.is_cut;
        }
        if !matches!(self.parts.last(), Some(ContentPart::Text(_))) {
            return self.add(ContentPart::Text(more));
        }
        let fits = self.reserve(more.len());
        if let Some(ContentPart::Text(text)) = self.parts.last_mut().filter(|_| fits) {
            text.push_str(&more);
        }
        fits
    }

    fn add_file(&mut self, media_type: String, filename: Option<String>, bytes: Vec<u8>) -> bool {
        self.add(ContentPart::File(FilePart {
            media_type,
            data: FileData::Bytes(bytes),
            filename,
        }))
    }
}

impl partial::Host for PartialCtx {
    async fn text(&mut self, text: String) -> wasmtime::Result<bool> {
        stdio::show(&self.telemetry, text.as_bytes());
        Ok(self.add_text(text))
    }

    async fn file(
        &mut self,
        media_type: String,
        filename: Option<String>,
    ) -> wasmtime::Result<bool> {
        Ok(self.add_file(media_type, filename, Vec::new()))
    }

    async fn bytes(&mut self, more: Vec<u8>) -> wasmtime::Result<bool> {
        if !matches!(self.parts.last(), Some(ContentPart::File(_))) {
            return Ok(self.add_file(UNKNOWN.to_owned(), None, more));
        }
        let fits = self.reserve(more.len());
        if let Some(ContentPart::File(file)) = self.parts.last_mut().filter(|_| fits)
            && let FileData::Bytes(bytes) = &mut file.data
        {
            bytes.extend(more);
        }
        Ok(fits)
    }
}
