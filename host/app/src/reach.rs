//! Lists of what components and MCP servers may reach, read from the values that the policy
//! enforces. Secrets and variables appear by name only.

use crate::{own_tools::OWN_TOOLS, registry::Registry};
use agent_host_engine::policy::{
    ArtifactAccess, DirGrant, DirMode, Grants, HttpGrant, SecretGrant, only_reads,
};
use agent_host_mcp_client::Reach;
use agent_host_types::tool::Effect;
use std::path::{Component, Path, PathBuf};

/// Lists what the tools may reach; components with equal grants share a line, and what an MCP
/// server outside of the sandbox reaches is unknown. The text is not escaped.
#[must_use]
pub fn reach(registry: &Registry) -> Vec<String> {
    let mut shared: Vec<(String, Vec<&str>)> = Vec::new();
    let mut add = |name, grants| {
        let text = grant_lines(grants).join("; ");
        match shared.iter_mut().find(|(known, _)| *known == text) {
            Some((_, names)) => names.push(name),
            None => shared.push((text, vec![name])),
        }
    };
    for entry in registry.components() {
        add(&entry.name, &entry.grants);
    }
    for entry in registry.servers() {
        if let Some(component) = entry.config.component() {
            add(&entry.config.name, &component.grants);
        }
    }
    let alone = shared.len() == 1 && registry.servers().is_empty();
    let components = shared.into_iter().map(|(text, names)| {
        if alone {
            text
        } else {
            format!("{}: {text}", names.join(", "))
        }
    });
    let servers = registry.servers().iter();
    let outside = servers.filter(|entry| entry.config.component().is_none());
    let servers = outside.map(|entry| {
        let reach = &entry.server.config().reach;
        format!(
            "{}: everything that {} can access; it is outside of the sandbox",
            entry.config.name,
            reach.identity()
        )
    });
    components.chain(servers).collect()
}

/// Returns a line per grant, and a line each for no files and no network.
#[must_use]
pub fn grant_lines(grants: &Grants) -> Vec<String> {
    let Grants {
        dirs,
        http,
        env,
        secrets,
        artifacts,
        // It is an agent's, and this the list of a component.
        ceiling: _,
    } = grants;
    let none = |is_none: bool, what: &str| is_none.then(|| what.to_owned());
    let mut lines: Vec<String> = dirs.iter().map(dir_line).collect();
    lines.extend(none(dirs.is_empty(), "no files"));
    lines.extend(http.iter().map(http_line));
    lines.extend(none(http.is_empty(), "no network"));
    lines.extend(env.iter().map(|env| format!("variable {}", env.name)));
    lines.extend(secrets.iter().map(secret_line));
    lines.extend(artifacts.map(artifact_line));
    lines
}

/// The place where the calls of a tool run, and what they may reach there. The text is not escaped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolReach {
    /// The place, such as a component.
    pub origin: String,
    /// A sentence about what a call may reach beyond its target; `None` if it reaches nothing.
    pub beyond: Option<String>,
    /// Whether the calls run outside of the sandbox.
    pub is_outside: bool,
}

