//! The odd ways that conversations take, for the rules of the vendors.

use agent_host_types::{
    id::CallId,
    message::{Message, Role, ToolResult},
    model::ModelRequest,
    output::{ContentPart, FileData, FilePart, ToolResultOutput},
    tool::{Effect, ToolCall, ToolDefinition},
};
use serde_json::json;

fn user(text: &str) -> Message {
    Message::text(Role::User, text)
}

fn assistant(text: &str, calls: &[(&str, &str, &str)]) -> Message {
    let calls = calls.iter().map(|(id, name, arguments)| {
        let id = CallId((*id).to_owned());
        ToolCall::parse(id, (*name).to_owned(), (*arguments).to_owned())
    });
    let text = (!text.is_empty()).then(|| ContentPart::Text {
        text: text.to_owned(),
    });
    Message {
        tool_calls: calls.collect(),
        ..Message::parts(Role::Assistant, text.into_iter().collect())
    }
}

fn results(results: &[(&str, &str, ToolResultOutput)]) -> Message {
    let results = results.iter().map(|(id, name, output)| ToolResult {
        call_id: CallId((*id).to_owned()),
        name: (*name).to_owned(),
        output: output.clone(),
        whole: None,
    });
    Message {
        tool_results: results.collect(),
        ..Message::parts(Role::ToolResult, vec![])
    }
}

fn image() -> ContentPart {
    ContentPart::File(FilePart {
        media_type: "image/png".to_owned(),
        data: FileData::Bytes(vec![1]),
        filename: None,
    })
}

/// A call of `read` with this id, and its result.
fn read(id: &str, output: ToolResultOutput) -> Vec<Message> {
    let call = assistant("", &[(id, "read", "{\"path\": \"a\"}")]);
    vec![user("go"), call, results(&[(id, "read", output)])]
}

/// A call with this name and these arguments, and its error.
fn failed(name: &str, arguments: &str) -> Vec<Message> {
    let call = assistant("I look.", &[("call_1", name, arguments)]);
    let error = ToolResultOutput::ErrorText("no such tool".to_owned());
    vec![user("go"), call, results(&[("call_1", name, error)])]
}

fn then(mut messages: Vec<Message>, more: impl IntoIterator<Item = Message>) -> Vec<Message> {
    messages.extend(more);
    messages
}

/// Returns the messages of each conversation, by what is odd in it.
fn messages() -> Vec<(&'static str, Vec<Message>)> {
    let text = || ToolResultOutput::Text("found".to_owned());
    let parallel = assistant("", &[("call_1", "read", "{}"), ("call_2", "write", "{}")]);
    let both = |one, other| results(&[("call_1", "read", one), ("call_2", "write", other)]);
    let denied =
        |reason: Option<&str>| ToolResultOutput::ExecutionDenied(reason.map(str::to_owned));
    let stopped = || {
        ToolResultOutput::error_json(
            json!({"code": "cancelled", "message": "The call was stopped."}),
        )
    };
    let long = "x".repeat(100);
    vec![
        ("a question", vec![user("go")]),
        ("a result", read("call_1", text())),
        (
            "parallel calls",
            vec![user("go"), parallel.clone(), both(text(), text())],
        ),
        (
            "parallel calls, one stopped",
            vec![user("go"), parallel.clone(), both(text(), stopped())],
        ),
        ("text beside a call", failed("read", "{}")),
        (
            "an error",
            read("call_1", ToolResultOutput::ErrorText("gone".to_owned())),
        ),
        ("a denial", read("call_1", denied(None))),
        (
            "a denial with a reason",
            read("call_1", denied(Some("Not now."))),
        ),
        (
            "a message after stopped work",
            then(read("call_1", stopped()), [user("And now?")]),
        ),
        (
            "a message in place of an empty reply",
            then(read("call_1", text()), [user("Your reply was empty.")]),
        ),
        (
            "an image in a result",
            read("call_1", ToolResultOutput::Content(vec![image()])),
        ),
        (
            "an image in the first of two results",
            vec![
                user("go"),
                parallel,
                both(ToolResultOutput::Content(vec![image()]), text()),
            ],
        ),
        (
            "an image of the user",
            vec![Message::parts(Role::User, vec![image()])],
        ),
        (
            "an empty result",
            read("call_1", ToolResultOutput::Text(String::new())),
        ),
        (
            "a result that is JSON",
            read("call_1", ToolResultOutput::json(json!([1, {"a": null}]))),
        ),
        (
            "a fallback from OpenAI",
            read("call_PTLP8xhu3uwZk4l3nlnrrJha", text()),
        ),
        (
            "a fallback from Anthropic",
            read("toolu_01A09q90qw90lq917835lq9", text()),
        ),
        ("a fallback from Kimi", read("functions.read:0", text())),
        ("a fallback from a gateway", read(&long, text())),
        (
            "a tool that does not exist",
            failed("multi_tool_use.parallel", "{}"),
        ),
        ("a name that is too long", failed(&long, "{}")),
        (
            "arguments that cannot be parsed",
            failed("read", "{\"path\": "),
        ),
        ("a call without arguments", failed("read", "")),
        ("two messages of the user", vec![user("a"), user("b")]),
        (
            "a summary before a call",
            then(
                vec![user("[What was said before]")],
                read("call_9", text()).split_off(1),
            ),
        ),
        (
            "a further question",
            then(
                read("call_1", text()),
                [assistant("Done.", &[]), user("And now?")],
            ),
        ),
    ]
}

/// Returns the requests of all conversations.
pub(super) fn requests() -> Vec<(&'static str, ModelRequest)> {
    let tools = ["read", "write"].map(|name| ToolDefinition {
        name: name.to_owned(),
        title: None,
        description: "A tool.".to_owned(),
        input_schema: json!({"type": "object", "properties": {"path": {"type": "string"}}}),
        output_schema: None,
        effect: Effect::ReadOnly,
    });
    let request = |messages: Vec<Message>| ModelRequest {
        system: Some("Be brief.".to_owned()),
        messages,
        tools: tools.to_vec(),
        answer_schema: None,
    };
    let all = messages().into_iter();
    all.map(|(name, messages)| (name, request(messages)))
        .collect()
}
