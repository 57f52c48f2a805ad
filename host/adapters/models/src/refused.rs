//! The files that a provider refused: one that it cannot fetch or decode fails every request with
//! it, since each request has the whole conversation. Such a file becomes a note from then on.

#[cfg(test)]
mod tests;

use crate::{
    images::{parts, parts_mut, parts_of},
    wire::request::{describe, omitted},
};
use agent_host_types::{
    id::Digest,
    model::{ModelError, ModelErrorKind, ModelRequest},
    output::{ContentPart, FileData, FilePart},
};
use std::{
    borrow::Cow,
    collections::HashSet,
    sync::{Mutex, PoisonError},
};

/// The phrases of servers that cannot fetch a file: OpenAI (two), Anthropic, Gemini, `DashScope`.
const NOT_FETCHED: [&str; 5] = [
    "error while downloading",
    "timeout while downloading",
    "unable to download",
    "cannot fetch content from the provided url",
    "failed to download",
];

/// The phrases of servers that cannot decode an image: Anthropic (two), OpenAI (two), Gemini, vLLM,
/// llama.cpp and Ollama.
const NOT_AN_IMAGE: [&str; 7] = [
    "could not process image",
    "image does not match the provided media type",
    "does not represent a valid image",
    "you uploaded an unsupported image",
    "unable to process input image",
    "cannot identify image file",
    "failed to load image",
];

/// The phrases of Anthropic, Gemini and OpenAI for a document that cannot be decoded.
const NOT_A_DOCUMENT: [&str; 4] = [
    "could not process pdf",
    "the pdf specified was not valid",
    "the document has no pages",
    "failed to parse the pdf",
];

/// The most requests that are repeated for files of one request.
pub(crate) const MAX_REPAIRS: usize = 4;

/// The files that one model refused, by the digests of their bytes or URLs.
#[derive(Debug, Default)]
pub(crate) struct RefusedFiles(Mutex<HashSet<Digest>>);

/// The step that fails on a file, by the server's message: fetching it or decoding it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FileFault {
    Fetch,
    Image,
    Document,
}

impl RefusedFiles {
    /// Returns the request with a note in place of each refused file.
    pub(crate) fn omit<'a>(&self, mut request: Cow<'a, ModelRequest>) -> Cow<'a, ModelRequest> {
        let refused = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_refused =
            |part: &ContentPart| key_of(part).is_some_and(|key| refused.contains(&key));
        if refused.is_empty() || !parts(&request).any(is_refused) {
            return request;
        }
        for part in parts_mut(request.to_mut()) {
            if is_refused(part) {
                *part = ContentPart::Text {
                    text: omitted(part),
                };
            }
        }
        request
    }

    /// Remembers the files of a request that an error is about and returns their descriptions;
    /// empty for another error. A server that names no URL means the newest files: it accepted the
    /// others before.
    pub(crate) fn remember(&self, error: &ModelError, request: &ModelRequest) -> Vec<String> {
        let Some(fault) = fault_of(error) else {
            return Vec::new();
        };
        let named = |part: &&ContentPart| {
            url_of(part).is_some_and(|url| fault == FileFault::Fetch && error.message.contains(url))
        };
        let mut found: Vec<&ContentPart> = parts(request).filter(named).collect();
        if found.is_empty() {
            let newest = request.messages.iter().rev().map(|message| {
                let parts = parts_of(message);
                parts.filter(|part| may_have(fault, part)).collect()
            });
            found = newest
                .into_iter()
                .find(|found: &Vec<_>| !found.is_empty())
                .unwrap_or_default();
        }
        let mut refused = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        refused.extend(found.iter().filter_map(|part| key_of(part)));
        found.into_iter().map(describe).collect()
    }
}

/// True if an error is about a file of the request.
pub(crate) fn is_about_a_file(error: &ModelError) -> bool {
    fault_of(error).is_some()
}

fn fault_of(error: &ModelError) -> Option<FileFault> {
    let message = error.message.to_ascii_lowercase();
    let says = |phrases: &[&str]| phrases.iter().any(|phrase| message.contains(phrase));
    match error.kind {
        ModelErrorKind::InvalidRequest | ModelErrorKind::Server => {}
        _ => return None,
    }
    if says(&NOT_FETCHED) {
        Some(FileFault::Fetch)
    } else if says(&NOT_AN_IMAGE) {
        Some(FileFault::Image)
    } else {
        says(&NOT_A_DOCUMENT).then_some(FileFault::Document)
    }
}

fn may_have(fault: FileFault, part: &ContentPart) -> bool {
    let ContentPart::File(file) = part else {
        return false;
    };
    let is_image = file.media_type.starts_with("image/");
    key_of(part).is_some()
        && match fault {
            FileFault::Fetch => matches!(file.data, FileData::Url(_)),
            FileFault::Image => is_image,
            FileFault::Document => !is_image,
        }
}

fn url_of(part: &ContentPart) -> Option<&str> {
    match part {
        ContentPart::File(FilePart {
            data: FileData::Url(url),
            ..
        }) => Some(url),
        ContentPart::File(_) | ContentPart::Text { .. } => None,
    }
}

fn key_of(part: &ContentPart) -> Option<Digest> {
    match part {
        ContentPart::File(FilePart {
            data: FileData::Bytes(bytes),
            ..
        }) => Some(Digest::of(bytes)),
        part => url_of(part).map(|url| Digest::of(url.as_bytes())),
    }
}
