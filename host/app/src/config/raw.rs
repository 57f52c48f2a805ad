//! `agent.toml` as a whole: absent keys stay absent, and values are not checked.
//! `docs/reference/configuration.md` describes every key.
//!
//! The serialized form is what trust in an untrusted file is bound to: a key is in it unless it is
//! harmless.

use super::{
    ConfigError, GrantsSection, LimitsSection, SecretSection,
    agents::RawAgent,
    budgets::RawBudgets,
    context::RawContext,
    external::{self, RawExternalTool},
    flow::RawFlow,
    hooks::{self, RawHook},
    hosts::{self, RawHosts},
    instructions, lists,
    mcp::{self, RawMcp},
    memory::RawMemory,
    model::{self, ModelSections, is_file},
    network::{self, RawNetwork},
    prices::{self, RawPrice},
    problem::Problems,
    provider::{self, RawProvider},
    publishers::{self, RawPublisher},
    review::{Danger, Review, quoted},
    rules::{self, RawRule},
    sandbox::RawSandbox,
    schedules::{self, RawSchedule},
    secrets,
    section::{Items as _, ValueForm as _, section, values},
    session::RawSession,
    settings::{self, RawSettings},
    store::RawStore,
    telemetry::RawTelemetry,
    tools::{self, RawTool},
    webhooks::{self, RawWebhook},
    workflows,
};
use agent_host_engine::program::DEFAULT_MAX_CALLS;
use agent_host_models::Provider;
use agent_host_sandbox::SandboxConfig;
use agent_host_types::budget::Budgets;
use agent_host_workflow::definition::WorkflowDefinition;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};
use std::collections::BTreeMap;

