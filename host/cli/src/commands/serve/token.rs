//! `agent-host serve token`: creates, lists and revokes tokens.

use crate::{
    args::{ConfigArgs, TokenCommand},
    commands::configure,
    exit::{Exit, Failure},
    terminal::{Terminal, date, json_text},
};
use agent_host_app::Overrides;
use agent_host_serve::{TokenFile, TokenFileError};
use serde_json::json;

pub(super) fn token(
    command: TokenCommand,
    config: ConfigArgs,
    terminal: &Terminal,
) -> Result<Exit, Failure> {
    let config = configure(config, Overrides::default())?;
    let file = TokenFile::of(&config.state_dir);
    match command {
        TokenCommand::Create {
            name,
            role,
            sessions,
        } => {
            let text = file.create(name, role, sessions).map_err(failure)?;
            terminal.println(&text);
            terminal.note("This is the token, which is not shown again.");
        }
        TokenCommand::List { json } => {
            for entry in file.read().map_err(failure)? {
                let sessions = entry.sessions();
                let (name, role, at_ms) = (entry.name, entry.role, entry.created_at_ms);
                let line = match json {
                    true => json_text(&json!({
                        "name": name, "role": role, "sessions": sessions, "created-at-ms": at_ms,
                    })),
                    false => format!("{}  {role:<8}  {sessions:<7}  {name}", date(at_ms)),
                };
                terminal.println(&line);
            }
        }
        TokenCommand::Revoke { name } => {
            file.revoke(name.clone()).map_err(failure)?;
            terminal.println(&format!("revoked {name}"));
        }
    }
    Ok(Exit::Done)
}

fn failure(error: TokenFileError) -> Failure {
    match error {
        TokenFileError::Exists(_) | TokenFileError::Unknown(_) => Failure::usage(error),
        error => Failure::failed(error),
    }
}
