//! Code mode: a model writes a program that calls tools, instead of calling them one by one.
//!
//! A call of the tool that runs programs is a child session in which the program takes the place of
//! the model. What it calls at once is a batch, decided on and recorded as the calls of a reply
//! are. A program has no effects of its own, so its instance need not outlive a pause or a crash:
//! it runs again from its start, with the recorded results, up to the first call without one.

mod declarations;
mod describe;
mod handle;

use crate::{
    BoxFuture,
    agents::{Agents, Journals, SubAgent},
    tool::CallReport,
    tool_set::ToolSet,
    turn::{Agent, StandardMode, of_calls},
};
use agent_host_types::{
    failure::{ToolErrorCode, ToolFailure},
    id::{CallId, Digest, SessionId, json_digest},
    json,
    output::ToolResultOutput,
    tool::{Approval, DecisionKind, ToolCall, ToolDefinition},
};
pub use declarations::{MAX_DECLARATIONS_BYTES, declarations};
pub use describe::{DESCRIBE_TOOLS, direct_tools};
use futures_util::FutureExt as _;
use handle::{KnownFiles, handles_to_files, with_handles};
use serde_json::json;
use std::{
    fmt,
    panic::AssertUnwindSafe,
    sync::{Arc, Mutex, PoisonError},
};
use tokio::sync::{mpsc, oneshot};

/// The tool that runs programs.
pub const RUN_PROGRAM: &str = "run_javascript";

/// The most characters of a program, which is recorded with each of its calls that waits.
pub(crate) const MAX_CODE_CHARACTERS: usize = 65_536;

/// The name of a program where agents have theirs; no agent has it, since the name of one has no
/// space.
pub const PROGRAM_NAME: &str = "JavaScript program";

/// The default of the most calls of one program.
pub const DEFAULT_MAX_CALLS: usize = 256;

/// The description of the tool, before the declarations.
const DESCRIPTION: &str = "Runs a JavaScript program (ES2023) that calls tools. Write one program for everything that you know how to do, instead of one for each call: `const page = await tools.fetch({ url });`. Calls that do not depend on each other go together: `await Promise.all([...])`. A failed call throws an error whose `message` tells why and whose `value` has its JSON. `return` a value, `console.log` text; `output(file)` puts out a file or an image of a result. Files are handles, `{ mediaType, filename }`. The program reaches nothing else: no files, no network, and its clock stands still.";

/// The most bytes of names and arguments in all calls of one program. They are recorded.
pub(crate) const MAX_INPUT_BYTES: usize = 4 * 1024 * 1024;

/// Runs programs.
pub trait ProgramRunner: Send + Sync {
    /// Runs a program to its end. Dropping the future stops it.
    ///
    /// The program may have no effect but by its calls, and must make the same calls in every run
    /// that gets the same results: clocks and random numbers come from the run.
    fn run(&self, run: ProgramRun) -> BoxFuture<'static, CallReport>;
}

/// One run of a program.
#[derive(Debug)]
pub struct ProgramRun {
    /// The session of the program.
    pub session: SessionId,
    /// The source.
    pub code: String,
    /// The seed of its random numbers, equal in every run.
    pub seed: Digest,
    /// The time that its clock begins with, in milliseconds since 1970, equal in every run.
    pub started_ms: u64,
    /// The tools.
    pub tools: ToolCaller,
    /// Receives the lines that it prints while it runs.
    pub printed: mpsc::Sender<String>,
}

/// The program of an agent, which takes the place of its model.
#[derive(Clone)]
pub struct Program {
    /// Runs it.
    pub runner: Arc<dyn ProgramRunner>,
    /// The most calls of one program.
    pub max_calls: usize,
}

impl fmt::Debug for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Program")
            .field("max_calls", &self.max_calls)
            .finish_non_exhaustive()
    }
}

/// One call of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NestedCall {
    /// The name of the tool.
    pub name: String,
    /// The arguments, as JSON text.
    pub input: String,
}

/// Calls tools for a running program. Cheap to clone.
#[derive(Clone, Debug)]
pub struct ToolCaller {
    names: Arc<[String]>,
    batches: mpsc::Sender<ProgramBatch>,
}

