//! An embedder: the host with a model of its own, and a native tool beside the built-in component
//! `files`. The model reads a file in the sandbox, and counts its words with the native tool.
#![expect(clippy::print_stdout, reason = "an example shows its result")]

use agent_host_app::{Config, Environment, Host, Overrides};
use agent_host_engine::{
    BoxFuture,
    model::{DeltaSink, Model},
    observer::Unobserved,
    tool::*,
    tool_set::*,
    turn::{Actors, Prompts, TurnContext},
};
use agent_host_types::{
    id::CallId,
    model::{ModelError, ModelReply, ModelRequest, Provenance},
    output::ToolResultOutput,
    tool::{ToolCall, ToolDefinition},
    turn::{AgentInput, TurnEnd},
};
use serde_json::{Value, from_value, json};
use std::{error::Error, future::ready, sync::Arc};
use tokio_util::sync::CancellationToken;

/// Calls each tool once, and then repeats the last result.
struct Script;

impl Model for Script {
    fn provenance(&self) -> Provenance {
        let (provider, model) = ("example".into(), "script".into());
        Provenance { provider, model }
    }

    fn respond<'a>(
        &'a self,
        request: &'a ModelRequest,
        _: DeltaSink<'a>,
    ) -> BoxFuture<'a, Result<ModelReply, ModelError>> {
        let results = request.messages.iter().flat_map(|m| &m.tool_results);
        let results: Vec<String> = results.map(|r| text_of(&r.output)).collect();
        let mut reply = ModelReply::default();
        let mut call = |name: &str, input: Value| {
            let id = CallId(results.len().to_string());
            reply.tool_calls = vec![ToolCall::parse(id, name.into(), input.to_string())];
        };
        match results.as_slice() {
            [] => call("read_file", json!({ "path": "notes.txt" })),
            [text] => call("count_words", json!({ "text": text })),
            [.., count] => reply.text = format!("The tool says {count}."),
        }
        Box::pin(ready(Ok(reply)))
    }
}

fn text_of(output: &ToolResultOutput) -> String {
    match output {
        ToolResultOutput::Text(text) => text.clone(),
        ToolResultOutput::Json(value) => value.to_string(),
        other => format!("{other:?}"),
    }
}

/// Counts the words of a text in this process.
struct CountWords;

impl ToolHandler for CountWords {
    fn run<'a>(&'a self, call: Invocation, _: ProgressSink<'a>) -> BoxFuture<'a, RunEnd> {
        let text = call.input.get("text").and_then(Value::as_str).unwrap_or("");
        let words = text.split_whitespace().count();
        Box::pin(ready(ToolResultOutput::json(words).into()))
    }
}

fn count_words() -> Result<ToolEntry, Box<dyn Error>> {
    let definition: ToolDefinition = from_value(json!({
        "name": "count_words", "description": "Counts the words of a text.", "effect": "read-only",
        "input_schema": {"type": "object", "properties": {"text": {"type": "string"}}},
    }))?;
    Ok(ToolEntry::own(definition, Arc::new(CountWords))?)
}

async fn embed() -> Result<String, Box<dyn Error>> {
    let project = tempfile::tempdir()?;
    std::fs::write(project.path().join("notes.txt"), "four words are here")?;
    let environment = Environment {
        cwd: project.path().to_owned(),
        ..Environment::default()
    };
    let overrides = Overrides {
        state_dir: Some("state".into()),
        ..Overrides::default()
    };
    let mut config = Config::load(None, &overrides, &environment)?;
    config.tools.retain(|tool| tool.name == "files");
    let host = Host::open_with_model(config, Arc::new(Script)).await?;

    let (mut agent, system) = host.agents().named_agent(None, Prompts::Deny)?;
    agent.tools = Arc::new(ToolSet::clone(&agent.tools).behind([count_words()?]));
    let mut session = host.sessions().start(system).await?;
    let cx = TurnContext {
        observer: &Unobserved,
        approvals: &[],
        cancel: &CancellationToken::new(),
        drain: &CancellationToken::new(),
        actors: Actors::default(),
    };
    let input = AgentInput::Text("How many words does notes.txt have?".into());
    match agent.run(&mut session, input, &cx).await.end {
        TurnEnd::Done { text, .. } => Ok(text),
        other => Err(format!("{other:?}").into()),
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    println!("{}", embed().await?);
    Ok(())
}

#[cfg(test)]
#[tokio::test]
async fn embedded_host_answers_with_both_tools() {
    assert_eq!(embed().await.unwrap(), "The tool says 4.");
}
