//! The operator's rules about calls: `[[rule]]`.

use super::{
    ConfigError,
    lists::{check_count, check_name},
    problem::{config_error, key_path, resolve_all, resolve_steps},
    review::{Danger, Review, quoted},
    section::{section, values},
};
use agent_host_engine::{
    policy::{
        ArgumentGlob, ArgumentPointer, ArgumentTest, CallRule, MAX_RULES, NameGlob, RuleDecision,
        RuleError,
    },
    text::sanitize,
};
use agent_host_types::tool::is_tool_name;
use agent_host_workflow::{condition::CallCondition, reference::SyntaxError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::{
    collections::{BTreeMap, HashSet},
    sync::Arc,
};

/// The maximum of tools, and of conditions, of one rule.
const MAX_PARTS: usize = 100;

/// The maximum length of a reason, in bytes; a longer one is cut. A denied call returns it to the
/// model.
const MAX_REASON_BYTES: usize = 500;

section! {
    /// `[[rule]]`.
    pub(super) struct RawRule {
        /// The decision about matching calls.
        decision: RawDecision => together;
        /// A glob of tools, or a list of globs.
        tool: Value => together;
        /// Conditions by JSON pointer: a glob, or a table with `equals`.
        #[serde(default)]
        arguments: BTreeMap<String, Value> => together;
        /// A condition on the arguments, such as `amount <= 500 and currency == 'EUR'`.
        r#where: Option<String> => together;
        /// A glob of agents; absent for all.
        agent: Option<String> => together;
        /// The name in records and messages; absent for its position.
        name: Option<String> => pinned;
        /// The reason given for a denial.
        reason: Option<String> => pinned;
    }
}

values!(RawDecision);

/// Demands the calls that a rule runs without asking. Rules that ask or deny only make a
/// configuration stricter.
pub(super) fn demand(raw: &RawRule, _: &str, review: &mut Review<'_>) {
    match raw.decision {
        RawDecision::Allow => {}
        RawDecision::Ask | RawDecision::Deny => return,
    }
    let tools = tool_globs(&raw.tool).unwrap_or_default();
    let tools: Vec<String> = tools.into_iter().map(quoted).collect();
    let only = raw.arguments.iter().map(|(pointer, test)| {
        let test = test.as_str().map_or(test.to_string(), str::to_owned);
        format!(" with {} as {}", quoted(pointer), quoted(&test))
    });
    let condition = raw.r#where.as_deref().map(quoted);
    let only = only.chain(condition.map(|condition| format!(" where {condition}")));
    let of = raw.agent.as_deref().map(quoted);
    let of = of.map_or(String::new(), |agent| format!(" by the agent {agent}"));
    let (tools, only) = (tools.join(", "), only.collect::<String>());
    review.demand(
        Danger::Unchecked,
        format!("runs calls of {tools}{only}{of} without asking (decision = \"allow\")"),
    );
}

/// `decision`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum RawDecision {
    /// The call runs without approval.
    Allow,
    /// The call needs approval.
    Ask,
    /// The call does not run.
    Deny,
}

impl From<RawDecision> for RuleDecision {
    fn from(raw: RawDecision) -> Self {
        match raw {
            RawDecision::Allow => Self::Allow,
            RawDecision::Ask => Self::Ask,
            RawDecision::Deny => Self::Deny,
        }
    }
}

/// Resolves the rules. Their names differ.
pub(super) fn resolve(raw: Vec<RawRule>) -> Result<Arc<[CallRule]>, ConfigError> {
    let fix = "combine rules that differ only in their tools: `tool` takes a list";
    check_count("rule", "rules", raw.len(), MAX_RULES, fix)?;
    let mut names = HashSet::new();
    let mut index = 0;
    let rules = resolve_all("rule", raw, |raw| {
        let position = index.to_string();
        index += 1;
        let short = raw.name.as_deref().unwrap_or(&position);
        check_name(short, "the rule name `", "`", "[[rule]]")?;
        if !names.insert(short.to_owned()) {
            return Err(config_error!(
                "name",
                "two rules are named `{short}` (a rule without a name has its position, from 0), so a denial would \
                 not say which one decided",
                "rename one of them"
            )
            .with_value(short));
        }
        let name = format!("rule.{short}");
        resolve_one(raw, name)
    })?;
    Ok(rules.into())
}

