//! Short names for the values of cases: decisions, results, and pairs of an id and a result.

use agent_host_types::{approval::Decision, id::CallId, output::ToolResultOutput};
use serde_json::{Value, json};

pub(super) fn id(id: &str) -> CallId {
    CallId(id.into())
}

pub(super) fn approve(call: &str) -> Decision {
    Decision::approve(id(call))
}

pub(super) fn reject(call: &str, reason: Option<&str>) -> Decision {
    Decision::Reject {
        call_id: id(call),
        reason: reason.map(str::to_owned),
    }
}

pub(super) fn edit(call: &str, input: &Value) -> Decision {
    Decision::Edit {
        call_id: id(call),
        input: input.as_object().cloned().unwrap().into(),
    }
}

pub(super) fn text(text: &str) -> ToolResultOutput {
    ToolResultOutput::Text(text.into())
}

pub(super) fn value(value: Value) -> ToolResultOutput {
    ToolResultOutput::json(value)
}

pub(super) fn failure(code: &str, message: &str) -> ToolResultOutput {
    ToolResultOutput::error_json(json!({"code": code, "message": message}))
}

pub(super) fn denied(reason: &str) -> ToolResultOutput {
    ToolResultOutput::ExecutionDenied(Some(reason.into()))
}

/// Pairs of id and result, for comparison.
pub(super) fn pairs<const N: usize>(
    pairs: [(&str, ToolResultOutput); N],
) -> Vec<(String, ToolResultOutput)> {
    pairs.map(|(id, output)| (id.to_owned(), output)).into()
}
