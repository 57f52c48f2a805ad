//! Sessions as a whole: copied, written to a file, read from one, removed. Ids go to stdout.

use crate::{
    exit::{Exit, Failure},
    terminal::{Terminal, bytes, escape},
};
use agent_host_app::HostError;
use agent_host_engine::journal::JournalError;
use agent_host_journal::{JournalStore, KeepReason, Pruned, Retention};
use agent_host_types::id::SessionId;
use std::{
    fs::{File, OpenOptions},
    io::{self, BufReader, BufWriter, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::Path,
    time::Duration,
};

pub(super) const DAY: Duration = Duration::from_secs(24 * 60 * 60);

pub(super) async fn fork(
    store: &dyn JournalStore,
    session: &str,
    at: Option<u64>,
    terminal: &Terminal,
) -> Result<Exit, Failure> {
    let session = find(store, session).await?;
    let new = store.fork(session, at).await.map_err(told)?;
    made(new, terminal);
    Ok(Exit::Done)
}

pub(super) async fn export(
    store: &dyn JournalStore,
    session: &str,
    output: Option<&Path>,
    terminal: &Terminal,
) -> Result<Exit, Failure> {
    let session = find(store, session).await?;
    let Some(path) = output else {
        let out = Box::new(BufWriter::new(terminal.writer()));
        store.export(session, out).await.map_err(told)?;
        return Ok(Exit::Done);
    };
    write_file(path, async |file| store.export(session, file).await).await?;
    Ok(Exit::Done)
}

/// Writes the content of a blob to a file, or to standard output. A terminal gets text alone, and none that steers it.
pub(super) async fn write_content(
    content: &[u8],
    output: Option<&Path>,
    terminal: &Terminal,
) -> Result<Exit, Failure> {
    if let Some(path) = output {
        let unwritten =
            |error: io::Error| JournalError::storage(format!("cannot write it out: {error}"));
        write_file(path, async |mut file| {
            file.write_all(content)
                .and_then(|()| file.flush())
                .map_err(unwritten)
        })
        .await?;
    } else if terminal.stdout {
        let is_text = |text: &&str| !text.contains(|c: char| c.is_control() && !c.is_whitespace());
        let text = std::str::from_utf8(content).ok().filter(is_text);
        let text = text.ok_or_else(|| {
            Failure::usage(format!(
                "these {} are not text, and a terminal may obey them; write them to a file with `-o FILE`",
                bytes(content.len() as u64)
            ))
        })?;
        terminal.println(&escape(text));
    } else {
        terminal.write_bytes(content);
    }
    Ok(Exit::Done)
}

/// Writes a file that is not there yet; nothing of it stays if that fails.
async fn write_file(
    path: &Path,
    write: impl AsyncFnOnce(Box<BufWriter<File>>) -> Result<(), JournalError>,
) -> Result<(), Failure> {
    // What was said is for this user alone, as it is in the journal.
    let file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
        .map_err(|error| unusable(path, "write", &error))?;
    let failed = |error: io::Error| {
        JournalError::storage(format!("cannot write {}: {error}", path.display()))
    };
    let written = match file.try_clone() {
        Ok(out) => write(Box::new(BufWriter::new(out))).await,
        Err(error) => Err(failed(error)),
    };
    let written = written.and_then(|()| file.sync_all().map_err(failed));
    if written.is_err() {
        // Half a file would be refused anyway; if it stays, it does no harm.
        let _ = std::fs::remove_file(path);
    }
    written.map_err(told)
}

pub(super) async fn import(
    store: &dyn JournalStore,
    path: &Path,
    as_new: bool,
    terminal: &Terminal,
) -> Result<Exit, Failure> {
    let file = File::open(path).map_err(|error| unusable(path, "read", &error))?;
    let about = file
        .metadata()
        .map_err(|error| unusable(path, "read", &error))?;
    // The journal is locked while the file is read, and a pipe may take for ever.
    if !about.is_file() {
        return Err(unusable(path, "read", &"it is not a regular file"));
    }
    let session = store
        .import(Box::new(BufReader::new(file)), as_new)
        .await
        .map_err(told)?;
    made(session, terminal);
    Ok(Exit::Done)
}

pub(super) async fn delete(
    store: &dyn JournalStore,
    sessions: &[String],
    terminal: &Terminal,
) -> Result<Exit, Failure> {
    // A name that is wrong is found before anything is gone.
    let mut found = Vec::with_capacity(sessions.len());
    for name in sessions {
        found.push(find(store, name).await?);
    }
    found.sort_unstable();
    found.dedup();
    for session in found {
        store.delete(session).await.map_err(told)?;
        terminal.println(&session.to_string());
    }
    Ok(Exit::Done)
}

pub(super) async fn prune(
    store: &dyn JournalStore,
    retention: Retention,
    terminal: &Terminal,
) -> Result<Exit, Failure> {
    let Pruned { removed, kept } = store.prune(retention).await.map_err(told)?;
    for session in removed {
        terminal.println(&session.to_string());
    }
    for (session, why) in kept {
        terminal.note(&match why {
            KeepReason::InUse => format!("session {session} stays: it is in use"),
            KeepReason::Awaiting => format!(
                "session {session} stays: it waits for a decision, an answer or a result; to remove it: agent-host sessions \
                 delete {session}"
            ),
        });
    }
    Ok(Exit::Done)
}

pub(super) async fn recover(
    store: &dyn JournalStore,
    name: &str,
    terminal: &Terminal,
) -> Result<Exit, Failure> {
    // One that is missing as a whole is found by its id alone.
    let session = match name.parse() {
        Ok(session) => session,
        Err(_) => find(store, name).await?,
    };
    let events = store.recover(session).await.map_err(told)?;
    terminal.println(&session.to_string());
    terminal.note(&match events {
        0 => "Nothing of the session is left, and nothing warns of it any more.".to_owned(),
        events => format!(
            "The session has {events} events. To go on: agent-host sessions resume {session}"
        ),
    });
    Ok(Exit::Done)
}

/// Prints the id of a session that is new here.
fn made(session: SessionId, terminal: &Terminal) {
    terminal.println(&session.to_string());
    terminal.note(&format!("To go on: agent-host sessions resume {session}"));
}

pub(super) async fn find(store: &dyn JournalStore, name: &str) -> Result<SessionId, Failure> {
    store.find(name).await.map_err(told)
}

/// What the journal says, with the exit code that goes with it.
pub(super) fn told(error: JournalError) -> Failure {
    HostError::from(error).into()
}

fn unusable(path: &Path, verb: &str, why: &dyn std::fmt::Display) -> Failure {
    Failure::usage(format!(
        "cannot {verb} {}: {why}; give another file",
        path.display()
    ))
}
