//! A program that runs until it ends itself, such as an MCP server: its main function, with its
//! standard streams connected to the host, or its handler of HTTP requests. The store, the limits
//! and the gate are those of a call, and in place of the deadline a program has a lifespan.

pub(crate) mod requests;
#[cfg(test)]
mod tests;

use crate::{
    caps::{
        as_count,
        pipe::{self, GuestPipes, InputWait, ProgramInput, ProgramOutput},
        telemetry::Telemetry,
        unwind::Unwind,
    },
    component::{
        program::ProgramEntry,
        tool::{HandleState, ToolComponent},
    },
    gate::Gate,
    instance::{
        failure,
        store::{CallContext, CallSetup, CallState, configure_store},
    },
    schedule::{
        activity::{Activity, Expired, Lifespan},
        deadline::Deadline,
        guest_runtime::{GuestRuntime, TaskHandle},
    },
    text,
};
use agent_host_engine::{policy::Grants, secrets::Secrets};
use agent_host_types::{
    accounting::{Accounting, AuditEntry},
    failure::{ToolErrorCode, ToolFailure},
    limits::Limits,
    tool::Effect,
};
use requests::{Answering, ProgramRequests, RequestQueue};
use std::{future::poll_fn, sync::Arc, task::Poll, time::Duration};
use tokio::sync::{OwnedSemaphorePermit, watch};
use tokio_util::sync::CancellationToken;
use wasmtime::Store;
use wasmtime_wasi::I32Exit;

/// The most bytes shown of how a program ended.
const MAX_END_BYTES: usize = 500;

/// How long the end of a program is waited for after its output has ended.
const END_TIMEOUT: Duration = Duration::from_millis(500);

/// The use of a program.
#[derive(Clone, Debug)]
pub struct ProgramUse {
    /// Its name in the log.
    pub name: String,
    /// The grants of the operator.
    pub grants: Arc<Grants>,
    /// The granted ones are substituted in requests; all of them are redacted from its audit and its
    /// stderr.
    pub secrets: Arc<Secrets>,
    /// Every limit. `deadline_ms` is how long it may compute after it took a message. Quotas of
    /// requests, files and bytes are renewed when a call begins while no other runs.
    pub limits: Limits,
    /// The time without a message either way, and without a call, after which it ends.
    pub idle: Duration,
    /// The age at which it ends, unless it answers a call.
    pub lifetime: Duration,
}

/// A program that runs.
pub struct RunningProgram {
    /// How it is spoken to.
    pub io: ProgramIo,
    /// Its control.
    pub control: ProgramControl,
}

/// The host's end of what a program reads and writes.
pub enum ProgramIo {
    /// The standard streams of a main function.
    Streams(ProgramInput, ProgramOutput),
    /// The requests of a handler of HTTP.
    Requests(ProgramRequests),
}

/// Tells whether a program waits for a message.
enum Waiting {
    Input(InputWait),
    Requests(Answering),
}

impl Waiting {
    fn get(&self) -> bool {
        match self {
            Self::Input(input) => input.get(),
            Self::Requests(answering) => answering.is_none(),
        }
    }
}

/// Both ends of what a program reads and writes.
struct Connected {
    host: ProgramIo,
    /// The guest's ends, of which it has one.
    pipes: Option<GuestPipes>,
    requests: Option<RequestQueue>,
    waiting: Waiting,
}

impl Connected {
    fn new(entry: &ProgramEntry, activity: &Arc<Activity>) -> Self {
        if entry.takes_requests() {
            let (host, guest, answering) = requests::requests(activity);
            return Self {
                waiting: Waiting::Requests(answering),
                host: ProgramIo::Requests(host),
                pipes: None,
                requests: Some(guest),
            };
        }
        let (input, output, guest) = pipe::pipes(activity);
        Self {
            waiting: Waiting::Input(input.wait()),
            host: ProgramIo::Streams(input, output),
            pipes: Some(guest),
            requests: None,
        }
    }
}