section! {
    /// `agent.toml`.
    #[derive(Default)]
    #[serde(default)]
    pub(super) struct RawConfig {
        /// `PROVIDER:NAME`.
        #[serde(serialize_with = "files_only::<Option<_>, _>")]
        model [Model, Replaceable, Variable("AGENT_HOST_MODEL")]: Option<String> =>
            by(model::demand);
        /// The models to try, in this order, if the previous one fails.
        #[serde(serialize_with = "files_only::<Vec<_>, _>")]
        fallback [Model, Replaceable, Variable("AGENT_HOST_FALLBACK"), List]: Vec<String> =>
            by(model::demand);
        /// The model that summarises long conversations and reads quarantined values, in place of
        /// `model`.
        #[serde(serialize_with = "files_only::<Option<_>, _>")]
        small_model [Model, Replaceable, Variable("AGENT_HOST_SMALL_MODEL")]: Option<String> =>
            by(model::demand);
        /// The models that users of `serve` may choose for a session, besides `model` and
        /// `fallback`.
        #[serde(serialize_with = "files_only::<Vec<_>, _>")]
        model_choices [Model, Replaceable, Variable("AGENT_HOST_MODEL_CHOICES"), List]: Vec<String> =>
            by(model::demand);
        /// The system prompt.
        system [Replaceable, Variable("AGENT_HOST_SYSTEM")]: Option<String> => harmless;
        /// Files to append to the system prompt.
        instructions [Path, Replaceable]: Vec<String> => harmless(instructions::demand);
        /// Directories with skills.
        skills [Path, Replaceable]: Vec<String> => harmless(instructions::demand);
        /// The directory where sessions are stored.
        state_dir [Path]: Option<String> => by(demand_state);
        /// The directory of compiled components.
        cache_dir [Path, Variable("AGENT_HOST_CACHE_DIR")]: Option<String> => by(demand_cache);
        /// The maximum size of the directory of compiled components.
        cache_bytes: Option<u64>, in bytes = SandboxConfig::default().cache_bytes => at_most;
        /// The maximum number of model calls per user message.
        max_turns [Lower, Variable("AGENT_HOST_MAX_TURNS"), Number]: Option<u64>
            = Budgets::default().turns => at_most;
        /// Whether to ask about calls that need approval, or deny them.
        permission_prompts [Variable("AGENT_HOST_PERMISSION_PROMPTS")]: RawPrompts
            = RawPrompts::Ask => harmless;
        /// When to ask for approvals.
        approval_timing: RawTiming = RawTiming::Batch => by(demand_timing);
        /// The time after which an approval request expires; if absent, never, or 3 days in a run
        /// started by a schedule or a webhook.
        // A late approval is a denial.
        approval_expires_seconds: Option<u64>, in seconds, within(1) => harmless;
        /// The number of tools at which the model starts to search for tools instead of seeing them
        /// all.
        #[serde(skip_serializing_if = "Option::is_none")]
        search_tools_from [Lower]: Option<usize> = SEARCH_TOOLS_FROM => by(demand_search);
        /// Whether users of `serve` may make read-only links to their sessions.
        session_links: bool => asks(Network,
            "lets users of `serve` make links that show a session to others (session-links = true)");
        /// Whether the model keeps a list of tasks.
        todo_list [Replaceable]: bool = false => harmless;
        /// Whether the model writes programs that call the tools.
        // A program has the tools of its agent, and every call of it passes the policy.
        code [Replaceable]: bool = false => harmless;
        /// The maximum number of calls of one program.
        #[serde(skip_serializing_if = "Option::is_none")]
        code_calls [Lower]: Option<usize>, within(1, MAX_CODE_CALLS) = DEFAULT_MAX_CALLS => at_most;
        /// The budgets of one user message, besides `max-turns`.
        // Each one is a bound where there was none.
        budgets: RawBudgets => harmless;
        /// The prices of models, by `PROVIDER:NAME`, or by the beginning of that and a `*`.
        prices: BTreeMap<String, RawPrice> => by(prices::demand);
        /// The settings of models' replies.
        settings: RawSettings => by(settings::demand);
        /// The proxy of requests to models and MCP servers.
        network: RawNetwork => by(network::demand);
        /// Where sessions are kept.
        store: RawStore => section;
        /// The place of this host among several that share a store.
        hosts: RawHosts => by(hosts::demand);
        /// Where traces of sessions go.
        telemetry: RawTelemetry => section;
        /// The limits of a conversation.
        context: Option<RawContext> => section;
        /// The storage of sessions.
        session: RawSession => section;
        /// The server behind `anthropic:NAME`.
        anthropic: Option<RawProvider> => section("[anthropic]");
        /// The server behind `openai:NAME`.
        openai: Option<RawProvider> => section("[openai]");
        /// The server behind `openai-compat:NAME`.
        openai_compat: Option<RawProvider> => section("[openai-compat]");
        /// The server behind `gemini:NAME`.
        gemini: Option<RawProvider> => section("[gemini]");
        /// The server behind `ollama:NAME`.
        ollama: Option<RawProvider> => section("[ollama]");
        /// Further servers, each behind `NAME:MODEL`.
        provider [Named]: Vec<RawProvider> => each(provider::demand);
        /// The components; absent for the built-in ones.
        tool [Named]: Option<Vec<RawTool>> => each(tools::demand);
        /// The external tools.
        external_tool [Named]: Vec<RawExternalTool> => each(external::demand);
        /// The MCP servers.
        mcp [Named]: Vec<RawMcp> => each(mcp::demand);
        /// The agents that the default agent can start.
        agents [Replaceable]: Vec<String> => pinned;
        /// The maximum depth of agents that start agents.
        #[serde(skip_serializing_if = "Option::is_none")]
        agent_depth [Lower]: Option<u8>, within(0, MAX_AGENT_DEPTH) = DEFAULT_AGENT_DEPTH => at_most;
        /// The agents.
        agent [Named]: Vec<RawAgent> => each(RawAgent::demand_keys);
        /// The workflows.
        workflow [Named]: Vec<WorkflowDefinition> => each(workflows::demand);
        /// The hooks.
        hook [Named]: Vec<RawHook> => each(hooks::demand);
        /// The rules about calls.
        rule [All]: Vec<RawRule> => each(rules::demand);
        /// The treatment of text from untrusted sources.
        flow: RawFlow => section;
        /// The memory of agents beyond a session.
        memory: RawMemory => section;
        /// The runs that start at times.
        schedule [Named]: Vec<RawSchedule> => each(schedules::demand);
        /// The runs that start with requests of other programs.
        webhook [Named]: Vec<RawWebhook> => each(webhooks::demand);
        /// The publishers of components in registries.
        publisher [Named]: Vec<RawPublisher> => each(publishers::demand);
        /// The grants of components without lists of their own; absent for the working directory,
        /// read-only.
        grants: Option<GrantsSection> => section("every tool");
        /// The secrets that tools may be granted.
        secret [Named]: Vec<SecretSection> => each(secrets::demand);
        /// The limits of a call.
        limits: LimitsSection => by(LimitsSection::demand);
        /// The sandbox as a whole.
        sandbox: RawSandbox => section;
    }
}

