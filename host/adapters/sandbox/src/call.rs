//! One call as its caller sees it: checked, admitted, started on a guest thread, and reported.

mod guest;
pub(crate) mod hook;
pub(crate) mod program;
mod report;
mod running;
#[cfg(test)]
pub(crate) mod tests;

use crate::{
    bindings::types as wit,
    caps::{as_count, progress::ProgressReport, telemetry::Telemetry},
    component::{link::EntryPoint, tool::ToolComponent},
    gate::Gate,
    instance::store::{CallContext, CallSetup},
    schedule::{
        admission::{RunPermit, admit_program},
        deadline::Deadline,
        guest_runtime::TaskStart,
    },
};
use agent_host_engine::{
    arguments::Arguments,
    policy::Grants,
    secrets::Secrets,
    tool::{CallReport, CallUpdate, ProgressSink, RunEnd},
};
use agent_host_types::{
    accounting::Accounting,
    failure::{ToolErrorCode, ToolFailure},
    id::CallId,
    limits::Limits,
    tool::Effect,
};
use guest::{GuestJob, Target};
use running::RunningCall;
use serde_json::{Map, Value};
use std::{
    sync::Arc,
    time::{Duration, Instant},
};
use tokio_util::sync::CancellationToken;

/// One call of one tool.
#[derive(Clone)]
pub struct Call<'a> {
    /// The tool's name as the component defines it.
    pub tool: &'a str,
    /// The id of the call, visible to the guest.
    pub call_id: &'a CallId,
    /// The arguments, which are checked unless the tool's own schema has accepted them.
    pub input: &'a Arguments,
    /// Equal for all attempts at this call.
    pub idempotency_key: &'a str,
    /// The effect that the policy assumes; never weaker than the tool's declaration.
    pub effect: Effect,
    /// The grants of the operator.
    pub grants: Arc<Grants>,
    /// The secrets of all tools. The granted ones are substituted in requests and redacted from
    /// responses; all of them are redacted from the report.
    pub secrets: Arc<Secrets>,
    /// Every limit of the call.
    pub limits: &'a Limits,
    /// The session's state and answers for the call.
    pub context: CallContext,
    /// Receives progress reports and printed lines while the call runs, on the caller's task.
    pub progress: ProgressSink<'a>,
}

impl Call<'_> {
    fn report_progress(&self, report: &ProgressReport) {
        (self.progress)(CallUpdate::Progress {
            message: &self.secrets.text(&report.message),
            fraction: report.fraction,
        });
    }
}

impl ToolComponent {
    /// Runs one call in an instance of its own. Failures are part of the report. Dropping the
    /// future stops the guest within two ticks of the epoch clock. Needs a tokio runtime with a
    /// timer.
    pub async fn call(&self, call: Call<'_>) -> RunEnd {
        self.call_until(call, &CancellationToken::new()).await
    }

