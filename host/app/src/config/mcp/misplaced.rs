//! Keys of `[[mcp]]` that a kind of server does not take.

use super::raw::{RawMcp, RawOAuth};

#[derive(Clone, Copy, PartialEq, Eq)]
enum ServerKind {
    Program,
    Web,
    Component,
}

/// A key that kinds of servers do not take: whether it is set, whether the kind takes it, the key,
/// why it is refused, and the next step.
type KeyOfKind = (bool, bool, &'static str, &'static str, &'static str);

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
    let mut keys = keys(raw, kind).into_iter();
    let (.., key, why, fix) = keys.find(|(is_set, is_taken, ..)| *is_set && !is_taken)?;
    Some((key, why, fix))
}

#[rustfmt::skip]
fn keys(raw: &RawMcp, kind: ServerKind) -> [KeyOfKind; 13] {
    let (web, program) = (kind == ServerKind::Web, kind == ServerKind::Program);
    let sandboxed = kind == ServerKind::Component;
    let (token, headers) = match sandboxed {
        true => ("grant it with `secrets` in [mcp.grants]", "grant it with `secrets` in [mcp.grants]"),
        false => ("pass it with [[mcp.env]]", "pass them with [[mcp.env]]"),
    };
    let (env, env_fix) = match sandboxed {
        true => (
            "has [[mcp.env]], which is only for servers with a `command`",
            "grant variables with [[mcp.grants.env]]",
        ),
        false => ("has [[mcp.env]], but a server with a `url` is not started here", "remove it"),
    };
    let (limits, grants) = (raw.limits.as_ref(), raw.grants.as_ref());
    let has_deadline = limits.is_some_and(|limits| limits.deadline_ms.is_some());
    let has_artifacts = grants.is_some_and(|grants| grants.artifacts.is_some());
    [
        (raw.token.is_some(), web, "token", "has a `token`, which is only for servers with a `url`", token),
        (raw.oauth != RawOAuth::default(), web, "oauth", "has `oauth`, which is only for servers with a `url`", "remove it"),
        (!raw.headers.is_empty(), web, "headers", "has `headers`, which are only for servers with a `url`", headers),
        (!raw.env.is_empty(), program, "env", env, env_fix),
        (!raw.args.is_empty(), program, "args", "has `args`, which are only for servers with a `command`", "remove it"),
        (
            grants.is_some(), sandboxed, "grants",
            "has [mcp.grants], which are only for servers with a `component`; others run outside of the sandbox",
            "remove them",
        ),
        (limits.is_some(), sandboxed, "limits", "has [mcp.limits], which are only for servers with a `component`", "remove them"),
        (
            raw.idle_seconds.is_some(), sandboxed, "idle-seconds",
            "has `idle-seconds`, which is only for servers with a `component`", "remove it",
        ),
        (
            raw.lifetime_seconds.is_some(), sandboxed, "lifetime-seconds",
            "has `lifetime-seconds`, which is only for servers with a `component`", "remove it",
        ),
        (
            raw.dir.is_some(), !sandboxed, "dir",
            "has `dir`, which is only for servers with a `command`", "grant directories with [[mcp.grants.dir]]",
        ),
        (
            !raw.roots.is_empty(), !sandboxed, "roots",
            "has `roots`, but a server with a `component` is told the directories that it is granted",
            "grant directories with [[mcp.grants.dir]]",
        ),
        (has_deadline, !sandboxed, "limits.deadline-ms", "has `deadline-ms` in [mcp.limits]", "set `deadline-ms` of the server itself"),
        (
            has_artifacts, !sandboxed, "grants.artifacts",
            "has `artifacts` in [mcp.grants], but an MCP server runs outside of sessions", "remove it",
        ),
    ]
}
