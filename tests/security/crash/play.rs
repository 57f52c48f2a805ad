//! The plays: deterministic scenarios of a model's calls and a user's answers. Both depend only on
//! the conversation so far, so that a disturbed run can reach the result of the undisturbed one.

use super::{guest, points::OUTSIDE};
use agent_host_test_support::TestEnv;
use agent_host_types::{
    approval::{Decision, Remember, RememberScope, RememberWhat},
    continuation::{Awaiting, Continuation, PendingCall},
    output::ToolResultOutput,
    question::Answer,
    turn::{AgentInput, ChildInput, SubmittedResult},
};
use serde_json::{Value, json};

/// The model's part of one conversation, or a workflow in its place.
#[derive(Default)]
pub(crate) struct Play {
    /// The settings of `http_post` in `agent.toml`.
    posting: &'static str,
    /// The turns of the script, with `{port}` for the service's port.
    script: Value,
    /// The schema of the answer, if it has one.
    schema: Option<Value>,
    /// The turns of the script of the agent `helper`, if there is one.
    helper: Option<Value>,
    /// The workflow that takes the place of the script, as part of `agent.toml`.
    workflow: Option<String>,
    /// Whether the model writes programs.
    writes_code: bool,
    /// Whether the user decides in another process than the one that asks.
    is_decided_apart: bool,
}

/// A workflow with a node of each kind. Three of them run side by side: an agent, the iterations of
/// a
/// `foreach`, and a call that waits for the user. The last node succeeds whatever is in doubt.
const WORKFLOW: &str = r#"
[[workflow]]
name = "play"

[[workflow.node]]
id = "list"
tool = "list_directory"
input = { path = "'items'" }
next = "look"

[[workflow.node]]
id = "look"
tool = "look"
input = { to = "'127.0.0.1:{port}'" }
next = "act"

[[workflow.node]]
id = "act"
tool = "act"
input = { to = "'127.0.0.1:{port}'" }
next = ["helper", "items", "pay"]

[[workflow.node]]
id = "helper"
agent = "helper"
mode = "parallel"
message = "look.text"
next = "last"

[[workflow.node]]
id = "items"
tool = "act"
mode = "parallel"
foreach = { over = "list.output.entries", mode = "parallel" }
input = { to = "'127.0.0.1:{port}'", with = "loop.item.name" }
next = "last"

[[workflow.node]]
id = "pay"
tool = "http_post"
mode = "parallel"
input = { url = "'http://127.0.0.1:{port}/pay'", body = "'approve'" }
next = "last"

[[workflow.node]]
id = "last"
tool = "look"
input = { to = "'127.0.0.1:{port}'" }
"#;

/// A program with calls of each effect, alone and side by side, of which the user decides on
/// some, answers one and runs one outside. It continues whatever is in doubt.
const PROGRAM: &str = r#"
const to = "127.0.0.1:{port}";
const post = (path, body) => tools.http_post({ url: `http://${to}${path}`, body });
const settled = (calls) => Promise.allSettled(calls);
await settled([tools.act({ to })]);
await settled([tools.look({ to }), tools.put({ to }), tools.look({ to })]);
await settled([post("/a", "approve"), tools.look({ to })]);
await settled([post("/b", "reject")]);
await settled([tools.ask({ to })]);
await settled([tools.OUTSIDE({}), tools.put({ to })]);
await settled([tools.act({ to }), post("/c", "edit")]);
return "done";
"#;

impl Play {
    /// A program before and after calls of its tools, which the model makes through others.
    pub(crate) fn with_program() -> Self {
        let code = PROGRAM.replace("OUTSIDE", OUTSIDE);
        let program = json!({ "tool": "run_javascript", "input": { "code": code } });
        Self {
            script: json!([
                { "call": [program] },
                { "call": [program] },
                { "text": "That is all." },
            ]),
            writes_code: true,
            ..Self::default()
        }
    }

    /// Calls of each effect, alone and side by side, from two components.
    pub(crate) fn effects() -> Self {
        let turns = json!([
            { "call": [counted("look"), counted("look"), page("/a"), counted("put"), counted("act")] },
            { "call": [post("/b", ""), counted("look"), post("/c", "")] },
            { "call": [counted("act"), counted("put"), page("/d")] },
            { "text": "That is all." },
        ]);
        Self {
            posting: "approval = \"never\"",
            script: turns,
            ..Self::default()
        }
    }

