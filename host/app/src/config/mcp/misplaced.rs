//! Keys of `[[mcp]]` that a kind of server does not take.

use super::raw::{RawMcp, RawOAuth};

#[derive(Clone, Copy, PartialEq, Eq)]
enum ServerKind {
    Program,
    Web,
    Component,
}

/// Returns a key that the kind of a server does not take, with why and the next step.
pub(super) fn misplaced_key(raw: &RawMcp) -> Option<(&'static str, &'static str, &'static str)> {
    let kind = match (&raw.command, &raw.url, &raw.component) {
        (Some(_), None, None) => ServerKind::Program,
        (None, Some(_), None) => ServerKind::Web,
        (None, None, Some(_)) => ServerKind::Component,
        _ => {
            let why = "needs one of `command`, to start it, `url`, to connect to it, and `component`, to run it in the \
                sandbox";
            return Some(("", why, "set exactly one of them"));
        }
    };
    let found = match kind {
        ServerKind::Program => not_of_web(
            raw,
            "pass it with [[mcp.env]]",
            "pass them with [[mcp.env]]",
        )
        .or_else(|| not_of_component(raw)),
        ServerKind::Web => not_of_program(
            raw,
            "has [[mcp.env]], but a server with a `url` is not started here",
            "remove it",
        )
        .or_else(|| not_of_component(raw)),
        ServerKind::Component => {
            let fix = "grant it with `secrets` in [mcp.grants]";
            not_of_web(raw, fix, fix)
                .or_else(|| {
                    let why = "has [[mcp.env]], which is only for servers with a `command`";
                    not_of_program(raw, why, "grant variables with [[mcp.grants.env]]")
                })
                .or_else(|| outside_of_sandbox(raw))
        }
    };
    found.map(|(_, key, why, fix)| (key, why, fix))
}

/// Whether a key is set, the key, why it is refused, and the next step.
type Misplaced = (bool, &'static str, &'static str, &'static str);

fn first<const N: usize>(keys: [Misplaced; N]) -> Option<Misplaced> {
    keys.into_iter().find(|(is_set, ..)| *is_set)
}

/// Finds the keys of servers with an address.
fn not_of_web(raw: &RawMcp, token: &'static str, headers: &'static str) -> Option<Misplaced> {
    first([
        (
            raw.token.is_some(),
            "token",
            "has a `token`, which is only for servers with a `url`",
            token,
        ),
        (
            raw.oauth != RawOAuth::default(),
            "oauth",
            "has `oauth`, which is only for servers with a `url`",
            "remove it",
        ),
        (
            !raw.headers.is_empty(),
            "headers",
            "has `headers`, which are only for servers with a `url`",
            headers,
        ),
    ])
}

/// Finds the keys of servers that are programs.
fn not_of_program(raw: &RawMcp, env: &'static str, fix: &'static str) -> Option<Misplaced> {
    first([
        (!raw.env.is_empty(), "env", env, fix),
        (
            !raw.args.is_empty(),
            "args",
            "has `args`, which are only for servers with a `command`",
            "remove it",
        ),
    ])
}

/// Finds the keys of servers in the sandbox.
fn not_of_component(raw: &RawMcp) -> Option<Misplaced> {
    first([
        (
            raw.grants.is_some(),
            "grants",
            "has [mcp.grants], which are only for servers with a `component`; others run outside of the sandbox",
            "remove them",
        ),
        (
            raw.limits.is_some(),
            "limits",
            "has [mcp.limits], which are only for servers with a `component`",
            "remove them",
        ),
        (
            raw.idle_seconds.is_some(),
            "idle-seconds",
            "has `idle-seconds`, which is only for servers with a `component`",
            "remove it",
        ),
        (
            raw.lifetime_seconds.is_some(),
            "lifetime-seconds",
            "has `lifetime-seconds`, which is only for servers with a `component`",
            "remove it",
        ),
    ])
}

/// Finds the keys that mean nothing in the sandbox.
fn outside_of_sandbox(raw: &RawMcp) -> Option<Misplaced> {
    let limits = raw.limits.as_ref();
    let grants = raw.grants.as_ref();
    first([
        (
            raw.dir.is_some(),
            "dir",
            "has `dir`, which is only for servers with a `command`",
            "grant directories with [[mcp.grants.dir]]",
        ),
        (
            !raw.roots.is_empty(),
            "roots",
            "has `roots`, but a server with a `component` is told the directories that it is granted",
            "grant directories with [[mcp.grants.dir]]",
        ),
        (
            limits.is_some_and(|limits| limits.deadline_ms.is_some()),
            "limits.deadline-ms",
            "has `deadline-ms` in [mcp.limits]",
            "set `deadline-ms` of the server itself",
        ),
        (
            grants.is_some_and(|grants| grants.artifacts.is_some()),
            "grants.artifacts",
            "has `artifacts` in [mcp.grants], but an MCP server runs outside of sessions",
            "remove it",
        ),
    ])
}
