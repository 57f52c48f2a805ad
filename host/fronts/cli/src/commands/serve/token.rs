//! `agent-host serve token`: creates, lists and revokes tokens.

use crate::{
    args::{ConfigArgs, TokenCommand},
    commands::configure,
    exit::{Exit, Failure},
    terminal::{Terminal, date, json_text},
};
use agent_host_app::Overrides;
use agent_host_serve::{TokenEntry, TokenFile, TokenFileError};
use serde_json::json;

pub(super) fn token(
    command: TokenCommand,
    config: ConfigArgs,
    terminal: &Terminal,
) -> Result<Exit, Failure> {
    let config = configure(config, Overrides::default())?;
    let file = TokenFile::in_state_dir(&config.state_dir);
    match command {
        TokenCommand::Create {
            name,
            role,
            sessions,
        } => {
            let text = file.create(name, role, sessions).map_err(failure)?;
            terminal.println(&text);
            terminal.note("This is the token. It will not be shown again.");
        }
        TokenCommand::List { json } => {
            let entries = file.read().map_err(failure)?;
            let ignored = entries.ignored.into_iter().map(|known| (known.entry, true));
            let believed = entries.believed.into_iter().map(|entry| (entry, false));
            for (entry, is_ignored) in believed.chain(ignored) {
                terminal.println(&listed(&entry, is_ignored, json));
            }
        }
        TokenCommand::Revoke { name } => {
            file.revoke(name.clone()).map_err(failure)?;
            terminal.println(&format!("revoked {name}"));
        }
    }
    Ok(Exit::Done)
}

/// Returns the line of a token. One is ignored if its signature is not valid.
fn listed(entry: &TokenEntry, is_ignored: bool, as_json: bool) -> String {
    let sessions = entry.sessions();
    let (name, role, at_ms) = (&entry.name, entry.role, entry.created_at_ms);
    if as_json {
        return json_text(&json!({
            "name": name, "role": role, "sessions": sessions, "created-at-ms": at_ms,
            "ignored": is_ignored,
        }));
    }
    let ignored = match is_ignored {
        true => "  (ignored: no valid signature)",
        false => "",
    };
    format!("{}  {role:<8}  {sessions:<7}  {name}{ignored}", date(at_ms))
}

fn failure(error: TokenFileError) -> Failure {
    match error {
        TokenFileError::Exists(_) | TokenFileError::Unknown(_) => Failure::usage(error),
        error => Failure::failed(error),
    }
}
