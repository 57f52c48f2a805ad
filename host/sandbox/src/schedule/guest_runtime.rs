//! The threads on which guests run, and which guest runs where.
//!
//! Guests run on threads of their own, so that a guest that computes without end delays neither the loop nor a call that has
//! just begun. A guest begins on the *short* threads. Once it has computed for longer than a slice it goes on on the *long*
//! threads, which the kernel lets run after all others, and where tools take turns slice by slice: a call that computes for
//! long shares the processors with other tools, however many calls each of them has. A guest keeps neither thread nor turn while
//! it waits in a host call.
//!
//! There is one exception: the first slice of a call may run on its caller's thread, where the caller allows it and the tool has
//! earned it (`inline.rs`). It saves the two wake-ups that cost more than the call itself. A tool that has earned it and then
//! computes on delays its caller's thread by one slice, once: its guest moves to the threads for guests and its standing is gone.

#[cfg(test)]
mod tests;

use crate::schedule::{
    fair_semaphore::{Most, Party, Turn, Turns},
    inline::Standing,
    threads::start_runtime,
    ticker::TICK,
};
use std::{
    future::poll_fn,
    io,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, Waker, ready},
    time::{Duration, Instant},
};
use tokio::{
    runtime::{Builder, Handle, Runtime},
    task::{JoinError, JoinHandle},
};

/// Threads for blocking work, such as compiling. A bound only; they are made when needed.
const MAX_BLOCKING_THREADS: usize = 16;

/// By how much the long threads are nicer to others than their process is (see `setpriority(2)`). At 10 a thread gets a tenth of
/// a processor that another thread wants, too, and one that wakes takes it at once.
const NICE: i32 = 10;

/// What runs on the guests' threads.
type Work<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// Owns the threads. Dropping it does not wait, so it may be dropped in async code.
pub(crate) struct GuestRuntime {
    short: Threads,
    long: Threads,
    /// The turns of those that compute for long: one for each thread of either kind.
    lanes: Arc<Turns>,
    threads: usize,
}

/// What the scheduler knows of one tool.
pub(crate) struct Schedule {
    standing: Standing,
    /// Its turns among those that compute for long.
    lane: Arc<Party>,
}

/// Why a guest's work ended without a result.
#[derive(Debug)]
pub(crate) enum Lost {
    /// It was stopped.
    Stopped,
    /// The host has a fault. The text is for the log.
    Panicked(String),
}

/// How far a guest came on its caller's thread.
pub(crate) enum Begun<T> {
    /// To its end.
    Ended(Result<T, Lost>),
    /// It goes on on the guests' threads.
    GoesOn(Running<T>),
}

#[cfg(test)]
impl Schedule {
    /// Whether the tool's next call may begin on its caller's thread.
    pub(crate) fn is_trusted(&self) -> bool {
        self.standing.is_trusted()
    }
}

impl GuestRuntime {
    /// Starts so many threads of either kind.
    pub(crate) fn new(threads: usize) -> io::Result<Self> {
        Ok(Self {
            short: Threads::start("guest", threads, || {})?,
            // One thread more than there are turns: it puts those who want to go on into their queue meanwhile.
            long: Threads::start("guest-long", threads + 1, || {
                if let Err(error) = rustix::process::nice(NICE) {
                    tracing::debug!("a thread for long calls keeps its priority: {error}");
                }
            })?,
            lanes: Turns::new(threads, 0, usize::MAX),
            threads,
        })
    }

    /// What the scheduler is to know of one more tool.
    pub(crate) fn schedule(&self) -> Arc<Schedule> {
        Arc::new(Schedule {
            standing: Standing::default(),
            lane: self.lanes.party(Most {
                places: self.threads,
                waiting: usize::MAX,
            }),
        })
    }

    /// Runs a tool's work on the guests' threads.
    pub(crate) fn run<T: Send + 'static>(
        &self,
        schedule: &Arc<Schedule>,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Running<T> {
        self.go_on(Slices::new(schedule, Box::pin(work)))
    }

    /// Runs a tool's work, and its first slice here and now if the tool has earned that. The work must not block.
    pub(crate) fn begin<T: Send + 'static>(
        &self,
        schedule: &Arc<Schedule>,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Begun<T> {
        let mut slices = Slices::new(schedule, Box::pin(work));
        if !schedule.standing.is_trusted() {
            return Begun::GoesOn(self.go_on(slices));
        }
        // Timers and connections that the work makes belong to the guests' threads from the start.
        let _entered = self.short.handle.enter();
        let mut nobody = Context::from_waker(Waker::noop());
        // As on a thread of its own, a fault of the host ends the call and not its caller.
        match catch_unwind(AssertUnwindSafe(|| slices.poll(&mut nobody))) {
            Ok(Poll::Ready(result)) => Begun::Ended(Ok(result)),
            Ok(Poll::Pending) => {
                schedule.standing.betrayed();
                // There it is polled again, with somebody who hears when it can go on.
                Begun::GoesOn(self.go_on(slices))
            }
            Err(payload) => Begun::Ended(Err(Lost::Panicked(panic_text(payload.as_ref())))),
        }
    }

