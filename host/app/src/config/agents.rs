//! `[[agent]]`: agents that another one can start, or that `run --agent` runs.

use super::{
    ConfigError, GrantsSection, ModelsConfig, Overrides, ToolConfig,
    approval::{Confirmation, RawApproval},
    budgets::{self, RawBudgets},
    context::{self, RawContext},
    dir_grants, grants,
    hints::advice,
    instructions,
    lists::check_count,
    model::{self, Chosen, ModelSections},
    paths::Scope,
    prices::Prices,
    problem::{Problems, config_error, resolve_steps},
    secrets::SecretConfig,
    section::section,
    settings::{self, RawSettings},
};
use agent_host_engine::{
    policy::{DirGrant, DirMode, Grants, NameGlob},
    schema::AnswerSchema,
    turn::{UntilEnd, UntilTool},
};
use agent_host_types::{
    budget::{Budgets, Price},
    context::ContextLimits,
    flow::FlowMode,
    id::{Digest, json_digest},
    tool::{Approval, is_tool_name},
};
use serde_json::{Value, json};
use std::{collections::BTreeSet, path::PathBuf, sync::Arc};

/// The longest name: that of its tool has `agent_` before it.
const MAX_NAME: usize = 48;

/// The maximum number of agents.
pub(super) const MAX_AGENTS: usize = 100;

/// The longest description, in bytes. It is part of every request of the agents that start it.
const MAX_DESCRIPTION_BYTES: usize = 2_000;

/// The agent that needs no definition: it has the tools and the model of the one that starts it.
pub const GENERAL_PURPOSE: &str = "general-purpose";

section! {
    /// `[[agent]]`.
    // Its tools are some of those of the file, and its calls are decided on like others.
    #[derive(Default)]
    #[serde(default)]
    pub(super) struct RawAgent {
        /// The name.
        name: String => pinned;
        /// The description for the model that starts it.
        description: String => pinned;
        /// `PROVIDER:NAME`; absent for its caller's model.
        model [Model]: Option<String> => by(model::demand);
        /// The system prompt.
        system: Option<String> => pinned;
        /// Files to append to the system prompt.
        instructions [Path]: Vec<String> => by(instructions::demand);
        /// Globs of its tools, from those of the file; absent for all.
        tools: Option<Vec<String>> => pinned;
        /// The grants of its calls, beyond which those of its tools do not go; absent for those of its
        /// tools.
        grants: Option<GrantsSection> => pinned;
        /// The agents that it can start.
        agents: Vec<String> => pinned;
        /// Tools, one of which must end its run.
        until_tool: Vec<String> => pinned;
        /// The JSON Schema of its answer.
        output_schema: Option<Value> => pinned;
        /// The maximum number of model calls.
        max_turns: Option<u64> = Budgets::default().turns => at_most;
        /// Its budgets, besides those of the one that starts it.
        budgets: RawBudgets => pinned;
        /// When starting it needs approval.
        approval: Option<RawApproval> => pinned;
        /// Whether its calls can wait for the user.
        interactive: Option<bool> => pinned;
        /// Whether its model writes programs that call its tools.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        code: bool => pinned;
        /// A stricter `mode` of `[flow]` for it and for the agents that it starts.
        #[serde(skip_serializing_if = "Option::is_none")]
        flow: Option<FlowMode> => pinned;
    }
}

