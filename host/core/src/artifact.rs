//! The files that the calls of a session left, by name: a reading of its events. A tool gives a file its name; whether it is
//! one is decided here. Nothing is written under it: who writes an artifact out says where to.

#[cfg(test)]
mod tests;

use crate::{
    event::Event,
    id::CallId,
    output::{BlobRef, ContentPart, FileData, FilePart, ToolResultOutput},
};
use serde::Serialize;
use std::{collections::BTreeMap, fmt, str::FromStr};

/// The longest name, in bytes: what a path may have on Linux, with room for the folder around it.
const MAX_NAME_BYTES: usize = 1024;
/// The longest part of a name between two `/`, in bytes: what file systems take.
const MAX_COMPONENT_BYTES: usize = 255;

/// The name of an artifact: a relative path that stays below where it is put, on every system.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct ArtifactName(String);

/// Why a text is no name of an artifact.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{}` is no name of an artifact: {why}; name it like `report.md` or `plots/one.png`", name.escape_debug())]
pub struct ArtifactNameError {
    name: String,
    why: &'static str,
}

impl FromStr for ArtifactName {
    type Err = ArtifactNameError;

    fn from_str(name: &str) -> Result<Self, ArtifactNameError> {
        match fault(name) {
            None => Ok(Self(name.to_owned())),
            Some(why) => Err(ArtifactNameError {
                name: name.chars().take(MAX_COMPONENT_BYTES).collect(),
                why,
            }),
        }
    }
}

/// What is wrong with a name.
fn fault(name: &str) -> Option<&'static str> {
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
    // Elsewhere they part names and drives.
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

impl fmt::Display for ArtifactName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A file that a call left.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Artifact {
    /// Its media type, which agrees with its bytes.
    pub media_type: String,
    /// Its bytes.
    pub blob: BlobRef,
    /// The call.
    pub call_id: CallId,
    /// The call's tool.
    pub tool: String,
}

/// The artifacts of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Artifacts {
    /// By name; of several with one name, the latest.
    pub kept: BTreeMap<ArtifactName, Artifact>,
    /// The files with a name that is none, each such name once.
    pub refused: Vec<ArtifactNameError>,
}

impl Artifacts {
    /// Adds the artifacts of the session's next event: the files with bytes and a name in the result of a call, in a copy also
    /// those that it took over. A file that a tool gives as text is part of what the model reads, and is none.
    pub fn add(&mut self, event: Event) {
        if let Event::CallSettled {
            call_id,
            tool,
            output: ToolResultOutput::Content(parts),
            ..
        } = event
        {
            for part in parts {
                self.add_part(&call_id, &tool, part);
            }
        }
    }

    fn add_part(&mut self, call_id: &CallId, tool: &str, part: ContentPart) {
        let ContentPart::File(FilePart {
            media_type,
            data: FileData::Blob(blob),
            filename: Some(filename),
        }) = part
        else {
            return;
        };
        match filename.parse() {
            Ok(name) => {
                let artifact = Artifact {
                    media_type,
                    blob,
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
