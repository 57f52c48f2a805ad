//! One call as its caller sees it: checked, admitted, run on the guests' threads, stopped in time, and accounted for.

#[cfg(test)]
mod tests;

use crate::{
    bindings::types as wit,
    caps::progress,
    failure::timeout,
    gate::{Gate, Tally},
    guest::{self, Job},
    limiter::as_count,
    load::ToolComponent,
    stdio::{self, Tail},
    store::CallSetup,
};
use agent_host_core::{
    accounting::Accounting,
    failure::{MAX_MESSAGE_BYTES, ToolErrorCode, ToolFailure},
    id::CallId,
    limits::Limits,
    output::ToolResultOutput,
    policy::Grants,
    tool::{CallReport, Effect, ProgressSink},
};
use serde_json::{Map, Value};
use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};
use tokio::{sync::mpsc, task::JoinHandle};

/// How long a stopped guest may take to let go, before its caller is answered without it. Only a host call that blocks in the
/// operating system takes more than a few ticks.
const STOP_GRACE: Duration = Duration::from_millis(150);

/// One call of one tool.
#[derive(Clone)]
pub struct Call<'a> {
    /// The tool's name as the component defines it.
    pub tool: &'a str,
    /// The id of the call, which the guest sees.
    pub call_id: &'a CallId,
    /// The arguments.
    pub input: &'a Map<String, Value>,
    /// The same for every attempt at this call.
    pub idempotency_key: &'a str,
    /// The effect that the policy goes by. Never weaker than what the tool declares.
    pub effect: Effect,
    /// What the operator granted.
    pub grants: Arc<Grants>,
    /// Every limit of the call.
    pub limits: &'a Limits,
    /// Receives progress reports while the call runs, on the caller's task.
    pub progress: ProgressSink<'a>,
}

impl ToolComponent {
    /// Runs one call in an instance of its own. Every end, an abnormal one too, is in the report. Dropping the future stops the
    /// guest within a tick of its clock. The caller's runtime needs its timer enabled.
    pub async fn call(&self, call: Call<'_>) -> CallReport {
        match self.start(&call).await {
            Ok(running) => running.settle(&call).await,
            Err(failure) => CallReport {
                output: failure.into(),
                accounting: Accounting {
                    limits: Some(call.limits.clone()),
                    ..Accounting::default()
                },
                audit: Vec::new(),
            },
        }
    }

    /// Checks and admits a call and gives it to the guests' threads.
    async fn start(&self, call: &Call<'_>) -> Result<Running, ToolFailure> {
        self.validate(call.tool, call.input)?;
        let limits = call.limits.clone();
        let patience = Duration::from_millis(limits.deadline_ms);
        let place = self.room().admission.admit(patience).await?;
        let started = Instant::now();
        let gate = Gate::new(Arc::clone(&call.grants), call.effect, &limits);
        let stdio_bytes = as_count(limits.stdio_bytes);
        let (stdout, stderr) = (Tail::new(stdio_bytes), Tail::new(stdio_bytes));
        let peak = Arc::new(AtomicU64::new(0));
        let (progress, reports) = progress::channel();
        let setup = CallSetup {
            gate: Arc::clone(&gate),
            deadline: started + patience,
            initial_cwd: call.grants.dirs.first().map(|dir| dir.guest.clone()),
            protected: Arc::clone(&self.room().protected),
            client: Arc::clone(&self.room().client),
            progress,
            stdout: stdout.clone(),
            stderr: stderr.clone(),
            peak: Arc::clone(&peak),
            limits,
        };
        let job = Job {
            setup,
            pre: self.pre().clone(),
            call: wit::ToolCall {
                id: call.call_id.0.clone(),
                name: call.tool.to_owned(),
                input: text_of(call.input)?,
                idempotency_key: call.idempotency_key.to_owned(),
            },
            place,
        };
        let task = Task(self.room().guests.spawn(guest::run(job)));
        Ok(Running {
            task,
            reports,
            started,
            gate,
            stdout,
            stderr,
            peak,
        })
    }
}

/// The arguments as JSON text.
fn text_of(input: &Map<String, Value>) -> Result<String, ToolFailure> {
    serde_json::to_string(input).map_err(|error| {
        ToolFailure::new(
            ToolErrorCode::InvalidInput,
            format!("The arguments cannot be written as JSON: {error}."),
        )
    })
}

