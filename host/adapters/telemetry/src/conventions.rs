//! Every name of a span, attribute, event and metric that is sent, in one table.
//!
//! Those with `gen_ai.` are of the GenAI semantic conventions as of semantic-conventions v1.41.0,
//! the last release before they moved to a repository of their own. All of them have the status
//! *Development*, so only names that did not change in 2026 are used, and no count of tokens written
//! to a cache. Of its metrics there are the two that most backends read; drafts rename one of them
//! to `gen_ai.client.inference.duration`. Names of our own begin with `agent_host.`.

/// The schema whose names are used, which is sent as `schema_url`.
pub(crate) const SCHEMA_URL: &str = "https://opentelemetry.io/schemas/1.41.0";

/// Names of operations, which begin the names of spans.
pub(crate) mod operation {
    pub(crate) const INVOKE_AGENT: &str = "invoke_agent";
    pub(crate) const INVOKE_WORKFLOW: &str = "invoke_workflow";
    pub(crate) const CHAT: &str = "chat";
    pub(crate) const EXECUTE_TOOL: &str = "execute_tool";
}

/// Names of attributes.
pub(crate) mod attribute {
    // Of the conventions.
    pub(crate) const OPERATION: &str = "gen_ai.operation.name";
    pub(crate) const CONVERSATION: &str = "gen_ai.conversation.id";
    pub(crate) const AGENT: &str = "gen_ai.agent.name";
    pub(crate) const WORKFLOW: &str = "gen_ai.workflow.name";
    pub(crate) const PROVIDER: &str = "gen_ai.provider.name";
    pub(crate) const REQUEST_MODEL: &str = "gen_ai.request.model";
    pub(crate) const RESPONSE_MODEL: &str = "gen_ai.response.model";
    pub(crate) const RESPONSE_ID: &str = "gen_ai.response.id";
    pub(crate) const FINISH_REASONS: &str = "gen_ai.response.finish_reasons";
    pub(crate) const INPUT_TOKENS: &str = "gen_ai.usage.input_tokens";
    pub(crate) const CACHED_TOKENS: &str = "gen_ai.usage.cache_read.input_tokens";
    pub(crate) const OUTPUT_TOKENS: &str = "gen_ai.usage.output_tokens";
    pub(crate) const TOOL: &str = "gen_ai.tool.name";
    pub(crate) const TOOL_TYPE: &str = "gen_ai.tool.type";
    pub(crate) const CALL_ID: &str = "gen_ai.tool.call.id";
    pub(crate) const ERROR_TYPE: &str = "error.type";
    pub(crate) const TOKEN_TYPE: &str = "gen_ai.token.type";
    // Content of the conventions, which is sent only where the operator chose it.
    pub(crate) const INPUT_MESSAGES: &str = "gen_ai.input.messages";
    pub(crate) const OUTPUT_MESSAGES: &str = "gen_ai.output.messages";
    pub(crate) const ARGUMENTS: &str = "gen_ai.tool.call.arguments";
    pub(crate) const RESULT: &str = "gen_ai.tool.call.result";
    // Our own.
    pub(crate) const OUTCOME: &str = "agent_host.outcome";
    pub(crate) const COST: &str = "agent_host.cost_micros";
    pub(crate) const EFFECT: &str = "agent_host.effect";
    pub(crate) const RULE: &str = "agent_host.rule";
    pub(crate) const DECISION: &str = "agent_host.decision";
    pub(crate) const MEMORY: &str = "agent_host.memory.peak_bytes";
    pub(crate) const NODE: &str = "agent_host.workflow.node";
}

/// Names of metrics.
pub(crate) mod metric {
    // Of the conventions.
    pub(crate) const OPERATION_SECONDS: &str = "gen_ai.client.operation.duration";
    pub(crate) const TOKENS: &str = "gen_ai.client.token.usage";
    // Our own.
    pub(crate) const TURNS: &str = "agent_host.turns";
    pub(crate) const TURN_SECONDS: &str = "agent_host.turn.duration";
    pub(crate) const CACHED_TOKENS: &str = "agent_host.cached_input_tokens";
    pub(crate) const COST: &str = "agent_host.cost_dollars";
    pub(crate) const CALLS: &str = "agent_host.tool.calls";
    pub(crate) const CALL_SECONDS: &str = "agent_host.tool.duration";
    pub(crate) const BARRIER_SECONDS: &str = "agent_host.journal.barrier.duration";
}

/// Names of the events of a call's span.
pub(crate) mod event {
    pub(crate) const APPROVAL_REQUESTED: &str = "agent_host.approval.requested";
    pub(crate) const APPROVAL_DECIDED: &str = "agent_host.approval.decided";
    pub(crate) const QUESTION_ASKED: &str = "agent_host.question.asked";
    pub(crate) const QUESTION_ANSWERED: &str = "agent_host.question.answered";
}

/// `error.type` of a call that was denied. The span has no error status: nothing failed.
pub(crate) const DENIED: &str = "execution-denied";

/// `error.type` of a request whose reply was lost with the program.
pub(crate) const INTERRUPTED: &str = "interrupted";

/// `gen_ai.tool.type` of every tool: the host calls it.
pub(crate) const TOOL_TYPE: &str = "function";

/// Returns the conventions' name of a provider; our own where they have none.
pub(crate) fn provider(name: &str) -> &str {
    match name {
        "gemini" => "gcp.gemini",
        other => other,
    }
}
