//! The whole loop as a library: a model and a tool in this file, a journal in memory, and no
//! sandbox.
#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use agent_host_engine::{
    BoxFuture, journal::*, model::*, observer::*, session::*, tool::*, tool_set::*, turn::*,
};
use agent_host_types::{id::*, model::*, output::*, tool::*, turn::*};
use serde_json::{Value, from_value, json};
use std::{future::ready, sync::Arc};
use tokio_util::sync::CancellationToken;

/// A model that calls the tool first and then repeats its result.
struct Script;

impl Model for Script {
    fn provenance(&self) -> Provenance {
        let (provider, model) = ("example".into(), "script".into());
        Provenance { provider, model }
    }

    fn respond<'a>(&'a self, asked: &'a ModelRequest, _: DeltaSink<'a>) -> BoxFuture<'a, Reply> {
        let mut reply = ModelReply::default();
        if let Some(result) = asked.messages.iter().find_map(|m| m.tool_results.first()) {
            reply.text = format!("The tool says {:?}.", result.output);
        } else {
            let (id, arguments) = (CallId("1".into()), r#"{"text": "a few words"}"#.into());
            reply.tool_calls = vec![ToolCall::parse(id, "count_words".into(), arguments)];
        }
        Box::pin(ready(Ok(reply)))
    }
}
type Reply = Result<ModelReply, ModelError>;

/// A tool that runs in this process.
struct CountWords;

impl ToolHandler for CountWords {
    fn run<'a>(&'a self, call: Invocation, _: ProgressSink<'a>) -> BoxFuture<'a, RunEnd> {
        let text = call.input.get("text").and_then(Value::as_str).unwrap_or("");
        let words = text.split_whitespace().count();
        let report = CallReport::of(ToolResultOutput::json(words));
        Box::pin(ready(report.into()))
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let definition: ToolDefinition = from_value(json!({
        "name": "count_words", "description": "Counts the words of a text.", "effect": "read-only",
        "input_schema": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
    }))?;
    let count_words = ToolEntry::own(definition, Arc::new(CountWords))?;
    let agent = Agent {
        model: Arc::new(Script),
        tools: Arc::new(ToolSet::from_iter([count_words])),
        agents: None,
        hooks: Vec::new(),
        mode: Arc::new(StandardMode),
        workflow: None,
        program: None,
        key: ContinuationKey::random()?,
        settings: Settings::default(),
    };
    let journal = MemoryJournal::new(SessionId::new());
    let mut session = Session::start(Arc::new(journal), SessionStart::default());
    let (observer, approvals, cancel) = (&Unobserved, &[], &CancellationToken::new());
    let cx = TurnContext {
        observer,
        approvals,
        cancel,
        drain: &CancellationToken::new(),
        actors: Actors::default(),
    };
    let input = AgentInput::Text("How many words are there?".into());
    println!("{:#?}", agent.run(&mut session, input, &cx).await);
    Ok(())
}
