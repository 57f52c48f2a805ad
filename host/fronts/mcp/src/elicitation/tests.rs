#![expect(
    clippy::needless_pass_by_value,
    reason = "a value that is written where it is used reads better without an `&` before it"
)]

use super::{AwaitedInput, answer, decision, no_reply, parse};
use agent_host_app::ToolReach;
use agent_host_types::{
    approval::Decision,
    continuation::PendingCall,
    form::Form,
    id::{CallId, Digest},
    question::{Answer, Question},
    tool::{DecisionKind, Effect},
};
use pretty_assertions::assert_eq;
use rmcp::model::ElicitResult;
use serde_json::{Map, Value, json};

fn call(decisions: &[DecisionKind]) -> PendingCall {
    PendingCall {
        call_id: CallId("client-1".to_owned()),
        tool: "write_file".to_owned(),
        title: Some("Write a\nfile".to_owned()),
        description: String::new(),
        effect: Effect::Effectful,
        input: Map::from_iter([("path".to_owned(), json!("a\u{202e}b"))]).into(),
        input_digest: Digest::of(b"x"),
        requested_input: None,
        executables: Vec::new(),
        identity: None,
        sources: Vec::new(),
        rule: "effect.effectful".to_owned(),
        decisions: decisions.into(),
    }
}

fn question(choices: &[&str], free_text: bool) -> Question {
    Question {
        prompt: "Which \u{1b}[2Jcolour?".to_owned(),
        choices: choices.iter().map(|&choice| choice.to_owned()).collect(),
        free_text,
        multiple: false,
        form: None,
    }
}

fn form(prompt: &AwaitedInput) -> Value {
    serde_json::to_value(prompt.form(None)).unwrap()
}

fn reply(action: &str, content: Value) -> ElicitResult {
    parse(&json!({ "action": action, "content": content })).unwrap()
}

#[test]
fn approval_form_shows_the_call_as_the_terminal_does() {
    let digest = Digest::of(b"x");
    let message = format!(
        "write_file  may change things\n│ path: a\\u{{202e}}b\nIt has characters that are invisible or reorder text; they are shown as \\u{{...}}.\nSandboxed; at most it can reach: no network.\nAllow this call? All of its arguments are shown (rule \
         effect.effectful, arguments {digest})."
    );
    let expected = |values: &[&str]| {
        json!({
            "mode": "form",
            "message": message,
            "requestedSchema": {
                "type": "object",
                "properties": {
                    "decision": { "type": "string", "title": "Run it?", "enum": values },
                },
                "required": ["decision"],
            },
        })
    };
    let cases: [(&[DecisionKind], &[&str]); 3] = [
        (&DecisionKind::ALL, &["approve", "reject"]),
        (&[DecisionKind::Approve], &["approve", "reject"]),
        (&[DecisionKind::Reject, DecisionKind::Edit], &["reject"]),
    ];
    for (decisions, values) in cases {
        let asked = AwaitedInput::Approval {
            call: Box::new(call(decisions)),
            reach: ToolReach {
                origin: "the component `a`, in the sandbox".to_owned(),
                beyond: Some("Sandboxed; at most it can reach: no network.".to_owned()),
                is_outside: false,
            },
        };
        assert_eq!(form(&asked), expected(values), "{decisions:?}");
    }
}

#[test]
fn only_a_clear_approval_approves() {
    let call = call(&DecisionKind::ALL);
    let rejected = |why: &str| Decision::Reject {
        call_id: call.call_id.clone(),
        reason: Some(format!(
            "This call needs the user's approval (rule effect.effectful), and {why}."
        )),
    };
    let no = rejected("the client's user rejected it");
    let silent = rejected("the client's user did not decide");
    let unclear = rejected("the client did not return a decision");
    let approve = json!({ "decision": "approve" });
    let cases = [
        (
            reply("accept", approve.clone()),
            Decision::approve(call.call_id.clone()),
        ),
        (reply("accept", json!({ "decision": "reject" })), no.clone()),
        (reply("decline", Value::Null), no.clone()),
        (reply("decline", approve.clone()), no),
        (reply("cancel", approve), silent.clone()),
        (no_reply(), silent),
        (reply("accept", Value::Null), unclear.clone()),
        (reply("accept", json!({})), unclear.clone()),
        (
            reply("accept", json!({ "decision": true })),
            unclear.clone(),
        ),
        (
            reply("accept", json!({ "decision": "Approve" })),
            unclear.clone(),
        ),
        (reply("accept", json!(["approve"])), unclear.clone()),
        (reply("accept", json!("approve")), unclear),
    ];
    for (reply, expected) in cases {
        assert_eq!(decision(&call, &reply), expected, "{reply:?}");
    }
}

