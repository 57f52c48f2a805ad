//! A node that may run, runs or waits. A node without `foreach` is a loop of one iteration.

use super::each::Each;
use crate::{reference::Reference, value::Resolved};
use agent_host_types::output::FilePart;
use std::{collections::BTreeMap, sync::Arc};

/// References with their values.
pub(super) type ReferenceValues = Vec<(Reference, Resolved<'static>)>;

#[derive(Debug)]
pub(super) struct Active {
    /// The next iteration that was never started.
    pub(super) next: u32,
    /// The number of iterations.
    pub(super) total: u32,
    /// The most iterations at once.
    pub(super) at_once: u32,
    /// The iterations that were started and have not settled.
    pub(super) flights: BTreeMap<u32, Flight>,
    /// The iterations that are to be started again.
    pub(super) restarts: BTreeMap<u32, Restart>,
    /// The files of the message, of all iterations.
    pub(super) files: Arc<[FilePart]>,
    /// The values that are the same in all iterations and take a search, such as a part of JSON.
    pub(super) parts: ReferenceValues,
    /// The items and the results of a `foreach`.
    pub(super) each: Option<Each>,
}

/// An iteration that is under way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flight {
    pub(super) attempt: u32,
    /// Whether it waits for the user.
    pub(super) is_waiting: bool,
    /// Whether it is to be cancelled.
    pub(super) is_cancelled: bool,
}

impl Flight {
    pub(super) fn new(attempt: u32) -> Self {
        Self {
            attempt,
            is_waiting: false,
            is_cancelled: false,
        }
    }
}

/// An iteration that is to be started again.
#[derive(Clone, Copy, Debug)]
pub(super) struct Restart {
    pub(super) attempt: u32,
    pub(super) not_before_ms: u64,
    pub(super) is_resumed: bool,
}

impl Active {
    /// Returns whether an iteration may start now.
    pub(super) fn is_startable(&self) -> bool {
        !self.restarts.is_empty() || self.has_next()
    }

    /// Returns whether an iteration may start that never was.
    pub(super) fn has_next(&self) -> bool {
        let under_way = self.flights.len() + self.restarts.len();
        self.next < self.total
            && under_way < self.at_once as usize
            && self
                .each
                .as_ref()
                .is_none_or(|each| each.stopped_at().is_none())
    }

    /// Returns whether something of it runs, or is about to.
    pub(super) fn is_busy(&self) -> bool {
        let runs = self.flights.values().any(|flight| !flight.is_waiting);
        runs || (self.next > 0 && self.is_startable())
    }

    /// Returns whether all iterations that will be started have settled.
    pub(super) fn is_complete(&self) -> bool {
        let each = self.each.as_ref();
        let has_stopped = each.is_some_and(|each| each.stopped_at().is_some());
        self.flights.is_empty()
            && self.restarts.is_empty()
            && (self.next >= self.total || has_stopped)
    }

    /// Makes an iteration that waits for the user start again; in a run that has ended it only
    /// waits no more. Returns whether it waited.
    pub(super) fn resume(&mut self, key: u32, has_ended: bool) -> bool {
        let Some(flight) = self.flights.get_mut(&key) else {
            return false;
        };
        if !flight.is_waiting {
            return false;
        }
        flight.is_waiting = false;
        if !has_ended {
            let attempt = flight.attempt;
            self.flights.remove(&key);
            let restart = Restart {
                attempt,
                not_before_ms: 0,
                is_resumed: true,
            };
            self.restarts.insert(key, restart);
        }
        true
    }

    /// Gives up the iterations from `from` on: returns those that are under way and were not
    /// returned before. One that was to be resumed is under way, since its calls are open.
    pub(super) fn give_up(&mut self, from: u32) -> GivenUp {
        let mut resumed = 0;
        for (key, restart) in self.restarts.split_off(&from) {
            if restart.is_resumed {
                resumed += 1;
                self.flights.insert(key, Flight::new(restart.attempt));
            }
        }
        let mut keys = Vec::new();
        for (&key, flight) in self.flights.range_mut(from..) {
            if !flight.is_cancelled {
                flight.is_cancelled = true;
                keys.push(key);
            }
        }
        GivenUp { keys, resumed }
    }
}

/// Iterations to cancel.
pub(super) struct GivenUp {
    /// The iterations.
    pub(super) keys: Vec<u32>,
    /// The number of those that did not count as under way before.
    pub(super) resumed: usize,
}
