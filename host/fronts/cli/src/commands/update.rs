//! `agent-host update`: the components from registries as they are there now, accepted once the user
//! saw what changed.

use super::{add::Edit, configure, lock::print_changes};
use crate::{
    args::{ConfigArgs, UpdateArgs},
    exit::{Exit, Failure},
    terminal::{BOLD, Terminal, answer, escape_line},
};
use agent_host_app::{
    Config, LockFile, Overrides, Registry, Version, oci::Reference, registry_components,
    version_of, with_component,
};
use agent_host_types::lock::{LockEntry, LockStatus, LockedComponent};

/// A component to update.
struct Update<'a> {
    name: &'a str,
    /// The reference in the configuration.
    reference: Reference,
    /// The change of the configuration to another tag, if one is asked for.
    edit: Option<Edit>,
}

pub(super) async fn update(args: UpdateArgs, terminal: &Terminal) -> Result<Exit, Failure> {
    let config = configure(args.config.clone(), Overrides::default())?;
    let mut known: Vec<(&str, &Reference)> = registry_components(&config).collect();
    if let Some(name) = &args.name {
        let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
        let names = names.join(", ");
        known.retain(|(known, _)| known == name);
        if known.is_empty() {
            let name = escape_line(name);
            return Err(Failure::usage(format!(
                "there is no component `{name}` from a registry in agent.toml to update; available: {names}"
            )));
        }
    }
    let mut exit = Exit::Done;
    for (name, reference) in known {
        let change = match &args.to {
            None => None,
            Some(tag) => Some(with_tag(&config, name, reference, tag)?),
        };
        let update = Update {
            name,
            reference: reference.clone(),
            edit: change,
        };
        if !update.run(&config, &args, terminal).await? {
            exit = Exit::Refused;
        }
    }
    Ok(exit)
}

/// Changes the tag of a component in the configuration, not in its file yet.
fn with_tag(
    config: &Config,
    name: &str,
    reference: &Reference,
    tag: &str,
) -> Result<Edit, Failure> {
    let wanted = reference.with_tag(tag);
    let wanted = wanted
        .map_err(|error| Failure::usage(format!("`{}` {error}", tag.escape_debug())))?
        .to_string();
    Edit::new(config, |text| with_component(text, name, &wanted))
}

impl Update<'_> {
    /// Returns false if a change was not accepted.
    async fn run(
        self,
        config: &Config,
        args: &UpdateArgs,
        terminal: &Terminal,
    ) -> Result<bool, Failure> {
        let name = escape_line(self.name);
        if self.edit.is_none() && self.reference.digest().is_some() {
            terminal.println(&format!(
                "{BOLD}{name:<20}{BOLD:#} is pinned by digest, which does not change; choose a tag with --to TAG"
            ));
            return Ok(true);
        }
        let edited = match &self.edit {
            None => None,
            Some(edit) => Some(edit.configure(&args.config)?),
        };
        let after = edited.as_ref().unwrap_or(config);
        let locked = current(after, self.name).await?;
        let mut lock = LockFile::open(config)?
            .ok_or_else(|| Failure::usage("there is no agent.toml here to update"))?;
        let before = lock.lock.tool.get(self.name).cloned();
        let entry = LockEntry::Component(locked.clone());
        match lock.lock.status(self.name, &entry) {
            LockStatus::Same => {
                terminal.println(&format!("{BOLD}{name:<20}{BOLD:#} is up to date"));
                return Ok(true);
            }
            LockStatus::New => {
                terminal.println(&format!("{BOLD}{name:<20}{BOLD:#} was never accepted"));
            }
            LockStatus::Changed(changes) => {
                terminal.println(&format!("{BOLD}{name:<20}{BOLD:#} changed"));
                print_changes(&changes, terminal);
            }
        }
        if let Some(before) = &before
            && let Some(why) = self.downgrade(after, before, &locked, terminal).await?
            && !args.allow_downgrade
        {
            terminal.note(&format!(
                "{why}, which is refused; to allow it, add --allow-downgrade"
            ));
            return Ok(false);
        }
        if !(args.accept || confirms(self.name, args.to.as_deref(), terminal)) {
            return Ok(false);
        }
        self.accept(config, edited.as_ref(), &args.config, &mut lock, locked)?;
        terminal.note(&format!("accepted `{name}`, and pinned in agent.lock"));
        Ok(true)
    }

    /// Prints both versions. Returns why the new one is a downgrade.
    async fn downgrade(
        &self,
        config: &Config,
        before: &LockedComponent,
        after: &LockedComponent,
        terminal: &Terminal,
    ) -> Result<Option<String>, Failure> {
        let (Some(before), Some(after)) = (&before.registry, &after.registry) else {
            return Ok(None);
        };
        let version = async |manifest| {
            let exact = self.reference.with_digest(manifest);
            version_of(config, self.name, &exact).await
        };
        let after = version(after.manifest).await?;
        // What is pinned may be gone from the registry, and then nothing is known of it.
        let before = version(before.manifest).await.unwrap_or(Version {
            manifest: before.manifest,
            version: None,
        });
        let shown = |version: &Version| {
            let version = version.version.as_deref().unwrap_or("unknown");
            crate::terminal::one_line(version, 64)
        };
        let (old, new) = (shown(&before), shown(&after));
        terminal.println(&format!("  version: {old} -> {new}"));
        let is_downgrade = before.is_downgrade(&after);
        Ok(is_downgrade.then(|| format!("the version would go back from {old} to {new}")))
    }

    fn accept(
        &self,
        config: &Config,
        edited: Option<&Config>,
        args: &ConfigArgs,
        lock: &mut LockFile,
        locked: LockedComponent,
    ) -> Result<(), Failure> {
        let entry = LockEntry::Component(locked);
        let pin = |lock: &mut LockFile| lock.lock.accept(self.name.to_owned(), entry);
        match (&self.edit, edited) {
            (Some(edit), Some(edited)) => edit.apply(config, edited, args.config.is_none(), pin),
            (None, _) | (_, None) => {
                pin(lock);
                Ok(lock.write()?)
            }
        }
    }
}

/// Returns the pin of a component as its registry has it now.
async fn current(config: &Config, name: &str) -> Result<LockedComponent, Failure> {
    let registry = Registry::open_one_current(config, name).await?;
    let entry = registry.components().next();
    let entry = entry.ok_or_else(|| Failure::failed(format!("`{name}` is not a component")))?;
    Ok(entry.locked())
}

/// Asks whether to accept what was shown. Without a terminal it is not accepted.
fn confirms(name: &str, tag: Option<&str>, terminal: &Terminal) -> bool {
    if !terminal.can_ask() {
        let tag = tag.map(|tag| format!(" --to {}", super::shell_quoted(tag)));
        terminal.note(&format!(
            "Nothing was accepted, because asking you needs a terminal. To accept this:\n  agent-host update {}{} --accept",
            super::shell_quoted(name),
            tag.unwrap_or_default()
        ));
        return false;
    }
    let name = escape_line(name);
    let question = format!(
        "{BOLD}Accept `{name}` as it is now?{BOLD:#} [y] yes  [n] no (any other answer also means no)"
    );
    let said = answer(terminal, &question);
    matches!(said.as_deref().map(str::trim), Some("y" | "yes"))
}