/// Counts the calls of a running program. Dropping it ends the program.
pub struct ProgramControl {
    gate: Arc<Gate>,
    secrets: Arc<Secrets>,
    telemetry: Arc<Telemetry>,
    activity: Arc<Activity>,
    waiting: Waiting,
    ended: watch::Receiver<Option<String>>,
    stop: CancellationToken,
}

impl Drop for ProgramControl {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

/// One run of a program.
struct ProgramJob {
    setup: CallSetup,
    entry: ProgramEntry,
    /// The streams of a main function.
    pipes: Option<GuestPipes>,
    /// The requests of a handler.
    requests: Option<RequestQueue>,
    activity: Arc<Activity>,
    secrets: Arc<Secrets>,
    permit: OwnedSemaphorePermit,
}

impl ToolComponent {
    /// Starts a program in an instance of its own. It ends itself, by its lifespan, or when its
    /// control is dropped.
    ///
    /// # Errors
    /// The component is not a program, or too many of them run.
    pub fn serve(&self, using: ProgramUse) -> Result<RunningProgram, ToolFailure> {
        let shared = &self.loaded.shared;
        let (grants, secrets, limits) = (using.grants, using.secrets, using.limits);
        let unavailable = |why| ToolFailure::new(ToolErrorCode::ToolUnavailable, why);
        let entry = self.loaded.linked.program.clone();
        let entry = entry.ok_or_else(|| unavailable("The component is not a program."))?;
        let permit = Arc::clone(&shared.servers)
            .try_acquire_owned()
            .map_err(|_| unavailable("the maximum number of servers runs in the sandbox"))?;
        let activity = Arc::new(Activity::new(Lifespan {
            idle: using.idle,
            lifetime: using.lifetime,
            call: Duration::from_millis(limits.deadline_ms),
        }));
        // Its effects are bounded by its grants alone.
        let gate = Gate::new(Arc::clone(&grants), Effect::Effectful, &limits);
        let telemetry = Telemetry::new(as_count(limits.stdio_bytes), &secrets);
        let Connected {
            host,
            pipes,
            requests,
            waiting,
        } = Connected::new(&entry, &activity);
        // Files of network file systems and connections are counted apart from those of its calls.
        let handle = HandleState::new(shared, None, None);
        let mounts_dirs = !grants.dirs.is_empty() && self.imports_preopens();
        let job = Box::new(ProgramJob {
            setup: CallSetup {
                gate: Arc::clone(&gate),
                limits: limits.clone(),
                deadline: Arc::new(Deadline::new(activity.end())),
                permit: None,
                protected: Arc::clone(&shared.protected),
                dirs: mounts_dirs.then(|| Arc::clone(&handle.blocking)),
                client: Arc::clone(&handle.client),
                secrets: Arc::clone(&secrets),
                telemetry: Arc::clone(&telemetry),
                progress_interval: shared.progress_interval,
                context: CallContext::default(),
            },
            entry,
            pipes,
            requests,
            activity: Arc::clone(&activity),
            secrets: Arc::clone(&secrets),
            permit,
        });
        let task = shared
            .guests
            .spawn_program(&handle.schedule, &activity, run(job));
        let stop = CancellationToken::new();
        let supervised = Supervised {
            name: using.name,
            task,
            telemetry: Arc::clone(&telemetry),
            activity: Arc::clone(&activity),
            stop: stop.clone(),
            interval: shared.progress_interval,
        };
        Ok(RunningProgram {
            control: ProgramControl {
                gate,
                secrets,
                telemetry,
                activity,
                waiting,
                ended: supervised.spawn(&shared.guests),
                stop,
            },
            io: host,
        })
    }
}

impl ProgramControl {
    /// Begins a call, so that the program is not ended as idle meanwhile. Returns whether it still
    /// runs.
    #[must_use]
    pub fn begin_call(&self) -> bool {
        match self.activity.begin_call() {
            None => false,
            Some(others) => {
                if others == 0 {
                    self.gate.renew();
                }
                true
            }
        }
    }