/// An agent that another one can start.
#[derive(Clone, Debug)]
pub struct AgentConfig {
    /// The name.
    pub name: String,
    /// The description for the model that starts it.
    pub description: Arc<str>,
    /// Its models; absent for those of the one that starts it.
    pub models: Option<ModelsConfig>,
    /// The limits of a conversation with its model; absent for a model without a window.
    pub context: Option<ContextLimits>,
    /// The system prompt, instruction files included.
    pub system: Option<Arc<str>>,
    /// The instruction files.
    pub(super) instruction_files: Vec<PathBuf>,
    /// Globs of its tools; absent for all of the file.
    pub tools: Option<Vec<NameGlob>>,
    /// The grants of its calls, beyond which those of its tools do not go.
    pub grants: Option<Arc<Grants>>,
    /// The agents that it can start.
    pub agents: Vec<String>,
    /// Tools, one of which must end its run.
    pub until_tool: Option<UntilTool>,
    /// The schema of its answer.
    pub output_schema: Option<Arc<AnswerSchema>>,
    /// Its budgets.
    pub budgets: Budgets,
    /// The price of its model, if it has one of its own and that is known.
    pub price: Option<Price>,
    /// When starting it needs approval.
    pub confirmation: Confirmation,
    /// Whether its calls can wait for the user.
    pub is_interactive: bool,
    /// Whether its model writes programs that call its tools.
    pub code: bool,
    /// The mode of flows for it and for the agents that it starts, unless theirs is stricter.
    pub flow: FlowMode,
    /// The digest of its definition.
    pub definition: Digest,
}

/// The parts of a file that its agents depend on.
#[derive(Clone, Copy)]
pub(super) struct General<'a> {
    pub(super) agents: &'a [RawAgent],
    /// The names of those that the agent of the file's top level can start.
    pub(super) top_agents: &'a [String],
    /// `code` of the file's top level.
    pub(super) code: bool,
    /// The mode of `[flow]`.
    pub(super) flow: FlowMode,
    pub(super) context: Option<RawContext>,
    pub(super) settings: &'a RawSettings,
    pub(super) sections: ModelSections<'a>,
    pub(super) overrides: &'a Overrides,
    pub(super) prices: &'a Prices,
    /// The models of the file's top level.
    pub(super) models: &'a Chosen<'a>,
    pub(super) secrets: &'a [SecretConfig],
    pub(super) scope: Scope<'a>,
}

/// Resolves the agents. `system` is the prompt of the file's top level.
pub(super) fn resolve(
    system: Option<&str>,
    general: General<'_>,
) -> Result<Vec<Arc<AgentConfig>>, ConfigError> {
    let raw = general.agents;
    let count = raw.len();
    check_count("agent", "agents", count, MAX_AGENTS, "remove some of them")?;
    let mut problems = Problems::default();
    let mut names = BTreeSet::from([GENERAL_PURPOSE]);
    let mut agents = Vec::with_capacity(count + 1);
    for (index, agent) in raw.iter().enumerate() {
        let key = format!("agent[{index}]");
        let checked = check_name(&agent.name, &mut names);
        let resolved = checked.and_then(|()| one(agent, general));
        agents.extend(problems.take(resolved.map_err(|error| error.within(&key))));
    }
    let general_purpose = RawAgent {
        name: GENERAL_PURPOSE.to_owned(),
        description: "Works on a multi-step task independently, with the same tools, and returns its findings."
            .to_owned(),
        code: general.code,
        ..RawAgent::default()
    };
    let resolved = one(&general_purpose, general);
    agents.extend(problems.take(resolved).map(|agent| AgentConfig {
        system: system.map(Into::into),
        ..agent
    }));
    let lists = raw.iter().enumerate();
    let lists =
        lists.map(|(index, agent)| (format!("agent[{index}].agents"), agent.agents.as_slice()));
    for (key, list) in lists.chain([("agents".to_owned(), general.top_agents)]) {
        for (index, name) in list.iter().enumerate() {
            let key = format!("{key}[{index}]");
            problems.take(check_known(&key, name, &names));
        }
    }
    problems.or(agents.into_iter().map(Arc::new).collect())
}

/// Checks the name of an agent, and adds it to those before it.
fn check_name<'r>(name: &'r str, names: &mut BTreeSet<&'r str>) -> Result<(), ConfigError> {
    if !is_tool_name(name) || name.len() > MAX_NAME {
        let shown = name.escape_debug();
        return Err(config_error!(
            "name",
            "invalid agent name `{shown}`: names have 1 to {MAX_NAME} letters (A to Z), digits, `_` and `-`",
            "set `name` under [[agent]]"
        )
        .with_value(name));
    }
    match names.insert(name) {
        true => Ok(()),
        false => Err(config_error!(
            "name",
            "two agents are named `{name}` (`general-purpose` is built in)",
            "rename one of them"
        )
        .with_value(name)),
    }
}

