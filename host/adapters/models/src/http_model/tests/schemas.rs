//! Tools whose schemas a provider refuses, over HTTP: what is sent and what the reply calls.

use super::*;
use agent_host_types::{
    id::CallId,
    message::ToolResult,
    output::ToolResultOutput,
    tool::{Effect, ToolCall, ToolDefinition},
};
use pretty_assertions::assert_eq;

fn call(id: &str, arguments: &str) -> ToolCall {
    ToolCall::parse(CallId(id.to_owned()), "do".to_owned(), arguments.to_owned())
}

/// A request whose history has a call with the tool's own arguments.
fn request() -> ModelRequest {
    let mut called = Message::text(Role::Assistant, "");
    called.content.clear();
    called.tool_calls = vec![call("c1", r#"{"Due Date":"today"}"#)];
    let mut result = Message::text(Role::ToolResult, "");
    result.content.clear();
    result.tool_results = vec![ToolResult {
        call_id: CallId("c1".to_owned()),
        name: "do".to_owned(),
        output: ToolResultOutput::Text("done".to_owned()),
        whole: None,
    }];
    ModelRequest {
        system: None,
        messages: vec![Message::text(Role::User, "hi"), called, result],
        tools: vec![ToolDefinition {
            name: "do".to_owned(),
            title: None,
            description: "Does it.".to_owned(),
            input_schema: json!({"type": "object", "oneOf": [
                {"type": "object", "properties": {"Due Date": {"type": "string"}}, "required": ["Due Date"]},
                {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]},
            ]}),
            output_schema: None,
            effect: Effect::ReadOnly,
        }],
        answer_schema: None,
    }
}

/// Where a body has the schema and the arguments of the first call, the response with a call of
/// these arguments, and the path.
fn wire(provider: Provider, arguments: &str) -> (&'static str, &'static str, Value, &'static str) {
    let parsed: Value = serde_json::from_str(arguments).unwrap();
    match provider {
        Provider::Anthropic => (
            "/tools/0/input_schema",
            "/messages/1/content/0/input",
            json!({"type": "message", "stop_reason": "tool_use", "content": [{"type": "tool_use", "id": "c2", "name": "do", "input": parsed}]}),
            "/v1/messages",
        ),
        Provider::OpenAi => (
            "/tools/0/parameters",
            "/input/1/arguments",
            json!({"status": "completed", "output": [{"type": "function_call", "call_id": "c2", "name": "do", "arguments": arguments}]}),
            "/responses",
        ),
        Provider::OpenAiCompat => (
            "/tools/0/function/parameters",
            "/messages/1/tool_calls/0/function/arguments",
            json!({"choices": [{"finish_reason": "tool_calls", "message": {"tool_calls": [{"id": "c2", "function": {"name": "do", "arguments": arguments}}]}}]}),
            "/chat/completions",
        ),
        Provider::Gemini => (
            "/tools/0/functionDeclarations/0/parametersJsonSchema",
            "/contents/1/parts/0/functionCall/args",
            json!({"candidates": [{"finishReason": "STOP", "content": {"parts": [{"functionCall": {"id": "c2", "name": "do", "args": parsed}}]}}]}),
            "/v1beta/models/m1:streamGenerateContent",
        ),
        Provider::Ollama => (
            "/tools/0/function/parameters",
            "/messages/1/tool_calls/0/function/arguments",
            json!({"done": true, "message": {"tool_calls": [{"id": "c2", "function": {"name": "do", "arguments": parsed}}]}}),
            "/api/chat",
        ),
    }
}

#[tokio::test]
async fn model_sees_fitted_schema_and_tool_gets_its_arguments() {
    for provider in Provider::ALL {
        let renamed = matches!(provider, Provider::Anthropic | Provider::Gemini);
        let (shown, written) = if renamed {
            (
                json!({"Due_Date": "today"}),
                r#"{"arguments":{"Due_Date":"tomorrow"}}"#,
            )
        } else {
            (
                json!({"Due Date": "today"}),
                r#"{"arguments":{"Due Date":"tomorrow"}}"#,
            )
        };
        let (schema_at, arguments_at, response, path) = wire(provider, written);
        let server = TestServer::at(path, Answer::new(200).json(&response)).await;
        let model = HttpModel::new(
            provider,
            "m1",
            endpoint(&server.url, Some(KEY)),
            provider.capabilities(),
        )
        .unwrap();
        let (reply, _) = ask(&model, &request()).await;
        assert_eq!(
            reply.unwrap().tool_calls,
            [call("c2", r#"{"Due Date":"tomorrow"}"#)],
            "{provider:?}"
        );

        let body = server.bodies().remove(0);
        let schema = body.pointer(schema_at).unwrap();
        assert_eq!(schema["type"], "object", "{provider:?}");
        assert_eq!(schema["required"], json!(["arguments"]), "{provider:?}");
        let sent = match body.pointer(arguments_at).unwrap() {
            Value::String(text) => serde_json::from_str(text).unwrap(),
            other => other.clone(),
        };
        assert_eq!(sent, json!({"arguments": shown}), "{provider:?}");
    }
}
