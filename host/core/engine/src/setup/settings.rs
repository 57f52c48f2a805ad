//! The JSON form of the settings of a loop.

use crate::{
    flow::FlowPolicy,
    policy::CallRule,
    schema::AnswerSchema,
    turn::{Prompts, Settings, Timing, UntilTool},
};
use agent_host_types::{budget::Budgets, context::ContextLimits, turn::Durability};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use serde_json::Value;
use std::sync::Arc;

/// [`Settings`] as JSON.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SettingsForm {
    budgets: Budgets,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    until_tool: Option<UntilTool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    output_schema: Option<AnswerForm>,
    /// The operator's rules about calls.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<CallRule>,
    /// The rules that approve calls in the place of the user.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub approved: Vec<CallRule>,
    /// The name of the agent, by which rules match it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    agent_depth: u8,
    max_agent_depth: u8,
    prompts: Prompts,
    takes_some_decisions: bool,
    timing: Timing,
    durability: Durability,
    resumes_without_progress: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    approval_expiry_ms: Option<u64>,
    parallel_calls: usize,
    parallel_agents: usize,
    artifact_bytes: u64,
    accepts_changed_workflow: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    context: Option<ContextLimits>,
    /// The policy about flows; absent in setups from before it existed.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(crate) flow: Arc<FlowPolicy>,
}

fn is_default(flow: &FlowPolicy) -> bool {
    *flow == FlowPolicy::default()
}

/// A schema of answers, as JSON.
#[derive(Clone, Debug, PartialEq)]
struct AnswerForm(Arc<AnswerSchema>);

impl Serialize for AnswerForm {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.schema().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for AnswerForm {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let schema = Value::deserialize(deserializer)?;
        let compiled = AnswerSchema::compile(&schema).map_err(D::Error::custom)?;
        Ok(Self(Arc::new(compiled)))
    }
}

impl SettingsForm {
    /// Returns the form of settings.
    #[must_use]
    pub fn from_settings(settings: &Settings) -> Self {
        // Names every field, so that a new one is not forgotten.
        let Settings {
            budgets,
            until_tool,
            output_schema,
            rules,
            approved,
            agent,
            agent_depth,
            max_agent_depth,
            prompts,
            takes_some_decisions,
            timing,
            durability,
            resumes_without_progress,
            approval_expiry_ms,
            parallel_calls,
            parallel_agents,
            artifact_bytes,
            accepts_changed_workflow,
            context,
            flow,
        } = settings.clone();
        Self {
            budgets,
            until_tool,
            output_schema: output_schema.map(AnswerForm),
            rules: rules.to_vec(),
            approved: approved.to_vec(),
            agent,
            agent_depth,
            max_agent_depth,
            prompts,
            takes_some_decisions,
            timing,
            durability,
            resumes_without_progress,
            approval_expiry_ms,
            parallel_calls,
            parallel_agents,
            artifact_bytes,
            accepts_changed_workflow,
            context,
            flow,
        }
    }

    /// Returns the settings.
    #[must_use]
    pub fn into_settings(self) -> Settings {
        Settings {
            budgets: self.budgets,
            until_tool: self.until_tool,
            output_schema: self.output_schema.map(|AnswerForm(schema)| schema),
            rules: self.rules.into(),
            approved: self.approved.into(),
            agent: self.agent,
            agent_depth: self.agent_depth,
            max_agent_depth: self.max_agent_depth,
            prompts: self.prompts,
            takes_some_decisions: self.takes_some_decisions,
            timing: self.timing,
            durability: self.durability,
            resumes_without_progress: self.resumes_without_progress,
            approval_expiry_ms: self.approval_expiry_ms,
            parallel_calls: self.parallel_calls,
            parallel_agents: self.parallel_agents,
            artifact_bytes: self.artifact_bytes,
            accepts_changed_workflow: self.accepts_changed_workflow,
            context: self.context,
            flow: self.flow,
        }
    }
}
