//! Starts a node: asks the gate, records the intent, and makes it durable where it has to be.

use super::{
    Driver, UnderWay,
    node::{Flight, NodeTask},
};
use crate::{
    agents::TOOL_PREFIX,
    flow::CallFlow,
    session::{BatchCall, OpenNode, Session},
    tool::CallReport,
    turn::{
        MAX_UNDURABLE, Prompts, Settings, TurnError, budget,
        children::{SESSION_RULE, in_session},
        job::Caller,
        plan::{CallPlan, CallRun as PlannedCall},
        review::reviewed,
    },
};
use agent_host_types::{
    event::Event,
    failure::{ToolErrorCode, ToolFailure},
    hook::CallReview,
    id::{CallId, Digest},
    output::FilePart,
    tool::{Effect, ToolCall, ToolRuntime},
    turn::Durability,
    workflow::NodeOutput,
};
use agent_host_workflow::{
    run::{Input, NodeRun, Start},
    workflow::NodeKind,
};
use serde_json::{Map, Value};
use std::{collections::VecDeque, sync::Arc};

/// The nodes that share a bound on how many run at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Lane {
    /// Agents.
    Agents,
    /// Tools and handlers.
    Calls,
}

impl Lane {
    pub(super) fn for_start(start: &Start) -> Self {
        match start.node.kind {
            NodeKind::Agent(_) => Self::Agents,
            NodeKind::Tool(_) | NodeKind::Handler(_) => Self::Calls,
        }
    }

    /// Returns the most that run at once.
    pub(super) fn places(self, settings: &Settings) -> usize {
        let places = match self {
            Self::Agents => settings.parallel_agents,
            Self::Calls => settings.parallel_calls,
        };
        places.max(1)
    }
}

/// A node that the gate lets run.
struct Admitted {
    task: NodeTask,
    call_id: CallId,
    tool: String,
    input: Option<Arc<Map<String, Value>>>,
    effect: Effect,
    rule: Option<String>,
}

