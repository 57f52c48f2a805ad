//! The artifacts of a session, and the session as a file.

use crate::{Service, blobs, problem::Problem, routes::Path, scope::VisibleSession};
use agent_host_engine::{
    artifact::{ArtifactName, ArtifactRow},
    journal::JournalError,
};
use axum::{
    Json,
    body::Body,
    extract::State,
    response::{IntoResponse, Response},
};
use http::{HeaderValue, header};
use schemars::JsonSchema;
use serde::Serialize;
use std::{
    fs::File,
    io::{self, BufWriter, Seek as _},
};
use tokio_util::io::ReaderStream;

/// The artifacts of a session.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ArtifactList {
    /// The artifacts, by name.
    artifacts: Vec<ArtifactRow>,
}

/// Lists the artifacts.
pub(crate) async fn list(
    State(service): State<Service>,
    session: VisibleSession,
) -> Result<Json<ArtifactList>, Problem> {
    let artifacts = service.host.sessions().artifacts(session.id()).await?;
    Ok(Json(ArtifactList {
        artifacts: artifacts.into_rows().collect(),
    }))
}

/// Reads an artifact by its name.
pub(crate) async fn read(
    State(service): State<Service>,
    session: VisibleSession,
    Path((_, name)): Path<(String, String)>,
) -> Result<impl IntoResponse, Problem> {
    let missing = || Problem::not_found("the session has no such artifact");
    let name: ArtifactName = name.parse().map_err(|_| missing())?;
    let artifacts = service.host.sessions().artifacts(session.id()).await?;
    let artifact = artifacts.kept.get(&name).ok_or_else(missing)?;
    let bytes = service.store().read_blob(artifact.blob.digest).await?;
    Ok((blobs::DOWNLOAD, bytes))
}

/// Exports a session as the file that `agent-host sessions import` reads.
pub(crate) async fn export(
    State(service): State<Service>,
    session: VisibleSession,
) -> Result<Response, Problem> {
    let session = session.id();
    // Not sent as it is written: a client that reads slowly would hold the journal.
    let file = tempfile::tempfile().map_err(unwritten)?;
    let out = file.try_clone().map_err(unwritten)?;
    let out = Box::new(BufWriter::new(out));
    service.store().export(session, out).await?;
    let body = stream(file).map_err(unwritten)?;
    let mut response = (blobs::DOWNLOAD, body).into_response();
    let headers = response.headers_mut();
    headers.insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("application/jsonl"),
    );
    Ok(response)
}

fn stream(mut file: File) -> io::Result<Body> {
    file.rewind()?;
    let file = tokio::fs::File::from_std(file);
    Ok(Body::from_stream(ReaderStream::new(file)))
}

fn unwritten(error: io::Error) -> Problem {
    JournalError::storage(error).into()
}