fn resolve_one(raw: RawRule, name: String) -> Result<CallRule, ConfigError> {
    resolve_steps! {
        tools = tools(&name, "tool", &raw.tool);
        agent = raw.agent.as_deref().map(NameGlob::new).transpose()
            .map_err(|error| unusable(&name, "agent", &error));
        arguments = arguments(&name, &raw.arguments);
        condition = raw.r#where.as_deref().map(|text| condition(&name, text)).transpose();
        reason = reason(&name, raw.reason);
    }
    Ok(CallRule {
        name,
        decision: raw.decision.into(),
        tools,
        agent,
        arguments,
        condition,
        reason,
    })
}

/// Returns the globs of `tool` as they are written; none if it is neither a text nor a list of
/// texts.
pub(super) fn tool_globs(tool: &Value) -> Option<Vec<&str>> {
    match tool {
        Value::String(glob) => Some(vec![glob]),
        Value::Array(globs) => globs.iter().map(Value::as_str).collect(),
        _ => None,
    }
}

/// Compiles the globs of tools in a key of a rule.
pub(super) fn tools(name: &str, key: &str, raw: &Value) -> Result<Vec<NameGlob>, ConfigError> {
    let globs = tool_globs(raw).unwrap_or_default();
    if globs.is_empty() || globs.len() > MAX_PARTS {
        return Err(config_error!(
            key,
            "`{key}` of {name} is neither a tool name nor a list of 1 to {MAX_PARTS} names",
            "write it like \"write_file\" or [\"write_file\", \"github_*\"]; \"*\" is every tool"
        ));
    }
    let compile = |glob: &&str| {
        let compiled =
            NameGlob::new(glob).map_err(|error| unusable(name, key, &error).with_value(glob))?;
        match compiled.as_exact() {
            Some(exact) if !is_tool_name(exact) => Err(config_error!(
                key,
                "{name} is for the tool `{exact}`, which is not a valid tool name: names have 1 to 64 letters (A to \
                 Z), digits, `_` and `-`",
                "correct it"
            )
            .with_value(exact.escape_debug())),
            _ => Ok(compiled),
        }
    };
    globs.iter().map(compile).collect()
}

fn arguments(
    name: &str,
    raw: &BTreeMap<String, Value>,
) -> Result<Vec<(ArgumentPointer, ArgumentTest)>, ConfigError> {
    if raw.len() > MAX_PARTS {
        return Err(config_error!(
            "arguments",
            "{name} has more than {MAX_PARTS} conditions",
            "remove some of them"
        ));
    }
    let condition = |(pointer, test): (&String, &Value)| {
        let key = format!("arguments.{}", key_path(pointer));
        let parsed = ArgumentPointer::new(pointer).map_err(|error| unusable(name, &key, &error))?;
        let fields = test.as_object().filter(|fields| fields.len() == 1);
        let test = match (test, fields.and_then(|fields| fields.get("equals"))) {
            (Value::String(glob), _) => ArgumentGlob::new(glob)
                .map(|glob| ArgumentTest::Glob(Box::new(glob)))
                .map_err(|error| unusable(name, &key, &error).with_value(glob))?,
            (_, Some(value)) if !has_date(value) => ArgumentTest::Equals(value.clone()),
            (_, Some(_)) => {
                return Err(config_error!(
                    &key,
                    "{name} compares an argument with a date, but JSON has no dates",
                    "write it in quotes"
                ));
            }
            (_, None) => {
                let shown = pointer.escape_debug();
                return Err(config_error!(
                    &key,
                    "the condition on `{shown}` of {name} is neither a glob nor a value",
                    "write it like \"src/**\" or {{ equals = 1 }}"
                ));
            }
        };
        Ok((parsed, test))
    };
    raw.iter().map(condition).collect()
}

fn condition(name: &str, text: &str) -> Result<CallCondition, ConfigError> {
    text.parse().map_err(|error: SyntaxError| {
        config_error!(
            "where",
            "`where` of {name} is malformed: {error}",
            "write it like \"amount <= 500 and currency == 'EUR'\""
        )
        .with_value(text)
    })
}

/// Whether a value has a date of TOML, which is parsed to a table with this key.
pub(super) fn has_date(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.iter().any(has_date),
        Value::Object(fields) => fields
            .iter()
            .any(|(key, value)| key == "$__toml_private_datetime" || has_date(value)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

fn reason(name: &str, raw: Option<String>) -> Result<Option<String>, ConfigError> {
    match raw {
        Some(reason) if reason.trim().is_empty() => Err(config_error!(
            "reason",
            "`reason` of {name} is empty",
            "say why the call is denied, or leave it out"
        )),
        reason => Ok(reason.map(|reason| sanitize(&reason, MAX_REASON_BYTES))),
    }
}

fn unusable(name: &str, key: &str, error: &RuleError) -> ConfigError {
    config_error!(key, "{name} is invalid: {error}", "correct it")
}