/// Calls that were made at once, and what receives their results.
#[derive(Debug)]
struct ProgramBatch {
    calls: Vec<NestedCall>,
    results: oneshot::Sender<Vec<ToolResultOutput>>,
}

impl ToolCaller {
    /// Returns the names of the tools.
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Runs calls and returns their results in the order of the calls; `None` if the program is to
    /// stop, since it will run again or is given up.
    pub async fn call_many(&self, calls: Vec<NestedCall>) -> Option<Vec<ToolResultOutput>> {
        if calls.is_empty() {
            return Some(Vec::new());
        }
        let (results, received) = oneshot::channel();
        self.batches
            .send(ProgramBatch { calls, results })
            .await
            .ok()?;
        received.await.ok()
    }
}

/// A program that runs, in the memory of its session. Dropping it stops the program.
///
/// It runs in [`Self::next`], so on the task of its loop: a task of its own would cost two wake-ups
/// of threads for each batch of calls, which take longer than the loop takes for a batch.
pub(crate) struct RunningProgram {
    /// Never locked: a session is shared by reference, and a future alone is not.
    run: Mutex<BoxFuture<'static, CallReport>>,
    batches: mpsc::Receiver<ProgramBatch>,
    prints: mpsc::Receiver<String>,
    /// Receives the results of its last calls.
    waits: Option<oneshot::Sender<Vec<ToolResultOutput>>>,
    /// The number of its calls so far.
    calls: usize,
    input_bytes: usize,
    /// The files of their results.
    files: KnownFiles,
}

impl fmt::Debug for RunningProgram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunningProgram")
            .field("calls", &self.calls)
            .finish_non_exhaustive()
    }
}

/// How far a program came.
pub(crate) enum ProgramProgress {
    /// It printed lines.
    Printed(String),
    /// It made calls and waits for their results.
    Called(Vec<ToolCall>),
    /// It ended.
    Ended(Box<CallReport>),
}

impl RunningProgram {
    /// Starts a program with the tools of these names.
    pub(crate) fn start(
        program: &Program,
        session: SessionId,
        started_ms: u64,
        code: String,
        names: Vec<String>,
    ) -> Self {
        let (sender, batches) = mpsc::channel(1);
        let (printed, prints) = mpsc::channel(1);
        let run = program.runner.run(ProgramRun {
            session,
            code,
            seed: json_digest(&json!(["program", session])),
            started_ms,
            tools: ToolCaller {
                names: names.into(),
                batches: sender,
            },
            printed,
        });
        let run = AssertUnwindSafe(run).catch_unwind();
        Self {
            run: Mutex::new(Box::pin(
                async move { run.await.unwrap_or_else(|_| stopped()) },
            )),
            batches,
            prints,
            waits: None,
            calls: 0,
            input_bytes: 0,
            files: KnownFiles::new(),
        }
    }

    /// Whether it waits for the results of its calls.
    pub(crate) fn is_waiting(&self) -> bool {
        self.waits.is_some()
    }

    /// Gives it the results of its last calls.
    pub(crate) fn answer(&mut self, results: Vec<ToolResultOutput>) {
        let results = results.into_iter();
        let results = results.map(|result| with_handles(result, &mut self.files));
        let results = results.collect();
        if let Some(waits) = self.waits.take() {
            // A program that ended meanwhile needs none.
            let _ = waits.send(results);
        }
    }

    /// Runs it to its next lines or calls, or its end. One with more than `max_calls` calls, or too large
    /// arguments, ends with a failure. Cancel safe.
    pub(crate) async fn next(&mut self, max_calls: usize) -> ProgramProgress {
        let run = self.run.get_mut().unwrap_or_else(PoisonError::into_inner);
        let batch = tokio::select! {
            biased;
            ended = run => return ProgramProgress::Ended(Box::new(self.checked(ended))),
            Some(printed) = self.prints.recv() => return ProgramProgress::Printed(printed),
            Some(batch) = self.batches.recv() => batch,
        };
        let before = self.calls;
        self.calls += batch.calls.len();
        let sizes = batch.calls.iter();
        let sizes = sizes.map(|call| call.name.len() + call.input.len());
        self.input_bytes = sizes.fold(self.input_bytes, usize::saturating_add);
        if self.calls > max_calls {
            return ProgramProgress::Ended(too_much(&format!(
                "more than {max_calls} calls (`code-calls` in agent.toml)"
            )));
        }
        if self.input_bytes > MAX_INPUT_BYTES {
            return ProgramProgress::Ended(too_much(&format!(
                "calls with more than {MAX_INPUT_BYTES} bytes of arguments"
            )));
        }
        self.waits = Some(batch.results);
        let calls = batch.calls.into_iter().zip(before + 1..);
        let calls = calls.map(|(call, number)| {
            let id = CallId(format!("call-{number}"));
            let mut call = ToolCall::parse(id, call.name, call.input);
            call.input.take_if(|input| json::is_object_too_deep(input));
            call
        });
        ProgramProgress::Called(calls.collect())
    }