    /// Ends a call, and returns what the program did since the last one ended: its audit, the bytes
    /// that it moved and the hosts that it reached. A program that is stuck in a call that was given up
    /// ends, and the next call starts another. The limits are left out, since files that it
    /// changes are not kept to undo the call.
    pub fn end_call(&self, is_answered: bool) -> (Accounting, Vec<AuditEntry>) {
        if self.activity.end_call(is_answered, self.waiting.get()) {
            self.stop.cancel();
        }
        let mut stats = self.gate.take_stats();
        stats.redact(&self.secrets);
        let accounting = Accounting {
            peak_memory_bytes: self.telemetry.peak_memory_bytes(),
            bytes_in: stats.bytes_in,
            bytes_out: stats.bytes_out,
            hosts: stats.hosts,
            ..Accounting::default()
        };
        (accounting, stats.audit)
    }

    /// Returns whether the program has ended, or ends now.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.activity.has_ended()
    }

    /// Returns how the program ended, as a clause; `None` if it has not. After its output has ended
    /// this takes a moment.
    pub async fn ended(&self) -> Option<String> {
        let mut ended = self.ended.clone();
        let ended = ended.wait_for(Option::is_some);
        let ended = tokio::time::timeout(END_TIMEOUT, ended).await.ok()?.ok()?;
        ended.clone()
    }

    /// Returns how the program ended, without waiting.
    #[must_use]
    pub fn ended_so_far(&self) -> Option<String> {
        self.ended.borrow().clone()
    }
}

/// Runs the program, and returns how it ended, as a clause.
async fn run(job: Box<ProgramJob>) -> String {
    let (activity, telemetry) = (Arc::clone(&job.activity), Arc::clone(&job.setup.telemetry));
    let (secrets, limits) = (Arc::clone(&job.secrets), job.setup.limits.clone());
    let mut main = Box::pin(main(job));
    // Its slices are added up by the task that polls this.
    let ended = poll_fn(|context| match activity.is_busy_for_too_long() {
        true => {
            // Before its store drops: see `requests::reader`.
            activity.set_ended();
            Poll::Ready(Ended::Stopped(busy(&limits)))
        }
        false => main.as_mut().poll(context),
    })
    .await;
    drop(main);
    let said = match ended {
        // The message of a crash is in the reason.
        Ended::Stopped(why) => why,
        Ended::Itself(how) => {
            let stderr = telemetry.stderr.text();
            match last_line(&stderr) {
                "" => how,
                said => format!("{how}, and its last line on stderr was: {said}"),
            }
        }
    };
    text::sanitize(&secrets.text(&said), MAX_END_BYTES)
}

/// How a program ended, as a clause.
enum Ended {
    Itself(String),
    Stopped(String),
}

async fn main(job: Box<ProgramJob>) -> Ended {
    let (engine, setup) = (job.entry.engine().clone(), job.setup);
    // Declared after the permit, so the store and its instance drop before it.
    let _permit = job.permit;
    let mut store = match configure_store(&engine, setup.clone()).await {
        Ok(store) => store,
        Err(failure) => return Ended::Stopped(clause(&failure)),
    };
    if let Some(pipes) = job.pipes {
        store.data_mut().wasi.connect(pipes);
    }
    let ran = enter(&job.entry, job.requests, &mut store, &setup).await;
    job.activity.set_ended();
    let code = match ran {
        Ok(Ok(())) => 0,
        Ok(Err(())) => 1,
        Err(error) => match (error.downcast_ref(), error.downcast_ref()) {
            (Some(I32Exit(code)), _) => *code,
            (None, Some(Unwind::Deadline)) => return Ended::Stopped(LIFETIME.to_owned()),
            _ => return Ended::Stopped(clause(&failure::explained(&error, store.data()))),
        },
    };
    Ended::Itself(match code {
        0 => "it ended itself".to_owned(),
        code => format!("it ended itself with exit code {code}"),
    })
}

