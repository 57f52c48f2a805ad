//! `agent:tool/artifacts`: the artifacts of the session.

use crate::bindings::artifacts::{self, Artifact, ArtifactError};

/// The artifacts of one call.
pub(crate) struct ArtifactsCtx;

impl artifacts::Host for ArtifactsCtx {
    async fn list(&mut self) -> wasmtime::Result<Result<Vec<Artifact>, ArtifactError>> {
        Ok(Err(ArtifactError::Denied))
    }

    async fn get(&mut self, _: String) -> wasmtime::Result<Result<Vec<u8>, ArtifactError>> {
        Ok(Err(ArtifactError::Denied))
    }

    async fn put(
        &mut self,
        _: String,
        _: String,
        _: Vec<u8>,
    ) -> wasmtime::Result<Result<(), ArtifactError>> {
        Ok(Err(ArtifactError::Denied))
    }

    async fn delete(&mut self, _: String) -> wasmtime::Result<Result<(), ArtifactError>> {
        Ok(Err(ArtifactError::Denied))
    }
}
