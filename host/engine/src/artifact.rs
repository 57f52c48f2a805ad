//! The artifacts of a session, by name: the files that its calls returned, and the results that are
//! too large for the conversation. They are a view of its events. Tools choose the names of files,
//! which are checked here; the export of an artifact chooses the directory.

mod reader;
#[cfg(test)]
mod tests;

pub use reader::{
    READ_ARTIFACT, SessionArtifacts, file_result, offset, text_page, with_artifact_reader,
};

use agent_host_types::{
    event::Event,
    id::{CallId, Digest},
    output::{BlobRef, ContentPart, FileData, FilePart, ToolResultOutput},
};
use serde::Serialize;
use std::{collections::BTreeMap, fmt, str::FromStr};

/// The longest name, in bytes: a quarter of the longest path on Linux, which also holds the
/// directory.
const MAX_NAME_BYTES: usize = 1024;
/// The longest path component, in bytes: the limit of file systems.
const MAX_COMPONENT_BYTES: usize = 255;

/// The directory of results in the names of artifacts, which no file of a tool can be in.
const RESULTS: &str = "results/";

/// The name of an artifact: a relative path that stays below its base directory on every system.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct ArtifactName(String);

/// A text that is not the name of an artifact.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{}` is no name of an artifact: {why}; name it like `report.md` or `plots/one.png`", name.escape_debug())]
pub struct ArtifactNameError {
    name: String,
    why: &'static str,
}

impl FromStr for ArtifactName {
    type Err = ArtifactNameError;

    fn from_str(name: &str) -> Result<Self, ArtifactNameError> {
        match refusal(name) {
            None => Ok(Self(name.to_owned())),
            Some(why) => Err(ArtifactNameError {
                name: name.chars().take(MAX_COMPONENT_BYTES).collect(),
                why,
            }),
        }
    }
}

/// Returns the name of the artifact with the whole result of a call.
#[must_use]
pub fn result_name(call: &CallId) -> ArtifactName {
    let name = format!("{RESULTS}{}", call.0);
    // A provider chose the id.
    match name.parse() {
        Ok(name) if !call.0.contains('/') => name,
        _ => ArtifactName(format!("{RESULTS}{}", Digest::of(call.0.as_bytes()).hex())),
    }
}

/// Returns why a name is refused.
fn refusal(name: &str) -> Option<&'static str> {
    if name.is_empty() {
        return Some("it is empty");
    }
    if name.len() > MAX_NAME_BYTES {
        return Some("it has more than 1,024 bytes");
    }
    if name.starts_with('/') {
        return Some("it is absolute");
    }
    if name.chars().any(char::is_control) {
        return Some("it has control characters");
    }
    // They separate components and drives on other systems.
    if name.contains(['\\', ':']) {
        return Some("it has a backslash or a colon");
    }
    name.split('/').find_map(|component| match component {
        "" => Some("a part of it is empty"),
        "." | ".." => Some("it has `.` or `..` in it"),
        _ if component.len() > MAX_COMPONENT_BYTES => Some("a part of it has more than 255 bytes"),
        _ => None,
    })
}

impl ArtifactName {
    /// Returns the name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ArtifactName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A file that a call returned.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Artifact {
    /// The media type, which agrees with the bytes.
    pub media_type: String,
    /// The bytes.
    pub blob: BlobRef,
    /// The call that returned it.
    pub call_id: CallId,
    /// The tool of the call.
    pub tool: String,
}

/// The artifacts of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Artifacts {
    /// The artifacts by name; of several with one name, the latest.
    pub kept: BTreeMap<ArtifactName, Artifact>,
    /// The refused names of files, without duplicates.
    pub refused: Vec<ArtifactNameError>,
}

impl Artifacts {
    /// Adds the artifacts of the session's next event: a result that is kept as a whole, and the
    /// files with bytes and a name in the result of a call or a node, in a copy also those that it
    /// took over.
    /// A file that a tool gives as text is part of what the model reads, and is none.
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
            call_id: call_id.clone(),
            tool: tool.to_owned(),
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
        let name =
            filename
                .parse()
                .and_then(|name: ArtifactName| match name.0.starts_with(RESULTS) {
                    true => Err(ArtifactNameError {
                        name: name.0,
                        why: "it is in the directory of results",
                    }),
                    false => Ok(name),
                });
        match name {
            Ok(name) => {
                let artifact = Artifact {
                    media_type: media_type.clone(),
                    blob: blob.clone(),
                    call_id: call_id.clone(),
                    tool: tool.to_owned(),
                };
                self.kept.insert(name, artifact);
            }
            Err(error) if self.refused.contains(&error) => {}
            Err(error) => self.refused.push(error),
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
