//! `[[mcp]]` from the file of another MCP client: `mcpServers` of `.mcp.json`, Claude Desktop, Cursor
//! and others, and `servers` of VS Code. No secret is copied: what may be one becomes a reference to
//! the environment, and a note says which variable to set.

#[cfg(test)]
mod tests;

use crate::{config::may_be_secret, tool_entry::appended};
use agent_host_types::{reason::Reason, tool::is_tool_name};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The key of the servers.
const KEY: &str = "mcp";

/// The longest name of a server, as `[[mcp]]` takes it.
const MAX_NAME: usize = 32;

/// The keys under which clients keep servers.
const LISTS: [&str; 2] = ["mcpServers", "servers"];

/// Servers that were read from the file of another client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadServers {
    /// Their tables, as TOML.
    pub toml: String,
    /// The name of each, and the program that it starts or the address that it is asked at.
    pub servers: Vec<(String, String)>,
    /// Parts that were left out, and variables that are to be set, as sentences.
    pub notes: Vec<String>,
}

/// A server, as clients write it. What is not read here is about the client.
#[derive(Deserialize)]
struct Entry {
    command: Option<String>,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    env: BTreeMap<String, serde_json::Value>,
    cwd: Option<String>,
    #[serde(alias = "serverUrl", alias = "httpUrl")]
    url: Option<String>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    #[serde(default)]
    disabled: bool,
}

/// The tables of a server.
#[derive(Serialize)]
struct Servers {
    mcp: [Server; 1],
}

/// `[[mcp]]`.
#[derive(Serialize)]
struct Server {
    name: String,
    command: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    args: Vec<String>,
    dir: Option<String>,
    url: Option<String>,
    token: Option<String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    headers: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    env: Vec<Variable>,
}

/// `[[mcp.env]]`.
#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct Variable {
    name: String,
    value: Option<String>,
    #[serde(skip_serializing_if = "is_false")]
    from_host: bool,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn is_false(value: &bool) -> bool {
    !value
}

/// Reads the servers of a file of another client.
///
/// # Errors
/// Why there are none, as a sentence.
pub fn read_servers(json: &str) -> Result<ReadServers, Reason> {
    let file: serde_json::Map<String, serde_json::Value> = serde_json::from_str(json)
        .map_err(|error| format!("it is not JSON: {error}; remove any comments"))?;
    let list = LISTS.iter().find_map(|key| file.get(*key)?.as_object());
    let list = list.ok_or_else(|| format!("it has neither {}", LISTS.join(" nor ")))?;
    let mut read = ReadServers {
        toml: String::new(),
        servers: Vec::new(),
        notes: Vec::new(),
    };
    for (name, entry) in list {
        let entry = Entry::deserialize(entry)
            .map_err(|error| format!("cannot read its server `{name}`: {error}"))?;
        read.add(name, entry);
    }
    match read.servers.is_empty() {
        true => Err("it has no server that can be added".into()),
        false => Ok(read),
    }
}

/// Returns the text of an `agent.toml` with these servers.
///
/// # Errors
/// The text is not TOML, has a server of one of the names, or is of a form that is not edited.
pub fn with_servers(text: &str, read: &ReadServers) -> Result<String, Reason> {
    let names: Vec<&str> = read.servers.iter().map(|(name, _)| name.as_str()).collect();
    appended(text, KEY, &names, &read.toml)
}

impl ReadServers {
    fn add(&mut self, given: &str, entry: Entry) {
        let why = match &entry {
            entry if entry.disabled => "is disabled there, so it was skipped",
            entry if entry.command.is_some() == entry.url.is_some() => {
                "does not have exactly one of `command` and `url`, so it was skipped"
            }
            entry if has_secret(&entry.args) => {
                "has a secret in its arguments, so it was skipped; pass the secret as a variable"
            }
            _ => return self.add_usable(given, entry),
        };
        self.notes.push(format!("`{given}` {why}"));
    }

