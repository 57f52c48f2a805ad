//! The whole loop as a library: a model and a tool written in place, a journal in memory, and no sandbox.
//! `cargo run --release -p agent-host-core --example loop`
#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use agent_host_core::accounting::Accounting;
use agent_host_core::failure::ToolFailure;
use agent_host_core::id::{CallId, SessionId};
use agent_host_core::model::{DeltaSink, Model, ModelError, ModelReply, ModelRequest, Provenance};
use agent_host_core::tool::*;
use agent_host_core::turn::{Agent, AgentInput, Outcome, Settings};
use agent_host_core::{BoxFuture, journal::MemoryJournal, observer::Unobserved};
use agent_host_core::{output::ToolResultOutput, schema::InputSchema};
use agent_host_core::{session::Session, session::SessionStart};
use serde_json::{Map, Value, json};
use std::{future::ready, sync::Arc};

/// Asks for the tool first, and then repeats what the tool said.
struct Script;

impl Model for Script {
    fn provenance(&self) -> Provenance {
        let (provider, model) = ("example".into(), "script".into());
        Provenance { provider, model }
    }

    fn respond<'a>(
        &'a self,
        request: &'a ModelRequest,
        _deltas: DeltaSink<'a>,
    ) -> BoxFuture<'a, Result<ModelReply, ModelError>> {
        let result = request.messages.iter().find_map(|m| m.tool_results.first());
        let mut reply = ModelReply::default();
        match result {
            Some(result) => reply.text = format!("The tool says: {:?}", result.output),
            None => {
                let arguments = json!({"text": "a few words"}).to_string();
                let id = CallId("call-1".into());
                reply.tool_calls = vec![ToolCall::parse(id, "count_words".into(), arguments)];
            }
        }
        Box::pin(ready(Ok(reply)))
    }
}

/// One tool, run in this process.
struct CountWords([RegisteredTool; 1], InputSchema);

impl ToolRunner for CountWords {
    fn tools(&self) -> &[RegisteredTool] {
        &self.0
    }

    fn validate(&self, _tool: &str, input: &Map<String, Value>) -> Result<(), ToolFailure> {
        self.1.validate(input)
    }

    fn run<'a>(&'a self, call: Invocation, _: ProgressSink<'a>) -> BoxFuture<'a, CallReport> {
        let text = call.input.get("text").and_then(Value::as_str);
        let output =
            ToolResultOutput::Json(text.unwrap_or_default().split_whitespace().count().into());
        let (accounting, audit) = (Accounting::default(), Vec::new());
        Box::pin(ready(CallReport {
            output,
            accounting,
            audit,
        }))
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let input_schema =
        json!({"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]});
    let schema = InputSchema::compile(&input_schema)?;
    let (effect, approval) = (Effect::ReadOnly, Approval::default());
    let (name, description) = ("count_words".into(), "Counts the words of a text.".into());
    let definition = ToolDefinition {
        name,
        description,
        title: None,
        input_schema,
        output_schema: None,
        effect,
    };
    let tools = CountWords(
        [RegisteredTool {
            definition,
            effect,
            approval,
        }],
        schema,
    );
    let (model, observer, settings) = (Arc::new(Script), Arc::new(Unobserved), Settings::default());
    let agent = Agent {
        model,
        tools: Arc::new(tools),
        observer,
        settings,
    };

    let journal = Arc::new(MemoryJournal::new(SessionId::new()));
    let mut session = Session::start(journal, SessionStart::default());
    let mut input = AgentInput::Text("How many words?".into());
    loop {
        let outcome = agent
            .run_turn(&mut session, input, &Default::default())
            .await;
        println!("{}", serde_json::to_string_pretty(&outcome)?);
        match outcome {
            Outcome::NeedsMoreTurns { .. } => input = AgentInput::Continue,
            _ => return Ok(()),
        }
    }
}
