use super::*;
use crate::{
    Output,
    bindings::generated::agent::tool::types::{
        ContentPart, FileData, FilePart, ToolCall, ToolResultOutput,
    },
    hook::RequestedCall,
};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::fmt::Debug;

/// Asserts that two values of the contract are equal; the bindings only have a debug form.
fn same(actual: &impl Debug, expected: &impl Debug) {
    assert_eq!(format!("{actual:#?}"), format!("{expected:#?}"));
}

fn call(input: &str) -> ToolCall {
    ToolCall {
        id: "call-1".to_owned(),
        name: "write_file".to_owned(),
        input: input.to_owned(),
        idempotency_key: "key".to_owned(),
    }
}

/// A hook that only has the methods of the trait.
struct Passes;

impl Hook for Passes {}

#[test]
fn default_methods_pass() {
    let request = WitRequest {
        system: None,
        messages: "[]".to_owned(),
        tools: Vec::new(),
    };
    same(&before_model::<Passes>(request), &WitRequestVerdict::Pass);
    let reply = WitReply {
        text: String::new(),
        calls: "[]".to_owned(),
    };
    same(&after_model::<Passes>(reply), &WitReplyVerdict::Pass);
    same(&before_tool::<Passes>(call("{}")), &WitCallVerdict::Pass);
    let output = ToolResultOutput::ExecutionDenied(None);
    same(
        &after_tool::<Passes>(call("{}"), output),
        &WitResultVerdict::Pass,
    );
}

/// A hook whose verdict is in what it judges, and which checks all that it is given.
struct Obeys;

impl Hook for Obeys {
    fn before_model(request: ModelRequest) -> RequestVerdict {
        let expected = ModelRequest {
            system: Some("Be brief.".to_owned()),
            messages: request.messages.clone(),
            tools: vec!["read_file".to_owned(), "write_file".to_owned()],
        };
        assert_eq!(request, expected);
        match request.messages[0]["verdict"].as_str() {
            Some("block") => RequestVerdict::Block("why".to_owned()),
            Some("fallback") => RequestVerdict::Fallback("instead".to_owned()),
            _ => RequestVerdict::Pass,
        }
    }

    fn after_model(reply: ModelReply) -> ReplyVerdict {
        assert_eq!(
            reply.calls,
            json!([{ "id": "1", "name": "t", "input": {} }])
        );
        match reply.text.as_str() {
            "modify" => ReplyVerdict::Modify("other".to_owned()),
            "retry" => ReplyVerdict::Retry("shorter".to_owned()),
            "block" => ReplyVerdict::Block("why".to_owned()),
            "fallback" => ReplyVerdict::Fallback("instead".to_owned()),
            _ => ReplyVerdict::Pass,
        }
    }

    fn before_tool(call: RequestedCall) -> CallVerdict {
        let expected = RequestedCall {
            id: "call-1".to_owned(),
            tool: "write_file".to_owned(),
            input: call.input.clone(),
            idempotency_key: "key".to_owned(),
        };
        assert_eq!(call, expected);
        match call.input["verdict"].as_str() {
            Some("modify") => CallVerdict::Modify(call.input),
            Some("ask") => CallVerdict::Ask,
            Some("block") => CallVerdict::Block("why".to_owned()),
            Some("fallback") => CallVerdict::Fallback(Output::text("instead")),
            _ => CallVerdict::Pass,
        }
    }

    fn after_tool(call: RequestedCall, output: Output) -> ResultVerdict {
        match call.input["verdict"].as_str() {
            Some("modify") => ResultVerdict::Modify(output),
            Some("retry") => ResultVerdict::Retry,
            Some("block") => ResultVerdict::Block("why".to_owned()),
            _ => ResultVerdict::Pass,
        }
    }
}

#[test]
fn verdict_about_a_request_reaches_the_contract() {
    let table = [
        ("pass", WitRequestVerdict::Pass),
        ("block", WitRequestVerdict::Block("why".to_owned())),
        (
            "fallback",
            WitRequestVerdict::Fallback("instead".to_owned()),
        ),
    ];
    for (verdict, expected) in table {
        let request = WitRequest {
            system: Some("Be brief.".to_owned()),
            messages: json!([{ "verdict": verdict }]).to_string(),
            tools: vec!["read_file".to_owned(), "write_file".to_owned()],
        };
        same(&before_model::<Obeys>(request), &expected);
    }
}

