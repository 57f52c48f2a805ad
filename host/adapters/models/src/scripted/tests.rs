mod scripts;
mod tour;

use super::*;
use agent_host_types::{
    message::ToolResult,
    model::ModelErrorKind,
    output::ToolResultOutput,
    tool::{Effect, ToolDefinition},
};
use serde_json::json;
use std::sync::Mutex;

/// The most replies that a test waits for.
const MAX_REPLIES: usize = 20;

fn request(messages: &[Message], tools: &[&str]) -> ModelRequest {
    ModelRequest {
        system: Some("be brief".to_owned()),
        messages: messages.to_vec(),
        tools: tools
            .iter()
            .map(|name| ToolDefinition {
                name: (*name).to_owned(),
                title: None,
                description: String::new(),
                input_schema: json!({"type": "object"}),
                output_schema: None,
                effect: Effect::ReadOnly,
            })
            .collect(),
        answer_schema: None,
    }
}

/// Asks once and checks what holds of every reply: one delta for a text, none else, and no tokens.
async fn ask(model: &Scripted, request: &ModelRequest) -> Result<ModelReply, String> {
    let shown = Mutex::new(Vec::new());
    let sink = |delta: ModelDelta<'_>| match delta {
        ModelDelta::Text(text) => shown.lock().unwrap().push(text.to_owned()),
        ModelDelta::Reasoning(_)
        | ModelDelta::Restarted
        | ModelDelta::Note(_)
        | ModelDelta::Waiting { .. } => {
            panic!("a script only speaks")
        }
    };
    let reply = model.respond(request, &sink).await.map_err(|error| {
        assert_eq!(error.kind, ModelErrorKind::Script);
        error.message
    })?;
    let expected: Vec<String> = (!reply.text.is_empty())
        .then(|| reply.text.clone())
        .into_iter()
        .collect();
    assert_eq!(shown.into_inner().unwrap(), expected);
    assert_eq!(reply.usage, Usage::default());
    Ok(reply)
}

/// Plays a run to its end: `answer` stands for the tools. Returns the calls and the last text.
async fn play(
    model: &Scripted,
    messages: &mut Vec<Message>,
    tools: &[&str],
    answer: &dyn Fn(&ToolCall) -> ToolResultOutput,
) -> Result<(Vec<(String, serde_json::Value)>, String), String> {
    let mut calls = Vec::new();
    for _ in 0..MAX_REPLIES {
        let reply = ask(model, &request(messages, tools)).await?;
        messages.push(reply.to_message());
        if reply.tool_calls.is_empty() {
            assert_eq!(reply.stop_reason, Some(StopReason::EndTurn));
            return Ok((calls, reply.text));
        }
        assert_eq!(reply.stop_reason, Some(StopReason::ToolUse));
        let mut results = Vec::new();
        for call in &reply.tool_calls {
            calls.push((call.name.clone(), json!(call.input)));
            results.push(ToolResult {
                call_id: call.id.clone(),
                name: call.name.clone(),
                output: answer(call),
                whole: None,
            });
        }
        messages.push(Message::results(results));
    }
    panic!("the script does not end");
}
