//! `agent-host memory`: lists what agents remember beyond a session, and trusts or removes it.

use super::{configure, open_journal};
use crate::{
    args::{MemoryArgs, MemoryCommand},
    exit::{Exit, Failure},
    terminal::{BOLD, DIM, Terminal, YELLOW, date, escape, escape_line, one_line},
};
use agent_host_app::{Config, Overrides, session_project};
use agent_host_engine::session::now_ms;
use agent_host_journal::{
    JournalStore, MemoryChange, MemoryItem, MemoryQuery, MemoryScope, Ownership,
};
use serde_json::json;
use std::sync::Arc;

/// The most characters of a text in a list at a terminal.
const LINE_CHARACTERS: usize = 100;

pub(super) async fn memory(args: MemoryArgs, terminal: &Terminal) -> Result<Exit, Failure> {
    let config = configure(args.config, Overrides::default())?;
    let memory = Memory {
        store: open_journal(&config).await?,
        scope: match args.all {
            true => MemoryScope::All,
            false => MemoryScope::Project(Ownership {
                project: session_project(&config),
                owner: None,
            }),
        },
    };
    match args.command {
        MemoryCommand::List { words, json } => {
            memory
                .list(&words.join(" "), json, &config, terminal)
                .await?;
        }
        MemoryCommand::Export => {
            memory
                .list("", /* as_json */ true, &config, terminal)
                .await?
        }
        MemoryCommand::Show { id, json } => {
            let item = memory.one(&id).await?;
            terminal.println_as(json, || json!(item), || shown(&item, args.all));
        }
        MemoryCommand::Trust { id } => {
            let item = memory.one(&id).await?;
            memory.change(&item, MemoryChange::Trust).await?;
            terminal.println(&format!("trusted {}", line(&item)));
        }
        MemoryCommand::Forget { ids } => {
            // Nothing is removed if one of them is wrong.
            let mut items = Vec::new();
            for id in &ids {
                let item = memory.one(id).await?;
                if !items.contains(&item) {
                    items.push(item);
                }
            }
            for item in items {
                memory.change(&item, MemoryChange::Forget).await?;
                terminal.println(&format!(
                    "forgot {}. Session {} keeps its record of it, and so do sessions that recalled it",
                    item.id, item.session
                ));
            }
        }
    }
    Ok(Exit::Done)
}

/// The items that the command sees.
struct Memory {
    store: Arc<dyn JournalStore>,
    scope: MemoryScope,
}

impl Memory {
    async fn list(
        &self,
        words: &str,
        is_json: bool,
        config: &Config,
        terminal: &Terminal,
    ) -> Result<(), Failure> {
        let query = MemoryQuery {
            words: words.to_owned(),
            ..MemoryQuery::all(self.scope.clone(), now_ms())
        };
        let items = self.store.memory_items(query).await?;
        if items.is_empty() && !is_json {
            terminal.note(match (words, &config.memory) {
                ("", None) => {
                    "Nothing is remembered. Agents remember beyond a session with \"memory.enabled = true\" in agent.toml."
                }
                ("", Some(_)) => "Nothing is remembered.",
                _ => "No item has one of these words.",
            });
        }
        for item in &items {
            terminal.println_as(
                is_json,
                || json!(item),
                || {
                    let project = match &self.scope {
                        MemoryScope::All => format!("  {DIM}{}{DIM:#}", project(item)),
                        MemoryScope::Project(_) | MemoryScope::Own(_) => String::new(),
                    };
                    line(item) + &project
                },
            );
        }
        Ok(())
    }

    /// Returns the item with an id, or the beginning of one.
    async fn one(&self, id: &str) -> Result<MemoryItem, Failure> {
        let query = MemoryQuery {
            id: id.to_owned(),
            limit: 2,
            ..MemoryQuery::all(self.scope.clone(), now_ms())
        };
        let mut found = self.store.memory_items(query).await?.into_iter();
        match (found.next(), found.next()) {
            (Some(item), None) => Ok(item),
            (None, _) => Err(Failure::usage(format!(
                "no item has an id that begins with `{}`; `agent-host memory list --all` lists the items",
                escape_line(id)
            ))),
            (Some(one), Some(other)) => Err(Failure::usage(format!(
                "several items have an id that begins with `{}`, such as {} and {}; type more of the id",
                escape_line(id),
                one.id,
                other.id
            ))),
        }
    }

    async fn change(&self, item: &MemoryItem, change: MemoryChange) -> Result<(), Failure> {
        let changes = self.store.change_memory(item.clone(), change, now_ms());
        match changes.await? {
            true => Ok(()),
            false => Err(Failure::failed(format!(
                "item {} has changed meanwhile; run `agent-host memory show {}` to see it",
                item.id, item.id
            ))),
        }
    }
}

/// Returns an item in one line. Its text and its sources are untrusted.
fn line(item: &MemoryItem) -> String {
    let from = match sources(item) {
        Some(sources) => format!("  {YELLOW}from {sources}{YELLOW:#}"),
        None => String::new(),
    };
    let text = one_line(&item.text, LINE_CHARACTERS);
    format!(
        "{BOLD}{}{BOLD:#}  {}  {text}{from}",
        item.id,
        date(item.at_ms)
    )
}

/// Returns where an item is recalled.
fn project(item: &MemoryItem) -> String {
    let project = item.project.as_deref();
    project.map_or("all projects of its owner".to_owned(), escape_line)
}

fn shown(item: &MemoryItem, all: bool) -> String {
    let project = project(item);
    let mut lines = vec![
        escape(&item.text),
        format!("{DIM}id:{DIM:#} {}", item.id),
        format!("{DIM}project:{DIM:#} {project}"),
        format!(
            "{DIM}remembered:{DIM:#} {} in session {}",
            date(item.at_ms),
            item.session
        ),
        format!("{DIM}kept until:{DIM:#} {}", date(item.expires_ms)),
    ];
    if let Some(sources) = sources(item) {
        lines.push(format!("{DIM}untrusted sources:{DIM:#} {sources}"));
        lines.push(format!(
            "If you have read it and it may steer agents: agent-host memory trust {}{}",
            item.id,
            if all { " --all" } else { "" }
        ));
    }
    lines.join("\n")
}

/// Returns the untrusted sources of an item; `None` for one that is trusted.
fn sources(item: &MemoryItem) -> Option<String> {
    let sources = item.sources.iter().map(|source| escape_line(source));
    let sources: Vec<String> = sources.collect();
    (!sources.is_empty()).then(|| sources.join(", "))
}