    /// Runs one call as [`Self::call`] does, until `cancel` is cancelled: then stops the guest and
    /// reports its effects and resource use so far.
    pub async fn call_until(&self, call: Call<'_>, cancel: &CancellationToken) -> RunEnd {
        let limits = self.limits(call.tool, call.limits);
        let call = Call {
            limits: &limits,
            ..call
        };
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

    async fn start(&self, call: &Call<'_>) -> Result<RunningCall, ToolFailure> {
        self.check_input(call.tool, call.input)?;
        let target = self.target(call)?;
        let Prepared {
            setup,
            permit,
            started,
            deadline,
            gate,
            telemetry,
        } = self
            .prepare(
                &call.grants,
                &call.secrets,
                call.effect,
                call.limits,
                call.context.clone(),
            )
            .await?;
        let (mounts_dirs, is_program) = (setup.dirs.is_some(), call.context.program.is_some());
        let work = guest::run(Box::new(GuestJob {
            setup,
            target,
            results: Arc::clone(&self.handle.results),
            has_schema: self.output_schema(call.tool).is_some(),
            permit,
        }));
        Ok(RunningCall {
            task: if is_program {
                let guests = &self.loaded.shared.guests;
                TaskStart::Pending(guests.attach(&self.handle.schedule, work))
            } else {
                self.launch(mounts_dirs, work)
            },
            started,
            deadline,
            gate,
            telemetry,
        })
    }

    /// Waits for a permit, and prepares the store of one call.
    async fn prepare(
        &self,
        grants: &Arc<Grants>,
        secrets: &Arc<Secrets>,
        effect: Effect,
        limits: &Limits,
        context: CallContext,
    ) -> Result<Prepared, ToolFailure> {
        let (shared, handle) = (&self.loaded.shared, &self.handle);
        let timeout = Duration::from_millis(limits.deadline_ms);
        let program = match context.program {
            Some(_) => Some(admit_program(&shared.programs, timeout).await?),
            None => None,
        };
        let permit = handle.queue.admit(timeout).await?;
        let permit = RunPermit::new(&handle.queue, permit, program);
        let started = Instant::now();
        let deadline = Arc::new(Deadline::new(started + timeout));
        let flow = context.flow.clone();
        let gate = Gate::within(flow, Arc::clone(grants), effect, limits);
        let telemetry = Telemetry::new(as_count(limits.stdio_bytes), secrets);
        let mounts_dirs = !grants.dirs.is_empty() && self.imports_preopens();
        let setup = CallSetup {
            gate: Arc::clone(&gate),
            deadline: Arc::clone(&deadline),
            permit: context.program.is_some().then(|| Arc::clone(&permit)),
            protected: Arc::clone(&shared.protected),
            dirs: mounts_dirs.then(|| Arc::clone(&handle.blocking)),
            client: Arc::clone(&handle.client),
            secrets: Arc::clone(secrets),
            telemetry: Arc::clone(&telemetry),
            progress_interval: shared.progress_interval,
            context,
            limits: limits.clone(),
        };
        Ok(Prepared {
            setup,
            permit,
            started,
            deadline,
            gate,
            telemetry,
        })
    }

    /// Starts the guest of a call. Even quick file operations take long for a caller's thread.
    fn launch<T: Send + 'static>(
        &self,
        mounts_dirs: bool,
        work: impl Future<Output = T> + Send + 'static,
    ) -> TaskStart<T> {
        let guests = &self.loaded.shared.guests;
        if mounts_dirs {
            TaskStart::Pending(guests.spawn(&self.handle.schedule, work))
        } else {
            guests.start(&self.handle.schedule, work)
        }
    }

    fn target(&self, call: &Call<'_>) -> Result<Target, ToolFailure> {
        match &self.loaded.linked.entry_point {
            EntryPoint::Contract(pre) => Ok(Target::Tool(
                pre.clone(),
                wit::ToolCall {
                    id: call.call_id.0.clone(),
                    name: call.tool.to_owned(),
                    input: to_json(call.input)?,
                    idempotency_key: call.idempotency_key.to_owned(),
                },
            )),
            EntryPoint::Plain(plain) => plain.bind(call.tool, call.input).map(Target::Function),
            EntryPoint::Act(act) => {
                let schema = self.written_schema(call.tool);
                Ok(Target::Act(act.bind(call.tool, call.input, schema)))
            }
            EntryPoint::Hooks | EntryPoint::Program(_) => Err(ToolFailure::new(
                ToolErrorCode::UnknownTool,
                "The component has no tools.",
            )),
        }
    }
}

/// A call that may start, with what its guest and its caller share.
struct Prepared {
    setup: CallSetup,
    permit: Arc<RunPermit>,
    started: Instant,
    deadline: Arc<Deadline>,
    gate: Arc<Gate>,
    telemetry: Arc<Telemetry>,
}

fn to_json(input: &Map<String, Value>) -> Result<String, ToolFailure> {
    serde_json::to_string(input).map_err(|error| {
        ToolFailure::new(
            ToolErrorCode::InvalidInput,
            format!("Cannot encode the arguments as JSON: {error}."),
        )
    })
}
