//! `[flow]`: which sources of text are trusted, and what untrusted text may do.

mod paths;

pub(super) use paths::check as check_paths;

use super::{
    ConfigError,
    lists::{check_count, check_name},
    problem::{config_error, resolve_all, resolve_steps},
    review::{Danger, Review, quoted},
    rules::{self, RawDecision},
    section::{section, values},
};
use agent_host_engine::{
    flow::{AudienceRule, FlowPolicy, FlowRule, MAX_FLOW_RULES},
    policy::{ArgumentPointer, NameGlob},
};
use agent_host_types::flow::{AnswerKind, FlowMode};
use serde_json::Value;
use std::{collections::HashSet, fmt, sync::Arc};

/// The most globs of a list.
const MAX_SOURCES: usize = 1_000;

/// The kinds of sources and destinations.
const KINDS: [&str; 9] = [
    "http:",
    "mcp:",
    "external:",
    "webhook:",
    "dir:",
    "tool:",
    "workflow",
    "unknown",
    "memory",
];

/// The most arguments of a rule.
const MAX_ARGUMENTS: usize = 100;

section! {
    /// `[flow]`.
    #[derive(Default)]
    #[serde(default)]
    pub(super) struct RawFlow {
        /// The treatment of text from untrusted sources.
        mode: Option<FlowMode> = FlowMode::Off
            => asks(Unchecked, "sets what text from untrusted sources may do: mode = {value}");
        /// Globs of trusted sources, such as `http:intranet.example`.
        trusted [All]: Vec<String> => by(demand_trust);
        /// Globs of untrusted sources, such as `dir:/workspace/vendor/**`.
        untrusted [All]: Vec<String> => pinned;
        /// Kinds of answers about untrusted text that the model gets as references.
        withhold [All]: Vec<AnswerKind> => pinned;
        /// Rules about flows.
        rule [All]: Vec<RawFlowRule> => each(demand_rule);
        /// Where text from some sources may go, and nowhere else.
        audience [All]: Vec<RawAudience> => pinned;
    }
}

section! {
    /// `[[flow.audience]]`.
    pub(super) struct RawAudience {
        /// A glob of sources.
        from: String => pinned;
        /// Globs of destinations, such as `mcp:crm`; empty for none.
        to: Vec<String> => pinned;
    }
}

section! {
    /// `[[flow.rule]]`.
    pub(super) struct RawFlowRule {
        /// The decision about calls that text from these sources reaches.
        decision: RawDecision => together;
        /// A glob of sources.
        from: String => together;
        /// A glob of tools, or a list of globs.
        to: Value => together;
        /// The arguments into which the text flows, as JSON pointers; absent for all.
        #[serde(default)]
        arguments: Vec<String> => together;
        /// The name in records and messages; absent for its position.
        name: Option<String> => pinned;
    }
}

values!(FlowMode, AnswerKind);

fn demand_trust(trusted: &[String], _: &str, review: &mut Review<'_>) {
    if !trusted.is_empty() {
        let sources: Vec<String> = trusted.iter().map(|source| quoted(source)).collect();
        let text = format!("trusts text from {}", sources.join(", "));
        review.demand(Danger::Unchecked, text);
    }
}

fn demand_rule(raw: &RawFlowRule, _: &str, review: &mut Review<'_>) {
    if raw.decision == RawDecision::Allow {
        let (from, to) = (quoted(&raw.from), quoted(&raw.to.to_string()));
        let only = raw.arguments.iter().map(|pointer| quoted(pointer));
        let only: Vec<String> = only.collect();
        let only = match only.as_slice() {
            [] => String::new(),
            only => format!(" in {}", only.join(", ")),
        };
        let text = format!("lets text from {from} reach calls of {to}{only} without asking");
        review.demand(Danger::Unchecked, text);
    }
}

/// Resolves the section. The names of rules differ.
pub(super) fn resolve(raw: RawFlow) -> Result<Arc<FlowPolicy>, ConfigError> {
    let mode = raw.mode();
    resolve_steps! {
        trusted = sources("flow.trusted", &raw.trusted);
        untrusted = sources("flow.untrusted", &raw.untrusted);
        _decides = check_mode(mode, &raw.audience);
        rules = resolve_rules(raw.rule);
        audiences = resolve_audiences(raw.audience);
    }
    Ok(Arc::new(FlowPolicy {
        mode,
        trusted,
        untrusted,
        withheld: raw.withhold,
        rules,
        audiences,
    }))
}

/// An audience that no mode enforces would look as if it protected something.
fn check_mode(mode: FlowMode, audiences: &[RawAudience]) -> Result<(), ConfigError> {
    if mode.decides() || audiences.is_empty() {
        return Ok(());
    }
    Err(config_error!(
        "flow.audience",
        "an audience holds in the modes \"ask\" and \"quarantine\", and [flow] has the mode `{mode}`",
        "set mode = \"ask\"; with trusted = [\"*\"] it asks nothing more"
    ))
}