fn check_known(key: &str, name: &str, names: &BTreeSet<&str>) -> Result<(), ConfigError> {
    if names.contains(name) {
        return Ok(());
    }
    let known: Vec<&str> = names.iter().copied().collect();
    let fix = advice(name, &known, "the agents are");
    let shown = name.escape_debug();
    Err(config_error!(key, "unknown agent `{shown}`", "{fix}").with_value(name))
}

fn one(agent: &RawAgent, general: General<'_>) -> Result<AgentConfig, ConfigError> {
    let General {
        settings,
        sections: file,
        overrides,
        prices,
        models,
        scope,
        ..
    } = general;
    let own = agent.model.as_ref().map(|model| {
        let alone = ModelSections {
            model: Some(model),
            fallback: &[],
            choices: &[],
            ..file
        };
        let overrides = Overrides {
            model: None,
            ..overrides.clone()
        };
        settings::resolve_models(settings, alone, &overrides, scope)
    });
    let mut problems = Problems::default();
    let own = problems.take(own.transpose());
    let chosen = match &own {
        Some(Some((models, names))) => models.chosen(names),
        _ => models.to_vec(),
    };
    let resolved = problems.take(sections(agent, general, &chosen));
    let price = chosen
        .first()
        .and_then(|(name, model)| prices.of(name, *model));
    let (Some(own), Some(resolved)) = (own, resolved) else {
        return Err(problems.into_error());
    };
    let models = own.map(|(mut models, names)| {
        models.set_prices(&names, prices);
        // A recording has the exchanges of one model.
        models.record = None;
        models
    });
    Ok(AgentConfig {
        models,
        price,
        ..resolved
    })
}

/// Resolves everything but the models, which are `chosen`.
fn sections(
    agent: &RawAgent,
    general: General<'_>,
    chosen: &Chosen<'_>,
) -> Result<AgentConfig, ConfigError> {
    let General { prices, scope, .. } = general;
    let approval = agent.approval.clone();
    resolve_steps! {
        description = description(&agent.description);
        instructions = instructions::resolve(agent.system.clone(), &agent.instructions, scope);
        tools = agent.tools.as_deref().map(tools).transpose();
        grants = own_grants(agent.grants.as_ref(), general);
        output_schema = output_schema(agent);
        confirmation = approval.map_or_else(
            || Ok(Approval::Never.into()),
            |approval| approval.resolve("approval", &agent.name),
        );
        budgets = budgets::resolve(
            agent.max_turns(), agent.budgets, prices, &Overrides::default(), chosen,
        );
        context = context::resolve(general.context, chosen, prices);
        flow = flow(agent.flow, general.flow);
    }
    Ok(AgentConfig {
        name: agent.name.clone(),
        description: description.into(),
        models: None,
        context,
        system: instructions.system.map(Into::into),
        instruction_files: instructions.files,
        tools,
        grants,
        output_schema,
        agents: agent.agents.clone(),
        until_tool: (!agent.until_tool.is_empty()).then(|| UntilTool {
            tools: agent.until_tool.clone(),
            end: UntilEnd::default(),
        }),
        budgets,
        price: None,
        confirmation,
        is_interactive: agent.interactive.unwrap_or(true),
        code: agent.code,
        flow,
        definition: json_digest(&json!(agent)),
    })
}

/// Resolves the mode of an agent. A weaker one would record no sources for the agent that started
/// it.
fn flow(own: Option<FlowMode>, general: FlowMode) -> Result<FlowMode, ConfigError> {
    match own {
        Some(own) if own < general => Err(config_error!(
            "flow",
            "`{own}` is weaker than `{general}`, the mode of [flow], which holds for all agents",
            "remove it, or set a stricter one"
        )
        .with_value(own.to_string())),
        own => Ok(own.unwrap_or(general)),
    }
}

