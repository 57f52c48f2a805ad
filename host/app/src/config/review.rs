//! A review of what an untrusted file asks for: its demands, each with its danger.

use super::{
    Environment,
    network::NetworkConfig,
    paths::{Scope, canonical},
};
use serde::Serialize;
use serde_json::{Value, json};
use std::{
    collections::BTreeSet,
    path::{Component, PathBuf},
};

/// The maximum length of quoted text in a demand, in characters.
const MAX_QUOTED: usize = 100;

/// The danger of a demand, from the greatest to the least. Demands are listed in this order, so
/// that a list that shows only the first ones hides none that is more dangerous.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Danger {
    /// Starts a program outside of the sandbox: an MCP server, a command that prints a key.
    Program,
    /// Runs a component in the sandbox.
    Component,
    /// Changes or removes data of the user.
    Writes,
    /// Sends data to a server of the file's choice, or accepts requests from one.
    Network,
    /// Reads secrets, variables, or files that the default keeps from tools.
    Private,
    /// Skips a check: an approval, a signature, a hook.
    Unchecked,
    /// The rest: limits, budgets, settings.
    Other,
}

impl Danger {
    /// Returns the danger of reading a value from a source, which may be a command.
    pub(super) fn reading(source: &str, otherwise: Self) -> Self {
        match source.starts_with("cmd:") {
            true => Self::Program,
            false => otherwise,
        }
    }
}

/// Something that a file asks for beyond the defaults.
#[derive(Debug)]
pub(super) struct Demand {
    pub(super) danger: Danger,
    /// The end of a sentence that begins with "it".
    pub(super) text: String,
}

/// A review of one file, or of several that belong together.
#[derive(Debug)]
pub struct Review<'a> {
    /// The directory of the file, where relative paths begin.
    pub(super) base: PathBuf,
    /// The directory that the file came with, without links.
    pub(super) directory: PathBuf,
    pub(super) environment: &'a Environment,
    pub(super) use_of: UseOf,
    pub(super) demands: Vec<Demand>,
    /// The real paths outside of the directory: a link that leads elsewhere changes the digest.
    pub(super) outside: BTreeSet<String>,
}

/// The use of the file.
#[derive(Clone, Copy, Debug)]
pub(super) enum UseOf {
    /// The configuration of an agent.
    Configuration,
    /// Cases of `agent-host test`, which write to copies, and reach no server unless they are
    /// recorded.
    Cases { recorded: bool },
}

impl Review<'_> {
    pub(super) fn demand(&mut self, danger: Danger, text: impl Into<String>) {
        let text = text.into();
        self.demands.push(Demand { danger, text });
    }

    /// Demands a limit that is above its default. `field` is that of its key, and `of` follows it.
    pub(super) fn at_most(
        &mut self,
        field: &str,
        of: &str,
        value: impl Serialize,
        default: impl Serialize,
    ) {
        let (value, default) = (json!(value).as_u64(), json!(default).as_u64());
        let (Some(value), Some(default)) = (value, default) else {
            return;
        };
        if value <= default {
            return;
        }
        let key = field.replace('_', "-");
        self.demand(
            Danger::Other,
            format!("raises {key}{of} to {value} (the default is {default})"),
        );
    }

    /// Returns the real path of a path of the file; absent where it is inside of the directory. A
    /// path that cannot be resolved is refused later, with the reason.
    pub(super) fn reach(&mut self, path: &str) -> Option<PathBuf> {
        let real = canonical(&self.scope().resolve_path("", path).ok()?);
        let climbs = real.components().any(|part| part == Component::ParentDir);
        if real.starts_with(&self.directory) && !climbs {
            return None;
        }
        // Not every path is UTF-8; this form is unique.
        self.outside.insert(format!("{real:?}"));
        Some(real)
    }

    fn scope(&self) -> Scope<'_> {
        Scope {
            base: &self.base,
            environment: self.environment,
            network: &NetworkConfig::Environment,
        }
    }

    /// Returns the path relative to the directory, without links; absent where it is the directory
    /// itself, or outside.
    pub(super) fn path_inside(&self, path: &str) -> Option<String> {
        let real = canonical(&self.scope().resolve_path("", path).ok()?);
        let inside = real.strip_prefix(&self.directory).ok()?;
        let inside = inside.to_string_lossy().into_owned();
        (!inside.is_empty()).then_some(inside)
    }

    /// True if no server is reached and no secret is read, whatever is granted.
    pub(super) fn is_offline(&self) -> bool {
        matches!(self.use_of, UseOf::Cases { recorded: false })
    }
}

/// Quotes text of the file for a question: on one line, bounded, and with each deceptive or
/// invisible character written out. A command is not cut: what its end does could be hidden.
pub(super) fn quoted(text: &str) -> String {
    if text.starts_with("cmd:") {
        let command = in_full(text);
        return format!("{command} (a command, which runs outside of the sandbox)");
    }
    let mut chars = text.chars();
    let shown: String = chars.by_ref().take(MAX_QUOTED).collect();
    let cut = match chars.next() {
        Some(_) => format!("... ({} bytes)", text.len()),
        None => String::new(),
    };
    format!("\"{}\"{cut}", shown.escape_debug())
}

/// Quotes text of the file as [`quoted`] does, however long it is.
pub(super) fn in_full(text: &str) -> String {
    format!("\"{}\"", text.escape_debug())
}

/// Quotes each of some texts.
pub(super) fn all_quoted<'t>(texts: impl IntoIterator<Item = &'t String>) -> String {
    let texts: Vec<String> = texts.into_iter().map(|text| quoted(text)).collect();
    texts.join(", ")
}

/// Calls `part` for each part of a value that a file asks for: its name in a table, its text where
/// it is one, and it in words.
pub(super) fn each_part(value: &Value, part: &mut dyn FnMut(&str, &str, &str)) {
    match value {
        Value::Null | Value::Bool(false) => {}
        Value::Bool(true) | Value::Number(_) => part("", "", &value.to_string()),
        Value::String(text) => part("", text, &quoted(text)),
        Value::Array(items) => items.iter().for_each(|item| each_part(item, part)),
        Value::Object(fields) => {
            for (name, value) in fields {
                each_part(value, &mut |_, text, value| {
                    part(&quoted(name), text, value)
                });
            }
        }
    }
}
