//! The calls of a recorded session, decided on again under other rules about calls and flows.

use super::recording::{Recording, Unreplayable};
use crate::{
    flow::{FlowPolicy, FlowRequest, FlowState},
    policy::{CallRequest, CallRule, RuleDecision, Ruling, decide_call},
    program::PROGRAM_NAME,
    setup::{AgentSetup, LoopSetup, ToolSetup},
};
use agent_host_types::{
    approval::{ApprovalRule, RememberScope},
    event::{Event, EventRecord},
    facts::{CallFacts, LOCAL_CALLER},
    flow::ArgumentSources,
    id::{CallId, SessionId, object_digest},
    model::ModelReply,
    tool::{RegisteredTool, ToolCall},
};
use serde::Serialize;
use serde_json::{Map, Value};
use std::{borrow::Cow, collections::HashMap, sync::Arc};

/// A decision about a call, with the rule that made it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CallDecision {
    /// The decision.
    pub decision: RuleDecision,
    /// The name of the rule.
    pub rule: String,
}

/// How a decision differs from the recorded one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Change {
    /// It is the same decision, perhaps by another rule.
    Same,
    /// A call that ran without approval needs one now, or one that could run is denied.
    Stricter,
    /// A call that needed approval runs without, or one that was denied could run.
    Looser,
}

/// A recorded call, decided on again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DecidedCall {
    /// The session.
    pub session: SessionId,
    /// The position of the event that asked for the call.
    pub seq: u64,
    /// The call.
    pub call_id: CallId,
    /// The tool.
    pub tool: String,
    /// The agent that calls; absent for the main one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The decision under the recorded rules.
    pub recorded: CallDecision,
    /// The decision under the given rules.
    pub now: CallDecision,
    /// How they differ.
    pub change: Change,
}

/// Decides about every recorded call of a session and of its agents again, under other rules. The
/// sources of what a model has seen are the recorded ones: of a session that ran without `[flow]`,
/// those are hosts and MCP servers alone. The tools, their approvals, the remembered approvals and
/// the facts that rules named are the recorded ones; counts that no rule named are not known.
/// Arguments are those that the call ran with, or else those of the model; a call of an unknown tool
/// is left out, since nothing decides on it.
///
/// # Errors
/// The recording lacks the setup of a loop.
pub fn decide_again(
    recording: &Recording,
    rules: &[CallRule],
    flow: &Arc<FlowPolicy>,
) -> Result<Vec<DecidedCall>, Unreplayable> {
    let mut reader = PolicyReader {
        recording,
        rules,
        flow,
        agents: agents(recording),
        setups: HashMap::new(),
        decided: Vec::new(),
    };
    reader.read_root()?;
    Ok(reader.decided)
}

/// Returns the agents of the sessions that calls started.
fn agents(recording: &Recording) -> HashMap<SessionId, String> {
    let spawned = recording.events().filter_map(|record| match &record.event {
        Event::AgentSpawned { session, agent, .. } => Some((*session, agent.clone())),
        _ => None,
    });
    spawned.collect()
}

struct PolicyReader<'r> {
    recording: &'r Recording,
    rules: &'r [CallRule],
    flow: &'r Arc<FlowPolicy>,
    agents: HashMap<SessionId, String>,
    /// The setup with which each session of an agent started.
    setups: HashMap<SessionId, (LoopSetup, Vec<ApprovalRule>)>,
    decided: Vec<DecidedCall>,
}