/// Resolves the grants of an agent. Secrets are those that its tools have.
fn own_grants(
    raw: Option<&GrantsSection>,
    General { secrets, scope, .. }: General<'_>,
) -> Result<Option<Arc<Grants>>, ConfigError> {
    let Some(raw) = raw else {
        return Ok(None);
    };
    let none = Grants::default();
    let resolved = grants::of_lists(raw.clone(), &none, secrets, "[agent.grants]", scope);
    let checked = resolved.and_then(|grants| {
        dir_grants::check_apart("dir", &grants.dirs)?;
        Ok(Arc::new(grants))
    });
    checked.map(Some).map_err(|error| error.within("grants"))
}

/// Checks that each directory of an agent is among those of some tool, with no more access: more
/// than its tools have, an agent never gets, and the user would take it for granted.
pub(super) fn check_grants(
    agents: &[Arc<AgentConfig>],
    general: &Grants,
    tools: &[ToolConfig],
) -> Result<(), ConfigError> {
    let mut problems = Problems::default();
    let has = |wanted: &DirGrant| {
        let all = tools.iter().map(|tool| tool.grants.as_ref());
        let mut dirs = all.chain([general]).flat_map(|grants| &grants.dirs);
        dirs.any(|dir| {
            let overlaps = wanted.host.starts_with(&dir.host) || dir.host.starts_with(&wanted.host);
            overlaps && (dir.mode == DirMode::ReadWrite || wanted.mode == DirMode::ReadOnly)
        })
    };
    // The first agents are those of the file, in its order.
    for (index, agent) in agents.iter().enumerate() {
        let dirs = agent.grants.iter().flat_map(|grants| &grants.dirs);
        for (position, dir) in dirs.enumerate().filter(|(_, dir)| !has(dir)) {
            let key = format!("agent[{index}].grants.dir[{position}]");
            let (name, host) = (&agent.name, dir.host.display());
            problems.take::<()>(Err(config_error!(
                &key,
                "the agent `{name}` is granted more access to {host} than any tool has, and would not get it",
                "grant the tool the same access, or the agent less"
            )));
        }
    }
    problems.or(())
}

fn output_schema(agent: &RawAgent) -> Result<Option<Arc<AnswerSchema>>, ConfigError> {
    let Some(schema) = &agent.output_schema else {
        return Ok(None);
    };
    if !agent.until_tool.is_empty() {
        return Err(config_error!(
            "output-schema",
            "the agent also has `until-tool`, and its run can end in only one way",
            "remove one of the two"
        ));
    }
    match AnswerSchema::compile(schema) {
        Ok(schema) => Ok(Some(Arc::new(schema))),
        Err(why) => Err(config_error!(
            "output-schema",
            "invalid schema: {why}",
            "write a JSON Schema as a table"
        )),
    }
}

fn description(text: &str) -> Result<String, ConfigError> {
    match text.trim().is_empty() || text.len() > MAX_DESCRIPTION_BYTES {
        false => Ok(text.to_owned()),
        true => Err(config_error!(
            "description",
            "the description, by which a model decides when to start the agent, is empty or longer than \
             {MAX_DESCRIPTION_BYTES} bytes",
            "say in a few sentences what the agent does and returns"
        )),
    }
}

fn tools(globs: &[String]) -> Result<Vec<NameGlob>, ConfigError> {
    let mut problems = Problems::default();
    let mut compiled = Vec::with_capacity(globs.len());
    for (index, glob) in globs.iter().enumerate() {
        let key = format!("tools[{index}]");
        let glob = NameGlob::new(glob)
            .map_err(|error| config_error!(&key, "{error}", "correct it").with_value(glob));
        compiled.extend(problems.take(glob));
    }
    problems.or(compiled)
}
