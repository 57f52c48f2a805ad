//! The threads on which guests run, and which guest runs where.
//!
//! Guests run on their own threads, so that one that computes without end delays neither the loop
//! nor a call that has just started. A guest starts on the *short* threads. Once it has computed
//! for longer than a slice it moves to the *long* threads, which have a lower priority and where
//! tools take turns slice by slice: a long call shares the processors with other tools, however
//! many calls each of them has. A guest that waits in a host call holds neither a thread nor a
//! permit.
//!
//! There are two exceptions, on the caller's thread. Each saves two wake-ups, which cost more than
//! a short call. The first slice of a call may run inline if the caller allows it and the tool's
//! history does (`inline.rs`). A tool that then overruns delays its caller's thread by one slice,
//! once: its guest moves to the guest threads and its history starts anew. A program runs attached
//! to its caller, the loop that runs its calls, since one of the two always waits for the other. It
//! moves to the long threads, too, after a few slices (256 calls, and its start, fit into two) or
//! before work that cannot be interrupted.
//!
//! A program with a lifespan, such as a server, is measured anew with each input that it takes: it
//! returns to the short threads when it has answered quickly again.

#[cfg(test)]
mod tests;

use crate::schedule::{
    activity::Activity,
    blocking::{BlockingThreads, ToolBlocking},
    fair_semaphore::{Acquire, FairSemaphore, Quota, Tenant},
    inline::InlineHistory,
    threads::start_runtime,
    ticker::TICK,
};
use futures_util::FutureExt as _;
use std::{
    cell::Cell,
    future::poll_fn,
    io,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, Waker, ready},
    thread,
    time::{Duration, Instant},
};
use tokio::{
    runtime::{Builder, Handle, Runtime},
    task::{JoinError, JoinHandle},
};

/// The bound on threads for blocking work of the host, such as reading components; they are started
/// when needed.
const MAX_BLOCKING_THREADS: usize = 16;

/// The nice value that the long threads add to their process's (`setpriority(2)`). At 10 a thread
/// gets a tenth of a contended processor, and a thread that wakes preempts it at once.
const NICE: i32 = 10;

/// The time that a program may compute on its caller's thread.
const ATTACHED: Duration = TICK.saturating_mul(4);

thread_local! {
    /// Whether the work that was polled here last ended its slice for what follows.
    static YIELDED: Cell<bool> = const { Cell::new(false) };
}

/// Owns the threads. Dropping it does not wait, so it may be dropped in async code.
pub(crate) struct GuestRuntime {
    short: Threads,
    long: Threads,
    /// A permit for each slice on the long threads, as many as there are short threads.
    long_slices: Arc<FairSemaphore>,
    blocking: BlockingThreads,
    threads: usize,
}

/// The scheduler's state for one tool.
pub(crate) struct ToolSchedule {
    history: InlineHistory,
    long_slices: Arc<Tenant>,
}

/// Why a task ended without a result.
#[derive(Debug)]
pub(crate) enum TaskError {
    Cancelled,
    /// The host panicked, with this text for the log.
    Panicked(String),
}

/// How far a task came on its caller's thread.
pub(crate) enum TaskStart<T> {
    Ready(Result<T, TaskError>),
    /// It continues, mostly on the guest threads.
    Pending(TaskHandle<T>),
}

#[cfg(test)]
impl ToolSchedule {
    /// True if the tool's next call may start on its caller's thread.
    pub(crate) fn may_inline(&self) -> bool {
        self.history.may_inline()
    }

    /// Counts a quick call, whatever the speed of the machine.
    pub(crate) fn count_quick_call(&self) {
        self.history.on_finished(Duration::ZERO, 0);
    }
}

