//! Stands in front of a plugin of the [Extism ABI](https://extism.org). The host puts both into one
//! component when it loads the plugin: it connects the plugin's imports to this module's exports,
//! and puts a function that calls the plugin's exports into a slot of this module's table.
#![cfg(target_family = "wasm")]
#![expect(clippy::indexing_slicing, reason = "an index of JSON gives null")]

mod imports;
mod kernel;
mod mcp;

use agent_tool::{
    __private as sdk, Effect, Output, Part,
    filter::{Definition, Filter},
    hook::RequestedCall,
};
use kernel::{kernel, run};
use sdk::generated::exports::agent::tool::tool::{
    Guest, ToolCall, ToolDefinition, ToolResultOutput,
};
use serde_json::{Value, json};

/// The functions of hyper-mcp, versions 2 and 1: the one that calls tools, and the one that lists
/// them.
const VERSIONS: [[&str; 2]; 2] = [["call_tool", "list_tools"], ["call", "describe"]];

/// A plugin's functions as tools.
struct Tools;

impl Filter for Tools {
    fn definitions(_: Vec<Definition>) -> Vec<Definition> {
        let functions = kernel().functions();
        let context = json!({"context": {"id": 0, "_meta": {}}}).to_string();
        let (lists, input) = match VERSIONS.into_iter().find(|names| functions == *names) {
            Some([_, lists @ "list_tools"]) => (lists, context),
            Some([_, lists]) => (lists, String::new()),
            None => return functions.into_iter().map(of_function).collect(),
        };
        let listed = run(lists, input.as_bytes()).and_then(|list| mcp::definitions(&list));
        listed.unwrap_or_else(|why| fail(&format!("`{lists}` failed: {why}")))
    }

    fn call(call: RequestedCall, _: impl Fn(RequestedCall) -> Output) -> Output {
        let functions = kernel().functions();
        let version = VERSIONS.into_iter().find(|names| functions == *names);
        let request = json!({"name": call.tool, "arguments": call.input});
        let input = match (version, &request["arguments"]["input"]) {
            (Some(["call", _]), _) => json!({"params": request}).to_string(),
            (Some(_), _) => {
                let context = json!({"id": call.id, "_meta": {}});
                json!({"request": request, "context": context}).to_string()
            }
            (None, Value::Null) => String::new(),
            (None, Value::String(text)) => text.clone(),
            (None, json) => json.to_string(),
        };
        let output = run(
            version.map_or(&call.tool, |[calls, _]| calls),
            input.as_bytes(),
        );
        let convert = if version.is_some() {
            mcp::output
        } else {
            of_bytes
        };
        output.map_or_else(Output::ErrorText, |output| convert(&output))
    }
}

/// Defines the tool of a function, of which only the name is known.
fn of_function(name: String) -> Definition {
    Definition {
        description: format!("The function `{name}` of a plugin. It does not say what it does."),
        name,
        title: None,
        input_schema: json!({
            "type": "object",
            "properties": {"input": {"description": "The input: text, or any JSON"}},
            "additionalProperties": false,
        }),
        output_schema: None,
        effect: Effect::Effectful,
    }
}

/// Returns the output of a function: JSON if it is an object or a list, else text, else a file.
fn of_bytes(output: &[u8]) -> Output {
    match (serde_json::from_slice(output), str::from_utf8(output)) {
        (Ok(value @ (Value::Object(_) | Value::Array(_))), _) => Output::Json(value),
        (_, Ok(text)) => Output::text(text),
        (_, Err(_)) => Output::content([Part::bytes("application/octet-stream", output.to_vec())]),
    }
}

/// Ends the call. The host tells the model the reason.
#[expect(clippy::panic, reason = "a plugin cannot handle it, as in other hosts")]
fn fail(why: &str) -> ! {
    panic!("{why}")
}

struct Component;

impl Guest for Component {
    fn definitions() -> Vec<ToolDefinition> {
        sdk::filter_definitions::<Tools>(Vec::new())
    }

    fn call(call: ToolCall) -> ToolResultOutput {
        sdk::filter_call::<Tools>(call, |_| fail("no tool is behind a plugin"))
    }
}

sdk::generated::export!(Component with_types_in sdk::generated);
