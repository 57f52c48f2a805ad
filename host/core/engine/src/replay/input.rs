//! The next input of a recorded session, as its events show it.

use super::tape::{Tape, behind_setup};
use agent_host_types::{
    continuation::{Awaiting, Continuation, WaitingChild},
    event::{EXPIRY, Event, EventRecord, SentInput},
    id::{Digest, SessionId},
    message::Message,
    output::{ContentPart, FileData},
    turn::{AgentInput, ChildInput, SubmittedResult, TurnEnd},
};
use std::sync::Arc;

/// A turn of the recording.
#[derive(Debug)]
pub(super) struct RecordedTurn {
    pub(super) input: AgentInput,
    pub(super) sender: Option<String>,
    /// The untrusted sources of the input.
    pub(super) sources: Vec<String>,
    /// The idempotency key, and the digest of the input.
    pub(super) key: Option<(String, Digest)>,
    /// The position behind its last event.
    pub(super) behind: usize,
    /// Its end; absent if the program ended before it.
    pub(super) end: Option<EventRecord>,
}

/// Whether an event is recorded between turns, by the program that drives the loop.
pub(super) fn is_outside(records: &[EventRecord], position: usize) -> bool {
    match records.get(position).map(|record| &record.event) {
        Some(
            Event::SessionStarted { .. }
            | Event::ContextSet { .. }
            | Event::RunConfigured { .. }
            | Event::RunPlaced { .. }
            | Event::LoopConfigured { .. }
            | Event::ApprovalRevoked { .. }
            | Event::FilesRestored { .. }
            | Event::ArtifactDeleted { call_id: None, .. },
        ) => true,
        Some(Event::ArtifactStored {
            call_id: None,
            name,
            ..
        }) => {
            // The long files of a message are stored before it, with it.
            let mut rest = records.iter().skip(position);
            let next = rest.find(|record| !matches!(record.event, Event::ArtifactStored { .. }));
            let of_message = next.is_some_and(|record| match &record.event {
                Event::InputReceived { message, .. } => message
                    .content
                    .iter()
                    .any(|part| names(part, name.as_str())),
                _ => false,
            });
            !of_message
        }
        _ => false,
    }
}

/// Whether a part of a message is the preview of an artifact.
fn names(part: &ContentPart, artifact: &str) -> bool {
    let note = format!("the whole text is the artifact `{artifact}`");
    matches!(part, ContentPart::File(file) if matches!(&file.data, FileData::Text(text) if text.contains(&note)))
}

impl RecordedTurn {
    /// Returns the turn of a session that begins at a position. `open` is the request that waits.
    pub(super) fn at(
        tape: &Tape,
        session: SessionId,
        position: usize,
        open: Option<Continuation>,
    ) -> Option<Self> {
        let records = tape.track(session, |track| Arc::clone(&track.records))?;
        let (behind, end) = extent(&records, position);
        let events = records.get(position..behind)?;
        let (input, sender) = input_of(tape, session, events, open, end.as_ref());
        let key = events.iter().find_map(|record| match &record.event {
            Event::KeyTaken { key, input } => Some((key.clone(), *input)),
            _ => None,
        });
        let sources = events.iter().find_map(|record| match &record.event {
            Event::InputReceived { labels, .. } => Some(labels.clone()),
            _ => None,
        });
        Some(Self {
            input,
            sender,
            sources: sources.unwrap_or_default(),
            key,
            behind,
            end,
        })
    }
}

/// Returns the position behind a turn that begins at a position, and its end.
fn extent(records: &[EventRecord], position: usize) -> (usize, Option<EventRecord>) {
    for (at, record) in records.iter().enumerate().skip(position) {
        match &record.event {
            Event::TurnEnded { .. } => return (at + 1, Some(record.clone())),
            Event::TurnInterrupted { .. } | Event::SessionForked { .. } if at > position => {
                return (at, None);
            }
            Event::ArtifactStored { .. } | Event::ArtifactDeleted { .. } => {}
            _ if at > position && is_outside(records, at) => return (at, None),
            _ => {}
        }
    }
    (records.len(), None)
}

/// Returns the input of a turn with these events, and its sender.
fn input_of(
    tape: &Tape,
    session: SessionId,
    events: &[EventRecord],
    open: Option<Continuation>,
    end: Option<&EventRecord>,
) -> (AgentInput, Option<String>) {
    for record in events {
        if let Event::InputReceived { message, by, .. } = &record.event {
            let message = restored_message(tape, events, message.clone());
            return (AgentInput::Message(message), by.clone());
        }
    }
    let sender = events.iter().find_map(|record| match &record.event {
        Event::SenderNamed { by, .. } => Some(by.clone()),
        _ => None,
    });
    let Some(continuation) = open else {
        return (AgentInput::Continue, sender);
    };
    let answer = answer_of(tape, session, events, continuation, end);
    match answer {
        Some((input, by)) => (input, by.or(sender)),
        None => (AgentInput::Continue, sender),
    }
}