/// Runs the main function, or answers requests until none can come any more.
async fn enter(
    entry: &ProgramEntry,
    requests: Option<RequestQueue>,
    store: &mut Store<CallState>,
    setup: &CallSetup,
) -> wasmtime::Result<Result<(), ()>> {
    match (entry, requests) {
        (ProgramEntry::Main(pre), _) => {
            let command = pre.instantiate_async(&mut *store).await?;
            command.wasi_cli_run().call_run(store).await
        }
        (ProgramEntry::AsyncMain(pre), _) => {
            let command = pre.instantiate_async(&mut *store).await?;
            store
                .run_concurrent(async |store| command.wasi_cli_run().call_run(store).await)
                .await?
        }
        (ProgramEntry::Handler(pre), Some(requests)) => {
            requests.answer(pre, store, setup).await.map(Ok)
        }
        (ProgramEntry::AsyncHandler(pre), Some(requests)) => {
            requests.answer_at_once(pre, store).await.map(Ok)
        }
        (ProgramEntry::Handler(_) | ProgramEntry::AsyncHandler(_), None) => Ok(Ok(())),
    }
}

/// A running program, as the task sees it that ends it.
struct Supervised {
    name: String,
    task: TaskHandle<String>,
    telemetry: Arc<Telemetry>,
    activity: Arc<Activity>,
    stop: CancellationToken,
    /// The least time between two entries of its stderr in the log.
    interval: Duration,
}

impl Supervised {
    /// Watches the program in a task of the host, which tells how it ended.
    fn spawn(self, guests: &GuestRuntime) -> watch::Receiver<Option<String>> {
        let (end, ended) = watch::channel(None);
        let watching = async move { end.send_replace(Some(self.end().await)) };
        drop(guests.spawn_host(watching));
        ended
    }

    /// Logs its stderr until it ends, or ends it; returns how it ended.
    async fn end(mut self) -> String {
        let mut not_before = None;
        let why = loop {
            tokio::select! {
                biased;
                ended = self.task.join() => {
                    self.activity.set_ended();
                    return ended.unwrap_or_else(|_| "the host failed while running it".to_owned());
                }
                () = self.stop.cancelled() => break "it was stopped".to_owned(),
                why = self.activity.expired() => break match why {
                    Expired::Idle => "it was idle (`idle-seconds`)".to_owned(),
                    Expired::Lifetime => LIFETIME.to_owned(),
                },
                lines = self.telemetry.lines(not_before) => {
                    for line in lines.lines() {
                        tracing::debug!(target: "agent_host::mcp", server = self.name, "{line}");
                    }
                    not_before = Some(tokio::time::Instant::now() + self.interval);
                }
            }
        };
        self.activity.set_ended();
        // Its pipes close when its store is dropped.
        let _ = self.task.cancel().await;
        why
    }
}

const LIFETIME: &str = "it reached its greatest age (`lifetime-seconds`)";

fn busy(limits: &Limits) -> String {
    format!(
        "it was stopped: it computed for more than {} ms without taking another message (`deadline-ms`)",
        limits.deadline_ms
    )
}

/// Returns the first sentence of a failure as a clause about the program.
fn clause(failure: &ToolFailure) -> String {
    let message = failure.message();
    let first = message.split(". ").next().unwrap_or_default();
    let first = first.trim_end_matches('.');
    match first.strip_prefix("The tool ") {
        Some(rest) => format!("it {rest}"),
        None => first.to_owned(),
    }
}

fn last_line(stderr: &str) -> &str {
    let mut lines = stderr.lines().rev().map(str::trim);
    lines.find(|line| !line.is_empty()).unwrap_or_default()
}