    fn add_usable(&mut self, given: &str, entry: Entry) {
        let name = short_name(given);
        let program = entry.command.iter().chain(&entry.args).chain(&entry.url);
        let what = program.map(String::as_str).collect::<Vec<_>>().join(" ");
        let replaced = entry.args.iter().filter(|argument| argument.contains("${"));
        self.notes.extend(replaced.map(|argument| {
            format!("the argument `{argument}` of `{given}` contains a placeholder, which is not expanded here; edit \
                it")
        }));
        let (token, headers) = self.headers(&name, entry.headers);
        let env = entry.env.into_iter();
        let server = Server {
            command: entry.command,
            args: entry.args,
            dir: entry.cwd,
            url: entry.url,
            token,
            headers,
            env: env
                .map(|(name, value)| self.variable(name, &value))
                .collect(),
            name: name.clone(),
        };
        // Strings, lists and tables of strings have a form in TOML.
        let toml = toml::to_string(&Servers { mcp: [server] }).unwrap_or_default();
        if !self.toml.is_empty() {
            self.toml.push('\n');
        }
        self.toml.push_str(&toml);
        self.servers.push((name, what));
    }

    /// Returns the grant of a variable: by its name, if its value is a reference or may be a secret.
    fn variable(&mut self, name: String, value: &serde_json::Value) -> Variable {
        let text = value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned);
        let (value, note) = match reference(&text) {
            Some(other) if other == name => (None, None),
            Some(other) => (
                None,
                Some(format!(
                    "set {name} in your environment; it was {other} there"
                )),
            ),
            None if text.is_empty() => (None, None),
            None if may_be_secret(&name, &text) => (
                None,
                Some(format!(
                    "set {name} in your environment; its value is not copied"
                )),
            ),
            None => (Some(text), None),
        };
        self.notes.extend(note);
        Variable {
            from_host: value.is_none(),
            name,
            value,
        }
    }

    /// Returns the token of `Authorization`, and the other headers of requests.
    fn headers(
        &mut self,
        server: &str,
        headers: BTreeMap<String, String>,
    ) -> (Option<String>, BTreeMap<String, String>) {
        let (mut token, mut kept) = (None, BTreeMap::new());
        for (header, value) in headers {
            let is_authorization = header.eq_ignore_ascii_case("authorization");
            let bearer = value.strip_prefix("Bearer ").filter(|_| is_authorization);
            let bare = bearer.map_or(value.as_str(), str::trim);
            let value = match reference(bare) {
                Some(name) => format!("env:{name}"),
                None if bearer.is_some() || may_be_secret(&header, bare) => {
                    let what = bearer.map_or(header.as_str(), |_| "token");
                    let name = variable_name(server, what);
                    self.notes.push(format!(
                        "set {name} in your environment; the value of `{header}` is not copied"
                    ));
                    format!("env:{name}")
                }
                None => bare.to_owned(),
            };
            match bearer {
                Some(_) => token = Some(value),
                None => drop(kept.insert(header, value)),
            }
        }
        (token, kept)
    }
}

/// Whether an argument may be a secret, by its value or by the option before it.
fn has_secret(args: &[String]) -> bool {
    let named = args.iter().flat_map(|arg| arg.split_once('='));
    let after = args.iter().zip(args.iter().skip(1));
    let after = after.filter(|(name, value)| name.starts_with('-') && !value.starts_with('-'));
    let after = after.map(|(name, value)| (name.as_str(), value.as_str()));
    let mut pairs = named
        .chain(after)
        .chain(args.iter().map(|arg| ("", arg.as_str())));
    pairs.any(|(name, value)| reference(value).is_none() && may_be_secret(name, value))
}

/// Returns the variable that a whole text refers to: `${NAME}`, `${NAME:-default}`, `${env:NAME}` or
/// `${input:NAME}`.
fn reference(text: &str) -> Option<&str> {
    let inner = text.strip_prefix("${")?.strip_suffix('}')?;
    let inner = ["env:", "input:"]
        .iter()
        .find_map(|kind| inner.strip_prefix(kind))
        .unwrap_or(inner);
    let name = inner.split(":-").next()?;
    let is_name = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    is_name.then_some(name)
}

/// Returns a name that `[[mcp]]` takes, as near as can be to the one in the file.
fn short_name(name: &str) -> String {
    let valid = |c: char| {
        if c.is_ascii_alphanumeric() || c == '_' {
            c
        } else {
            '-'
        }
    };
    let name: String = name.chars().map(valid).take(MAX_NAME).collect();
    match is_tool_name(&name) {
        true => name,
        false => "server".to_owned(),
    }
}

/// Returns the name of a variable, such as `GITHUB_TOKEN`.
fn variable_name(server: &str, what: &str) -> String {
    let upper = |c: char| match c.is_ascii_alphanumeric() {
        true => c.to_ascii_uppercase(),
        false => '_',
    };
    format!("{server}_{what}").chars().map(upper).collect()
}
