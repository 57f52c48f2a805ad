//! A filter that keeps API keys out of what a tool is given and out of what it returns.

#[cfg(test)]
mod tests;

mod keys;

use agent_tool::{
    Output,
    filter::{Definition, Filter},
    hook::RequestedCall,
};
use serde_json::Value;

struct Redact;

impl Filter for Redact {
    fn definitions(mut tools: Vec<Definition>) -> Vec<Definition> {
        for tool in &mut tools {
            tool.description
                .push_str(" API keys are removed from results.");
        }
        tools
    }

    fn call(call: RequestedCall, tool: impl Fn(RequestedCall) -> Output) -> Output {
        // The text has the keys of objects, too.
        if keys::found(&Value::Object(call.input.clone()).to_string()) {
            return Output::denied("the arguments have an API key; call again without it");
        }
        let mut output = tool(call);
        keys::redact(&mut output);
        output
    }
}

agent_tool::export_filter!(Redact);
