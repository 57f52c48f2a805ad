//! The rules about calls of a configuration and of the command line, for the tools that are there.

mod arguments;

use crate::{
    Registry,
    config::{Config, ConfigError, advice},
    own_tools::{OWN_TOOLS, is_own_tool},
};
use agent_host_engine::{
    agents::TOOL_PREFIX,
    policy::{CallRule, RuleDecision},
    text,
};
use agent_host_journal::JournalStore;
use agent_host_types::tool::ToolDefinition;
use agent_host_workflow::condition::{CallFact, ComparedArgument};
use arguments::{Misfit, misfit};
use std::sync::Arc;

/// The maximum of bytes shown of the names of all tools.
const NAMES_BYTES: usize = 1_000;

/// The rules about calls of a configuration, with those of the command line.
#[derive(Clone, Debug)]
pub struct CommandRules {
    /// Those of the configuration, and the denials of the command line.
    pub rules: Arc<[CallRule]>,
    /// Those of the command line that approve calls in the place of the user.
    pub approved: Arc<[CallRule]>,
}

impl CommandRules {
    /// Adds the rules of the command line, for these tools.
    ///
    /// # Errors
    /// One names a tool that is not there, or the main argument of a tool that has none.
    pub fn resolve(config: &Config, registry: &Registry) -> Result<Self, ConfigError> {
        let (mut denied, mut approved) = (config.rules.to_vec(), Vec::new());
        let known = KnownTools::new(config, registry);
        for flag in &config.rule_flags {
            if let Some(tool) = flag.tool.as_exact() {
                known.check(&flag.name, tool)?;
            }
            let rules = flag.rules(registry.tools())?;
            match flag.decision {
                RuleDecision::Deny => denied.extend(rules),
                RuleDecision::Allow | RuleDecision::Ask => approved.extend(rules),
            }
        }
        Ok(Self {
            rules: denied.into(),
            approved: approved.into(),
        })
    }
}

/// Checks the names of tools in rules, and what their conditions name. A denial with a misspelled
/// name would deny nothing.
///
/// # Errors
/// A rule names a tool without a glob, and there is none. Tools of an absent MCP server, which is
/// not required, may be named. The condition of a rule compares something that holds for no tool of
/// the rule.
pub fn check_rules(config: &Config, registry: &Registry) -> Result<(), ConfigError> {
    let known = KnownTools::new(config, registry);
    for rule in config.rules.iter() {
        for tool in rule.tools.iter().filter_map(|tool| tool.as_exact()) {
            known.check(&rule.name, tool)?;
        }
        check_condition(rule, registry)?;
    }
    for rule in &config.flow.rules {
        for tool in rule.tools.iter().filter_map(|tool| tool.as_exact()) {
            known.check(&rule.name, tool)?;
        }
    }
    Ok(())
}

/// Checks that the store counts calls if a rule does.
///
/// # Errors
/// It does not.
pub(crate) fn check_counts(config: &Config, store: &dyn JournalStore) -> Result<(), ConfigError> {
    let mut rules = config.rules.iter();
    let counts = |rule: &&CallRule| {
        let condition = rule.condition.as_ref();
        condition.is_some_and(|condition| condition.facts().into_iter().any(CallFact::is_number))
    };
    match rules.find(counts).filter(|_| !store.counts_calls()) {
        Some(rule) => Err(ConfigError::new(
            "",
            format!(
                "`where` of {} has `count` or `sum`, and this store does not count calls",
                rule.name
            ),
            "use the store of this program, or remove the rule",
        )),
        None => Ok(()),
    }
}

/// Checks the condition of a rule against the schemas of its tools.
fn check_condition(rule: &CallRule, registry: &Registry) -> Result<(), ConfigError> {
    let Some(condition) = &rule.condition else {
        return Ok(());
    };
    let tools = registry.tools().map(|tool| &*tool.definition);
    let tools: Vec<&ToolDefinition> = tools.filter(|tool| rule.names(&tool.name)).collect();
    for compared in condition.compared() {
        let found = tools
            .iter()
            .map(|tool| (tool, misfit(&tool.input_schema, &compared)));
        let found: Vec<_> = found.collect();
        // A glob of tools may name those that have the argument, and others.
        if found.iter().any(|(_, misfit)| misfit.is_none()) {
            continue;
        }
        if let Some((tool, Some(misfit))) = found.into_iter().next() {
            return Err(never_holds(rule, tool, &compared, &misfit));
        }
    }
    Ok(())
}

fn never_holds(
    rule: &CallRule,
    tool: &ToolDefinition,
    compared: &ComparedArgument<'_>,
    misfit: &Misfit,
) -> ConfigError {
    let (name, tool) = (&rule.name, &tool.name);
    let argument = compared.path.to_string();
    match misfit {
        Misfit::Unknown { known } => {
            let known: Vec<&str> = known.iter().map(String::as_str).collect();
            let last = compared.path.steps().last().map_or("", String::as_str);
            let advice = advice(last, &known, "it has");
            ConfigError::new(
                "",
                format!("`where` of {name} is about `{argument}`, which `{tool}` does not have"),
                text::sanitize(&advice, NAMES_BYTES),
            )
        }
        Misfit::Type { is } => {
            let does = match compared.literal {
                Some(literal) => format!("compares `{argument}` with {literal}"),
                None => format!("adds or sums up `{argument}`, or compares it with a number"),
            };
            ConfigError::new(
                "",
                format!("`where` of {name} {does}, but its type in `{tool}` is {is}"),
                "compare it with a value of its type",
            )
        }
    }
}

/// The names that a rule may have.
struct KnownTools<'a> {
    names: Vec<String>,
    /// Those of the program that are not offered here: a rule about them holds elsewhere.
    elsewhere: Vec<&'static str>,
    absent_servers: &'a [String],
}

impl<'a> KnownTools<'a> {
    fn new(config: &Config, registry: &'a Registry) -> Self {
        let tools = registry.tools();
        let mut names: Vec<String> = tools.map(|tool| tool.definition.name.clone()).collect();
        let (own, elsewhere): (Vec<_>, Vec<_>) =
            OWN_TOOLS.iter().partition(|tool| is_own_tool(tool, config));
        names.extend(own.into_iter().map(|tool: &str| tool.to_owned()));
        let agents = config.agent_definitions.iter();
        names.extend(agents.map(|agent| format!("{TOOL_PREFIX}{}", agent.name)));
        Self {
            names,
            elsewhere,
            absent_servers: registry.absent_servers(),
        }
    }

    fn check(&self, rule: &str, tool: &str) -> Result<(), ConfigError> {
        let of_absent = self.absent_servers.iter().any(|server| {
            let own = tool.strip_prefix(server.as_str());
            own.is_some_and(|own| own.starts_with('_'))
        });
        let known: Vec<&str> = self.names.iter().map(String::as_str).collect();
        if of_absent || known.contains(&tool) || self.elsewhere.contains(&tool) {
            return Ok(());
        }
        let advice = advice(tool, &known, "the tools are");
        let joint = if advice.ends_with('?') { " If" } else { "; if" };
        Err(ConfigError::new(
            "",
            format!(
                "{rule} is for the tool `{tool}`, which does not exist, and would match no calls"
            ),
            format!(
                "{}{joint} it exists only sometimes, write its name with a `*`",
                text::sanitize(&advice, NAMES_BYTES)
            ),
        ))
    }
}