impl PolicyReader<'_> {
    fn read_root(&mut self) -> Result<(), Unreplayable> {
        self.read(self.recording.session(), None)?;
        // Agents in the order in which their sessions were found.
        let mut open: Vec<SessionId> = self.setups.keys().copied().collect();
        while let Some(session) = open.pop() {
            if let Some(setup) = self.setups.remove(&session) {
                self.read(session, Some(setup))?;
                open.extend(self.setups.keys().copied());
            }
        }
        self.decided.sort_by_key(|call| (call.session, call.seq));
        Ok(())
    }

    fn read(
        &mut self,
        session: SessionId,
        mut setup: Option<(LoopSetup, Vec<ApprovalRule>)>,
    ) -> Result<(), Unreplayable> {
        let records = self.recording.sessions.get(&session);
        let records = records.map_or(&[][..], Vec::as_slice);
        let mut remembered: Vec<ApprovalRule> = Vec::new();
        let mut state = FlowState::default();
        let mut caller = LOCAL_CALLER.to_owned();
        // Those of nodes are read before their intent, which asks for them.
        let mut read: HashMap<&CallId, &CallFacts> = HashMap::new();
        for (at, record) in records.iter().enumerate() {
            match &record.event {
                Event::LoopConfigured {
                    setup: blob,
                    approvals,
                } => setup = Some((self.recording.setup(&blob.digest)?, approvals.clone())),
                Event::SessionForked { .. } => remembered.clear(),
                Event::InputReceived { by: Some(by), .. } => caller.clone_from(by),
                Event::FactsRead { call_id, facts } => {
                    read.insert(call_id, facts);
                }
                Event::ApprovalRemembered {
                    rule,
                    scope: RememberScope::Session,
                } => remembered.push(rule.clone()),
                Event::ApprovalRevoked { rule } => remembered.retain(|known| known != rule),
                Event::AgentSpawned { session, .. } => {
                    if let Some(setup) = &setup {
                        self.setups.insert(*session, setup.clone());
                    }
                }
                _ => {}
            }
            state.apply(&record.event);
            let is_workflow = matches!(record.event, Event::NodeIntended { .. });
            for (call, input) in requested(record, records.get(at..).unwrap_or_default()) {
                let Some((setup, approvals)) = &setup else {
                    return Err(Unreplayable::NoSetup(record.seq));
                };
                let known: Vec<&ApprovalRule> = remembered.iter().chain(approvals).collect();
                let arguments = state.arguments_of(&call);
                let rest = records.get(at..).unwrap_or_default();
                let facts = facts_of(&call, rest);
                let facts = facts.or_else(|| read.get(&call.id).copied().cloned());
                let facts = facts.unwrap_or_else(|| CallFacts {
                    at_ms: record.at_ms,
                    caller: caller.clone(),
                    windows: Vec::new(),
                });
                let call = Requested {
                    session,
                    seq: record.seq,
                    call: &call,
                    input,
                    arguments: &arguments,
                    facts: &facts,
                    flow: &state,
                    is_workflow,
                };
                let agent = self.agents.get(&session).map(String::as_str);
                let decided = decide(call, setup, agent, &known, (self.rules, self.flow));
                self.decided.extend(decided);
            }
        }
        Ok(())
    }
}

#[derive(Clone, Copy)]
struct Requested<'r> {
    session: SessionId,
    seq: u64,
    /// The call, as the model wrote it.
    call: &'r ToolCall,
    /// The arguments that it ran with.
    input: &'r Map<String, Value>,
    /// The arguments that the model had not seen.
    arguments: &'r [ArgumentSources],
    facts: &'r CallFacts,
    flow: &'r FlowState,
    is_workflow: bool,
}

impl Requested<'_> {
    /// Decides on the call by a policy about flows, after that about calls.
    fn after_flow(
        &self,
        policy: &Arc<FlowPolicy>,
        tool: &RegisteredTool,
        ruling: Ruling,
    ) -> Ruling {
        let destination = tool.goes_to();
        let request = FlowRequest {
            tool: &self.call.name,
            effect: tool.effect,
            destination: destination.as_deref(),
            seen: &self.flow.seen_by(policy, self.is_workflow),
            references: self.arguments,
        };
        policy.after(ruling, &request)
    }
}

/// Returns the facts with which the first decision about a call was made: the last ones before its
/// intent, its end, or the question for approval.
fn facts_of(call: &ToolCall, rest: &[EventRecord]) -> Option<CallFacts> {
    let is_decided = |event: &Event| match event {
        Event::ApprovalRequested { calls, .. } => calls.iter().any(|it| it.call_id == call.id),
        Event::CallIntended { call_id, .. }
        | Event::CallSettled { call_id, .. }
        | Event::NodeSettled { call_id, .. } => *call_id == call.id,
        _ => false,
    };
    let before = rest
        .iter()
        .map(|record| &record.event)
        .take_while(|event| !is_decided(event));
    let read = before.filter_map(|event| match event {
        Event::FactsRead { call_id, facts } if *call_id == call.id => Some(facts),
        _ => None,
    });
    read.last().cloned()
}