impl GuestRuntime {
    /// Starts `threads` short threads and as many long ones.
    pub(crate) fn new(threads: usize) -> io::Result<Self> {
        let short = Threads::start("guest", threads, || {})?;
        Ok(Self {
            blocking: BlockingThreads::start(short.handle.clone())?,
            short,
            // One thread more than permits: it queues the tasks that wait for one.
            long: Threads::start("guest-long", threads + 1, || {
                if let Err(error) = rustix::process::nice(NICE) {
                    tracing::debug!("a thread for long calls keeps its priority: {error}");
                }
            })?,
            long_slices: FairSemaphore::new(threads, 0, usize::MAX),
            threads,
        })
    }

    /// Creates the state for one more tool.
    pub(crate) fn schedule(&self) -> Arc<ToolSchedule> {
        Arc::new(ToolSchedule {
            history: InlineHistory::default(),
            long_slices: self.long_slices.tenant(Quota {
                permits: self.threads,
                waiters: usize::MAX,
            }),
        })
    }

    /// Creates one more tool's part of the threads that may block.
    pub(crate) fn blocking(&self) -> Arc<ToolBlocking> {
        self.blocking.for_tool()
    }

    /// Runs a tool's work on the guest threads.
    pub(crate) fn spawn<T: Send + 'static>(
        &self,
        schedule: &Arc<ToolSchedule>,
        work: impl Future<Output = T> + Send + 'static,
    ) -> TaskHandle<T> {
        self.spawn_task(GuestTask::new(schedule, work))
    }

    /// Runs a tool's work, its first slice inline if the tool's history allows that. The work must
    /// not block.
    pub(crate) fn start<T: Send + 'static>(
        &self,
        schedule: &Arc<ToolSchedule>,
        work: impl Future<Output = T> + Send + 'static,
    ) -> TaskStart<T> {
        let mut task = GuestTask::new(schedule, work);
        if !schedule.history.may_inline() {
            return TaskStart::Pending(self.spawn_task(task));
        }
        // Timers and connections that the work creates belong to the guest threads from the start.
        let _entered = self.short.handle.enter();
        let mut context = Context::from_waker(Waker::noop());
        // A panic of the host ends the call and not its caller, as it does on a guest thread.
        match catch_unwind(AssertUnwindSafe(|| task.poll(&mut context))) {
            Ok(Poll::Ready(result)) => TaskStart::Ready(Ok(result)),
            Ok(Poll::Pending) => {
                schedule.history.on_overrun();
                // The guest threads poll it again, with a waker.
                TaskStart::Pending(self.spawn_task(task))
            }
            Err(payload) => {
                TaskStart::Ready(Err(TaskError::Panicked(panic_text(payload.as_ref()))))
            }
        }
    }

    /// Prepares a tool's work to run on the thread of its caller, which waits in
    /// [`TaskHandle::join`], until it has computed for longer than [`ATTACHED`]. The work must not
    /// block.
    pub(crate) fn attach<T: Send + 'static>(
        &self,
        schedule: &Arc<ToolSchedule>,
        work: impl Future<Output = T> + Send + 'static,
    ) -> TaskHandle<T> {
        let task = GuestTask {
            is_attached: true,
            ..GuestTask::new(schedule, work)
        };
        let stage = AssertUnwindSafe(task.run_short()).catch_unwind();
        TaskHandle {
            place: TaskPlace::Caller(Box::pin(stage)),
            short: self.short.handle.clone(),
            long: self.long.handle.clone(),
        }
    }

    /// Runs a program on the guest threads.
    pub(crate) fn spawn_program<T: Send + 'static>(
        &self,
        schedule: &Arc<ToolSchedule>,
        activity: &Arc<Activity>,
        work: impl Future<Output = T> + Send + 'static,
    ) -> TaskHandle<T> {
        self.spawn_task(GuestTask {
            activity: Some(Arc::clone(activity)),
            ..GuestTask::new(schedule, work)
        })
    }

    fn spawn_task<T: Send + 'static>(&self, task: GuestTask<T>) -> TaskHandle<T> {
        TaskHandle {
            place: TaskPlace::Threads(self.short.handle.spawn(task.run_short())),
            short: self.short.handle.clone(),
            long: self.long.handle.clone(),
        }
    }

    /// Runs work of the host that mostly waits. Its thread lives as long as this runtime.
    pub(crate) fn spawn_host<F>(&self, work: F) -> JoinHandle<F::Output>
    where
        F: Future<Output: Send + 'static> + Send + 'static,
    {
        self.short.handle.spawn(work)
    }

    /// Runs blocking work of the host off the guest threads.
    pub(crate) fn spawn_blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> JoinHandle<T> {
        self.short.handle.spawn_blocking(work)
    }
}

