//! `[[mcp]]`: its keys, and what an untrusted one asks for.

use super::RawCommand;
use crate::config::{
    GrantsSection, LimitsSection,
    approval::{self, RawApproval},
    env_grants::{self, RawEnvGrant},
    review::{Danger, Review, all_quoted, in_full, quoted},
    sandbox::concurrent_calls_per_tool,
    section::{Section as _, section, values},
    tools,
};
use std::{
    collections::{BTreeMap, BTreeSet},
    num::{NonZeroU16, NonZeroU64, NonZeroUsize},
};

/// The default bounds of a component, in seconds, and the greatest ones.
pub(super) const IDLE_SECONDS: u64 = 600;
pub(super) const LIFETIME_SECONDS: u64 = 86_400;
const MAX_AGE_SECONDS: u64 = 31 * 86_400;

section! {
    /// `[[mcp]]`. Keys name tools as the server does.
    pub(in crate::config) struct RawMcp {
        /// The name of the server in `agent.lock` and in messages, and the prefix of its tools.
        name: String => together;
        /// The program to start, or a list of the program and its arguments.
        command [Arguments]: Option<RawCommand> => together;
        /// Further arguments of the program.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        args [Arguments, Secret]: Vec<String> => together;
        /// The working directory of the program; absent for the file's directory.
        dir: Option<String> => together;
        /// A component that runs in the sandbox: a file.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        component [Component]: Option<String> => together;
        /// The grants of the component: lists instead of the general ones.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        grants: Option<GrantsSection> => section;
        /// Limits of the component instead of the general ones.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        limits: Option<LimitsSection> => by(demand_limits);
        /// The time without a call and without a message after which the component ends; the next
        /// call starts it again. Absent for 10 minutes.
        #[serde(skip_serializing_if = "Option::is_none")]
        idle_seconds: Option<NonZeroU64>, in seconds, within(1, MAX_AGE_SECONDS) => at_most(IDLE_SECONDS);
        /// The age at which the component ends between two calls; the next call starts it again.
        /// Absent for one day.
        #[serde(skip_serializing_if = "Option::is_none")]
        lifetime_seconds: Option<NonZeroU64>, in seconds, within(1, MAX_AGE_SECONDS) => at_most(LIFETIME_SECONDS);
        /// The address of a running server.
        url: Option<String> => asks(Network, "sends calls to {value} as the MCP server {who}");
        /// The source of the token for that address: `env:NAME`, `file:PATH` or `cmd:COMMAND`.
        token [Source]: Option<String> =>
            asks(Private, "sends the token from {value} to the MCP server {who}");
        /// Additional headers of requests to that address: a value, or its source as for the token.
        #[serde(default)]
        headers [Source, Secret]: BTreeMap<String, String> =>
            asks(Network, "sends the header {name} with {value} to the MCP server {who}");
        /// How to log in there, where no token is configured.
        // A login is the user's own act, but not what protects it.
        #[serde(default)]
        oauth: RawOAuth => section;
        /// The directories that the server is told to work in.
        #[serde(default)]
        roots [Path]: Vec<String> => by(demand_roots);
        /// The allowed tools; absent for all.
        tools: Option<BTreeSet<String>> => pinned;
        /// The tools that are read-only.
        #[serde(default)]
        read_only: BTreeSet<String> => by(demand_read_only);
        /// When a call needs approval, or which decisions are offered.
        #[serde(default)]
        approval: RawApproval => together;
        /// Approvals of single tools.
        #[serde(default)]
        approvals: BTreeMap<String, RawApproval> => together;
        /// The maximum number of concurrent calls.
        concurrent_calls: Option<NonZeroUsize> => at_most(concurrent_calls_per_tool());
        /// The time limit of a call.
        deadline_ms: Option<NonZeroU64>, in milliseconds => pinned;
        /// The time limit until the tools of the server are known.
        connect_timeout_seconds: Option<NonZeroU64>, in seconds => pinned;
        /// Whether a run fails if the server is unavailable; absent for true.
        required: Option<bool> => pinned;
        /// The environment of the program besides `PATH`, and `HOME`, which is a directory of its own by
        /// default.
        #[serde(default)]
        env: Vec<RawEnvGrant> => each(env_grants::demand);
    }
}

section! {
    /// `[mcp.oauth]`.
    #[derive(Default, Eq)]
    #[serde(default)]
    pub(in crate::config) struct RawOAuth {
        /// The id of a registered client.
        client_id: Option<String> => pinned;
        /// The source of its secret: `env:NAME`, `file:PATH` or `cmd:COMMAND`.
        client_secret [Source]: Option<String> => asks(Private,
            "sends the client secret from {value} to the authorization server of {who}");
        /// The address of a client ID metadata document.
        client_metadata_url: Option<String> => pinned;
        /// The scopes to request; absent for those that the server lists.
        scopes: Vec<String> => pinned;
        /// The port of the redirect URI; absent for any free port.
        redirect_port: Option<NonZeroU16> => pinned;
        /// Whether to log in if the authorization server lists no PKCE method.
        assume_pkce: bool => asks(Unchecked,
            "logs in to the MCP server {who} although its authorization server lists no PKCE method");
    }
}

values!(RawCommand);

/// Demands what a server asks for.
pub(in crate::config) fn demand(raw: &RawMcp, _: &str, review: &mut Review<'_>) {
    let who = quoted(&raw.name);
    if let Some(command) = &raw.command {
        let words = command.words(&raw.args);
        let words: Vec<String> = words.iter().map(|word| in_full(word)).collect();
        let within = raw.dir.as_deref().map_or(String::new(), |dir| {
            review.reach(dir);
            format!(" in {}", quoted(dir))
        });
        let words = words.join(" ");
        review.demand(
            Danger::Program,
            format!(
                "starts the program {words}{within} outside of the sandbox, as the MCP server {who}"
            ),
        );
    }
    if let Some(component) = &raw.component {
        review.reach(component);
        let component = quoted(component);
        review.demand(
            Danger::Component,
            format!("runs the component {component} as the MCP server {who}"),
        );
    }
    raw.demand_keys(&who, review);
    approval::demand(&raw.approval, &raw.approvals, &who, review);
}

fn demand_limits(limits: &Option<LimitsSection>, who: &str, review: &mut Review<'_>) {
    limits
        .iter()
        .for_each(|limits| tools::demand_limits(limits, who, review));
}

fn demand_roots(roots: &[String], who: &str, review: &mut Review<'_>) {
    if !roots.is_empty() {
        let directories = all_quoted(roots);
        let text = format!("tells the MCP server {who} to work in {directories}");
        review.demand(Danger::Other, text);
    }
}

fn demand_read_only(tools: &BTreeSet<String>, who: &str, review: &mut Review<'_>) {
    if !tools.is_empty() {
        let tools = all_quoted(tools);
        let text = format!("runs these tools of {who} without asking, as read-only: {tools}");
        review.demand(Danger::Unchecked, text);
    }
}
