//! `agent-host receipts`: signed receipts of a session's calls and decisions, and their
//! verification with the public key alone.

use super::{
    configure, find_session, open_journal, pull::public_key, push::signing_key,
    sessions::write_file,
};
use crate::{
    args::{ReceiptsArgs, ReceiptsCommand},
    exit::{Exit, Failure},
    terminal::{Terminal, counted, json_text},
};
use agent_host_app::{Overrides, ReceiptError, VerifiedReceipts, export_receipts, verify_receipts};
use serde_json::json;
use std::{
    fs::File,
    io::{BufReader, BufWriter},
    path::Path,
};

pub(super) async fn receipts(args: ReceiptsArgs, terminal: &Terminal) -> Result<Exit, Failure> {
    let (session, key, redact, output) = match args.command {
        ReceiptsCommand::Verify { file, key, json } => return verify(&file, &key, json, terminal),
        ReceiptsCommand::Export {
            session,
            key,
            redact,
            output,
        } => (session, key, redact, output),
    };
    let config = configure(args.config, Overrides::default())?;
    let key = signing_key(&key)?;
    let store = open_journal(&config).await?;
    let store = store.as_ref();
    let id = find_session(store, &config, &session).await?;
    let count = match &output {
        None => {
            let mut out = BufWriter::new(terminal.writer());
            export_receipts(store, id, &key, redact, &mut out).await?
        }
        Some(path) => {
            let write = async |mut out| export_receipts(store, id, &key, redact, &mut out).await;
            write_file(path, write).await?
        }
    };
    let (count, key) = (counted(count, "receipt"), key.public().fingerprint());
    terminal.note(&format!("{count}, signed by the key {key}"));
    Ok(Exit::Done)
}

fn verify(file: &Path, key: &Path, json: bool, terminal: &Terminal) -> Result<Exit, Failure> {
    let (path, key) = (file.display(), public_key(key)?);
    let opened =
        File::open(file).map_err(|error| Failure::usage(format!("cannot read {path}: {error}")))?;
    match verify_receipts(BufReader::new(opened), &key)? {
        Ok(verified) => {
            terminal.println_as(json, || json!(verified), || valid_text(&verified));
            Ok(Exit::Done)
        }
        Err(fault) => {
            if json {
                terminal.println(&json_text(&json!({ "fault": fault })));
            }
            let message = &fault.message;
            Err(Failure::failed(format!("{path} is not valid: {message}")))
        }
    }
}

impl From<ReceiptError> for Failure {
    fn from(error: ReceiptError) -> Self {
        match error {
            ReceiptError::Journal(error) => error.into(),
            ReceiptError::Key(_) => Self::usage(format!("cannot use the key: {error}")),
            ReceiptError::File(_) => {
                Self::failed(format!("cannot read or write the receipts: {error}"))
            }
        }
    }
}

fn valid_text(verified: &VerifiedReceipts) -> String {
    let VerifiedReceipts {
        session,
        calls,
        decisions,
        contents,
        redacted,
        key,
        ..
    } = verified;
    format!(
        "session {session}: valid and complete\n  {}, {}\n  {} in the file, {redacted} removed\n  signed by {key}",
        counted(*calls, "call"),
        counted(*decisions, "decision"),
        counted(*contents, "content"),
    )
}