    fn go_on<T: Send + 'static>(&self, slices: Slices<T>) -> Running<T> {
        Running {
            stage: self.short.handle.spawn(slices.short()),
            long: self.long.handle.clone(),
        }
    }

    /// Runs work of the host that waits and hardly computes. Its thread lasts as long as this runtime.
    pub(crate) fn spawn<F>(&self, work: F) -> JoinHandle<F::Output>
    where
        F: Future<Output: Send + 'static> + Send + 'static,
    {
        self.short.handle.spawn(work)
    }

    /// Runs blocking work beside the guests' threads.
    pub(crate) fn spawn_blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> JoinHandle<T> {
        self.short.handle.spawn_blocking(work)
    }
}

/// Ends the slice that is running, so that what follows does not hold up a caller's thread.
pub(crate) async fn end_slice() {
    let mut ended = false;
    poll_fn(|context| {
        if ended {
            return Poll::Ready(());
        }
        ended = true;
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// The work of one call, with what its tool's standing needs to know of it.
struct Slices<T> {
    work: Work<T>,
    schedule: Arc<Schedule>,
    /// The time in which it had a thread.
    computed: Duration,
    /// How often it gave the thread back before its end.
    pauses: u32,
}

/// How work left the short threads.
enum Stage<T> {
    /// At its end.
    Ended(T),
    /// Because it computes for long.
    Overran(Slices<T>),
}

impl<T: Send + 'static> Slices<T> {
    fn new(schedule: &Arc<Schedule>, work: Work<T>) -> Self {
        Self {
            work,
            schedule: Arc::clone(schedule),
            computed: Duration::ZERO,
            pauses: 0,
        }
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<T> {
        let begun = Instant::now();
        let polled = self.work.as_mut().poll(context);
        self.computed += begun.elapsed();
        match &polled {
            Poll::Ready(_) if self.is_long() => self.schedule.standing.overran(),
            Poll::Ready(_) => self.schedule.standing.ended(self.computed, self.pauses),
            Poll::Pending => self.pauses = self.pauses.saturating_add(1),
        }
        polled
    }

    /// A guest gives its thread back after one to two ticks; one tick is the least that a guest that does not end has computed.
    fn is_long(&self) -> bool {
        self.computed >= TICK
    }

    async fn short(mut self) -> Stage<T> {
        // What belongs to a tool that computes for long does not begin here, or a hundred such calls were a hundred slices.
        if self.schedule.standing.is_long() {
            return Stage::Overran(self);
        }
        let ended = poll_fn(|context| match self.poll(context) {
            Poll::Ready(result) => Poll::Ready(Some(result)),
            Poll::Pending if self.is_long() => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        });
        match ended.await {
            Some(result) => Stage::Ended(result),
            None => {
                self.schedule.standing.overran();
                Stage::Overran(self)
            }
        }
    }

    async fn long(mut self) -> Stage<T> {
        let mut turn: Option<Turn> = None;
        poll_fn(|context| {
            let next = match &mut turn {
                Some(turn) => turn,
                None => match self.schedule.lane.turn() {
                    Ok(next) => turn.insert(next),
                    // Not reached: any number may wait. Without its turn it runs all the same.
                    Err(_) => return self.poll(context).map(Stage::Ended),
                },
            };
            let place = ready!(Pin::new(next).poll(context));
            turn = None;
            let polled = self.poll(context);
            drop(place);
            polled.map(Stage::Ended)
        })
        .await
    }
}

/// Work on the guests' threads. Dropping it stops the work.
pub(crate) struct Running<T> {
    stage: JoinHandle<Stage<T>>,
    long: Handle,
}

impl<T: Send + 'static> Running<T> {
    /// Waits for the end. May be dropped and called again.
    pub(crate) async fn ended(&mut self) -> Result<T, Lost> {
        loop {
            match (&mut self.stage).await {
                Ok(Stage::Ended(result)) => return Ok(result),
                Ok(Stage::Overran(slices)) => self.stage = self.long.spawn(slices.long()),
                Err(error) => return Err(Lost::from_join(error)),
            }
        }
    }

    /// Stops the work at the end of its slice, and waits until it has let go. A result at this very moment stands.
    pub(crate) async fn stop(mut self) -> Result<T, Lost> {
        self.stage.abort();
        match (&mut self.stage).await {
            Ok(Stage::Ended(result)) => Ok(result),
            Ok(Stage::Overran(_)) => Err(Lost::Stopped),
            Err(error) => Err(Lost::from_join(error)),
        }
    }
}

impl<T> Drop for Running<T> {
    fn drop(&mut self) {
        self.stage.abort();
    }
}

impl Lost {
    fn from_join(error: JoinError) -> Self {
        match error.try_into_panic() {
            Ok(payload) => Self::Panicked(panic_text(payload.as_ref())),
            Err(_) => Self::Stopped,
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

/// Threads with a runtime on them.
struct Threads {
    /// Always there until `drop` takes it.
    runtime: Option<Runtime>,
    handle: Handle,
}

impl Threads {
    fn start(
        name: &str,
        threads: usize,
        begin: impl Fn() + Send + Sync + 'static,
    ) -> io::Result<Self> {
        let mut builder = Builder::new_multi_thread();
        builder
            .max_blocking_threads(MAX_BLOCKING_THREADS)
            .thread_name(name)
            .on_thread_start(begin)
            .enable_all()
            // A poll of a computing guest lasts a whole slice. At the default of 61 polls between two looks at timers and
            // sockets, other guests' timers came half a second late.
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