/// Describes where a tool's calls run and what they may reach there, for the user who decides on
/// one.
#[must_use]
pub fn tool_reach(registry: &Registry, tool: &str) -> ToolReach {
    if let Some(entry) = registry.component_of(tool) {
        // The gate lets a tool of this effect change nothing, whatever is granted.
        let effect = registry.tool(tool).map(|tool| tool.effect);
        let is_read_only = effect == Some(Effect::ReadOnly);
        let origin = format!("the component `{}`, in the sandbox", entry.name);
        return sandboxed_reach(origin, &entry.grants, is_read_only);
    }
    if registry.tool(tool).is_none() && OWN_TOOLS.contains(&tool) {
        return ToolReach {
            origin: "agent-host itself".to_owned(),
            beyond: None,
            is_outside: false,
        };
    }
    let Some(entry) = registry.server_of(tool) else {
        let origin = "a program outside of agent-host".to_owned();
        return ToolReach {
            beyond: Some(format!("Outside the sandbox: it runs in {origin}.")),
            origin,
            is_outside: true,
        };
    };
    let (reach, name) = (&entry.server.config().reach, &entry.config.name);
    if let Some(component) = entry.config.component() {
        let origin = format!("the MCP server `{name}`, in the sandbox");
        // Its effects are bounded by its grants alone.
        return sandboxed_reach(origin, &component.grants, false);
    }
    let rights = match reach {
        Reach::Command(_) | Reach::Component(_) => "a program with all of your permissions",
        Reach::Http(_) => "a server on the network",
    };
    ToolReach {
        origin: format!("the MCP server `{name}`: {}", reach.identity()),
        beyond: Some(format!(
            "Outside the sandbox: the MCP server `{name}` decides what happens, and where. It is {rights}."
        )),
        is_outside: true,
    }
}

/// Describes what a tool in the sandbox may reach with these grants.
fn sandboxed_reach(origin: String, grants: &Grants, is_read_only: bool) -> ToolReach {
    let reach = || {
        let parts = reach_parts(grants, is_read_only).join("; ");
        let only_reads = is_read_only && grants.http.is_empty();
        let verb = match only_reads || !grants.may_change() {
            true => "read",
            false => "reach",
        };
        format!("Sandboxed; at most it can {verb}: {parts}.")
    };
    ToolReach {
        origin,
        beyond: (!grants.is_nothing()).then(reach),
        is_outside: false,
    }
}

/// Returns what grants reach, as the parts of a sentence for a user who does not know them;
/// `is_read_only` for a tool that can change nothing.
fn reach_parts(grants: &Grants, is_read_only: bool) -> Vec<String> {
    let mut parts: Vec<String> = grants
        .dirs
        .iter()
        .map(|dir| {
            let place = dir.host.display();
            let mode = match is_read_only {
                true => mode_words(DirMode::ReadOnly),
                false => mode_words(dir.mode),
            };
            format!("files in {place} ({mode}{})", dir_rules(dir))
        })
        .collect();
    let hosts: Vec<String> = grants
        .http
        .iter()
        .filter_map(|http| {
            Some(format!(
                "{} ({})",
                http.target(),
                methods(http, is_read_only)?
            ))
        })
        .collect();
    parts.push(match hosts.is_empty() {
        true => "no network".to_owned(),
        false => format!("network: {}", hosts.join(", ")),
    });
    parts.extend(
        grants
            .env
            .iter()
            .map(|env| format!("variable {}", env.name)),
    );
    parts.extend(grants.secrets.iter().map(secret_line));
    parts.extend(grants.artifacts.map(artifact_line));
    parts
}

/// Returns the methods of requests that a tool may send; `None` if a read-only one may send none.
fn methods(http: &HttpGrant, is_read_only: bool) -> Option<String> {
    let may_send = |method: &&str| !is_read_only || only_reads(method);
    let granted: Vec<&str> = match http.methods.as_slice() {
        [] if is_read_only => vec!["GET", "HEAD"],
        [] => return Some("any method".to_owned()),
        granted => granted
            .iter()
            .map(String::as_str)
            .filter(may_send)
            .collect(),
    };
    (!granted.is_empty()).then(|| granted.join(" and "))
}

