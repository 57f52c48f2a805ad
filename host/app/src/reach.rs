//! Lists of what components and MCP servers may reach, read from the values that the policy
//! enforces. Secrets and variables appear by name only.

use crate::registry::Registry;
use agent_host_engine::policy::{
    ArtifactAccess, DirGrant, DirMode, Grants, HttpGrant, SecretGrant,
};

/// Lists what the tools may reach; components with equal grants share a line, and what an MCP
/// server reaches is unknown. The text is not escaped.
#[must_use]
pub fn reach(registry: &Registry) -> Vec<String> {
    let mut shared: Vec<(String, Vec<&str>)> = Vec::new();
    for entry in registry.components() {
        let text = grant_lines(&entry.grants).join("; ");
        match shared.iter_mut().find(|(known, _)| *known == text) {
            Some((_, names)) => names.push(&entry.name),
            None => shared.push((text, vec![&entry.name])),
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
    let servers = registry.servers().iter().map(|entry| {
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

fn artifact_line(access: ArtifactAccess) -> String {
    match access {
        ArtifactAccess::ReadOnly => "artifacts of the session, read-only",
        ArtifactAccess::ReadWrite => "artifacts of the session, read-write",
    }
    .to_owned()
}

fn dir_line(dir: &DirGrant) -> String {
    let mode = match dir.mode {
        DirMode::ReadOnly => "read-only",
        DirMode::ReadWrite => "read-write",
    };
    let mut line = format!("{} as {}, {mode}", dir.host.display(), dir.guest);
    for (word, rules) in [
        ("only", &dir.allow),
        ("not", &dir.deny),
        ("also files that run later in", &dir.allow_run_later),
    ] {
        if !rules.is_empty() {
            line = format!("{line}, {word} {}", rules.patterns().join(" "));
        }
    }
    line
}

fn http_line(http: &HttpGrant) -> String {
    match http.methods.as_slice() {
        [] => http.target(),
        methods => format!("{}, only {}", http.target(), methods.join(" ")),
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
