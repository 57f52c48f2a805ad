//! How many calls run and how many wait. A call beyond both is answered at once, so that a flood costs nobody memory.
//!
//! A tool has at most its own share of the places and of the queue, which by default is half of each, so its flood leaves the
//! rest to others. The last places are for tools of which nothing runs, so that several floods together leave one, too. A place
//! that falls free goes to the tools that wait in turn, and within a tool to the call that has waited longest.

#[cfg(test)]
mod tests;

use crate::{
    config::SandboxConfig,
    schedule::fair_semaphore::{Full, Most, Party, Place, Turns},
};
use agent_host_types::failure::{ToolErrorCode, ToolFailure};
use std::{sync::Arc, time::Duration};

/// The door to the pool.
pub(crate) struct Admission {
    turns: Arc<Turns>,
    config: Bounds,
}

/// The numbers of the whole sandbox.
#[derive(Clone, Copy)]
struct Bounds {
    calls: usize,
    queued: usize,
    most: Most,
}

/// A tool at the door.
pub(crate) struct Queue {
    party: Arc<Party>,
    bounds: Bounds,
}

impl Admission {
    pub(crate) fn new(config: &SandboxConfig) -> Self {
        Self {
            turns: Turns::new(
                config.concurrent_calls,
                config.calls_kept(),
                config.queued_calls,
            ),
            config: Bounds {
                calls: config.concurrent_calls,
                queued: config.queued_calls,
                most: Most {
                    places: config.concurrent_calls_per_tool(),
                    waiting: config.queued_calls_per_tool(),
                },
            },
        }
    }

    /// The queue of one tool, which runs so many calls at once, or the general number.
    pub(crate) fn queue(&self, concurrent_calls: Option<usize>) -> Queue {
        let mut bounds = self.config;
        bounds.most.places = concurrent_calls.unwrap_or(bounds.most.places);
        Queue {
            party: self.turns.party(bounds.most),
            bounds,
        }
    }
}

impl Queue {
    /// Admits a call, or lets it wait for its turn.
    ///
    /// # Errors
    /// `busy` when too many wait, or when the turn does not come in time. The text names the limit.
    pub(crate) async fn admit(&self, patience: Duration) -> Result<Place, ToolFailure> {
        if let Some(place) = self.party.try_take() {
            return Ok(place);
        }
        let turn = self.party.turn().map_err(|full| match full {
            Full::Party => busy(&format!(
                "{} calls of this tool already wait (limit `queued-calls-per-tool`)",
                self.bounds.most.waiting
            )),
            Full::All => busy(&format!(
                "{} calls already wait (limit `queued-calls`)",
                self.bounds.queued
            )),
        })?;
        tokio::time::timeout(patience, turn)
            .await
            .map_err(|_| self.too_late(patience))
    }

    fn too_late(&self, patience: Duration) -> ToolFailure {
        let limit = if self.party.has_its_share() {
            format!(
                "{} calls of this tool run at once (limit `concurrent-calls-per-tool`)",
                self.bounds.most.places
            )
        } else {
            let run = match self.party.left_to_others() {
                0 => format!("{} calls run at once", self.bounds.calls),
                left => format!(
                    "the last {left} of {} places are for tools of which nothing runs",
                    self.bounds.calls
                ),
            };
            format!("{run} (limit `concurrent-calls`)")
        };
        let waited = patience.as_millis();
        busy(&format!("{limit} and none ended within {waited} ms"))
    }
}

fn busy(why: &str) -> ToolFailure {
    ToolFailure::new(
        ToolErrorCode::Busy,
        format!(
            "This call was not started, because {why}. Call the tool again when others have ended."
        ),
    )
}