#[test]
fn verdict_about_a_reply_reaches_the_contract() {
    let table = [
        ("pass", WitReplyVerdict::Pass),
        ("modify", WitReplyVerdict::Modify("other".to_owned())),
        ("retry", WitReplyVerdict::Retry("shorter".to_owned())),
        ("block", WitReplyVerdict::Block("why".to_owned())),
        ("fallback", WitReplyVerdict::Fallback("instead".to_owned())),
    ];
    for (verdict, expected) in table {
        let reply = WitReply {
            text: verdict.to_owned(),
            calls: r#"[{ "id": "1", "name": "t", "input": {} }]"#.to_owned(),
        };
        same(&after_model::<Obeys>(reply), &expected);
    }
}

fn asks(verdict: &str) -> ToolCall {
    call(&json!({ "verdict": verdict }).to_string())
}

#[test]
fn verdict_about_a_call_reaches_the_contract() {
    let instead = ToolResultOutput::Text("instead".to_owned());
    let table = [
        ("pass", WitCallVerdict::Pass),
        (
            "modify",
            WitCallVerdict::Modify(r#"{"verdict":"modify"}"#.to_owned()),
        ),
        ("ask", WitCallVerdict::Ask),
        ("block", WitCallVerdict::Block("why".to_owned())),
        ("fallback", WitCallVerdict::Fallback(instead)),
    ];
    for (verdict, expected) in table {
        same(&before_tool::<Obeys>(asks(verdict)), &expected);
    }
}

#[test]
fn verdict_about_a_result_reaches_the_contract() {
    let output = || ToolResultOutput::Text("done".to_owned());
    let table = [
        ("pass", WitResultVerdict::Pass),
        ("modify", WitResultVerdict::Modify(output())),
        ("retry", WitResultVerdict::Retry),
        ("block", WitResultVerdict::Block("why".to_owned())),
    ];
    for (verdict, expected) in table {
        same(&after_tool::<Obeys>(asks(verdict), output()), &expected);
    }
}

/// A result that a hook returns unchanged equals that of the tool.
#[test]
fn every_result_survives_both_conversions() {
    let file = |data: FileData, filename: Option<&str>| {
        ContentPart::File(FilePart {
            media_type: "text/plain".to_owned(),
            data,
            filename: filename.map(str::to_owned),
        })
    };
    let table = [
        ToolResultOutput::Text("t".to_owned()),
        ToolResultOutput::Json(r#"{"a":[1,"b"]}"#.to_owned()),
        ToolResultOutput::Content(vec![
            ContentPart::Text("t".to_owned()),
            file(FileData::Bytes(vec![0, 255]), Some("a.txt")),
            file(FileData::Url("https://a.example".to_owned()), None),
            file(FileData::Text("t".to_owned()), None),
        ]),
        ToolResultOutput::ErrorText("e".to_owned()),
        ToolResultOutput::ErrorJson("7".to_owned()),
        ToolResultOutput::ExecutionDenied(None),
        ToolResultOutput::ExecutionDenied(Some("why".to_owned())),
    ];
    for output in table {
        let judged = after_tool::<Obeys>(asks("modify"), output.clone());
        same(&judged, &WitResultVerdict::Modify(output));
    }
}

/// Arrays that nest deeper than JSON is read.
fn deep() -> String {
    "[".repeat(200) + &"]".repeat(200)
}

#[test]
fn unreadable_value_blocks() {
    let why = || UNREADABLE.to_owned();
    let request = WitRequest {
        system: None,
        messages: deep(),
        tools: Vec::new(),
    };
    same(
        &before_model::<Passes>(request),
        &WitRequestVerdict::Block(why()),
    );
    let reply = WitReply {
        text: String::new(),
        calls: deep(),
    };
    same(
        &after_model::<Passes>(reply),
        &WitReplyVerdict::Block(why()),
    );
    for input in ["[]", "", &format!(r#"{{"a":{}}}"#, deep())] {
        same(
            &before_tool::<Passes>(call(input)),
            &WitCallVerdict::Block(why()),
        );
    }
    let output = ToolResultOutput::Json(deep());
    same(
        &after_tool::<Passes>(call("{}"), output),
        &WitResultVerdict::Block(why()),
    );
}

/// Arguments of hooks are exact: a number is not rounded on its way.
#[test]
fn modified_numbers_are_exact() {
    let input = r#"{"n":18446744073709551615,"verdict":"modify"}"#;
    let expected = WitCallVerdict::Modify(input.to_owned());
    same(&before_tool::<Obeys>(call(input)), &expected);
    let value: Value = serde_json::from_str(input).expect("it is JSON");
    assert_eq!(value["n"], json!(u64::MAX));
}