/// A guest's task. Dropping it stops the guest.
struct Task(JoinHandle<Result<ToolResultOutput, ToolFailure>>);

impl Drop for Task {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// A call that is on the guests' threads, with what its caller shares with it.
struct Running {
    task: Task,
    reports: mpsc::Receiver<progress::Report>,
    started: Instant,
    gate: Arc<Gate>,
    stdout: Tail,
    stderr: Tail,
    peak: Arc<AtomicU64>,
}

impl Running {
    /// Waits for the end, and reports it.
    async fn settle(mut self, call: &Call<'_>) -> CallReport {
        let patience = Duration::from_millis(call.limits.deadline_ms);
        let ended = tokio::time::timeout(patience, self.follow(call)).await;
        let result = match ended {
            Ok(result) => result,
            Err(_) => self.stop(call).await,
        };
        let Tally {
            audit,
            first_denial,
            bytes_in,
            bytes_out,
            hosts,
        } = self.gate.tally();
        CallReport {
            output: with_denial(result, first_denial),
            accounting: Accounting {
                wall_us: u64::try_from(self.started.elapsed().as_micros()).unwrap_or(u64::MAX),
                peak_memory_bytes: self.peak.load(Ordering::Relaxed),
                bytes_in,
                bytes_out,
                hosts,
                stdio: stdio::combined(&self.stdout, &self.stderr),
                limits: Some(call.limits.clone()),
            },
            audit,
        }
    }

    /// Shows progress until the guest's task ends.
    async fn follow(&mut self, call: &Call<'_>) -> Result<ToolResultOutput, ToolFailure> {
        loop {
            tokio::select! {
                biased;
                Some(report) = self.reports.recv() => (call.progress)(&report.message, report.fraction),
                ended = &mut self.task.0 => {
                    while let Ok(report) = self.reports.try_recv() {
                        (call.progress)(&report.message, report.fraction);
                    }
                    return ended.unwrap_or_else(|error| Err(guest::lost(&error, call.limits)));
                }
            }
        }
    }

    /// Stops a guest whose time is up, and waits until it has let go, so that what it did until then is in the audit.
    async fn stop(&mut self, call: &Call<'_>) -> Result<ToolResultOutput, ToolFailure> {
        self.task.0.abort();
        match tokio::time::timeout(STOP_GRACE, &mut self.task.0).await {
            // It ended at the very moment: its result stands.
            Ok(Ok(Ok(output))) => Ok(output),
            Ok(Ok(Err(failure))) => Err(failure),
            Ok(Err(_)) => Err(timeout(call.limits)),
            Err(_) => {
                tracing::warn!(
                    tool = call.tool,
                    "a stopped guest is still in a call of the operating system"
                );
                Err(timeout(call.limits))
            }
        }
    }
}

/// Makes a call that failed after the gate denied it something a denied call: the model then hears the reason first, and does
/// not take a missing grant for a fault of the tool. A call that succeeded in spite of a denial keeps its result.
fn with_denial(
    result: Result<ToolResultOutput, ToolFailure>,
    denial: Option<String>,
) -> ToolResultOutput {
    let (said, output) = match result {
        Ok(output) => (error_text(&output), output),
        Err(failure) if failure.code == ToolErrorCode::Trap => {
            (Some(failure.message().to_owned()), failure.into())
        }
        Err(failure) => (None, failure.into()),
    };
    match (denial, said) {
        (Some(denial), Some(said)) => ToolResultOutput::ExecutionDenied(Some(bounded(format!(
            "{denial}. The tool then said: {said}"
        )))),
        (None, _) | (_, None) => output,
    }
}

/// What a tool said went wrong; nothing if it did not fail.
fn error_text(output: &ToolResultOutput) -> Option<String> {
    match output {
        ToolResultOutput::ErrorText(text) => Some(text.clone()),
        ToolResultOutput::ErrorJson(value) => Some(value.to_string()),
        ToolResultOutput::Text(_)
        | ToolResultOutput::Json(_)
        | ToolResultOutput::Content(_)
        | ToolResultOutput::ExecutionDenied(_) => None,
    }
}

/// Cut to the bound of every text with which the host explains a call.
fn bounded(mut text: String) -> String {
    text.truncate(text.floor_char_boundary(MAX_MESSAGE_BYTES));
    text
}
