//! The tool with which the model reads artifacts, page by page.

use super::{Artifact, ArtifactName, Artifacts, DEFAULT_QUOTA_BYTES, Stored};
use crate::{
    BoxFuture,
    journal::{Journal, JournalError},
    tool::{Invocation, ProgressSink, RunEnd, ToolHandler},
    tool_set::{Offer, ToolEntry},
};
use agent_host_types::{
    media,
    output::{ContentPart, FileData, FilePart, ToolResultOutput},
    tool::{Effect, ToolDefinition},
};
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    fmt::{self, Write as _},
    sync::{Arc, LazyLock},
};

/// The name of the tool.
pub const READ_ARTIFACT: &str = "read_artifact";

/// The length of a text in one result, in bytes: less than what stays inline of a long result.
const PAGE_BYTES: usize = 40 * 1024;

/// The largest image in a result, in bytes; providers take 5 MB.
const IMAGE_BYTES: usize = 3 * 1024 * 1024;

/// The number of names in an error.
const NAMED: usize = 50;

/// The artifacts of a session as they are when a call starts.
#[derive(Clone)]
pub struct SessionArtifacts {
    kept: Arc<Artifacts>,
    journal: Arc<dyn Journal>,
    quota_bytes: u64,
}

impl fmt::Debug for SessionArtifacts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SessionArtifacts").field(&self.kept).finish()
    }
}

impl SessionArtifacts {
    pub(crate) fn new(kept: Arc<Artifacts>, journal: Arc<dyn Journal>) -> Self {
        Self {
            kept,
            journal,
            quota_bytes: DEFAULT_QUOTA_BYTES,
        }
    }

    /// Returns them with another quota for what calls store.
    #[must_use]
    pub fn with_quota(self, quota_bytes: u64) -> Self {
        Self {
            quota_bytes,
            ..self
        }
    }

    /// Returns those of another time of the session.
    pub(crate) fn at(&self, kept: &Arc<Artifacts>) -> Self {
        Self {
            kept: Arc::clone(kept),
            ..self.clone()
        }
    }

    /// Returns what was stored so far.
    #[must_use]
    pub fn stored(&self) -> Stored {
        self.kept.stored
    }

    /// Returns the quota of what calls store, in bytes.
    #[must_use]
    pub fn quota_bytes(&self) -> u64 {
        self.quota_bytes
    }

    /// Returns the artifacts by name.
    #[must_use]
    pub fn list(&self) -> &BTreeMap<ArtifactName, Artifact> {
        &self.kept.kept
    }

    /// Reads the bytes of one of them.
    ///
    /// # Errors
    /// When the journal cannot be read.
    pub async fn read(&self, artifact: &Artifact) -> Result<Vec<u8>, JournalError> {
        self.journal.blob(artifact.blob.digest).await
    }
}

struct ArtifactReader;

/// The tool that reads artifacts. The model is offered it from the session's first artifact on.
#[must_use]
pub fn artifact_reader() -> Option<ToolEntry> {
    static TOOL: LazyLock<Option<ToolEntry>> = LazyLock::new(|| {
        Some(ToolEntry {
            offer: Offer::Found,
            ..ToolEntry::own(definition(), Arc::new(ArtifactReader))
                .ok()?
                .with_summary("Read the artifact {name}  {result|bytes}")
        })
    });
    TOOL.clone()
}

impl ToolHandler for ArtifactReader {
    fn run<'a>(&'a self, invocation: Invocation, _: ProgressSink<'a>) -> BoxFuture<'a, RunEnd> {
        Box::pin(async move {
            let input = &invocation.input;
            let name = input.get("name").and_then(Value::as_str);
            let found = name.and_then(|name| {
                let artifacts = invocation.artifacts.as_ref()?;
                let name: ArtifactName = name.parse().ok()?;
                Some((artifacts, name.clone(), artifacts.list().get(&name)?))
            });
            let Some((artifacts, name, artifact)) = found else {
                return absent(invocation.artifacts.as_ref()).into();
            };
            let output = match artifacts.read(artifact).await {
                Ok(bytes) => file_result(&name.to_string(), &bytes, offset(input.get("offset"))),
                Err(error) => {
                    ToolResultOutput::ErrorText(format!("Cannot read the artifact now: {error}."))
                }
            };
            output.into()
        })
    }
}

fn absent(artifacts: Option<&SessionArtifacts>) -> ToolResultOutput {
    let names = artifacts.map(|artifacts| artifacts.list().keys());
    let names: Vec<String> = names
        .into_iter()
        .flatten()
        .take(NAMED)
        .map(ToString::to_string)
        .collect();
    ToolResultOutput::ErrorText(match names.is_empty() {
        true => "Unknown artifact; this conversation has no artifacts.".to_owned(),
        false => format!("Unknown artifact. The artifacts are: {}.", names.join(", ")),
    })
}

/// Returns the argument of a tool that reads on from a place, in bytes; 0 without one.
#[must_use]
pub fn offset(argument: Option<&Value>) -> usize {
    let offset = argument.and_then(Value::as_u64).unwrap_or_default();
    usize::try_from(offset).unwrap_or(usize::MAX)
}

/// Returns a file to the model: an image as an image, and text from `offset` on, at most a page.
#[must_use]
pub fn file_result(name: &str, bytes: &[u8], offset: usize) -> ToolResultOutput {
    let seen = media::sniff(bytes);
    if let Some(seen) = seen.filter(|seen| seen.starts_with("image/"))
        && bytes.len() <= IMAGE_BYTES
    {
        return ToolResultOutput::Content(vec![ContentPart::File(FilePart {
            media_type: seen.to_owned(),
            data: FileData::Bytes(bytes.to_vec()),
            filename: Some(name.to_owned()),
        })]);
    }
    match str::from_utf8(bytes) {
        Ok(text) => text_page(text, offset),
        Err(_) => ToolResultOutput::ErrorText(format!(
            "The file has {} bytes and is neither text nor an image.",
            bytes.len()
        )),
    }
}

/// Returns a text from `offset` on, at most a page of it.
#[must_use]
pub fn text_page(text: &str, offset: usize) -> ToolResultOutput {
    let start = text.ceil_char_boundary(offset.min(text.len()));
    let end = text.floor_char_boundary(start.saturating_add(PAGE_BYTES).min(text.len()));
    let mut page = text.get(start..end).unwrap_or_default().to_owned();
    if end < text.len() {
        let left = text.len() - end;
        let _ = write!(page, "\n[{left} more bytes: continue with `offset` {end}]");
    }
    ToolResultOutput::Text(page)
}

fn definition() -> ToolDefinition {
    ToolDefinition {
        name: READ_ARTIFACT.to_owned(),
        title: Some("Read an artifact".to_owned()),
        description: "Returns an artifact of this conversation: a file that a tool returned, or a result that was \
            too long to show or was removed from the conversation. A note in its place has the name. Long text comes \
            in pages."
            .to_owned(),
        input_schema: json!({
            "type": "object",
            "properties": {
                "name": { "type": "string", "description": "The name of the artifact." },
                "offset": {
                    "type": "integer",
                    "minimum": 0,
                    "description": "Where to continue reading a long text, in bytes.",
                },
            },
            "required": ["name"],
            "additionalProperties": false,
        }),
        output_schema: None,
        effect: Effect::ReadOnly,
    }
}
