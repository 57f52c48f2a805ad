//! Forks, exports, imports, deletes, prunes and recovers sessions. Ids go to stdout.

use crate::{
    exit::{Exit, Failure},
    terminal::{Terminal, YELLOW, bytes, escape, escape_line},
};
use agent_host_engine::journal::JournalError;
use agent_host_journal::{
    ImportAs, ImportSource, JournalStore, KeepReason, Ownership, Pruned, Retention, Transcript,
};
use agent_host_types::id::SessionId;
use std::{
    fs::{File, OpenOptions},
    io::{self, BufReader, BufWriter, Seek as _, Write as _},
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
    let session = store.find(session).await?;
    let new = store.fork(session, at, None).await?;
    report_new_session(new, terminal);
    Ok(Exit::Done)
}

pub(in crate::commands) async fn export(
    store: &dyn JournalStore,
    session: &str,
    output: Option<&Path>,
    terminal: &Terminal,
) -> Result<Exit, Failure> {
    let session = store.find(session).await?;
    let Some(path) = output else {
        let out = Box::new(BufWriter::new(terminal.writer()));
        store.export(session, out).await?;
        return Ok(Exit::Done);
    };
    write_file(path, async |file| store.export(session, file).await).await?;
    Ok(Exit::Done)
}

/// Writes the content of a blob to a file or to stdout. A terminal gets only text, escaped.
pub(super) async fn write_content(
    content: &[u8],
    output: Option<&Path>,
    terminal: &Terminal,
) -> Result<Exit, Failure> {
    if let Some(path) = output {
        let unwritten =
            |error: io::Error| JournalError::storage(format!("cannot export it: {error}"));
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
                "these {} are not text, and a terminal may interpret them; write them to a file with `-o FILE`",
                bytes(content.len() as u64)
            ))
        })?;
        terminal.println(&escape(text));
    } else {
        terminal.write_bytes(content);
    }
    Ok(Exit::Done)
}

/// Creates a file, and removes it if `write` fails.
pub(in crate::commands) async fn write_file<T, E: From<JournalError> + Into<Failure>>(
    path: &Path,
    write: impl AsyncFnOnce(Box<BufWriter<File>>) -> Result<T, E>,
) -> Result<T, Failure> {
    // A session is readable by its owner only, as in the journal.
    let file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
        .map_err(|error| file_failure(path, "write", &error))?;
    let failed = |error: io::Error| {
        JournalError::storage(format!("cannot write {}: {error}", path.display()))
    };
    let written = match file.try_clone() {
        Ok(out) => write(Box::new(BufWriter::new(out))).await,
        Err(error) => Err(failed(error).into()),
    };
    let written = written.and_then(|written| {
        file.sync_all().map_err(failed)?;
        Ok(written)
    });
    if written.is_err() {
        // Import refuses a partial export, so one that stays is harmless.
        let _ = std::fs::remove_file(path);
    }
    written.map_err(Into::into)
}

pub(super) async fn import(
    store: &dyn JournalStore,
    ownership: Ownership,
    path: &Path,
    as_new: bool,
    terminal: &Terminal,
) -> Result<Exit, Failure> {
    let file = File::open(path).map_err(|error| file_failure(path, "read", &error))?;
    let about = file
        .metadata()
        .map_err(|error| file_failure(path, "read", &error))?;
    // The journal is locked during the read, and a pipe may never end.
    if !about.is_file() {
        return Err(file_failure(path, "read", &"it is not a regular file"));
    }
    let mut file = BufReader::new(file);
    let transcript = Transcript::read(&mut file);
    let transcript = transcript
        .map_err(|error| Failure::usage(format!("cannot import {}: {error}", path.display())))?;
    let source = match transcript {
        Some(transcript) => {
            for warning in transcript.warnings() {
                terminal.note(&format!(
                    "{YELLOW}warning:{YELLOW:#} {}",
                    escape_line(warning)
                ));
            }
            ImportSource::Conversation(transcript)
        }
        None => {
            file.rewind()
                .map_err(|error| file_failure(path, "read", &error))?;
            ImportSource::File(Box::new(file))
        }
    };
    let how = match as_new {
        true => ImportAs::NewCopy,
        false => ImportAs::Copy,
    };
    let session = store.import_owned(source, how, Some(ownership)).await?;
    report_new_session(session, terminal);
    Ok(Exit::Done)
}

pub(super) async fn delete(
    store: &dyn JournalStore,
    sessions: &[String],
    terminal: &Terminal,
) -> Result<Exit, Failure> {
    // Resolves every name before the first deletion.
    let mut found = Vec::with_capacity(sessions.len());
    for name in sessions {
        found.push(store.find(name).await?);
    }
    found.sort_unstable();
    found.dedup();
    for session in found {
        store.delete(session).await?;
        terminal.println(&session.to_string());
    }
    Ok(Exit::Done)
}

pub(super) async fn prune(
    store: &dyn JournalStore,
    retention: Retention,
    terminal: &Terminal,
) -> Result<Exit, Failure> {
    let Pruned { removed, kept } = store.prune(retention).await?;
    for session in removed {
        terminal.println(&session.to_string());
    }
    for (session, why) in kept {
        terminal.note(&match why {
            KeepReason::InUse => format!("session {session} is kept: it is in use"),
            KeepReason::Awaiting => format!(
                "session {session} is kept: it waits for a decision, an answer or a result; to remove it: agent-host \
                 sessions delete {session}"
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
    // A session that is missing entirely can be named by its full id only.
    let session = match name.parse() {
        Ok(session) => session,
        Err(_) => store.find(name).await?,
    };
    let events = store.recover(session).await?;
    terminal.println(&session.to_string());
    terminal.note(&match events {
        0 => "No event of the session is left; there will be no more warnings about it.".to_owned(),
        events => format!(
            "The session has {events} events. To resume it: agent-host sessions resume {session}"
        ),
    });
    Ok(Exit::Done)
}

/// Prints the id of a new session.
pub(super) fn report_new_session(session: SessionId, terminal: &Terminal) {
    terminal.println(&session.to_string());
    terminal.note(&format!(
        "To resume it: agent-host sessions resume {session}"
    ));
}

pub(super) fn file_failure(path: &Path, verb: &str, why: &dyn std::fmt::Display) -> Failure {
    Failure::usage(format!(
        "cannot {verb} {}: {why}; choose another file",
        path.display()
    ))
}