/// Returns the path on the host of a path that a tool names; a relative one is below the first
/// granted directory. For display: nothing is opened by it.
#[must_use]
pub fn host_path(grants: &Grants, path: &str) -> Option<PathBuf> {
    let (dir, rest) = grants.dir_of(path)?;
    let mut place = grants.dirs.get(dir)?.host.clone();
    for part in Path::new(rest).components() {
        match part {
            Component::Normal(name) => place.push(name),
            Component::CurDir => {}
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(place)
}

fn artifact_line(access: ArtifactAccess) -> String {
    match access {
        ArtifactAccess::ReadOnly => "artifacts of the session, read-only",
        ArtifactAccess::ReadWrite => "artifacts of the session, read-write",
    }
    .to_owned()
}

fn dir_line(dir: &DirGrant) -> String {
    let (place, mode) = (dir.host.display(), mode_words(dir.mode));
    format!("{place} as {}, {mode}{}", dir.guest, dir_rules(dir))
}

fn mode_words(mode: DirMode) -> &'static str {
    match mode {
        DirMode::ReadOnly => "read-only",
        DirMode::ReadWrite => "read-write",
    }
}

/// Returns the rules of a directory about its files, each after a comma.
fn dir_rules(dir: &DirGrant) -> String {
    let rules = [
        ("only", &dir.allow),
        ("not", &dir.deny),
        ("also files that run later in", &dir.allow_run_later),
    ];
    let rules = rules.iter().filter(|(_, rules)| !rules.is_empty());
    rules
        .map(|(word, rules)| format!(", {word} {}", rules.patterns().join(" ")))
        .collect()
}

fn http_line(http: &HttpGrant) -> String {
    match http.methods.as_slice() {
        [] => http.target(),
        methods => format!("{}, only {}", http.target(), methods.join(" and ")),
    }
}

fn secret_line(secret: &SecretGrant) -> String {
    let places = if secret.in_query {
        "header fields and queries"
    } else {
        "header fields"
    };
    let audience = secret.audience();
    format!("secret {}, in {places} to {audience}", secret.name)
}

#[cfg(test)]
mod tests {
    use super::{host_path, reach_parts};
    use agent_host_engine::policy::{DirGrant, DirMode, Grants, HttpGrant};
    use pretty_assertions::assert_eq;
    use std::path::PathBuf;

    #[test]
    fn path_of_a_tool_is_shown_below_its_grant() {
        let dir = |host: &str, guest: &str| DirGrant::new(host, guest, DirMode::ReadOnly);
        let dirs = vec![
            dir("/home/ann/work", "/workspace"),
            dir("/srv/data", "/workspace/data"),
        ];
        let grants = Grants {
            dirs,
            ..Grants::default()
        };
        for (path, expected) in [
            ("a.txt", Some("/home/ann/work/a.txt")),
            ("./src/a.rs", Some("/home/ann/work/src/a.rs")),
            ("/workspace/a.txt", Some("/home/ann/work/a.txt")),
            ("/workspace", Some("/home/ann/work")),
            ("/workspace/data/b.csv", Some("/srv/data/b.csv")),
            ("/workspaces/a.txt", None),
            ("/etc/passwd", None),
            ("../a.txt", None),
            ("/workspace/../../etc/passwd", None),
        ] {
            let expected = expected.map(PathBuf::from);
            assert_eq!(host_path(&grants, path), expected, "{path}");
        }
        assert_eq!(host_path(&Grants::default(), "a.txt"), None);
    }

    #[test]
    fn read_only_tool_reaches_less_than_its_grants() {
        let dir = DirGrant::new("/srv", "/workspace", DirMode::ReadWrite);
        let http = |host: &str, methods: &[&str]| HttpGrant {
            host: host.to_owned(),
            methods: methods.iter().map(ToString::to_string).collect(),
            ..HttpGrant::default()
        };
        let grants = Grants {
            dirs: vec![dir],
            http: vec![
                http("any.example", &[]),
                http("some.example", &["GET", "POST"]),
                http("post.example", &["POST"]),
            ],
            ..Grants::default()
        };
        for (is_read_only, files, network) in [
            (
                false,
                "read-write",
                "any.example (any method), some.example (GET and POST), post.example (POST)",
            ),
            (
                true,
                "read-only",
                "any.example (GET and HEAD), some.example (GET)",
            ),
        ] {
            let expected = [
                format!("files in /srv ({files})"),
                format!("network: {network}"),
            ];
            assert_eq!(reach_parts(&grants, is_read_only), expected);
        }
    }
}
