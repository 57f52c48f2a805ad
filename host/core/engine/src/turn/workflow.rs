//! Runs a workflow in place of the model. The state machine says which nodes may start; this driver
//! runs them as calls behind the gate, records how they end, and pauses the turn if some wait.
//!
//! Everything that ended is in the journal before a node that depends on it, or one that may change
//! something, starts. After a crash the run is rebuilt from the journal ([`replay`]).

mod end;
mod land;
mod node;
mod replay;
mod start;
mod superseded;

use super::{Agent, StepResult, TurnContext, begin::refuse, budget};
use crate::{session::Session, workflow::Graph};
use agent_host_types::{
    budget::Budget,
    continuation::WaitingChild,
    event::Event,
    turn::{TurnEnd, TurnError},
};
use agent_host_workflow::run::{NodeRun, Run, Start};
use futures_util::{StreamExt as _, stream::FuturesUnordered};
use node::Landed;
use start::Lane;
use std::{
    collections::{BTreeMap, BTreeSet, HashMap, VecDeque},
    future::Future,
    pin::Pin,
    time::Instant,
};
use tokio_util::sync::CancellationToken;

/// A run of a workflow that is under way.
struct Driver<'a> {
    agent: &'a Agent,
    graph: &'a Graph,
    session: &'a mut Session,
    cx: &'a TurnContext<'a>,
    started: Instant,
    run: Run,
    /// The nodes that may start, in their lanes.
    queued: BTreeMap<Lane, VecDeque<Start>>,
    flights: FuturesUnordered<Pin<Box<dyn Future<Output = Landed> + Send + 'a>>>,
    /// The flights and what they hold.
    under_way: HashMap<NodeRun, UnderWay>,
    /// The nodes whose sessions wait for the user.
    waiting: BTreeMap<NodeRun, WaitingChild>,
    /// The nodes that stopped since the turn is drained.
    drained: BTreeSet<NodeRun>,
    /// The first failure of the journal; nothing starts after it.
    failed: Option<TurnError>,
}

/// A node that runs, and what it holds.
struct UnderWay {
    lane: Lane,
    cancel: CancellationToken,
    /// The part of the budgets that its agent may use.
    share: Option<budget::Share>,
}

impl Agent {
    /// Runs the workflow until it ends, waits for the user, or a budget is used up.
    pub(super) async fn run_workflow<'a>(
        &'a self,
        session: &'a mut Session,
        cx: &'a TurnContext<'a>,
        started: Instant,
    ) -> Result<StepResult, TurnError> {
        let Some(graph) = &self.workflow else {
            return Err(refuse("this agent has no workflow"));
        };
        let run = self.open_run(graph, session, cx).await?;
        let mut driver = Driver {
            agent: self,
            graph,
            session,
            cx,
            started,
            run,
            queued: BTreeMap::new(),
            flights: FuturesUnordered::new(),
            under_way: HashMap::new(),
            waiting: BTreeMap::new(),
            drained: BTreeSet::new(),
            failed: None,
        };
        driver.drive().await
    }
}

impl Driver<'_> {
    async fn drive(&mut self) -> Result<StepResult, TurnError> {
        loop {
            let used_up = self.launch().await?;
            if let Some(landed) = self.flights.next().await {
                self.land(landed).await?;
                continue;
            }
            if let Some(error) = self.failed.take() {
                return Err(error);
            }
            if self.run.is_done() {
                return Ok(StepResult::end(self.end()));
            }
            if let Some(budget) = used_up {
                return Ok(StepResult::end(TurnEnd::BudgetExceeded { budget }));
            }
            let waiting = std::mem::take(&mut self.waiting);
            let waiting = waiting.into_values().collect();
            if let Some(paused) = self.agent.wait_for_children(self.session, waiting) {
                return Ok(paused);
            }
            if self.cx.is_drained() {
                return Ok(StepResult::end(TurnEnd::NeedsMoreTurns));
            }
            // The state machine always has one of these; a run must not hang if it does not.
            return Err(refuse("the run of the workflow cannot continue"));
        }
    }

    /// Starts what may start. Returns the budget that is used up, so that nothing more may.
    async fn launch(&mut self) -> Result<Option<Budget>, TurnError> {
        if self.cx.cancel.is_cancelled() || self.session.state().halt().is_some() {
            self.run.cancel();
        }
        self.cancel_given_up().await?;
        if self.failed.is_some() {
            return Ok(None);
        }
        while !self.cx.is_drained() {
            if let Some(budget) = self.used_up() {
                return Ok(Some(budget));
            }
            for start in self.run.ready() {
                let lane = Lane::for_start(&start);
                self.queued.entry(lane).or_default().push_back(start);
            }
            let Some(start) = self.next_start() else {
                return Ok(None);
            };
            self.start(start).await?;
            // One that settled at once may have ended the run.
            self.cancel_given_up().await?;
        }
        Ok(None)
    }

    fn used_up(&self) -> Option<Budget> {
        let budgets = &self.agent.settings.budgets;
        let state = self.session.state();
        let calls = state.spent().calls;
        budget::exceeded(budgets, state, self.session.elapsed(self.started)).or_else(|| {
            let limit = budgets.tool_calls.filter(|limit| calls >= *limit)?;
            Some(Budget::ToolCalls { limit })
        })
    }

    /// Takes the next queued node whose lane has a place.
    fn next_start(&mut self) -> Option<Start> {
        for (lane, queue) in &mut self.queued {
            let running = self.under_way.values();
            let running = running.filter(|flight| flight.lane == *lane).count();
            if running < lane.places(&self.agent.settings) {
                match queue.pop_front() {
                    Some(start) => return Some(start),
                    None => continue,
                }
            }
        }
        None
    }

    /// Stops what the state machine gave up: what runs, what waits for the user, and what never
    /// began.
    async fn cancel_given_up(&mut self) -> Result<(), TurnError> {
        loop {
            let given_up = self.run.take_cancelled();
            if given_up.is_empty() {
                return Ok(());
            }
            for node in given_up {
                if let Some(flight) = self.under_way.get(&node) {
                    flight.cancel.cancel();
                } else if self.waiting.remove(&node).is_some() || self.drained.remove(&node) {
                    self.stop_waiting(&node).await?;
                } else {
                    for queue in self.queued.values_mut() {
                        queue.retain(|start| start.run != node);
                    }
                    self.settle_unrecorded(&node);
                }
            }
        }
    }

    /// Records the nodes that were skipped since the last call.
    fn record_skipped(&mut self) {
        for node in self.run.take_skipped() {
            let skipped = Event::NodeSkipped {
                node: node.to_string(),
            };
            self.session.record(skipped, Vec::new());
        }
    }
}