fn sources(key: &str, globs: &[String]) -> Result<Vec<NameGlob>, ConfigError> {
    check_count(key, "sources", globs.len(), MAX_SOURCES, "use globs")?;
    globs.iter().map(|glob| source(key, glob)).collect()
}

fn source(key: &str, glob: &str) -> Result<NameGlob, ConfigError> {
    let fix = "write it like \"http:example.com\", \"mcp:mail\" or \"dir:/workspace/vendor/**\"";
    let invalid = |why: &dyn fmt::Display| {
        config_error!(key, "invalid source: {why}", "{fix}").with_value(glob)
    };
    // One that matches nothing would protect from nothing.
    if !is_of_known_kind(glob) {
        return Err(invalid(&format!(
            "unknown kind of source `{}`",
            glob.escape_debug()
        )));
    }
    if let Some(path) = glob.strip_prefix("dir:")
        && !is_normal(path)
    {
        return Err(invalid(&format!(
            "`{}` is not a path as tools see it, such as /workspace/vendor/**",
            path.escape_debug()
        )));
    }
    // The brackets of an address are no class of characters.
    let address = glob
        .strip_prefix("http:[")
        .and_then(|rest| rest.split_once(']'));
    let escaped = address.map(|(address, rest)| format!("http:\\[{address}\\]{rest}"));
    NameGlob::new(escaped.as_deref().unwrap_or(glob)).map_err(|error| invalid(&error))
}

/// Whether a glob can match an absolute path without a trailing slash, `.`, `..` and empty parts.
fn is_normal(path: &str) -> bool {
    let Some(below) = path.strip_prefix('/') else {
        return path.starts_with(['*', '?', '[', '{']);
    };
    let mut parts = below.split('/');
    path == "/" || parts.all(|part| !matches!(part, "" | "." | ".."))
}

/// Whether a glob can match a source or a destination, by what is before its first wildcard.
fn is_of_known_kind(glob: &str) -> bool {
    match glob.split_once(['*', '?', '[', '{', '\\']) {
        Some((fixed, _)) => KINDS.iter().any(|kind| {
            let length = fixed.len().min(kind.len());
            kind.get(..length) == fixed.get(..length)
        }),
        None => KINDS.iter().any(|kind| match kind.ends_with(':') {
            true => glob.strip_prefix(kind).is_some_and(|rest| !rest.is_empty()),
            false => glob == *kind,
        }),
    }
}

fn resolve_audiences(raw: Vec<RawAudience>) -> Result<Vec<AudienceRule>, ConfigError> {
    let key = "flow.audience";
    check_count(key, "audiences", raw.len(), MAX_FLOW_RULES, "use globs")?;
    resolve_all(key, raw, |raw| {
        resolve_steps! {
            from = source("from", &raw.from);
            to = sources("to", &raw.to);
        }
        Ok(AudienceRule { from, to })
    })
}

fn resolve_rules(raw: Vec<RawFlowRule>) -> Result<Vec<FlowRule>, ConfigError> {
    check_count("flow.rule", "rules", raw.len(), MAX_FLOW_RULES, "use globs")?;
    let mut names = HashSet::new();
    let mut index = 0;
    resolve_all("flow.rule", raw, |raw| {
        let position = index.to_string();
        index += 1;
        let short = raw.name.as_deref().unwrap_or(&position);
        check_name(short, "the rule name `", "`", "[[flow.rule]]")?;
        if !names.insert(short.to_owned()) {
            return Err(config_error!(
                "name",
                "two rules of [flow] are named `{short}` (a rule without a name has its position, from 0)",
                "rename one of them"
            )
            .with_value(short));
        }
        let name = format!("flow.{short}");
        resolve_steps! {
            from = source("from", &raw.from);
            tools = rules::tools(&name, "to", &raw.to);
            arguments = arguments(&raw.arguments);
        }
        Ok(FlowRule {
            decision: raw.decision.into(),
            name,
            from,
            tools,
            arguments,
        })
    })
}

fn arguments(pointers: &[String]) -> Result<Vec<String>, ConfigError> {
    let hint = "use fewer arguments, or several rules";
    check_count(
        "arguments",
        "arguments",
        pointers.len(),
        MAX_ARGUMENTS,
        hint,
    )?;
    let checked = pointers
        .iter()
        .map(|pointer| match ArgumentPointer::new(pointer) {
            Ok(_) => Ok(pointer.clone()),
            Err(error) => Err(
                config_error!("arguments", "{error}", "write it like \"/location\"")
                    .with_value(pointer),
            ),
        });
    checked.collect()
}