/// Returns the calls that an event asks for, with the arguments that they ran with.
fn requested<'r>(
    record: &'r EventRecord,
    rest: &'r [EventRecord],
) -> Vec<(Cow<'r, ToolCall>, &'r Map<String, Value>)> {
    match &record.event {
        Event::ModelReplied {
            reply: ModelReply {
                tool_calls: calls, ..
            },
            ..
        }
        | Event::ProgramCalled { calls } => {
            let calls = calls.iter().filter_map(|call| {
                let mut ran = rest.iter().filter_map(|later| match &later.event {
                    Event::CallIntended { call_id, input, .. } if *call_id == call.id => {
                        Some(input)
                    }
                    _ => None,
                });
                let input = ran.next().or(call.input.as_ref())?;
                Some((Cow::Borrowed(call), &**input))
            });
            calls.collect()
        }
        Event::NodeIntended {
            call_id,
            tool,
            input: Some(input),
            attempt: 1,
            ..
        } => {
            let call = ToolCall {
                id: call_id.clone(),
                name: tool.clone(),
                input: Some(input.clone()),
                raw_arguments: String::new(),
            };
            vec![(Cow::Owned(call), &**input)]
        }
        _ => Vec::new(),
    }
}

fn decide(
    call: Requested<'_>,
    setup: &LoopSetup,
    agent: Option<&str>,
    remembered: &[&ApprovalRule],
    (rules, flow): (&[CallRule], &Arc<FlowPolicy>),
) -> Option<DecidedCall> {
    let name = &call.call.name;
    let has_tool = |it: &AgentSetup| {
        let mut tools = it.tools.iter().filter_map(|tool| setup.tool(tool));
        tools.any(|known| known.tool.definition.name == *name)
    };
    let of_name = |it: &&AgentSetup| match agent {
        Some(PROGRAM_NAME) => it.program_calls.is_some() && has_tool(it),
        Some(_) => it.settings.agent.as_deref() == agent,
        None => false,
    };
    // A call in a session of its own has the setup of the workflow.
    let agent = setup.agents().find(of_name).or(setup.main())?;
    let mut tools = agent.tools.iter().filter_map(|tool| setup.tool(tool));
    let ToolSetup { tool, .. } = tools.find(|it| it.tool.definition.name == *name)?;
    let request = CallRequest {
        tool,
        input: call.input,
        input_digest: object_digest(call.input),
        agent: agent.settings.agent.as_deref(),
        facts: Some(call.facts),
    };
    // The rules of the agent that started it hold for its calls.
    let main = &setup.main()?.settings;
    let remembered = || remembered.iter().copied();
    let recorded = decide_call(&request, &main.rules, &main.approved, remembered());
    let recorded = call.after_flow(&main.flow, tool, recorded);
    let now = decide_call(&request, rules, &main.approved, remembered());
    let now = call.after_flow(flow, tool, now);
    let (recorded, now) = (CallDecision::of(recorded), CallDecision::of(now));
    let change = match now.decision.cmp(&recorded.decision) {
        std::cmp::Ordering::Equal => Change::Same,
        std::cmp::Ordering::Greater => Change::Stricter,
        std::cmp::Ordering::Less => Change::Looser,
    };
    Some(DecidedCall {
        session: call.session,
        seq: call.seq,
        call_id: call.call.id.clone(),
        tool: name.clone(),
        agent: agent.settings.agent.clone(),
        recorded,
        now,
        change,
    })
}

impl CallDecision {
    fn of(ruling: Ruling) -> Self {
        let (decision, rule) = match ruling {
            Ruling::Allow { rule } => (RuleDecision::Allow, rule),
            Ruling::Ask { rule } => (RuleDecision::Ask, rule),
            Ruling::Deny { rule, .. } => (RuleDecision::Deny, rule),
        };
        Self { decision, rule }
    }
}
