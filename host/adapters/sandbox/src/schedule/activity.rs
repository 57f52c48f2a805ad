//! The activity of a program: when it last received or sent something, the calls that it answers,
//! and for how long it has computed. It ends a program that is idle, too old, or busy for too long.

use crate::mutex::lock;
use std::{
    sync::Mutex,
    time::{Duration, Instant},
};
use tokio::sync::Notify;

/// The bound on each duration, so that no sum of them overflows.
const LONGEST: Duration = Duration::from_secs(366 * 24 * 3600);

/// How long a program lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lifespan {
    /// The time without a message either way and without a call, after which it ends.
    pub(crate) idle: Duration,
    /// The age at which it ends, unless it answers a call.
    pub(crate) lifetime: Duration,
    /// The time of a call: how long it may compute after a message, and how long after its lifetime
    /// it may answer calls.
    pub(crate) call: Duration,
}

/// Why a program was ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Expired {
    Idle,
    Lifetime,
}

pub(crate) struct Activity {
    lifespan: Lifespan,
    started: Instant,
    state: Mutex<ActivityState>,
    /// Tells that a call ended.
    call_ended: Notify,
}

struct ActivityState {
    /// The time of the last byte either way, or of the start or end of a call.
    last: Instant,
    last_input: Instant,
    /// The time that it held a thread since it last took input.
    computed: Duration,
    calls: usize,
    has_ended: bool,
}

impl Activity {
    pub(crate) fn new(lifespan: Lifespan) -> Self {
        let started = Instant::now();
        let lifespan = Lifespan {
            idle: lifespan.idle.min(LONGEST),
            lifetime: lifespan.lifetime.min(LONGEST),
            call: lifespan.call.min(LONGEST),
        };
        Self {
            lifespan,
            started,
            state: Mutex::new(ActivityState {
                last: started,
                last_input: started,
                computed: Duration::ZERO,
                calls: 0,
                has_ended: false,
            }),
            call_ended: Notify::new(),
        }
    }

    /// Returns the time at which it ends in any case.
    pub(crate) fn end(&self) -> Instant {
        self.started + self.lifespan.lifetime + self.lifespan.call
    }

    /// Records that the guest took input.
    pub(crate) fn received(&self) {
        let mut state = lock(&self.state);
        state.last = Instant::now();
        state.last_input = state.last;
        state.computed = Duration::ZERO;
    }

    /// Records that the guest sent output.
    pub(crate) fn sent(&self) {
        lock(&self.state).last = Instant::now();
    }

    /// Adds time that the guest held a thread, and returns all of it since it last took input.
    pub(crate) fn add_computed(&self, time: Duration) -> Duration {
        let mut state = lock(&self.state);
        state.computed += time;
        state.computed
    }

    /// Returns whether the guest has computed for longer than it may.
    pub(crate) fn is_busy_for_too_long(&self) -> bool {
        lock(&self.state).computed > self.lifespan.call
    }

    /// Begins a call. Returns how many others run; `None` if the program has ended.
    pub(crate) fn begin_call(&self) -> Option<usize> {
        let mut state = lock(&self.state);
        if state.has_ended {
            return None;
        }
        let others = state.calls;
        state.calls += 1;
        state.last = Instant::now();
        Some(others)
    }

    /// Ends a call. Returns whether the program ends with it, because it is stuck: it did not answer,
    /// does not wait for input, and took none for half the time of a call.
    pub(crate) fn end_call(&self, is_answered: bool, waits_for_input: bool) -> bool {
        let ends = {
            let mut state = lock(&self.state);
            state.calls = state.calls.saturating_sub(1);
            state.last = Instant::now();
            let took_none = state.last_input.elapsed() > self.lifespan.call / 2;
            let ends = !is_answered && !waits_for_input && took_none;
            state.has_ended |= ends;
            ends
        };
        self.call_ended.notify_one();
        ends
    }

    /// Lets no call begin any more.
    pub(crate) fn set_ended(&self) {
        lock(&self.state).has_ended = true;
    }

    pub(crate) fn has_ended(&self) -> bool {
        lock(&self.state).has_ended
    }

    /// Waits until the program has to end. From then on no call begins.
    pub(crate) async fn expired(&self) -> Expired {
        loop {
            let due = {
                let mut state = lock(&self.state);
                let (due, why) = self.due(&state);
                if due <= Instant::now() {
                    state.has_ended = true;
                    return why;
                }
                due
            };
            tokio::select! {
                () = tokio::time::sleep_until(due.into()) => {}
                () = self.call_ended.notified() => {}
            }
        }
    }

    fn due(&self, state: &ActivityState) -> (Instant, Expired) {
        if state.calls > 0 {
            return (self.end(), Expired::Lifetime);
        }
        let idle = (state.last + self.lifespan.idle, Expired::Idle);
        let lifetime = (self.started + self.lifespan.lifetime, Expired::Lifetime);
        if idle.0 < lifetime.0 { idle } else { lifetime }
    }
}
