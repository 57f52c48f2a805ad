//! The form of `[[workflow]]` in `agent.toml`. Values are not checked here; [`crate::check`] does.
//!
//! One notation holds wherever a string may be a value (`message`, `inputs`, `input`, `foreach`,
//! `when`): a reference such as `plan.text` is bare, and a literal is in single or double quotes,
//! as in `"'a text'"`. Anything else is refused, so a misspelled reference is never taken as text.

mod forms;
#[cfg(test)]
mod tests;

use agent_host_types::words;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::{
    collections::BTreeMap,
    num::{NonZeroU32, NonZeroU64},
};

/// One `[[workflow]]`.
///
/// ```
/// use agent_host_workflow::definition::WorkflowDefinition;
///
/// let definition: WorkflowDefinition = toml::from_str(
///     r#"
///     name = "report"
///     [[node]]
///     id = "search"
///     tool = "web_search"
///     input = { query = "run.message", limit = 5 }
///     next = "write"
///     [[node]]
///     id = "write"
///     agent = "writer"
///     inputs = [{ sources = "search.text" }]
///     "#,
/// )?;
/// assert_eq!(definition.node.len(), 2);
/// # Ok::<(), toml::de::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct WorkflowDefinition {
    /// The name that `--workflow` takes.
    pub name: String,
    /// A description for the operator.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// The reducer of each key of the shared state.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub reduce: BTreeMap<String, Reducer>,
    /// The nodes, in any order.
    #[serde(default)]
    pub node: Vec<NodeDefinition>,
}

/// One `[[workflow.node]]`. Exactly one of `agent`, `tool` and `handler` is given.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct NodeDefinition {
    /// The id: letters, digits, `_` and `-`.
    pub id: String,
    /// The agent that it runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The tool that it calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// The Rust closure of the embedder that it calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub handler: Option<String>,
    /// The nodes that may follow: one id, or a list of ids and tables `{ to, when }`.
    #[serde(skip_serializing_if = "Next::is_empty")]
    #[schemars(with = "forms::NextForm")]
    pub next: Next,
    /// The scheduling relative to other nodes.
    pub mode: NodeMode,
    /// The whole message of an agent or handler; overrides `inputs`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The sections of the message of an agent or handler, in order.
    #[serde(skip_serializing_if = "Inputs::is_empty")]
    #[schemars(with = "Vec<BTreeMap<String, String>>")]
    pub inputs: Inputs,
    /// The input of a tool; its strings are references or quoted literals.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<Map<String, Value>>,
    /// The list that the node runs over.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<forms::ForeachForm>")]
    pub foreach: Option<ForeachDefinition>,
    /// The effect of a failure on the run. If it continues, `agent-host run` ends with exit code 7.
    pub on_error: OnError,
    /// The condition on the nodes that it depends on.
    pub needs: Needs,
    /// The time limit of one run of the node or one iteration, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<NonZeroU64>,
    /// The attempts after a failure; of read-only and idempotent nodes only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry: Option<Retry>,
}

/// The nodes that may follow a node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Next(pub Vec<EdgeDefinition>);

/// One node that may follow. In TOML an id, or a table `{ to = ID, when = CONDITION }`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EdgeDefinition {
    /// The id of the node that follows.
    pub to: String,
    /// The condition; absent for always.
    pub when: Option<String>,
}

/// The ordered sections of a message. In TOML a list of tables with one key each, since the keys of
/// one table have no order: `[{ plan = "plan.text" }, { tone = "'formal'" }]`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inputs(pub Vec<(String, String)>);

/// The list that a node runs over. In TOML a reference, or a table
/// `{ over = REFERENCE, mode = "parallel", at-once = 4 }`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForeachDefinition {
    /// The reference to the list.
    pub over: String,
    /// The order of the iterations.
    pub mode: ForeachMode,
    /// The most iterations at once; absent for [`DEFAULT_AT_ONCE`].
    pub at_once: Option<NonZeroU32>,
}

/// The most iterations at once of a parallel `foreach` that gives no bound.
pub const DEFAULT_AT_ONCE: u32 = 4;

words! {
    /// The scheduling of a node beside others.
    #[derive(Default)]
    pub enum NodeMode {
        /// One at a time among the sync nodes of the run, in the order of ids.
        #[default]
        Sync,
        /// At once with other nodes.
        Parallel,
        /// In the background; started first.
        Async,
    }
}

words! {
    /// The order of the iterations of a `foreach`.
    #[derive(Default)]
    pub enum ForeachMode {
        /// One after another.
        #[default]
        Sequential,
        /// Several at once; results are in the order of the items.
        Parallel,
    }
}

/// The effect of a node's failure on the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum OnError {
    /// Dependents see the failure.
    #[default]
    Continue,
    /// The run ends, naming the node and the cause.
    Abort,
}

/// The outcomes of the nodes it depends on with which a node runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Needs {
    /// Any outcome; a failure is a marked section of the message.
    #[default]
    Any,
    /// Success; with a failure among them the node is skipped.
    Success,
}

/// The attempts after a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Retry {
    /// The maximum number of attempts after the first.
    pub times: NonZeroU32,
    /// The wait before the second attempt, in milliseconds; doubled before each further attempt.
    #[serde(default)]
    pub backoff_ms: u64,
}

words! {
    /// The combination of several nodes' values for one key of the shared state.
    pub enum Reducer {
        /// A list of all values; the items of a value that is a list are added one by one.
        Append,
        /// The value of the last node in the order of ids.
        Replace,
        /// Objects, merged deeply; the later one wins.
        Merge,
        /// The sum of numbers.
        Sum,
    }
}

impl Next {
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Inputs {
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
