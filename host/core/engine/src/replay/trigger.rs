//! When a recorded turn was cancelled or drained: the position in a journal after which that shows.

use super::tape::{CurrentTurn, behind_setup};
use agent_host_types::{
    event::{Event, EventRecord},
    failure::ToolErrorCode,
    id::CallId,
    turn::TurnEnd,
};

/// The end that a turn was given from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trigger {
    Cancel,
    Drain,
}

/// The session that a position is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Of {
    /// The replayed session, whose agents are as far as they were at the end of the turn.
    Root,
    /// The replayed session, while agents of it run.
    Busy,
    /// That of an agent whose call settled in the turn of its caller.
    Settled,
    /// That of an agent whose call stayed open.
    Open,
}

impl Trigger {
    /// Returns what happened to the current turn of the replayed session once a session of it is at
    /// a position.
    pub(super) fn at(
        records: &[EventRecord],
        position: usize,
        of: Of,
        turn: &CurrentTurn,
    ) -> Option<Self> {
        if of == Of::Busy {
            return None;
        }
        let position = behind_setup(records, position);
        let is_root = of == Of::Root;
        let end = turn.end.as_ref()?;
        let Event::TurnEnded { outcome, .. } = &end.event else {
            return None;
        };
        match outcome.end {
            TurnEnd::Cancelled => {
                let ends = end_of_turn(records, position)?;
                let is_of_turn = is_root || ends.at_ms <= end.at_ms;
                let is_cancelled = matches!(
                    &ends.event,
                    Event::TurnEnded { outcome, .. } if outcome.end == TurnEnd::Cancelled
                );
                let rest = records.get(position..).unwrap_or_default();
                (is_of_turn && is_cancelled && only_answers(records, rest, position))
                    .then_some(Self::Cancel)
            }
            TurnEnd::NeedsMoreTurns | TurnEnd::AwaitingChildren { .. } => {
                let next = records.get(position)?;
                let is_end = |record: &EventRecord| {
                    matches!(
                        &record.event,
                        Event::TurnEnded { outcome, .. } if outcome.end == TurnEnd::NeedsMoreTurns
                    )
                };
                let after = records.get(position + 1);
                let is_last = match of {
                    Of::Root => true,
                    Of::Settled | Of::Busy => false,
                    Of::Open => after.is_none_or(|after| after.at_ms >= end.at_ms),
                };
                (is_end(next) && is_last).then_some(Self::Drain)
            }
            // A node that was stopped need not have the whole run end so.
            _ if !is_root && waits_for_model(records, position) => {
                let is_cancelled = matches!(
                    records.get(position).map(|record| &record.event),
                    Some(Event::TurnEnded { outcome, .. }) if outcome.end == TurnEnd::Cancelled
                );
                (is_cancelled && !turn.has_halted).then_some(Self::Cancel)
            }
            _ => None,
        }
    }
}

/// Whether the event before a position is a request to a model.
fn waits_for_model(records: &[EventRecord], position: usize) -> bool {
    let before = position.checked_sub(1).and_then(|at| records.get(at));
    before.is_some_and(|record| matches!(record.event, Event::ModelRequested { .. }))
}

fn end_of_turn(records: &[EventRecord], position: usize) -> Option<&EventRecord> {
    let mut rest = records.get(position..)?.iter();
    rest.find(|record| matches!(record.event, Event::TurnEnded { .. }))
}

/// Whether nothing is left of the turn but the answers of calls and nodes that do not start.
fn only_answers(records: &[EventRecord], rest: &[EventRecord], position: usize) -> bool {
    let mut rest = rest
        .iter()
        .take_while(|record| !matches!(record.event, Event::TurnEnded { .. }));
    rest.all(|record| match &record.event {
        Event::CallSettled { call_id, .. } => !has_started(records, position, call_id),
        Event::NodeSettled { output, .. } => output
            .error
            .as_ref()
            .is_some_and(|error| error.code == ToolErrorCode::Cancelled.as_str()),
        Event::NodeSkipped { .. } | Event::WorkflowEnded { .. } => true,
        _ => false,
    })
}

/// Whether a call runs at a position.
fn has_started(records: &[EventRecord], position: usize, call_id: &CallId) -> bool {
    let before = records.get(..position).unwrap_or_default().iter();
    before
        .rev()
        .take_while(|record| !matches!(record.event, Event::ModelReplied { .. }))
        .any(|record| matches!(&record.event, Event::CallIntended { call_id: of, .. } if of == call_id))
}
