//! Rules about calls from the command line: `--allow` and `--deny`.
//!
//! `TOOL` is a name or a glob of names, `TOOL(GLOB)` is about the main argument
//! ([`main_argument`]), and `TOOL(/POINTER=GLOB)` about another one.

use super::{ConfigError, lists::check_count};
use agent_host_engine::{
    policy::{
        ArgumentGlob, ArgumentPointer, ArgumentTest, CallRequest, CallRule, MAX_RULES, NameGlob,
        RuleDecision, RuleError, deciding_rule, main_argument,
    },
    tool_set::ToolSet,
};
use agent_host_types::{id::object_digest, tool::RegisteredTool};
use serde_json::{Map, Value};

/// The reason of a denial, for the model and the user.
const DENIED: &str = "The command line denies this call";

/// A rule of the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleFlag {
    /// The flag as it is recorded, such as `--allow write_file(src/**)`.
    pub(crate) name: String,
    pub(crate) decision: RuleDecision,
    pub(crate) tool: NameGlob,
    argument: Option<(Option<ArgumentPointer>, ArgumentGlob)>,
}

/// Parses the values of `--allow` and `--deny`.
pub(super) fn resolve(allow: &[String], deny: &[String]) -> Result<Vec<RuleFlag>, ConfigError> {
    let allow = allow.iter().map(|text| (text, RuleDecision::Allow));
    let deny = deny.iter().map(|text| (text, RuleDecision::Deny));
    let flags: Vec<_> = allow.chain(deny).collect();
    let items = "rules on the command line";
    check_count(
        "--allow",
        items,
        flags.len(),
        MAX_RULES,
        "write rules into agent.toml",
    )?;
    let parsed = flags
        .into_iter()
        .map(|(text, decision)| parse(text, decision));
    parsed.collect()
}

fn parse(text: &str, decision: RuleDecision) -> Result<RuleFlag, ConfigError> {
    let flag = match decision {
        RuleDecision::Deny => "--deny",
        RuleDecision::Allow | RuleDecision::Ask => "--allow",
    };
    let unusable = |error: &RuleError| {
        ConfigError::new(
            flag,
            format!("invalid `{flag} {}`: {error}", text.escape_debug()),
            "write TOOL, TOOL(GLOB) or TOOL(/POINTER=GLOB), such as 'write_file(src/**)'",
        )
        .with_value(text)
    };
    let (tool, argument) = match text.strip_suffix(')').and_then(|text| text.split_once('(')) {
        Some((tool, argument)) => (tool, Some(argument)),
        None => (text, None),
    };
    let argument = argument.map(|argument| match argument.split_once('=') {
        Some((pointer, glob)) if pointer.starts_with('/') => Ok((
            Some(ArgumentPointer::new(pointer)?),
            ArgumentGlob::new(glob)?,
        )),
        _ => Ok((None, ArgumentGlob::new(argument)?)),
    });
    Ok(RuleFlag {
        name: format!("{flag} {text}"),
        decision,
        tool: NameGlob::new(tool).map_err(|error| unusable(&error))?,
        argument: argument.transpose().map_err(|error| unusable(&error))?,
    })
}

impl RuleFlag {
    /// Returns the rules of this flag: one, or one for each of these tools where each has another
    /// main argument.
    ///
    /// # Errors
    /// A tool that is named exactly has no main argument; for a denial, any of them.
    pub(crate) fn rules<'t>(
        &self,
        tools: impl Iterator<Item = &'t RegisteredTool>,
    ) -> Result<Vec<CallRule>, ConfigError> {
        let rule = |tool: NameGlob, arguments| CallRule {
            name: self.name.clone(),
            decision: self.decision,
            tools: vec![tool],
            agent: None,
            arguments,
            condition: None,
            reason: (self.decision == RuleDecision::Deny).then(|| DENIED.to_owned()),
        };
        let test = |glob: &ArgumentGlob| ArgumentTest::Glob(Box::new(glob.clone()));
        let glob = match &self.argument {
            None => return Ok(vec![rule(self.tool.clone(), Vec::new())]),
            Some((Some(pointer), glob)) => {
                let arguments = vec![(pointer.clone(), test(glob))];
                return Ok(vec![rule(self.tool.clone(), arguments)]);
            }
            Some((None, glob)) => glob,
        };
        let mut rules = Vec::new();
        let names = |tool: &&RegisteredTool| self.tool.matches(&tool.definition.name);
        for RegisteredTool { definition, .. } in tools.filter(names) {
            let name = &definition.name;
            let argument = main_argument(definition);
            let pointer = argument.map(|argument| {
                let key = argument.replace('~', "~0").replace('/', "~1");
                ArgumentPointer::new(&format!("/{key}"))
            });
            match (pointer, NameGlob::new(name)) {
                (Some(Ok(pointer)), Ok(tool)) => {
                    rules.push(rule(tool, vec![(pointer, test(glob))]))
                }
                _ if self.decision != RuleDecision::Deny && self.tool.as_exact().is_none() => {}
                _ => {
                    return Err(ConfigError::new(
                        "",
                        format!(
                            "`{}` is about the main argument of `{name}`, which has no text argument",
                            self.name
                        ),
                        "name an argument, as in TOOL(/POINTER=GLOB), or leave the parentheses out",
                    ));
                }
            }
        }
        Ok(rules)
    }
}

/// Returns the value of `--allow` that allows this call and the fewest others: those with the same
/// main argument where a glob can say so, or every call of the tool.
#[must_use]
pub fn allowing_flag(tools: &ToolSet, tool: &str, input: &Map<String, Value>) -> String {
    let by_argument = || {
        let tool = &tools.get(tool)?.tool;
        let name = &tool.definition.name;
        let value = input.get(main_argument(&tool.definition)?)?.as_str()?;
        let text = format!("{name}({value})");
        let is_plain = |c: char| !c.is_control() && !"*?[]{}\\!".contains(c);
        let is_plain = value.chars().all(is_plain) && !value.starts_with('/');
        let flag = is_plain.then(|| parse(&text, RuleDecision::Allow))?.ok()?;
        let rules = flag.rules(std::iter::once(tool)).ok()?;
        let call = CallRequest {
            tool,
            input,
            input_digest: object_digest(input),
            agent: None,
            facts: None,
        };
        deciding_rule(&rules, &call).map(|_| text)
    };
    by_argument().unwrap_or_else(|| tool.to_owned())
}