impl Driver<'_> {
    /// Starts a node, or settles it if the gate does not let it run.
    pub(super) async fn start(&mut self, start: Start) -> Result<(), TurnError> {
        match &start.node.kind {
            NodeKind::Handler(name) => {
                let handler = self.graph.handlers.get(name).cloned();
                let call_id = self.call_id(&start.run);
                let Some(handler) = handler else {
                    let message = format!("unknown handler `{name}`");
                    let failure = ToolFailure::new(ToolErrorCode::ToolUnavailable, message);
                    let output = NodeOutput::of_failure(&start.node.id, failure);
                    return self.settle(&start, &call_id, CallReport::of(output)).await;
                };
                let admitted = Admitted {
                    tool: name.clone(),
                    effect: handler.effect(),
                    task: NodeTask::Handler(handler),
                    call_id,
                    input: None,
                    rule: None,
                };
                self.take_off(start, admitted).await
            }
            NodeKind::Agent(_) => {
                let input = Arc::new(instructions(&start.input));
                self.start_call(input, start).await
            }
            NodeKind::Tool(_) => {
                let input = Arc::new(start.input.object().cloned().unwrap_or_default());
                self.start_call(input, start).await
            }
        }
    }

    /// Starts the call of a node as the policy says.
    async fn start_call(
        &mut self,
        input: Arc<Map<String, Value>>,
        start: Start,
    ) -> Result<(), TurnError> {
        let (call_id, tool) = (self.call_id(&start.run), tool_of(&start));
        let mut entry = BatchCall::new(&ToolCall {
            id: call_id.clone(),
            name: tool.clone(),
            raw_arguments: String::new(),
            input: Some(input.clone()),
        });
        let has_session = self
            .open_node(&start.run)
            .and_then(|(_, node)| node.agent.clone());
        let review = self.reviewed(&mut entry, has_session.as_ref()).await;
        self.agent.read_facts(self.session, &entry, self.cx).await?;
        let plan = match self.agent.plan(self.session, &entry, None, self.cx) {
            CallPlan::Run(call) if has_session.as_ref() != Some(&tool) => {
                Box::pin(self.agent.admit(self.session, *call, self.cx)).await?
            }
            other => other,
        };
        let report = match plan {
            CallPlan::Answer(report) => *report,
            // An agent that began without approval and needs it now does not go on.
            CallPlan::Ask(rule)
                if self.agent.settings.prompts == Prompts::Deny
                    || has_session.as_ref().is_some_and(|agent| *agent != tool) =>
            {
                self.agent.unapproved(&rule)
            }
            // What began in a session of its own continues there, whatever the rules are now.
            CallPlan::Run(call)
                if has_session.as_ref() != Some(&tool) && call.runtime != ToolRuntime::External =>
            {
                self.session.record_all(review, Vec::new());
                return self.start_allowed(*call, start).await;
            }
            // The hooks review it in its session.
            CallPlan::Ask(_) | CallPlan::Run(_) => {
                return self.start_in_session(entry, input, start).await;
            }
        };
        self.session.record_all(review, Vec::new());
        if has_session.is_some() {
            self.abandon(&start.run).await?;
        }
        let report = report.map(|output| start.output_of(output));
        self.settle(&start, &call_id, report).await
    }

    /// Has the hooks review the call of a node, unless the journal has their review, or they review
    /// it in a session of its own. Returns the event of a new review.
    async fn reviewed(
        &mut self,
        entry: &mut BatchCall,
        has_session: Option<&String>,
    ) -> Vec<Event> {
        let known = self.session.state().open_workflow();
        let known = known.and_then(|run| run.reviews.get(&entry.call.id));
        entry.review = known.cloned();
        if has_session == Some(&entry.call.name) {
            entry.review = Some(CallReview::none());
        }
        let review = self
            .agent
            .review(self.session.id(), entry, None, self.cx)
            .await;
        let Some(review) = review else {
            return Vec::new();
        };
        let event = reviewed(entry, review.clone());
        entry.review = Some(review);
        vec![event]
    }

    /// Starts a call that needs no decision.
    async fn start_allowed(
        &mut self,
        mut call: PlannedCall,
        start: Start,
    ) -> Result<(), TurnError> {
        if call.runtime == ToolRuntime::Agent {
            call.entry.call.id = self.session_call_id(&start);
            call.files = with_bytes(self.session, start.input.files()).await?;
        }
        let admitted = Admitted {
            call_id: call.entry.call.id.clone(),
            tool: call.entry.call.name.clone(),
            input: Some(call.input.clone()),
            effect: call.effect,
            rule: Some(call.rule.clone()),
            task: NodeTask::Call(Box::new(call)),
        };
        self.take_off(start, admitted).await
    }

    /// Starts a call in a session of its own, where the user decides on it, or answers it.
    pub(super) async fn start_in_session(
        &mut self,
        mut entry: BatchCall,
        input: Arc<Map<String, Value>>,
        start: Start,
    ) -> Result<(), TurnError> {
        let tool = entry.call.name.clone();
        entry.call.id = self.session_call_id(&start);
        let call_id = entry.call.id.clone();
        let effect = start.node.effect;
        let child = self.agent.in_session(&tool, input.clone());
        let instructions = Arc::new(in_session(&start.run.to_string(), &tool));
        let call = PlannedCall {
            arguments: Arc::clone(&instructions).into(),
            input: instructions,
            input_digest: Digest::of(b""),
            idempotency_key: String::new(),
            effect,
            rule: SESSION_RULE.to_owned(),
            runtime: ToolRuntime::Agent,
            sources: self.agent.input_sources(self.session, &entry),
            flow: CallFlow::default(),
            files: Vec::new(),
            in_session: Some(Box::new(child)),
            resumed_with: None,
            entry,
        };
        let admitted = Admitted {
            task: NodeTask::Call(Box::new(call)),
            call_id,
            tool,
            input: Some(input),
            effect,
            rule: None,
        };
        self.take_off(start, admitted).await
    }

    /// Records the intent of a node, and lets it run.
    async fn take_off(&mut self, start: Start, mut admitted: Admitted) -> Result<(), TurnError> {
        let spawned = match &admitted.task {
            NodeTask::Call(call) => self.agent.spawned(self.session, call),
            NodeTask::Handler(_) => None,
        };
        let has_session = spawned.is_some();
        let known = self.session.state().open_workflow();
        let known = known.and_then(|run| run.open.get(&admitted.call_id));
        if known.is_none_or(|known| known.agent.is_none()) {
            self.record_intent(&start, &admitted, spawned);
        }
        if self.needs_barrier(&start, admitted.effect, has_session) {
            self.session.barrier(self.cx.observer).await?;
        }
        let lane = Lane::for_start(&start);
        let share = has_session.then(|| self.share());
        let cancel = self.cx.cancel.child_token();
        if let NodeTask::Call(call) = &mut admitted.task {
            call.resumed_with = self.session.child_input(&admitted.call_id);
        }
        let flight = Flight {
            caller: Caller::for_session(self.session, &self.agent.settings),
            share: share.clone().unwrap_or_default(),
            cancel: cancel.clone(),
            call_id: admitted.call_id,
            effect: admitted.effect,
            start,
        };
        let held = UnderWay {
            lane,
            cancel,
            share,
        };
        self.under_way.insert(flight.start.run.clone(), held);
        let future = flight.run(self.agent, admitted.task, self.cx);
        self.flights.push(Box::pin(future));
        Ok(())
    }

    fn record_intent(&mut self, start: &Start, admitted: &Admitted, spawned: Option<Event>) {
        let intended = Event::NodeIntended {
            call_id: admitted.call_id.clone(),
            node: start.node.id.to_string(),
            iteration: start.run.iteration,
            attempt: start.attempt,
            tool: admitted.tool.clone(),
            input: admitted.input.clone(),
            input_digest: start.input_digest(),
            effect: admitted.effect,
            rule: admitted.rule.clone(),
        };
        let events = std::iter::once(intended).chain(spawned);
        self.session.record_all(events.collect(), Vec::new());
    }

    /// Whether everything recorded so far has to be durable before the node runs: because it may
    /// change something, because it has a journal of its own, which must not be ahead, or because
    /// it depends on others. The iterations of a `foreach` count as one node.
    fn needs_barrier(&self, start: &Start, effect: Effect, has_session: bool) -> bool {
        let undurable = self.session.undurable();
        let is_first = start.run.iteration.is_none_or(|index| index == 0);
        undurable > 0
            && (effect != Effect::ReadOnly
                || has_session
                || (is_first && !start.node.is_entry())
                || self.agent.settings.durability == Durability::Strict
                || self.session.must_be_durable_to_run()
                || undurable >= MAX_UNDURABLE)
    }

    /// Returns an even share of what is left of the budgets, for one of the agents that run or may.
    fn share(&self) -> budget::Share {
        let queued = self.queued.get(&Lane::Agents).map_or(0, VecDeque::len);
        let held: Vec<&budget::Share> = self
            .under_way
            .values()
            .filter_map(|flight| flight.share.as_ref())
            .collect();
        let places = Lane::Agents.places(&self.agent.settings);
        let free = places.saturating_sub(held.len()).max(1);
        let agents = (queued + 1).min(free);
        budget::share(
            &self.agent.settings.budgets,
            self.session.state(),
            agents,
            &held,
        )
    }

    /// Returns the node that the journal has as started.
    pub(super) fn open_node(&self, run: &NodeRun) -> Option<(&CallId, &OpenNode)> {
        let mut open = self.session.state().open_workflow()?.open.iter();
        open.find(|(_, open)| *open.node == *run.node && open.iteration == run.iteration)
    }

    /// Returns the name of a node's call: no other node of the session has it, and all attempts
    /// have the same.
    pub(super) fn call_id(&self, run: &NodeRun) -> CallId {
        match self.session.state().workflow_runs {
            1 => CallId(run.to_string()),
            // No id of a node has a dot.
            number => CallId(format!("{number}.{run}")),
        }
    }

    /// Returns the name of a call in a session of its own; another attempt has another session.
    fn session_call_id(&self, start: &Start) -> CallId {
        let CallId(name) = self.call_id(&start.run);
        match start.attempt {
            1 => CallId(name),
            attempt => CallId(format!("{name}~{attempt}")),
        }
    }
}

/// Returns the arguments of the tool that starts an agent.
fn instructions(input: &Input) -> Map<String, Value> {
    let text = input.text().unwrap_or_default();
    Map::from_iter([("instructions".to_owned(), Value::from(text))])
}

/// Returns files with their bytes, which the journal of another session cannot refer to.
async fn with_bytes(session: &Session, files: &[FilePart]) -> Result<Vec<FilePart>, TurnError> {
    let mut files = files.to_vec();
    for file in &mut files {
        session.hydrate_file(file).await?;
    }
    Ok(files)
}

/// Returns the tool or the handler of a node; for an agent, the tool that starts it.
pub(super) fn tool_of(start: &Start) -> String {
    match &start.node.kind {
        NodeKind::Agent(name) => format!("{TOOL_PREFIX}{name}"),
        NodeKind::Tool(name) | NodeKind::Handler(name) => name.clone(),
    }
}