    /// Every way in which a user takes part: decisions of each kind, a remembered one, a question,
    /// calls that run outside, and an answer that is sent back.
    pub(crate) fn with_decisions() -> Self {
        let outside = json!({ "tool": OUTSIDE, "input": {} });
        let turns = json!([
            { "when": "'does not fit' in prompt", "text": "{\"all\": true}" },
            { "call": [
                post("/a", "approve"), post("/b", "edit"), counted("look"), post("/c", "reject"), post("/d", "respond"),
            ] },
            { "call": [post("/e", "remember")] },
            { "call": [post("/f", "was remembered"), counted("put")] },
            { "call": [counted("look"), counted("ask"), counted("look")] },
            { "call": [outside, counted("put"), outside] },
            { "text": "That is all." },
        ]);
        Self {
            script: turns,
            schema: Some(json!({ "type": "object" })),
            ..Self::default()
        }
    }

    /// Calls before, in and after an agent, one of which the user decides on.
    pub(crate) fn with_agent() -> Self {
        let start = json!({ "tool": "agent_helper", "input": { "instructions": "help" } });
        Self {
            script: json!([
                { "call": [counted("act"), start, counted("act")] },
                { "text": "That is all." },
            ]),
            helper: Some(json!([
                { "call": [counted("look"), counted("put"), counted("act")] },
                { "call": [post("/a", "approve"), counted("look")] },
                { "text": "It is done." },
            ])),
            ..Self::default()
        }
    }

    /// An agent that makes one call after another.
    pub(crate) fn agent() -> Self {
        let start = json!({ "tool": "agent_helper", "input": { "instructions": "help" } });
        Self {
            script: json!([{ "call": [start] }, { "text": "That is all." }]),
            helper: Some(json!([
                { "call": [counted("act")] },
                { "call": [counted("put")] },
                { "text": "It is done." },
            ])),
            ..Self::default()
        }
    }

    /// A long session: four calls, `n` times.
    pub(crate) fn long(turns: usize) -> Self {
        let four = [
            counted("look"),
            counted("look"),
            counted("put"),
            counted("act"),
        ];
        let mut script = vec![json!({ "call": four }); turns];
        script.push(json!({ "text": "That is all." }));
        Self {
            script: Value::Array(script),
            ..Self::default()
        }
    }

    /// A workflow with nodes of each kind, one of which the user decides on in another process.
    pub(crate) fn workflow() -> Self {
        Self {
            script: unasked(),
            helper: Some(json!([
                { "call": [counted("look"), counted("put"), counted("act")] },
                { "call": [counted("act"), counted("look")] },
                { "text": "It is done." },
            ])),
            workflow: Some(WORKFLOW.to_owned()),
            is_decided_apart: true,
            ..Self::default()
        }
    }

    /// A chain of four counted nodes, `n` times. An agent that makes four calls goes before every
    /// twelfth of them.
    pub(crate) fn long_workflow(n: usize) -> Self {
        let mut nodes = Vec::new();
        for round in 0..n {
            if round % 12 == 0 {
                nodes.push((
                    format!("helper{round}"),
                    "agent = \"helper\"\nmessage = \"'help'\"".to_owned(),
                ));
            }
            for (number, tool) in ["act", "put", "act", "look"].iter().enumerate() {
                let call =
                    format!("tool = \"{tool}\"\ninput = {{ to = \"'127.0.0.1:{{port}}'\" }}");
                nodes.push((format!("n{round}_{number}"), call));
            }
        }
        let followers = nodes.iter().skip(1).map(|(id, _)| Some(id)).chain([None]);
        let mut workflow = "[[workflow]]\nname = \"long\"\n".to_owned();
        for ((id, runs), next) in nodes.iter().zip(followers) {
            let next = next.map_or_else(String::new, |next| format!("next = \"{next}\"\n"));
            workflow += &format!("[[workflow.node]]\nid = \"{id}\"\n{runs}\n{next}");
        }
        Self {
            script: unasked(),
            helper: Some(json!([
                { "call": [counted("look"), counted("put"), counted("act"), counted("act")] },
                { "text": "It is done." },
            ])),
            workflow: Some(workflow),
            ..Self::default()
        }
    }