/// Ends the running slice, so that the work after it does not hold a caller's thread.
pub(crate) async fn yield_slice() {
    let mut yielded = false;
    poll_fn(|context| {
        if yielded {
            return Poll::Ready(());
        }
        yielded = true;
        YIELDED.set(true);
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// The work of one call, measured for its tool's history.
struct GuestTask<T> {
    work: Pin<Box<dyn Future<Output = T> + Send>>,
    schedule: Arc<ToolSchedule>,
    /// The time in which it held a thread; for a program, since it last took input.
    computed: Duration,
    yields: u32,
    is_attached: bool,
    /// Of a program.
    activity: Option<Arc<Activity>>,
}

/// How a task left its threads.
enum TaskStage<T> {
    Finished(T),
    /// It computed for longer than a slice.
    Preempted(GuestTask<T>),
    /// It took input and computed for less than a slice since.
    Answered(GuestTask<T>),
}

impl<T: Send + 'static> GuestTask<T> {
    fn new(schedule: &Arc<ToolSchedule>, work: impl Future<Output = T> + Send + 'static) -> Self {
        Self {
            work: Box::pin(work),
            schedule: Arc::clone(schedule),
            computed: Duration::ZERO,
            yields: 0,
            is_attached: false,
            activity: None,
        }
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<T> {
        YIELDED.set(false);
        let started = Instant::now();
        let polled = self.work.as_mut().poll(context);
        self.computed = match &self.activity {
            Some(activity) => activity.add_computed(started.elapsed()),
            None => self.computed + started.elapsed(),
        };
        let history = &self.schedule.history;
        match &polled {
            Poll::Ready(_) if self.is_long() => history.on_long(),
            Poll::Ready(_) => history.on_finished(self.computed, self.yields),
            Poll::Pending => self.yields = self.yields.saturating_add(1),
        }
        polled
    }

    /// A guest yields after one to two ticks, so one that does not end has computed for at least
    /// one.
    fn is_long(&self) -> bool {
        self.computed >= if self.is_attached { ATTACHED } else { TICK }
    }

    /// True if it moves back to the short threads, after a poll.
    fn has_answered(&self) -> bool {
        self.activity.is_some() && !self.is_long()
    }

    /// True if it moves to the long threads, after a poll.
    fn moves(&self) -> bool {
        self.is_long() || self.is_attached && YIELDED.get()
    }

    async fn run_short(mut self) -> TaskStage<T> {
        // The calls of a long-running tool do not start here: a hundred of them are a hundred
        // slices.
        if self.schedule.history.starts_long() {
            return TaskStage::Preempted(self);
        }
        let finished = poll_fn(|context| match self.poll(context) {
            Poll::Ready(result) => Poll::Ready(Some(result)),
            Poll::Pending if self.moves() => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        });
        match finished.await {
            Some(result) => TaskStage::Finished(result),
            None => {
                self.schedule.history.on_long();
                TaskStage::Preempted(self)
            }
        }
    }

    async fn run_long(mut self) -> TaskStage<T> {
        let mut acquire: Option<Acquire> = None;
        let finished = poll_fn(|context| {
            let next = match &mut acquire {
                Some(next) => next,
                None => match self.schedule.long_slices.acquire() {
                    Ok(next) => acquire.insert(next),
                    // Unreachable, because the queue is unbounded. The slice then runs without a
                    // permit.
                    Err(_) => return self.poll(context).map(Some),
                },
            };
            let permit = ready!(Pin::new(next).poll(context));
            acquire = None;
            let polled = self.poll(context);
            drop(permit);
            match polled {
                Poll::Pending if self.has_answered() => Poll::Ready(None),
                polled => polled.map(Some),
            }
        });
        match finished.await {
            Some(result) => TaskStage::Finished(result),
            None => {
                self.schedule
                    .history
                    .on_finished(self.computed, self.yields);
                TaskStage::Answered(self)
            }
        }
    }
}

/// A task of a guest. Dropping it cancels the task.
pub(crate) struct TaskHandle<T> {
    place: TaskPlace<T>,
    short: Handle,
    long: Handle,
}

/// Where a task runs.
enum TaskPlace<T> {
    /// On the thread that joins it.
    Caller(Pin<Box<dyn Future<Output = thread::Result<TaskStage<T>>> + Send>>),
    Threads(JoinHandle<TaskStage<T>>),
}

impl<T: Send + 'static> TaskHandle<T> {
    /// Waits for the task and moves it between the threads. Cancel safe.
    pub(crate) async fn join(&mut self) -> Result<T, TaskError> {
        loop {
            match self.place.ended().await? {
                TaskStage::Finished(result) => return Ok(result),
                TaskStage::Preempted(task) => {
                    self.place = TaskPlace::Threads(self.long.spawn(task.run_long()));
                }
                TaskStage::Answered(task) => {
                    self.place = TaskPlace::Threads(self.short.spawn(task.run_short()));
                }
            }
        }
    }

    /// Cancels the task at the end of its slice and waits until it is dropped. A task that finishes
    /// first returns its result.
    pub(crate) async fn cancel(mut self) -> Result<T, TaskError> {
        if let TaskPlace::Threads(task) = &self.place {
            task.abort();
            if let TaskStage::Finished(result) = self.place.ended().await? {
                return Ok(result);
            }
        }
        Err(TaskError::Cancelled)
    }
}

impl<T> TaskPlace<T> {
    /// Waits until the task ends or has to move. Cancel safe.
    async fn ended(&mut self) -> Result<TaskStage<T>, TaskError> {
        match self {
            Self::Caller(task) => task
                .await
                .map_err(|payload| TaskError::Panicked(panic_text(payload.as_ref()))),
            Self::Threads(task) => task.await.map_err(TaskError::from_join),
        }
    }
}

impl<T> Drop for TaskHandle<T> {
    fn drop(&mut self) {
        if let TaskPlace::Threads(task) = &self.place {
            task.abort();
        }
    }
}

impl TaskError {
    fn from_join(error: JoinError) -> Self {
        match error.try_into_panic() {
            Ok(payload) => Self::Panicked(panic_text(payload.as_ref())),
            Err(_) => Self::Cancelled,
        }
    }
}

fn panic_text(payload: &(dyn std::any::Any + Send)) -> String {
    let text = payload
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| payload.downcast_ref::<String>().cloned());
    text.unwrap_or_else(|| "a panic without a text".to_owned())
}

/// A runtime and its threads.
struct Threads {
    /// Present until `drop` takes it.
    runtime: Option<Runtime>,
    handle: Handle,
}

impl Threads {
    fn start(
        name: &str,
        threads: usize,
        on_start: impl Fn() + Send + Sync + 'static,
    ) -> io::Result<Self> {
        let mut builder = Builder::new_multi_thread();
        builder
            .max_blocking_threads(MAX_BLOCKING_THREADS)
            .thread_name(name)
            .on_thread_start(on_start)
            .enable_all()
            // A poll of a computing guest lasts a whole slice. At the default of 61 polls between
            // two checks of timers and sockets, other guests' timers fired half a second late.
            .event_interval(1)
            .global_queue_interval(1);
        let runtime = start_runtime(&mut builder, threads)?;
        let handle = runtime.handle().clone();
        Ok(Self {
            runtime: Some(runtime),
            handle,
        })
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
