//! Sessions as a whole: copied, written to a file, read from one, removed. Ids go to stdout.

use crate::{
    exit::{Exit, Failure},
    terminal::{Terminal, bytes, harmless},
};
use agent_host_app::HostError;
use agent_host_core::{id::SessionId, journal::JournalError};
use agent_host_store::{Keep, KeptBecause, Pruned, Store};
use std::{
    fs::{File, OpenOptions},
    io::{self, BufReader, BufWriter, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::Path,
    time::Duration,
};

pub(super) const DAY: Duration = Duration::from_secs(24 * 60 * 60);

pub(super) fn fork(
    store: &Store,
    session: &str,
    at: Option<u64>,
    terminal: &Terminal,
) -> Result<Exit, Failure> {
    let new = find(store, session)?;
    let new = store.fork(new, at).map_err(told)?;
    made(new, terminal);
    Ok(Exit::Done)
}

pub(super) fn export(
    store: &Store,
    session: &str,
    output: Option<&Path>,
    terminal: &Terminal,
) -> Result<Exit, Failure> {
    let session = find(store, session)?;
    let Some(path) = output else {
        let mut out = BufWriter::new(terminal.writer());
        store.export(session, &mut out).map_err(told)?;
        return Ok(Exit::Done);
    };
    write_file(path, |out| store.export(session, out))?;
    Ok(Exit::Done)
}

/// Writes the content of a blob to a file, or to standard output. A terminal gets text alone, and none that steers it.
pub(super) fn write_content(
    content: &[u8],
    output: Option<&Path>,
    terminal: &Terminal,
) -> Result<Exit, Failure> {
    if let Some(path) = output {
        let unwritten =
            |error: io::Error| JournalError::Storage(format!("cannot write it out: {error}"));
        write_file(path, |out| out.write_all(content).map_err(unwritten))?;
    } else if terminal.stdout {
        let is_text = |text: &&str| !text.contains(|c: char| c.is_control() && !c.is_whitespace());
        let text = std::str::from_utf8(content).ok().filter(is_text);
        let text = text.ok_or_else(|| {
            Failure::usage(format!(
                "these {} are not text, and a terminal may obey them; write them to a file with `-o FILE`",
                bytes(content.len() as u64)
            ))
        })?;
        terminal.println(&harmless(text));
    } else {
        terminal.write_bytes(content);
    }
    Ok(Exit::Done)
}

/// Writes a file that is not there yet; nothing of it stays if that fails.
fn write_file(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<&File>) -> Result<(), JournalError>,
) -> Result<(), Failure> {
    // What was said is for this user alone, as it is in the journal.
    let file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
        .map_err(|error| unusable(path, "write", &error))?;
    let mut out = BufWriter::new(&file);
    let written = write(&mut out).and_then(|()| {
        let kept = out.flush().and_then(|()| file.sync_all());
        kept.map_err(|error| {
            JournalError::Storage(format!("cannot write {}: {error}", path.display()))
        })
    });
    if written.is_err() {
        // Half a file would be refused anyway; if it stays, it does no harm.
        let _ = std::fs::remove_file(path);
    }
    written.map_err(told)
}

pub(super) fn import(
    store: &Store,
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
        .import(&mut BufReader::new(file), as_new)
        .map_err(told)?;
    made(session, terminal);
    Ok(Exit::Done)
}

pub(super) fn delete(
    store: &Store,
    sessions: &[String],
    terminal: &Terminal,
) -> Result<Exit, Failure> {
    // A name that is wrong is found before anything is gone.
    let found: Result<Vec<_>, _> = sessions.iter().map(|name| find(store, name)).collect();
    let mut found = found?;
    found.sort_unstable();
    found.dedup();
    for session in found {
        store.delete(session).map_err(told)?;
        terminal.println(&session.to_string());
    }
    Ok(Exit::Done)
}

pub(super) fn prune(store: &Store, keep: Keep, terminal: &Terminal) -> Result<Exit, Failure> {
    let Pruned { removed, kept } = store.prune(keep).map_err(told)?;
    for session in removed {
        terminal.println(&session.to_string());
    }
    for (session, why) in kept {
        terminal.note(&match why {
            KeptBecause::InUse => format!("session {session} stays: it is in use"),
            KeptBecause::Waits => format!(
                "session {session} stays: it waits for a decision, an answer or a result; to remove it: agent-host sessions \
                 delete {session}"
            ),
        });
    }
    Ok(Exit::Done)
}

pub(super) fn recover(store: &Store, name: &str, terminal: &Terminal) -> Result<Exit, Failure> {
    // One that is missing as a whole is found by its id alone.
    let session = match name.parse() {
        Ok(session) => session,
        Err(_) => find(store, name)?,
    };
    let events = store.recover(session).map_err(told)?;
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

pub(super) fn find(store: &Store, name: &str) -> Result<SessionId, Failure> {
    store.find(name).map_err(told)
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
