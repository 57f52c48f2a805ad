//! The artifacts of a session, by name: the files that its calls returned, and the results that are
//! too large for the conversation, and what calls stored under a name. They are a view of its
//! events. Tools choose the names of files, which are checked; the export of an artifact chooses
//! the directory.
//!
//! The journal keeps what was replaced or deleted, so that neither gives anything of the quota
//! back.

mod new;
mod reader;
#[cfg(test)]
mod tests;

pub use new::{NewArtifact, NewArtifactError};
pub use reader::{
    READ_ARTIFACT, SessionArtifacts, artifact_reader, file_result, offset, text_page,
};

pub use agent_host_types::artifact::ArtifactName;
use agent_host_types::{
    event::Event,
    id::CallId,
    output::{BlobRef, ContentPart, FileData, FilePart, ToolResultOutput},
    reason::Reason,
};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// The default quota of a session, in bytes: 256 MiB.
pub const DEFAULT_QUOTA_BYTES: u64 = 256 * 1024 * 1024;

/// The most artifacts that calls can store in a session, each counted whenever it is stored.
pub const MAX_STORED: u64 = 10_000;

/// Returns the name of the artifact with the whole result of a call.
#[must_use]
pub fn result_name(call: &CallId) -> ArtifactName {
    ArtifactName::of_result(call)
}

/// A file that a call returned or stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Artifact {
    /// The media type, which agrees with the bytes.
    pub media_type: String,
    /// The bytes.
    #[serde(flatten)]
    pub blob: BlobRef,
    /// The call that returned or stored it; absent if the operator's program did.
    pub call_id: Option<CallId>,
    /// The tool of the call.
    pub tool: Option<String>,
}

/// An artifact in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ArtifactRow {
    /// The name.
    pub name: ArtifactName,
    /// The artifact.
    #[serde(flatten)]
    pub artifact: Artifact,
}

/// The artifacts of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Artifacts {
    /// The artifacts by name; of several with one name, the latest.
    pub kept: BTreeMap<ArtifactName, Artifact>,
    /// The refused names of files, without duplicates.
    pub refused: Vec<Reason>,
    /// The sum of everything that was stored under a name.
    pub stored: Stored,
}

/// The sum of everything that a session has stored under names, including what was replaced or
/// deleted since.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stored {
    /// The number of times.
    pub count: u64,
    /// The bytes.
    pub bytes: u64,
}

impl Stored {
    /// Returns the sum with one more artifact.
    #[must_use]
    pub fn with(self, bytes: u64) -> Self {
        Self {
            count: self.count.saturating_add(1),
            bytes: self.bytes.saturating_add(bytes),
        }
    }

    /// Returns whether a quota in bytes, and that of the number, allow it.
    #[must_use]
    pub fn is_within(self, quota_bytes: u64) -> bool {
        self.bytes <= quota_bytes && self.count <= MAX_STORED
    }
}

impl Artifacts {
    /// Lists the artifacts by name.
    pub fn into_rows(self) -> impl Iterator<Item = ArtifactRow> {
        let kept = self.kept.into_iter();
        kept.map(|(name, artifact)| ArtifactRow { name, artifact })
    }

    /// Adds the artifacts of the session's next event: one that was stored, a result that is kept
    /// as a whole, and the files with bytes and a name in the result of a call or a node, in a copy
    /// also those that it took over. A file that a tool gives as text is part of what the model
    /// reads, and is none.
    pub fn add(&mut self, event: &Event) {
        match event {
            Event::CallSettled {
                call_id,
                tool,
                output,
                whole,
                ..
            } => {
                if let Some(whole) = whole {
                    self.add_whole(call_id, tool, media_type_of(output), whole);
                }
                self.add_files(call_id, tool, output);
            }
            Event::NodeSettled {
                call_id,
                node,
                output,
                whole,
                ..
            } => {
                if let Some(whole) = whole {
                    self.add_whole(call_id, node, "application/json", whole);
                }
                if let Some(output) = &output.output {
                    self.add_files(call_id, node, output);
                }
            }
            Event::ArtifactStored {
                call_id,
                tool,
                name,
                media_type,
                blob,
            } => {
                let artifact = Artifact {
                    media_type: media_type.clone(),
                    blob: blob.clone(),
                    call_id: call_id.clone(),
                    tool: tool.clone(),
                };
                self.stored = self.stored.with(blob.size);
                self.keep(name.clone(), artifact);
            }
            Event::ArtifactDeleted { name, .. } if name.clone().outside_results().is_ok() => {
                self.kept.remove(name);
            }
            Event::ResultsReferenced { results, .. } => {
                for result in results {
                    self.add_whole(&result.call_id, &result.tool, "text/plain", &result.blob);
                }
            }
            _ => {}
        }
    }

    fn add_files(&mut self, call_id: &CallId, tool: &str, output: &ToolResultOutput) {
        if let ToolResultOutput::Content(parts) = output {
            for part in parts {
                self.add_part(call_id, tool, part);
            }
        }
    }

    fn add_whole(&mut self, call_id: &CallId, tool: &str, media_type: &str, blob: &BlobRef) {
        let artifact = Artifact {
            media_type: media_type.to_owned(),
            blob: blob.clone(),
            call_id: Some(call_id.clone()),
            tool: Some(tool.to_owned()),
        };
        self.kept.entry(result_name(call_id)).or_insert(artifact);
    }

    fn add_part(&mut self, call_id: &CallId, tool: &str, part: &ContentPart) {
        let ContentPart::File(FilePart {
            media_type,
            data: FileData::Blob(blob),
            filename: Some(filename),
        }) = part
        else {
            return;
        };
        let artifact = Artifact {
            media_type: media_type.clone(),
            blob: blob.clone(),
            call_id: Some(call_id.clone()),
            tool: Some(tool.to_owned()),
        };
        match filename.parse() {
            Ok(name) => self.keep(name, artifact),
            Err(error) => self.refuse(error),
        }
    }

    /// Keeps a file under a name that a tool chose.
    fn keep(&mut self, name: ArtifactName, artifact: Artifact) {
        match name.outside_results() {
            Ok(name) => drop(self.kept.insert(name, artifact)),
            Err(error) => self.refuse(error),
        }
    }

    fn refuse(&mut self, error: Reason) {
        if !self.refused.contains(&error) {
            self.refused.push(error);
        }
    }
}

/// Returns the media type of the bytes that hold a result of this variant.
fn media_type_of(output: &ToolResultOutput) -> &'static str {
    match output {
        ToolResultOutput::Text(_)
        | ToolResultOutput::ErrorText(_)
        | ToolResultOutput::ExecutionDenied(_) => "text/plain",
        ToolResultOutput::Json(_)
        | ToolResultOutput::ErrorJson(_)
        | ToolResultOutput::Content(_) => "application/json",
    }
}
