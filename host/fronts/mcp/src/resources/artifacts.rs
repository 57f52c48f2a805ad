//! The artifacts of a connection's session: files that its own calls returned.

use super::ResourceUri;
use crate::{call::CallRunner, connection::Connection};
use agent_host_engine::{artifact::Artifacts, observer::Unobserved};
use rmcp::{ErrorData, model::Resource};
use std::fmt::Display;

impl CallRunner {
    pub(super) async fn artifact_resources(
        &self,
        connection: &Connection,
    ) -> Result<Vec<Resource>, ErrorData> {
        let artifacts = self.artifacts(connection).await?.kept.into_iter();
        let resources = artifacts.map(|(name, artifact)| {
            let name = name.to_string();
            let uri = ResourceUri::Artifact(name.clone()).to_string();
            let resource = Resource::new(uri, name).with_mime_type(artifact.media_type);
            resource.with_size(artifact.blob.size)
        });
        Ok(resources.collect())
    }

    /// Returns the media type and the bytes of an artifact.
    pub(super) async fn artifact(
        &self,
        connection: &Connection,
        name: &str,
    ) -> Result<Option<(String, Vec<u8>)>, ErrorData> {
        let mut artifacts = self.artifacts(connection).await?.kept.into_iter();
        let found = artifacts.find(|(known, _)| known.to_string() == name);
        let Some((_, artifact)) = found else {
            return Ok(None);
        };
        let store = self.host.sessions().store();
        let bytes = store.read_blob(artifact.blob.digest).await;
        let bytes = bytes.map_err(|error| unreadable(&error))?;
        Ok(Some((artifact.media_type, bytes)))
    }

    /// Returns the artifacts of the session; none before its first call.
    pub(crate) async fn artifacts(&self, connection: &Connection) -> Result<Artifacts, ErrorData> {
        let Some(session) = connection.started_session().await else {
            return Ok(Artifacts::default());
        };
        let flushed = session.flush(&Unobserved).await;
        flushed.map_err(|error| unreadable(&error))?;
        let artifacts = self.host.sessions().artifacts(session.id()).await;
        artifacts.map_err(|error| unreadable(&error))
    }
}

/// Returns the error of a journal that cannot be read now. The cause is logged for the operator.
fn unreadable(cause: &dyn Display) -> ErrorData {
    tracing::warn!("cannot read the files of a session: {cause}");
    let why = "the server cannot use its journal now; try again later, or ask the server's operator to check the log";
    ErrorData::internal_error(why, None)
}
