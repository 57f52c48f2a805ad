//! An artifact that is to be stored.

use super::ArtifactName;
use agent_host_types::{
    event::Event,
    id::CallId,
    output::{Blob, ContentPart, FileData, FilePart},
    reason::Reason,
};

/// An artifact that is to be stored: its name is outside of the directory of results, and its media
/// type agrees with its bytes.
#[derive(Clone, Debug, PartialEq)]
pub struct NewArtifact {
    name: ArtifactName,
    media_type: String,
    bytes: Vec<u8>,
}

/// An artifact that cannot be stored.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum NewArtifactError {
    /// The name cannot be used.
    #[error("{0}")]
    Name(Reason),
    /// The media type is malformed, or does not agree with the bytes.
    #[error("the artifact {0}; give it the media type of its bytes, such as `text/csv`")]
    MediaType(Reason),
}

impl NewArtifact {
    /// Checks the name and the media type.
    ///
    /// # Errors
    /// If one of them cannot be used.
    pub fn new(name: &str, media_type: String, bytes: Vec<u8>) -> Result<Self, NewArtifactError> {
        let name = name.parse().and_then(ArtifactName::outside_results);
        let name = name.map_err(NewArtifactError::Name)?;
        let file = ContentPart::File(FilePart {
            media_type,
            data: FileData::Bytes(bytes),
            filename: None,
        });
        file.validate().map_err(NewArtifactError::MediaType)?;
        let (media_type, bytes) = match file {
            ContentPart::File(FilePart {
                media_type,
                data: FileData::Bytes(bytes),
                ..
            }) => (media_type, bytes),
            ContentPart::File(_) | ContentPart::Text { .. } => (String::new(), Vec::new()),
        };
        Ok(Self {
            name,
            media_type,
            bytes,
        })
    }

    /// Returns the name.
    #[must_use]
    pub fn name(&self) -> &ArtifactName {
        &self.name
    }

    /// Returns the media type.
    #[must_use]
    pub fn media_type(&self) -> &str {
        &self.media_type
    }

    /// Returns the bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the event with its blob; `by` is the call, and its tool.
    pub(crate) fn into_event(
        self,
        (call_id, tool): (Option<CallId>, Option<String>),
    ) -> (Event, Blob) {
        let blob = Blob::new(self.bytes);
        let event = Event::ArtifactStored {
            call_id,
            tool,
            name: self.name,
            media_type: self.media_type,
            blob: blob.reference(),
        };
        (event, blob)
    }
}
