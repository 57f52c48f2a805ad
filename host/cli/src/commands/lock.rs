//! `agent-host lock`: how the configured components stand to what was accepted, and accepting them.

use super::configure;
use crate::{
    args::LockArgs,
    exit::{Exit, Failure},
    terminal::{Terminal, harmless_line},
};
use agent_host_app::{LockFile, Overrides, Registry};
use agent_host_core::lock::LockStatus;

pub(super) async fn lock(args: LockArgs, terminal: &Terminal) -> Result<Exit, Failure> {
    let config = configure(args.config, Overrides::default())?;
    let Some(mut file) = LockFile::open(&config)? else {
        return Err(Failure::usage(
            "there is no agent.toml here, so there is nothing to lock. Name one with --config, or write one: agent.lock lies beside it.",
        ));
    };
    let registry = Registry::open_unlocked(&config).await?;
    let mut exit = Exit::Done;
    for entry in registry
        .components()
        .iter()
        .filter(|entry| entry.source.is_file())
    {
        let current = entry.locked();
        let status = file.lock.status(&entry.name, &current);
        let words = match status {
            LockStatus::Same => "accepted",
            LockStatus::New => "new",
            LockStatus::ComponentChanged => "its code changed",
            LockStatus::DefinitionsChanged => "its tool definitions changed",
        };
        terminal.println(&format!(
            "{:<20} {words:<30} {}",
            harmless_line(&entry.name),
            current.component
        ));
        if args.accept {
            file.lock.tool.insert(entry.name.clone(), current);
        } else if status != LockStatus::Same {
            exit = Exit::Refused;
        }
    }
    if args.accept {
        file.write()?;
        terminal.note(&format!("accepted, and written to {}", file.path.display()));
    } else if exit == Exit::Refused {
        terminal.note("Look at the new ones with `agent-host inspect`, then accept them with `agent-host lock --accept`.");
    }
    Ok(exit)
}
