//! A running call: progress, cancellation, and the report at its end.

use crate::{
    call::{
        Call,
        guest::{GuestEnd, GuestResult},
        report::{redact, with_denial},
    },
    caps::{stdio, telemetry::Telemetry},
    component::tool::ToolComponent,
    gate::Gate,
    instance::failure,
    schedule::{
        deadline::Deadline,
        guest_runtime::{TaskError, TaskHandle, TaskStart},
    },
};
use agent_host_engine::tool::{CallReport, CallUpdate, RunEnd};
use agent_host_types::{
    accounting::Accounting,
    failure::ToolFailure,
    output::ToolResultOutput,
    question::{AnsweredBy, PendingQuestion},
};
use std::{
    pin::pin,
    sync::Arc,
    time::{Duration, Instant},
};
use tokio_util::sync::CancellationToken;

/// How long a cancelled guest may take to end before its caller is answered without it. Only a host
/// call that blocks in the operating system takes longer than a few ticks.
const STOP_GRACE: Duration = Duration::from_millis(150);

/// A started call, with the state that its guest and its caller share.
pub(super) struct RunningCall {
    pub(super) task: TaskStart<GuestResult>,
    pub(super) started: Instant,
    pub(super) deadline: Arc<Deadline>,
    pub(super) gate: Arc<Gate>,
    pub(super) telemetry: Arc<Telemetry>,
}

impl RunningCall {
    /// Waits for the end of the call and reports it.
    pub(super) async fn settle(
        self,
        tool: &ToolComponent,
        call: &Call<'_>,
        cancel: &CancellationToken,
    ) -> RunEnd {
        let telemetry = self.telemetry;
        let ended = match self.task {
            TaskStart::Ready(ended) => ended,
            TaskStart::Pending(task) => {
                let stop = async {
                    tokio::select! {
                        () = self.deadline.passed() => {}
                        () = cancel.cancelled() => {}
                    }
                };
                let interval = tool.loaded.shared.progress_interval;
                follow(task, stop, &telemetry, call, interval).await
            }
        };
        while let Some(report) = telemetry.reports.take() {
            call.report_progress(&report);
        }
        let result = ended.unwrap_or_else(|error| {
            Err(match error {
                TaskError::Cancelled if cancel.is_cancelled() => ToolFailure::stopped(call.effect),
                error => failure::of_task(&error, call.limits),
            })
        });
        let result = validate(result, tool, call);
        let mut stats = self.gate.stats();
        stats.redact(&call.secrets);
        let accounting = Accounting {
            wall_us: u64::try_from(self.started.elapsed().as_micros()).unwrap_or(u64::MAX),
            peak_memory_bytes: telemetry.peak_memory_bytes(),
            bytes_in: stats.bytes_in,
            bytes_out: stats.bytes_out,
            hosts: stats.hosts,
            stdio: call.secrets.text(&stdio::combined(&telemetry)).into_owned(),
            limits: Some(call.limits.clone()),
        };
        let (result, changes) = match result {
            Ok(GuestEnd::Result(output, changes, _memory)) => (Ok(output), changes),
            Ok(GuestEnd::Asked(question)) => {
                return RunEnd::Asked(PendingQuestion {
                    question,
                    answered_by: AnsweredBy::Rerun,
                    accounting,
                    audit: stats.audit,
                });
            }
            Err(failure) => (Err(failure), Vec::new()),
        };
        RunEnd::Settled(CallReport {
            accounting,
            audit: stats.audit,
            changes,
            sources: self.gate.read_sources(),
            ..CallReport::of(with_denial(result, stats.first_denial))
        })
    }
}

/// Reports progress and the lines that the guest prints, until it ends or `stop` completes.
/// `interval` is the least time between two reports of lines.
async fn follow(
    mut task: TaskHandle<GuestResult>,
    stop: impl Future<Output = ()>,
    telemetry: &Telemetry,
    call: &Call<'_>,
    interval: Duration,
) -> Result<GuestResult, TaskError> {
    let mut stop = pin!(stop);
    let mut not_before = None;
    loop {
        tokio::select! {
            biased;
            () = &mut stop => break,
            // A program runs in this poll, and the lines before its calls are shown first.
            ended = task.join() => return ended,
            report = telemetry.reports.next() => call.report_progress(&report),
            lines = telemetry.lines(not_before) => {
                (call.progress)(CallUpdate::Output(&lines));
                not_before = Some(tokio::time::Instant::now() + interval);
            }
        }
    }
    // Waits for the guest to end, so that its last effects are in the audit. A result that arrives
    // now counts.
    if let Ok(ended) = tokio::time::timeout(STOP_GRACE, task.cancel()).await {
        return ended;
    }
    tracing::warn!(
        tool = call.tool,
        "a stopped guest is still in a call of the operating system"
    );
    Err(TaskError::Cancelled)
}

/// Validates a result against its tool's output schema, and redacts all secrets.
fn validate(result: GuestResult, tool: &ToolComponent, call: &Call<'_>) -> GuestResult {
    let result = result.and_then(|mut end| {
        if let GuestEnd::Result(output, ..) = &mut end {
            let fits = |output: &ToolResultOutput| tool.check_output(call.tool, output);
            call.secrets.validate(output, fits)?;
            redact(output, &call.secrets);
        }
        Ok(end)
    });
    result.map_err(|failure| call.secrets.failure(failure))
}
