//! The facts beside its arguments that rules about a call name: read before they decide, and
//! recorded with their decision.
//!
//! A call that is counted is decided on and counted as one: it is counted only if no other one was
//! since its facts were read, and otherwise decided on again. So no number of sessions and hosts
//! lets through more calls than a rule allows. It is counted just before its intent is recorded,
//! once all that it follows from is durable. A host that dies in between leaves it counted, and the
//! call that continues is not counted again.

use super::{
    Agent, Prompts, Step, StepResult, TurnContext,
    plan::{CallPlan, CallRun},
};
use crate::{
    journal::{CountedCall, Journal, JournalError, RecordedFacts, Tallies, TallyQuery},
    policy::WantedFacts,
    session::{BatchCall, Session},
};
use agent_host_types::{
    facts::{CallFacts, LOCAL_CALLER},
    failure::{ToolErrorCode, ToolFailure},
    turn::TurnError,
};

/// The most times that a call is decided on, each of them because another one was counted.
pub(super) const MAX_DECISIONS: usize = 1_000;

/// How a call is counted that was not before.
#[derive(Clone, Copy)]
pub(super) struct Countable {
    /// The number of calls that were counted before the decision.
    counted: u64,
    /// The time of the decision, in milliseconds since 1970.
    at_ms: u64,
}

impl Agent {
    /// Returns the facts that the rules about the calls of a tool name.
    pub(super) fn wanted_facts(&self, tool: &str) -> Option<WantedFacts> {
        let rules = self.settings.rules.iter().chain(&*self.settings.approved);
        WantedFacts::of(rules, tool)
    }

    /// Reads the facts of the next decision about a call, unless they are known or it has its
    /// result.
    pub(super) async fn read_facts(
        &self,
        session: &mut Session,
        entry: &BatchCall,
        cx: &TurnContext<'_>,
    ) -> Result<(), TurnError> {
        if entry.result.is_some() || session.facts.contains_key(&entry.call.id) {
            return Ok(());
        }
        if let Some(wanted) = self.wanted_facts(&entry.call.name) {
            Box::pin(self.read_again(session, entry, &wanted, cx)).await?;
        }
        Ok(())
    }

    /// Reads the facts of a decision, and returns with which counts a call that is not counted yet
    /// is.
    async fn read_again(
        &self,
        session: &mut Session,
        entry: &BatchCall,
        wanted: &WantedFacts,
        cx: &TurnContext<'_>,
    ) -> Result<Option<Countable>, TurnError> {
        let journal = session.journal();
        let (facts, countable) = match journal.recorded_facts(&entry.call.id) {
            RecordedFacts::Unchanged => return Ok(None),
            RecordedFacts::Next(facts) => (facts, None),
            RecordedFacts::Unrecorded => {
                if session.is_unstored() {
                    // The journal knows the owner of a session that is durable.
                    session.barrier(cx.observer).await?;
                }
                let sender = session.state().last_sender().map(str::to_owned);
                facts_of(&*journal, sender, entry, wanted).await?
            }
        };
        session.know_facts(&entry.call.id, facts);
        Ok(countable)
    }

    /// Counts calls that are about to run, and returns those that still may, with a step for the
    /// others that need approval now. One that is denied now is settled.
    pub(super) async fn admit_all(
        &self,
        session: &mut Session,
        group: Vec<CallRun>,
        cx: &TurnContext<'_>,
    ) -> Result<(Vec<CallRun>, Option<StepResult>), TurnError> {
        let (mut admitted, mut reopened) = (Vec::with_capacity(group.len()), None);
        for run in group {
            let entry = run.entry.clone();
            match Box::pin(self.admit(session, run, cx)).await? {
                CallPlan::Run(run) => admitted.push(*run),
                CallPlan::Answer(report) => {
                    self.settle_skipped(session, cx, &entry.call, *report);
                }
                CallPlan::Ask(_) if self.settings.prompts == Prompts::Ask => {
                    reopened = Some(StepResult::go(Step::CheckApproval));
                }
                CallPlan::Ask(rule) => {
                    self.settle_skipped(session, cx, &entry.call, self.unapproved(&rule));
                }
            }
        }
        Ok((admitted, reopened))
    }

    /// Counts a call that is about to run, if a rule counts it, and decides on it again with what
    /// is so now.
    pub(super) async fn admit(
        &self,
        session: &mut Session,
        run: CallRun,
        cx: &TurnContext<'_>,
    ) -> Result<CallPlan, TurnError> {
        // A call in a session of its own is counted there.
        let is_here = run.in_session.is_none();
        let wanted = self.wanted_facts(&run.entry.call.name);
        let Some(wanted) = wanted.filter(|wanted| is_here && wanted.is_counted()) else {
            return Ok(CallPlan::Run(Box::new(run)));
        };
        if session.has_undurable_calls() {
            // After a crash, the call that has its place must be this one.
            session.barrier(cx.observer).await?;
        }
        for _ in 0..MAX_DECISIONS {
            let countable = self.read_again(session, &run.entry, &wanted, cx).await?;
            let planned = match self.plan(session, &run.entry, None, cx) {
                CallPlan::Run(planned) => planned,
                other => return Ok(other),
            };
            let is_counted = match countable {
                // It is, unless another decision follows in a recording.
                None => !matches!(
                    session.journal().recorded_facts(&run.entry.call.id),
                    RecordedFacts::Next(_)
                ),
                Some(countable) => {
                    let call = counted_call(&planned, &wanted, countable);
                    session.journal().count_call(call).await?
                }
            };
            if is_counted {
                return Ok(CallPlan::Run(planned));
            }
        }
        Ok(CallPlan::answer(contended()))
    }
}

/// Returns a call as it is counted.
pub(super) fn counted_call(
    run: &CallRun,
    wanted: &WantedFacts,
    Countable { counted, at_ms }: Countable,
) -> CountedCall {
    CountedCall {
        call: run.entry.call.id.clone(),
        tool: run.entry.call.name.clone(),
        at_ms,
        counted,
        amounts: wanted.amounts(&run.input),
    }
}

/// Reads the facts of a decision about a call.
pub(super) async fn facts_of(
    journal: &dyn Journal,
    sender: Option<String>,
    entry: &BatchCall,
    wanted: &WantedFacts,
) -> Result<(CallFacts, Option<Countable>), JournalError> {
    let at_ms = journal.clock().now_ms();
    let Tallies {
        owner,
        counted,
        has_call,
        windows,
    } = journal
        .tallies(TallyQuery {
            call: entry.call.id.clone(),
            tool: entry.call.name.clone(),
            at_ms,
            windows: wanted.windows.iter().copied().collect(),
            arguments: wanted.arguments(),
        })
        .await?;
    // An owner is the name of a token, and what tells it from a later one of that name.
    let owner = owner.map(|owner| match owner.rsplit_once('/') {
        Some((name, _)) => name.to_owned(),
        None => owner,
    });
    let facts = CallFacts {
        at_ms,
        caller: sender.or(owner).unwrap_or_else(|| LOCAL_CALLER.to_owned()),
        windows,
    };
    let is_new = wanted.is_counted() && !has_call;
    Ok((facts, is_new.then_some(Countable { counted, at_ms })))
}

/// Returns the result of a call that others kept from being counted.
pub(super) fn contended() -> ToolFailure {
    ToolFailure::new(
        ToolErrorCode::ToolUnavailable,
        "This call did not run: a rule counts the calls of this tool, and too many others were counted meanwhile. Try again.",
    )
}
