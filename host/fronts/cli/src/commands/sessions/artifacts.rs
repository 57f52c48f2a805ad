//! `agent-host sessions artifacts`: lists and writes the files that a session's calls left. Content
//! goes to stdout or to the file that the user names; a tool's file name never becomes a path.

use crate::{
    exit::{Exit, Failure},
    terminal::{BOLD, DIM, Terminal, bytes, escape_line},
};
use agent_host_engine::artifact::{ArtifactName, ArtifactRow, Artifacts};
use agent_host_journal::{FoundEvents, JournalStore};
use agent_host_types::{event::EventRecord, id::SessionId};
use serde_json::json;

/// Reads one artifact.
pub(super) async fn content(
    store: &dyn JournalStore,
    session: &str,
    name: &str,
) -> Result<Vec<u8>, Failure> {
    let id = store.find(session).await?;
    let Artifacts { kept, .. } = read(store, id).await?;
    let name: ArtifactName = name.parse().map_err(Failure::usage)?;
    let artifact = kept.get(&name).ok_or_else(|| {
        Failure::usage(format!(
            "session {id} has no artifact `{name}`; `agent-host sessions artifacts {id}` lists its artifacts"
        ))
    })?;
    Ok(store.read_blob(artifact.blob.digest).await?)
}

async fn read(store: &dyn JournalStore, session: SessionId) -> Result<Artifacts, Failure> {
    let mut artifacts = Artifacts::default();
    let add = |record: EventRecord| artifacts.add(&record.event);
    store
        .for_each_found(session, FoundEvents::OfArtifacts, add)
        .await?;
    Ok(artifacts)
}

pub(super) async fn list(
    store: &dyn JournalStore,
    session: &str,
    as_json: bool,
    terminal: &Terminal,
) -> Result<Exit, Failure> {
    let id = store.find(session).await?;
    let mut artifacts = read(store, id).await?;
    let refused = std::mem::take(&mut artifacts.refused);
    if artifacts.kept.is_empty() && !as_json {
        terminal.note("The calls of this session stored no files.");
    }
    for row in artifacts.into_rows() {
        let as_line = || {
            let ArtifactRow { name, artifact } = &row;
            format!(
                "{BOLD}{}{BOLD:#}  {}, {}  {DIM}{} by {}{DIM:#}",
                escape_line(&name.to_string()),
                escape_line(&artifact.media_type),
                bytes(artifact.blob.size),
                artifact.blob.digest,
                escape_line(artifact.tool.as_deref().unwrap_or("the caller"))
            )
        };
        terminal.println_as(as_json, || json!(row), as_line);
    }
    for error in refused {
        let error = escape_line(&error.to_string());
        terminal.note(&format!("Not stored by name: {error}"));
    }
    Ok(Exit::Done)
}