/// Returns the input that answers a request, and its sender; `None` if the events do not begin with
/// one.
fn answer_of(
    tape: &Tape,
    session: SessionId,
    events: &[EventRecord],
    continuation: Continuation,
    end: Option<&EventRecord>,
) -> Option<(AgentInput, Option<String>)> {
    if let Awaiting::Children { children } = &continuation.awaiting {
        return children_input(tape, session, children.clone(), continuation, end);
    }
    match &events.first()?.event {
        Event::DecisionRecorded { decisions, by, .. } if by.as_deref() != Some(EXPIRY) => Some((
            AgentInput::Resume {
                continuation,
                decisions: decisions.clone(),
            },
            by.clone(),
        )),
        Event::AnswerReceived { answer, by, .. } => Some((
            AgentInput::Answer {
                continuation,
                answer: answer.clone(),
            },
            by.clone(),
        )),
        Event::SenderNamed {
            input: SentInput::Results,
            ..
        }
        | Event::CallSettled { .. }
            if matches!(continuation.awaiting, Awaiting::External { .. }) =>
        {
            let results = submitted(tape, events, &continuation);
            let input = AgentInput::SubmitToolResults {
                continuation,
                results,
            };
            Some((input, None))
        }
        _ => None,
    }
}

/// Returns the results that were submitted for the calls of a request.
fn submitted(
    tape: &Tape,
    events: &[EventRecord],
    continuation: &Continuation,
) -> Vec<SubmittedResult> {
    let calls = continuation.calls();
    let settled = events.iter().filter_map(|record| match &record.event {
        Event::CallSettled {
            call_id,
            output,
            whole,
            ..
        } if calls.iter().any(|call| call.call_id == *call_id) => Some(SubmittedResult {
            call_id: call_id.clone(),
            output: tape.restored(output, whole.as_ref()),
        }),
        _ => None,
    });
    settled.collect()
}

/// Returns the inputs of agents that wait. One whose request is still open at the end of the turn
/// got none.
fn children_input(
    tape: &Tape,
    session: SessionId,
    children: Vec<WaitingChild>,
    continuation: Continuation,
    end: Option<&EventRecord>,
) -> Option<(AgentInput, Option<String>)> {
    let still_waits = |child: &WaitingChild| {
        let Some(Event::TurnEnded { outcome, .. }) = end.map(|end| &end.event) else {
            return false;
        };
        let TurnEnd::AwaitingChildren { continuation } = &outcome.end else {
            return false;
        };
        let Awaiting::Children { children } = &continuation.awaiting else {
            return false;
        };
        let same = |other: &WaitingChild| {
            other.call_id == child.call_id
                && other.continuation.request == child.continuation.request
        };
        children.iter().any(same)
    };
    let (mut inputs, mut sender) = (Vec::new(), None);
    for child in children.into_iter().filter(|child| !still_waits(child)) {
        let Some(of_child) = tape.child(session, &child.call_id) else {
            continue;
        };
        let track = tape.track(of_child, |track| {
            let position = behind_setup(&track.records, track.position);
            (Arc::clone(&track.records), position)
        });
        let Some((records, position)) = track else {
            continue;
        };
        let (behind, end) = extent(&records, position);
        let events = records.get(position..behind).unwrap_or_default();
        let answer = answer_of(tape, of_child, events, child.continuation, end.as_ref());
        if let Some((input, by)) = answer {
            sender = sender.or(by);
            inputs.push(ChildInput {
                call_id: child.call_id,
                input,
            });
        }
    }
    let input = AgentInput::Children {
        continuation,
        inputs,
    };
    match &input {
        AgentInput::Children { inputs, .. } if inputs.is_empty() => None,
        _ => Some((input, sender)),
    }
}

/// Returns a message as the user sent it: with the bytes of its files, and long ones whole.
fn restored_message(tape: &Tape, events: &[EventRecord], mut message: Message) -> Message {
    for record in events {
        if let Event::ArtifactStored { name, blob, .. } = &record.event
            && let Some(whole) = tape.blob(&blob.digest)
            && let Ok(whole) = str::from_utf8(whole)
        {
            let part = message.content.iter_mut();
            let mut part = part.filter(|part| names(part, name.as_str()));
            if let Some(ContentPart::File(file)) = part.next() {
                file.data = FileData::Text(whole.to_owned());
            }
        }
    }
    let parts = message.content.iter_mut();
    parts.for_each(|part| tape.restore_part(part));
    message
}