    /// The processes of the play, in order: whether each of them plays the user.
    pub(crate) fn processes(&self) -> &'static [bool] {
        if self.is_decided_apart {
            &[false, true]
        } else {
            &[true]
        }
    }

    /// One batch of counted calls, and an answer.
    pub(crate) fn batch(tools: &[&str]) -> Self {
        let calls: Vec<Value> = tools.iter().copied().map(counted).collect();
        Self {
            script: json!([{ "call": calls }, { "text": "That is all." }]),
            ..Self::default()
        }
    }

    /// Writes every file that a process needs for the play.
    pub(crate) fn write_files(&self, env: &TestEnv, port: u16) {
        env.write("count.wasm", guest::component());
        let script = toml::to_string(&json!({ "turn": self.script })).unwrap();
        env.write("script.toml", script.replace("{port}", &port.to_string()));
        let helper = match &self.helper {
            None => "",
            Some(turns) => {
                let script = toml::to_string(&json!({ "turn": turns })).unwrap();
                env.write("helper.toml", script.replace("{port}", &port.to_string()));
                "agents = [\"helper\"]\n[[agent]]\nname = \"helper\"\ndescription = \"Helps.\"\nmodel = \"script:helper.toml\"\n"
            }
        };
        if let Some(schema) = &self.schema {
            env.write("schema.json", schema.to_string());
        }
        let workflow = match &self.workflow {
            None => String::new(),
            Some(workflow) => {
                for item in ["a", "b", "c", "d"] {
                    env.write(&format!("items/{item}"), "");
                }
                let files = "[[grants.dir]]\nhost = \".\"\n\
                     [[tool]]\nname = \"files\"\ncomponent = \"builtin:files\"\n";
                files.to_owned() + &workflow.replace("{port}", &port.to_string())
            }
        };
        env.write(
            "agent.toml",
            format!(
                "state-dir = \"../state\"\nmodel = \"script:script.toml\"\nmax-turns = 1000\ncode = {}\n{helper}\
                 [[grants.http]]\nhost = \"127.0.0.1\"\nscheme = \"http\"\nport = {port}\n\
                 [[tool]]\nname = \"count\"\ncomponent = \"count.wasm\"\napproval = \"never\"\naccept-idempotent = true\n\
                 [[tool]]\nname = \"fetch\"\ncomponent = \"builtin:fetch\"\n{}\n{workflow}",
                self.writes_code, self.posting
            ),
        );
    }
}

/// The script of a model that a workflow takes the place of.
fn unasked() -> Value {
    json!([{ "text": "No one asks." }])
}

/// A call of a counted tool.
fn counted(tool: &str) -> Value {
    json!({ "tool": tool, "input": { "to": "127.0.0.1:{port}" } })
}

/// A call that gets a page.
fn page(path: &str) -> Value {
    json!({ "tool": "fetch", "input": { "url": format!("http://127.0.0.1:{{port}}{path}") } })
}

/// A call that posts to a page; the body names the user's decision.
fn post(path: &str, body: &str) -> Value {
    json!({ "tool": "http_post", "input": { "url": format!("http://127.0.0.1:{{port}}{path}"), "body": body } })
}

/// The user's decisions and answers.
pub(crate) fn respond(continuation: &Continuation) -> AgentInput {
    let given = continuation.clone();
    match &continuation.awaiting {
        Awaiting::Confirm { calls, .. } => AgentInput::Resume {
            continuation: given,
            decisions: calls.iter().map(decide).collect(),
        },
        Awaiting::Answer { .. } => AgentInput::Answer {
            continuation: given,
            answer: Answer::Text {
                text: "the red one".to_owned(),
            },
        },
        Awaiting::Children { children } => AgentInput::Children {
            continuation: given,
            inputs: children
                .iter()
                .map(|child| ChildInput {
                    call_id: child.call_id.clone(),
                    input: respond(&child.continuation),
                })
                .collect(),
        },
        Awaiting::External { calls } => AgentInput::SubmitToolResults {
            continuation: given,
            results: calls
                .iter()
                .map(|call| SubmittedResult {
                    call_id: call.call_id.clone(),
                    output: ToolResultOutput::Text("done elsewhere".to_owned()),
                })
                .collect(),
        },
    }
}

fn decide(call: &PendingCall) -> Decision {
    let call_id = call.call_id.clone();
    match call.input["body"].as_str().unwrap() {
        "approve" => Decision::approve(call_id),
        "edit" => {
            let mut input = (*call.input).clone();
            input.insert("body".to_owned(), json!("edited"));
            Decision::Edit {
                call_id,
                input: input.into(),
            }
        }
        "reject" => Decision::Reject {
            call_id,
            reason: Some("not today".to_owned()),
        },
        "respond" => Decision::Respond {
            call_id,
            text: "I did it myself.".to_owned(),
        },
        "remember" => Decision::Approve {
            call_id,
            remember: Some(Remember {
                what: RememberWhat::Tool,
                scope: RememberScope::Session,
            }),
        },
        other => panic!("no approval is expected: {other:?}"),
    }
}