    /// Replaces a result that cannot be recorded. A program has no effects, so it changes nothing
    /// of its session.
    fn checked(&self, mut report: CallReport) -> CallReport {
        report.changes.clear();
        let valid = report.output.validate();
        let output = std::mem::replace(&mut report.output, ToolResultOutput::Text(String::new()));
        report.output = match valid.and_then(|()| handles_to_files(output, &self.files)) {
            Ok(output) => output,
            Err(failure) => failure.into(),
        };
        report
    }
}

/// Returns the report of a program whose run the host lost.
fn stopped() -> CallReport {
    let message =
        "The host failed while running the program. Its calls are recorded; tell the operator.";
    CallReport::of(ToolFailure::new(ToolErrorCode::ToolUnavailable, message).into())
}

fn too_much(what: &str) -> Box<CallReport> {
    let message = format!(
        "The program was stopped: it made {what}. Its calls so far took effect. Do less in one program."
    );
    let failure = ToolFailure::new(ToolErrorCode::ResourceLimit, message);
    Box::new(CallReport::of(failure.into()))
}

/// Returns the report of a program that did something else when it ran again.
pub(crate) fn diverged() -> CallReport {
    CallReport::of(
        ToolFailure::invalid_output(
            "The program was run again after a pause and called different tools than before; its calls so far took \
             effect.",
        )
        .into(),
    )
}

impl Agent {
    /// Returns the loop of the programs that this one's model writes: it has the same tools,
    /// agents, rules and hooks of calls.
    fn into_program(self, program: Program) -> Self {
        Self {
            program: Some(Arc::new(program)),
            workflow: None,
            hooks: of_calls(&self.hooks),
            mode: Arc::new(StandardMode),
            settings: self.settings.without_model(),
            ..self
        }
    }

    /// Has the model write programs: instead of its tools it is offered one that runs a program,
    /// which calls them. Those in `direct` it can call itself, too. The sessions of programs have
    /// these journals.
    #[must_use]
    pub fn with_programs(
        self,
        program: Program,
        direct: ToolSet,
        journals: Arc<dyn Journals>,
    ) -> Self {
        let text = description(&self);
        let (settings, key) = (self.settings.clone(), self.key.clone());
        let (model, hooks, mode) = (self.model.clone(), self.hooks.clone(), self.mode.clone());
        let definition = json_digest(&json!([text, program.max_calls]));
        let child = SubAgent {
            name: PROGRAM_NAME.to_owned(),
            description: text.into(),
            system: None,
            agent: self.into_program(program).into(),
            approval: Approval::Never,
            decisions: DecisionKind::ALL.to_vec(),
            is_interactive: true,
            price: None,
            definition,
        };
        let agents = Arc::new(Agents::new(vec![child], journals));
        Self {
            model,
            tools: Arc::new(direct.behind(agents.tools())),
            agents: Some(agents),
            workflow: None,
            program: None,
            hooks,
            mode,
            key,
            settings,
        }
    }
}

/// Returns the description of the tool that runs programs, with the declarations of an agent's
/// tools.
fn description(agent: &Agent) -> String {
    let tools: Vec<&ToolDefinition> = agent
        .tools
        .tools()
        .map(|tool| tool.definition.as_ref())
        .collect();
    format!(
        "{DESCRIPTION}\n\n{}",
        declarations(&tools, MAX_DECLARATIONS_BYTES)
    )
}