#[test]
fn question_form_has_the_fields_that_it_allows() {
    let choice = json!({ "type": "string", "enum": ["red", "blue"] });
    let text = json!({ "type": "string" });
    let cases = [
        (
            question(&[], false),
            json!({ "properties": { "text": text }, "required": ["text"] }),
        ),
        (
            question(&[], true),
            json!({ "properties": { "text": text }, "required": ["text"] }),
        ),
        (
            question(&["red", "blue", "red"], false),
            json!({ "properties": { "choice": choice }, "required": ["choice"] }),
        ),
        (
            question(&["red", "blue"], true),
            json!({ "properties": { "choice": choice, "text": text } }),
        ),
    ];
    for (question, mut schema) in cases {
        schema["type"] = json!("object");
        let expected = json!({
            "mode": "form",
            "message": "The tool paint asks you, in its own words:\n│ Which \
                        \\u{1b}[2Jcolour?\nYour answer goes to the tool paint and approves nothing.",
            "requestedSchema": schema,
        });
        let asked = AwaitedInput::Question {
            tool: "paint".to_owned(),
            question,
        };
        assert_eq!(form(&asked), expected, "{asked:?}");
    }
}

#[test]
fn answer_is_one_that_the_question_allows() {
    let words = |text: &str| Answer::Text {
        text: text.to_owned(),
    };
    let closed = question(&["red", "blue", "red"], false);
    let open = question(&["red", "blue"], true);
    let free = question(&[], false);
    let cases = [
        (
            &closed,
            "accept",
            json!({ "choice": "blue" }),
            Answer::Choice { index: 1 },
        ),
        (
            &closed,
            "accept",
            json!({ "choice": "red" }),
            Answer::Choice { index: 0 },
        ),
        (
            &closed,
            "accept",
            json!({ "choice": "green" }),
            Answer::Cancelled,
        ),
        (
            &closed,
            "accept",
            json!({ "text": "green" }),
            Answer::Cancelled,
        ),
        (&closed, "accept", json!({ "choice": 1 }), Answer::Cancelled),
        (&closed, "accept", Value::Null, Answer::Cancelled),
        (
            &closed,
            "decline",
            json!({ "choice": "blue" }),
            Answer::Cancelled,
        ),
        (
            &closed,
            "cancel",
            json!({ "choice": "blue" }),
            Answer::Cancelled,
        ),
        (
            &open,
            "accept",
            json!({ "choice": "blue" }),
            Answer::Choice { index: 1 },
        ),
        (
            &open,
            "accept",
            json!({ "choice": "blue", "text": "" }),
            Answer::Choice { index: 1 },
        ),
        (
            &open,
            "accept",
            json!({ "choice": "blue", "text": "dark" }),
            words("dark"),
        ),
        (&open, "accept", json!({ "text": "dark" }), words("dark")),
        (&open, "accept", json!({}), Answer::Cancelled),
        (&free, "accept", json!({ "text": "dark" }), words("dark")),
        (&free, "accept", json!({ "text": "" }), Answer::Cancelled),
        (
            &free,
            "accept",
            json!({ "choice": "red" }),
            Answer::Cancelled,
        ),
    ];
    for (question, action, content, expected) in cases {
        let given = answer(question, &reply(action, content.clone()));
        assert_eq!(given, expected, "{question:?} {action} {content}");
        assert_eq!(question.check(&given), Ok(()), "{question:?}");
    }
}

#[test]
fn malformed_reply_is_not_parsed() {
    for value in [
        Value::Null,
        json!("accept"),
        json!({}),
        json!({ "action": "maybe" }),
    ] {
        assert_eq!(parse(&value), None, "{value}");
    }
}

/// Each field is in the client's form, in the tool's order; values that do not fit are no answer.
#[test]
fn form_of_a_tool_becomes_one_of_the_protocol() {
    let fields = r#"{
        "z": { "type": "string", "title": "Z", "description": "The z.", "format": "date-time",
               "minLength": 1, "maxLength": 40, "default": "now" },
        "i": { "type": "integer", "minimum": 1, "maximum": 9, "default": 2 },
        "n": { "type": "number", "minimum": 0.5, "maximum": 1.5, "default": 1.25 },
        "b": { "type": "boolean", "default": true },
        "e": { "type": "string", "enum": ["r", "g"], "default": "g" },
        "t": { "type": "string", "oneOf": [{ "const": "r", "title": "Red" }] }
    }"#;
    let schema = format!(r#"{{"type": "object", "properties": {fields}, "required": ["i", "e"]}}"#);
    let question = Question {
        prompt: "Which?".to_owned(),
        form: Some(Form::parse(&schema).unwrap()),
        ..Question::default()
    };
    let asked = AwaitedInput::Question {
        tool: "paint".to_owned(),
        question: question.clone(),
    };
    let shown = serde_json::to_string(&asked.form(None)).unwrap();
    let positions =
        ["z", "i", "n", "b", "e", "t"].map(|name| shown.find(&format!("\"{name}\":{{")));
    assert!(positions.is_sorted() && positions[0].is_some(), "{shown}");
    let requested: Value = serde_json::from_str(&schema).unwrap();
    assert_eq!(form(&asked)["requestedSchema"], requested);
    let fits = json!({ "i": 3, "e": "r" });
    let given = Answer::Fields {
        fields: fits.as_object().cloned().unwrap(),
    };
    let cases = [
        ("accept", fits.clone(), given),
        ("accept", json!({ "i": 0, "e": "r" }), Answer::Cancelled),
        ("accept", json!({ "e": "r" }), Answer::Cancelled),
        ("accept", Value::Null, Answer::Cancelled),
        ("decline", fits, Answer::Cancelled),
    ];
    for (action, content, expected) in cases {
        let given = answer(&question, &reply(action, content.clone()));
        assert_eq!(given, expected, "{action} {content}");
    }
}
