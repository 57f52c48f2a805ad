//! The files and whole results of a session, which its records refer to as blobs.

use super::Session;
use crate::{
    journal::JournalError,
    spill::{restore_output, unquoted_preview},
};
use agent_host_types::{
    message::{Message, ToolResult},
    output::{ContentPart, FileData, FilePart, ToolResultOutput},
};

impl Session {
    /// Replaces blob references by the bytes of the files, and quoted previews by their texts.
    pub(crate) async fn hydrate_all(&self, messages: &mut [Message]) -> Result<(), JournalError> {
        for message in messages {
            for part in &mut message.content {
                self.hydrate(part).await?;
            }
            for result in &mut message.tool_results {
                if let Some(read) = unquoted_preview(&result.output, result.whole.as_ref()) {
                    result.output = read;
                }
                self.hydrate_output(&mut result.output).await?;
            }
        }
        Ok(())
    }

    /// Replaces the blob references of a result by the bytes of the files.
    pub(crate) async fn hydrate_output(
        &self,
        output: &mut ToolResultOutput,
    ) -> Result<(), JournalError> {
        let ToolResultOutput::Content(parts) = output else {
            return Ok(());
        };
        for part in parts {
            self.hydrate(part).await?;
        }
        Ok(())
    }

    async fn hydrate(&self, part: &mut ContentPart) -> Result<(), JournalError> {
        match part {
            ContentPart::File(file) => self.hydrate_file(file).await,
            ContentPart::Text { .. } => Ok(()),
        }
    }

    /// Replaces the blob reference of a file by its bytes.
    pub(crate) async fn hydrate_file(&self, file: &mut FilePart) -> Result<(), JournalError> {
        if let FileData::Blob(reference) = &file.data {
            file.data = FileData::Bytes(self.journal.blob(reference.digest).await?);
        }
        Ok(())
    }

    /// Returns a result whole, without a preview.
    ///
    /// # Errors
    /// When the journal cannot be read, or has something else than the whole result.
    pub async fn whole_result(&self, result: ToolResult) -> Result<ToolResult, JournalError> {
        let Some(whole) = &result.whole else {
            return Ok(result);
        };
        let bytes = self.journal.blob(whole.digest).await?;
        let output = restore_output(&result.output, bytes).ok_or_else(|| {
            JournalError::corrupt(format!(
                "blob {} is not the result of the call {}; restore the session from a backup",
                whole.digest, result.call_id
            ))
        })?;
        Ok(ToolResult {
            output,
            whole: None,
            ..result
        })
    }
}
