//! One call as its caller sees it: checked, admitted, run on the guests' threads, stopped in time, and accounted for.

pub(crate) mod guest;
#[cfg(test)]
mod tests;

use crate::{
    bindings::types as wit,
    caps::{progress::Report, stdio, telemetry::Telemetry},
    component::{link::EntryPoint, load::ToolComponent},
    gate::{CallStats, Denial, Gate},
    instance::{limiter::as_count, store::CallSetup},
    schedule::guest_runtime::{self, Begun, Lost},
};
use agent_host_engine::{
    policy::Grants,
    secrets::Secrets,
    tool::{CallReport, ProgressSink, RunEnd},
};
use agent_host_types::{
    accounting::Accounting,
    failure::{MAX_MESSAGE_BYTES, ToolErrorCode, ToolFailure},
    id::CallId,
    limits::Limits,
    output::ToolResultOutput,
    question::{AnsweredBy, AnsweredQuestion, PendingQuestion},
    tool::Effect,
};
use guest::{Job, Target};
use serde_json::{Map, Value};
use std::{
    pin::pin,
    sync::Arc,
    time::{Duration, Instant},
};
use tokio_util::sync::CancellationToken;

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
    /// The values of all secrets that any tool may use. Those that are granted are put into requests and taken out of what comes
    /// back; all of them are taken out of the report.
    pub secrets: Arc<Secrets>,
    /// Every limit of the call.
    pub limits: &'a Limits,
    /// What the session has for the call.
    pub talk: Talk,
    /// Receives progress reports while the call runs, on the caller's task.
    pub progress: ProgressSink<'a>,
}

impl Call<'_> {
    /// Shows a report to the person.
    fn show(&self, report: &Report) {
        (self.progress)(&self.secrets.text(&report.message), report.fraction);
    }
}

/// What a session has for one call: the state that its tools share, and the answers of a person.
#[derive(Clone, Debug, Default)]
pub struct Talk {
    /// The shared state as the call sees it.
    pub shared: Arc<Map<String, Value>>,
    /// What earlier runs of this call asked, with the answers.
    pub answers: Vec<AnsweredQuestion>,
    /// Whether a person can be asked now.
    pub can_ask: bool,
}

impl ToolComponent {
    /// Runs one call in an instance of its own. Every end, an abnormal one too, is in the report. Dropping the future stops the
    /// guest within a tick of its clock. The caller's runtime needs its timer enabled.
    pub async fn call(&self, call: Call<'_>) -> RunEnd {
        self.call_until(call, &CancellationToken::new()).await
    }

    /// Runs one call as [`Self::call`] does, but until `cancel` is cancelled: then it stops the guest and reports what that did and
    /// used until then.
    pub async fn call_until(&self, call: Call<'_>, cancel: &CancellationToken) -> RunEnd {
        let started = tokio::select! {
            biased;
            started = self.start(&call) => started,
            () = cancel.cancelled() => Err(ToolFailure::not_started()),
        };
        match started {
            Ok(running) => running.settle(self, &call, cancel).await,
            Err(failure) => RunEnd::Settled(CallReport {
                accounting: Accounting {
                    limits: Some(call.limits.clone()),
                    ..Accounting::default()
                },
                ..CallReport::of(call.secrets.failure(failure).into())
            }),
        }
    }

    /// Checks and admits a call and begins it.
    async fn start(&self, call: &Call<'_>) -> Result<Running, ToolFailure> {
        self.check(call.tool, call.input)?;
        let target = self.target(call)?;
        let limits = call.limits.clone();
        let patience = Duration::from_millis(limits.deadline_ms);
        let place = self.tenant().queue.admit(patience).await?;
        let started = Instant::now();
        let deadline = started + patience;
        let gate = Gate::new(Arc::clone(&call.grants), call.effect, &limits);
        let telemetry = Telemetry::new(as_count(limits.stdio_bytes));
        let folders = !call.grants.dirs.is_empty() && self.asks_for_folders();
        let setup = CallSetup {
            gate: Arc::clone(&gate),
            deadline,
            protected: Arc::clone(&self.room().protected),
            folders,
            client: Arc::clone(&self.tenant().client),
            secrets: Arc::clone(&call.secrets),
            telemetry: Arc::clone(&telemetry),
            progress_interval: self.room().progress_interval,
            context: call.talk.clone(),
            limits,
        };
        let work = guest::run(Box::new(Job {
            setup,
            target,
            place,
        }));
        let (guests, schedule) = (&self.room().guests, &self.tenant().schedule);
        // File operations block their thread, so a call with folders never has its caller's.
        let work = if folders {
            Begun::GoesOn(guests.run(schedule, work))
        } else {
            guests.begin(schedule, work)
        };
        Ok(Running {
            work,
            started,
            deadline,
            gate,
            telemetry,
        })
    }

