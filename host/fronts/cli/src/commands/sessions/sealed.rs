//! `sessions export --seal` and `sessions import --sealed`: a session that another host continues.

use super::manage::{file_failure, report_new_session, write_content};
use crate::{
    exit::{Exit, Failure},
    terminal::Terminal,
};
use agent_host_journal::{JournalStore, MAX_SEALED_BYTES, Ownership, SealError, SealKey};
use std::{
    fs::File,
    io::{self, Read as _},
    path::Path,
};

/// The largest file of a key, in bytes.
const MAX_KEY_BYTES: usize = 1024;

pub(super) async fn export(
    store: &dyn JournalStore,
    session: &str,
    key: &Path,
    output: Option<&Path>,
    terminal: &Terminal,
) -> Result<Exit, Failure> {
    let key = read_key(key)?;
    let session = store.find(session).await?;
    let sealed = store.export_sealed(session, &key).await.map_err(failure)?;
    write_content(format!("{sealed}\n").as_bytes(), output, terminal).await
}

pub(super) async fn import(
    store: &dyn JournalStore,
    ownership: Ownership,
    file: &Path,
    key: &Path,
    terminal: &Terminal,
) -> Result<Exit, Failure> {
    let key = read_key(key)?;
    // Base64 has four characters for three bytes.
    let sealed = read_text(file, MAX_SEALED_BYTES / 3 * 4 + 1024)?;
    let session = store.import_sealed(&sealed, &key, Some(ownership)).await;
    report_new_session(session.map_err(failure)?, terminal);
    Ok(Exit::Done)
}

fn failure(error: SealError) -> Failure {
    match error {
        SealError::Journal(error) => error.into(),
        error => Failure::usage(error),
    }
}

fn read_key(path: &Path) -> Result<SealKey, Failure> {
    let text = read_text(path, MAX_KEY_BYTES)?;
    SealKey::parse(&text).map_err(|error| file_failure(path, "use", &error))
}

/// Reads a text of at most `max_bytes`.
fn read_text(path: &Path, max_bytes: usize) -> Result<String, Failure> {
    let read = || -> io::Result<String> {
        let mut text = String::new();
        let limit = max_bytes as u64 + 1;
        File::open(path)?.take(limit).read_to_string(&mut text)?;
        match text.len() > max_bytes {
            true => Err(io::Error::other(format!(
                "it has more than {max_bytes} bytes"
            ))),
            false => Ok(text),
        }
    };
    read().map_err(|error| file_failure(path, "read", &error))
}