/// The number of tools from which on the model is offered a search of them, by default. Anthropic's
/// documentation of its own tool search says that models choose worse beyond 30 to 50.
const SEARCH_TOOLS_FROM: usize = 30;

/// The depth of agents that start agents, by default: an agent and one that it starts.
const DEFAULT_AGENT_DEPTH: u8 = 2;

/// The greatest depth. With [`MAX_AGENTS`](super::agents::MAX_AGENTS) it bounds what agents that
/// start each other can cost: a loop is made for each that runs, and none for the others.
const MAX_AGENT_DEPTH: u64 = 16;

/// The greatest number of calls of one program: all of its results are in memory when it runs
/// again.
const MAX_CODE_CALLS: u64 = 10_000;

/// `permission-prompts`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum RawPrompts {
    /// The user is asked, if there is one.
    #[default]
    Ask,
    /// They are denied.
    None,
}

/// `approval-timing`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum RawTiming {
    /// For all calls of a reply, before any of them runs.
    #[default]
    Batch,
    /// For each call after those before it ran.
    InOrder,
}

values!(RawPrompts, RawTiming);

impl RawConfig {
    /// Checks the lists.
    ///
    /// # Errors
    /// All that are too long.
    pub(super) fn check_lists(&self) -> Result<(), ConfigError> {
        lists::check(&[
            ("tool", self.tool.items().len(), lists::MAX_TOOLS),
            (
                "external-tool",
                self.external_tool.len(),
                lists::MAX_EXTERNAL_TOOLS,
            ),
            ("mcp", self.mcp.len(), lists::MAX_SERVERS),
            ("secret", self.secret.len(), lists::MAX_NAMED),
            ("provider", self.provider.len(), lists::MAX_NAMED),
            ("publisher", self.publisher.len(), lists::MAX_NAMED),
        ])
    }

    /// Checks the numbers of all keys.
    ///
    /// # Errors
    /// Some are out of their bounds.
    pub(super) fn bounds(&self) -> Result<(), ConfigError> {
        let mut problems = Problems::default();
        self.check("", &mut problems);
        problems.or(())
    }

    /// Returns the sections that models are resolved from.
    pub(super) fn model_sections(&self) -> ModelSections<'_> {
        ModelSections {
            model: self.model.as_ref(),
            fallback: &self.fallback,
            choices: &self.model_choices,
            small: self.small_model.as_ref(),
            own: Provider::ALL.map(|provider| match provider {
                Provider::Anthropic => self.anthropic.as_ref(),
                Provider::OpenAi => self.openai.as_ref(),
                Provider::OpenAiCompat => self.openai_compat.as_ref(),
                Provider::Gemini => self.gemini.as_ref(),
                Provider::Ollama => self.ollama.as_ref(),
            }),
            named: &self.provider,
            window_tokens: self.context.and_then(|context| context.window_tokens),
        }
    }
}

/// Serializes the models that are scripts or recordings in files. The others are harmless.
fn files_only<T, S: Serializer>(models: &T, serializer: S) -> Result<S::Ok, S::Error>
where
    for<'m> &'m T: IntoIterator<Item = &'m String>,
{
    serializer.collect_seq(models.into_iter().filter(|model| is_file(model)))
}

fn demand_state(directory: &Option<String>, _: &str, review: &mut Review<'_>) {
    demand_directory(directory, "keeps sessions in", review);
}

fn demand_cache(directory: &Option<String>, _: &str, review: &mut Review<'_>) {
    demand_directory(directory, "reads compiled code from", review);
}

fn demand_directory(directory: &Option<String>, does: &str, review: &mut Review<'_>) {
    if let Some(directory) = directory {
        review.reach(directory);
        review.demand(Danger::Writes, format!("{does} {}", quoted(directory)));
    }
}

fn demand_timing(timing: &RawTiming, _: &str, review: &mut Review<'_>) {
    if *timing == RawTiming::InOrder {
        review.demand(
            Danger::Unchecked,
            "runs calls that need no approval before you decide on the other calls of a reply (approval-timing = \
             \"in-order\")",
        );
    }
}

/// Demands a late search: each request to the model has the definitions of all tools that it is
/// offered.
fn demand_search(from: &Option<usize>, _: &str, review: &mut Review<'_>) {
    review.at_most("search_tools_from", "", *from, SEARCH_TOOLS_FROM);
    if *from == Some(0) {
        review.demand(
            Danger::Other,
            "offers the model all tools at once, however many there are (search-tools-from = 0)",
        );
    }
}