    /// What is to be called, with its arguments.
    fn target(&self, call: &Call<'_>) -> Result<Target, ToolFailure> {
        match self.entry() {
            EntryPoint::Contract(pre) => Ok(Target::Tool(
                pre.clone(),
                wit::ToolCall {
                    id: call.call_id.0.clone(),
                    name: call.tool.to_owned(),
                    input: text_of(call.input)?,
                    idempotency_key: call.idempotency_key.to_owned(),
                },
            )),
            EntryPoint::Plain(plain) => plain.bind(call.tool, call.input).map(Target::Function),
        }
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

/// How the guest's side of a call ends.
type Outcome = Result<guest::End, ToolFailure>;

/// A call that has begun, with what its caller shares with it.
struct Running {
    work: Begun<Outcome>,
    started: Instant,
    deadline: Instant,
    gate: Arc<Gate>,
    telemetry: Arc<Telemetry>,
}

impl Running {
    /// Waits for the end, and reports it.
    async fn settle(
        self,
        tool: &ToolComponent,
        call: &Call<'_>,
        cancel: &CancellationToken,
    ) -> RunEnd {
        let ended = match self.work {
            Begun::Ended(ended) => ended,
            Begun::GoesOn(running) => {
                let stop = stop_of(self.deadline, cancel);
                follow(running, stop, &self.telemetry, call).await
            }
        };
        while let Some(report) = self.telemetry.reports.take() {
            call.show(&report);
        }
        let result = ended.unwrap_or_else(|lost| {
            Err(match lost {
                Lost::Stopped if cancel.is_cancelled() => ToolFailure::stopped(call.effect),
                lost => guest::lost(&lost, call.limits),
            })
        });
        let result = result.and_then(|mut end| {
            if let guest::End::Result(output, _) = &mut end {
                let fits = |output: &ToolResultOutput| tool.validate_output(call.tool, output);
                call.secrets.validate(output, fits)?;
                redact(output, &call.secrets);
            }
            Ok(end)
        });
        let result = result.map_err(|failure| call.secrets.failure(failure));
        let mut stats = self.gate.stats();
        stats.redact(&call.secrets);
        let CallStats {
            audit,
            first_denial,
            bytes_in,
            bytes_out,
            hosts,
        } = stats;
        let accounting = Accounting {
            wall_us: u64::try_from(self.started.elapsed().as_micros()).unwrap_or(u64::MAX),
            peak_memory_bytes: self.telemetry.peak_memory_bytes(),
            bytes_in,
            bytes_out,
            hosts,
            stdio: call
                .secrets
                .text(&stdio::combined(&self.telemetry))
                .into_owned(),
            limits: Some(call.limits.clone()),
        };
        let (result, merges) = match result {
            Ok(guest::End::Result(output, merges)) => (Ok(output), merges),
            Ok(guest::End::Asked(question)) => {
                return RunEnd::Asked(PendingQuestion {
                    question,
                    answered_by: AnsweredBy::Rerun,
                    accounting,
                    audit,
                });
            }
            Err(failure) => (Err(failure), Vec::new()),
        };
        RunEnd::Settled(CallReport {
            accounting,
            audit,
            merges,
            ..CallReport::of(with_denial(result, first_denial))
        })
    }
}

/// Waits until a call is to be stopped.
async fn stop_of(deadline: Instant, cancel: &CancellationToken) {
    // An error is that the deadline came first.
    let _ = tokio::time::timeout_at(deadline.into(), cancel.cancelled()).await;
}

/// Shows progress until the guest ends or is stopped.
async fn follow(
    mut running: guest_runtime::Running<Outcome>,
    stop: impl Future<Output = ()>,
    telemetry: &Telemetry,
    call: &Call<'_>,
) -> Result<Outcome, Lost> {
    let mut stop = pin!(stop);
    loop {
        tokio::select! {
            biased;
            () = &mut stop => break,
            report = telemetry.reports.next() => call.show(&report),
            ended = running.ended() => return ended,
        }
    }
    // Until it has let go, so that what it did until then is in the audit. A result at this very moment stands.
    if let Ok(ended) = tokio::time::timeout(STOP_GRACE, running.stop()).await {
        return ended;
    }
    tracing::warn!(
        tool = call.tool,
        "a stopped guest is still in a call of the operating system"
    );
    Err(Lost::Stopped)
}

/// Redacts a result of which all is well. What is invalid with marks in it is a failure to its readers, but the call has ended
/// well: what it merged must not depend on the values.
fn redact(output: &mut ToolResultOutput, secrets: &Secrets) {
    if secrets.is_empty() {
        return;
    }
    secrets.output(output);
    if let Err(failure) = output.validate() {
        *output = failure.into();
    }
}

/// Lets the model hear what the gate refused, where the call then failed: it shall not take a missing grant or a limit for a
/// fault of the tool. A tool that fails of itself is a denied call, or one that ran into the limit; a call that the host ended
/// keeps its code and says both. A call that succeeded in spite of a refusal keeps its result.
fn with_denial(
    result: Result<ToolResultOutput, ToolFailure>,
    denial: Option<Denial>,
) -> ToolResultOutput {
    let Some(Denial { sentence, is_limit }) = denial else {
        return result.unwrap_or_else(Into::into);
    };
    let said = match result {
        Ok(output) => match error_text(&output) {
            Some(said) => said,
            None => return output,
        },
        Err(failure) if failure.code == ToolErrorCode::Trap => failure.message().to_owned(),
        Err(failure) => {
            let message = format!("{} Before that, {sentence}.", failure.message());
            return ToolFailure::new(failure.code, message).into();
        }
    };
    let reason = format!("{sentence}. The tool then said: {said}");
    if is_limit {
        ToolFailure::new(ToolErrorCode::ResourceLimit, reason).into()
    } else {
        ToolResultOutput::ExecutionDenied(Some(bounded(reason)))
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
