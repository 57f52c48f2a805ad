//! The events of hooks: what they decided, and about what.

use super::{NEXT_LINE, SHOWN_CHARACTERS};
use crate::terminal::{DIM, escape_line, one_line, tool_name, verdict_line};
use agent_host_types::{
    hook::{CallReview, HookVerdict, ReviewEnd},
    id::CallId,
};
use serde_json::json;

/// Returns the text of a review: the tool, each verdict, and the arguments that the hooks left.
pub(super) fn review(tool: &str, review: &CallReview) -> String {
    let mut lines = vec![tool_name(tool)];
    let verdicts = review.verdicts.iter();
    lines.extend(verdicts.map(|verdict| verdict_line(verdict, SHOWN_CHARACTERS)));
    if let Some(input) = &review.input {
        let input = one_line(&json!(input).to_string(), SHOWN_CHARACTERS);
        lines.push(format!("{DIM}the arguments are now{DIM:#} {input}"));
    }
    if let ReviewEnd::Fallback { output, .. } = &review.end {
        let output = one_line(&json!(output).to_string(), SHOWN_CHARACTERS);
        lines.push(format!("{DIM}the result is{DIM:#} {output}"));
    }
    lines.join(NEXT_LINE)
}

/// Returns the text of a verdict about a request, a reply or a result.
pub(super) fn decided(call_id: Option<&CallId>, of_hook: &HookVerdict) -> String {
    let about = call_id.map(|id| format!(" {DIM}({}){DIM:#}", escape_line(&id.0)));
    let verdict = verdict_line(of_hook, SHOWN_CHARACTERS);
    format!("{verdict}{}", about.unwrap_or_default())
}
