use super::*;
use pretty_assertions::assert_eq;
use std::cell::Cell;

/// A filter that only has the methods of the trait.
struct Passes;

impl Filter for Passes {}

/// A filter that hides `hidden`, renames the others, and calls twice.
struct Renames;

impl Filter for Renames {
    fn definitions(mut tools: Vec<Definition>) -> Vec<Definition> {
        tools.retain(|tool| tool.name != "hidden");
        for tool in &mut tools {
            tool.name.insert_str(0, "new_");
        }
        tools
    }

    fn call(mut call: RequestedCall, tool: impl Fn(RequestedCall) -> Output) -> Output {
        call.tool = call.tool.trim_start_matches("new_").to_owned();
        drop(tool(call.clone()));
        tool(call)
    }
}

fn request(name: &str, input: &str) -> ToolCall {
    ToolCall {
        id: "call-1".to_owned(),
        name: name.to_owned(),
        input: input.to_owned(),
        idempotency_key: "key".to_owned(),
    }
}

fn definition(name: &str, schema: &str) -> ToolDefinition {
    ToolDefinition {
        name: name.to_owned(),
        title: Some("T".to_owned()),
        description: "D".to_owned(),
        input_schema: schema.to_owned(),
        output_schema: Some("{}".to_owned()),
        effect: types::Effect::Idempotent,
    }
}

/// The debug form of a value of the contract, whose bindings have no equality.
fn shown(value: &impl std::fmt::Debug) -> String {
    format!("{value:#?}")
}

#[test]
fn default_filter_passes_definitions_calls_and_results() {
    let tools = || vec![definition("a", "{\"type\":\"object\"}")];
    assert_eq!(shown(&definitions::<Passes>(tools())), shown(&tools()));
    let output = call::<Passes>(request("a", "{\"b\": 1}"), |call| {
        assert_eq!(shown(&call), shown(&request("a", "{\"b\":1}")));
        ToolResultOutput::Json("[1,\"x\"]".to_owned())
    });
    let expected = ToolResultOutput::Json("[1,\"x\"]".to_owned());
    assert_eq!(shown(&output), shown(&expected));
}

#[test]
fn filter_hides_renames_and_repeats() {
    let tools = vec![definition("hidden", "{}"), definition("a", "{}")];
    let expected = vec![definition("new_a", "{}")];
    assert_eq!(shown(&definitions::<Renames>(tools)), shown(&expected));
    let calls = Cell::new(0);
    let output = call::<Renames>(request("new_a", "{}"), |call| {
        calls.set(calls.get() + 1);
        ToolResultOutput::Text(format!("{} {}", call.name, calls.get()))
    });
    let expected = ToolResultOutput::Text("a 2".to_owned());
    assert_eq!(shown(&output), shown(&expected));
}

/// A filter that has not seen a value passes none of it.
#[test]
fn json_that_cannot_be_read_is_not_passed_on() {
    let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
    for text in ["{\"secret\"", deep.as_str()] {
        let output = call::<Passes>(request("a", "{}"), |_| {
            ToolResultOutput::Json(text.to_owned())
        });
        let expected = ToolResultOutput::ErrorText(UNREADABLE_RESULT.to_owned());
        assert_eq!(shown(&output), shown(&expected));
    }
    let output = call::<Passes>(request("a", &format!("{{\"a\":{deep}}}")), |_| {
        unreachable!("the tool is not called")
    });
    let expected = ToolResultOutput::ErrorText(UNREADABLE_CALL.to_owned());
    assert_eq!(shown(&output), shown(&expected));
    let output = call::<Passes>(request("a", "{}"), |_| {
        ToolResultOutput::Json("{\"a\":\"secret\",\"a\":1}".to_owned())
    });
    let expected = ToolResultOutput::Json("{\"a\":1}".to_owned());
    assert_eq!(shown(&output), shown(&expected));
    let malformed = definitions::<Passes>(vec![definition("a", "{")]);
    assert_eq!(shown(&malformed), shown(&vec![definition("a", "null")]));
}
