use super::{PhaseChange, SessionClaim, SessionPhase, SessionStatus};
use crate::{
    continuation::{Awaiting, WaitingChild},
    event::{
        Event,
        tests::{
            every::{call_events, conversation_events, user_events, workflow_events},
            values::{continuation, ends, report, waiting_child, waits, workflow_summary},
        },
    },
    turn::{TurnEnd, TurnReport},
    workflow::WorkflowEnd,
};
use pretty_assertions::assert_eq;

/// Returns an event of a kind.
fn event(kind: &str) -> Event {
    let mut all = conversation_events();
    all.extend(call_events());
    all.extend(user_events());
    all.extend(workflow_events());
    let mut found = all.into_iter().find(|event| event.kind() == kind).unwrap();
    match &mut found {
        Event::SessionStarted { client, .. } => *client = None,
        Event::CallSettled { path, .. } => path.clear(),
        _ => {}
    }
    found
}

fn client_started() -> Event {
    let mut started = event("session-started");
    if let Event::SessionStarted { client, .. } = &mut started {
        *client = Some("notes 2.1".to_owned());
    }
    started
}

fn ended(end: TurnEnd) -> Event {
    let TurnReport { end, mut summary } = report(end);
    summary.workflow = None;
    Event::TurnEnded {
        outcome: TurnReport { end, summary },
        by: None,
    }
}

fn end_named(kind: &str) -> Event {
    ended(ends().into_iter().find(|end| end.kind() == kind).unwrap())
}

/// A workflow that ran to its end although a node failed.
fn ended_with_failed_node() -> Event {
    let done = ends().into_iter().find(|end| end.kind() == "done").unwrap();
    let mut outcome = report(done);
    let mut workflow = workflow_summary();
    workflow.end = WorkflowEnd::Completed;
    outcome.summary.workflow = Some(workflow);
    Event::TurnEnded { outcome, by: None }
}

/// The statuses without a claim, of a queued run, and with a claim.
fn statuses(events: &[Event]) -> [&'static str; 3] {
    let changes = events.iter().filter_map(PhaseChange::from_event);
    let phase = changes.fold(SessionPhase::New, SessionPhase::after);
    [SessionClaim::None, SessionClaim::Queued, SessionClaim::Held]
        .map(|claim| phase.status(claim).as_str())
}

/// Returns the events of a text: kinds of events, `started-by-client`, `TYPE!` for a turn that ended
/// so, and `failed-nodes!` for a workflow that passed over failed nodes.
fn events(text: &str) -> Vec<Event> {
    let event_of = |word: &str| match word.strip_suffix('!') {
        Some("failed-nodes") => ended_with_failed_node(),
        Some(end) => end_named(end),
        None if word == "started-by-client" => client_started(),
        None => event(word),
    };
    text.split(' ').map(event_of).collect()
}

const OPEN: [&str; 3] = ["interrupted", "queued", "running"];

const NEW: [&str; 3] = ["new", "queued", "new"];

#[test]
fn turns_have_the_status_of_their_events() {
    let cases = [
        ("session-started", NEW),
        ("session-started run-configured", NEW),
        ("session-started input-received", OPEN),
        ("input-received model-replied", OPEN),
        ("input-received done!", ["done"; 3]),
        // The next turn of a session was killed.
        ("input-received done! input-received", OPEN),
        ("input-received needs-more-turns!", OPEN),
        ("input-received run-halted", OPEN),
        ("input-received run-halted halted!", ["halted"; 3]),
        ("input-received budget-exceeded!", ["over-budget"; 3]),
        ("input-received refusal!", ["refused"; 3]),
        ("input-received cancelled!", ["cancelled"; 3]),
        ("input-received error!", ["failed"; 3]),
        ("input-received failed-nodes!", ["done-with-errors"; 3]),
        // Between two turns.
        ("input-received done! files-restored", ["done"; 3]),
        ("input-received done! loop-configured", ["done"; 3]),
    ];
    for (text, expected) in cases {
        assert_eq!(statuses(&events(text)), expected, "{text}");
    }
}

#[test]
fn requests_have_their_status_until_they_are_answered() {
    let approval = ["waiting-for-approval"; 3];
    let cases = [
        ("input-received approval-requested", OPEN),
        ("approval-requested awaiting-confirmation!", approval),
        ("awaiting-confirmation! decision-recorded", OPEN),
        ("awaiting-confirmation! input-received", OPEN),
        ("awaiting-confirmation! approval-revoked", approval),
        ("awaiting-answer!", ["waiting-for-answer"; 3]),
        ("awaiting-answer! answer-received", OPEN),
        ("pending-tool-calls!", ["waiting-for-results"; 3]),
        // The result is stored, and the turn was killed.
        ("pending-tool-calls! call-settled", OPEN),
        ("awaiting-children!", ["waiting-for-results"; 3]),
        // Nothing waits in a copy.
        ("awaiting-confirmation! session-forked", NEW),
        ("input-received session-forked", NEW),
        ("done! session-forked", ["done"; 3]),
    ];
    for (text, expected) in cases {
        assert_eq!(statuses(&events(text)), expected, "{text}");
    }
}

#[test]
fn session_of_a_client_is_done_between_its_calls() {
    let open = ["interrupted", "interrupted", "running"];
    let done = ["done"; 3];
    let cases = [
        ("started-by-client", done),
        ("started-by-client call-intended", open),
        ("started-by-client call-intended call-settled", done),
        (
            "started-by-client call-intended call-settled state-merged",
            done,
        ),
        ("started-by-client call-intended session-forked", done),
    ];
    for (text, expected) in cases {
        assert_eq!(statuses(&events(text)), expected, "{text}");
    }
}

/// The request that the user can answer at once is named first.
#[test]
fn waiting_agents_have_the_status_of_their_requests() {
    let [approval, answer, results] = waits();
    let child = |awaiting: &Awaiting| WaitingChild {
        continuation: continuation(awaiting.clone()),
        ..waiting_child()
    };
    let nested = Awaiting::Children {
        children: vec![child(&results), child(&approval)],
    };
    let cases = [
        (vec![child(&results)], "waiting-for-results"),
        (vec![child(&results), child(&answer)], "waiting-for-answer"),
        (vec![child(&answer), child(&nested)], "waiting-for-approval"),
    ];
    for (children, expected) in cases {
        let continuation = continuation(Awaiting::Children { children });
        let events = [ended(TurnEnd::AwaitingChildren { continuation })];
        assert_eq!(statuses(&events), [expected; 3]);
    }
}

#[test]
fn phases_are_stored_under_their_names() {
    let names: Vec<&str> = SessionPhase::ALL
        .into_iter()
        .map(SessionPhase::as_str)
        .collect();
    let read: Vec<SessionPhase> = names
        .iter()
        .filter_map(|name| SessionPhase::from_stored(name))
        .collect();
    assert_eq!(read, SessionPhase::ALL.into_iter().collect::<Vec<_>>());
    assert_eq!(SessionPhase::from_stored("asleep"), None);
    // The name by which stores find the sessions that wait.
    for phase in SessionPhase::ALL {
        assert_eq!(
            phase.is_waiting(),
            phase.as_str().starts_with("waiting-for-")
        );
    }
}

#[test]
fn status_names_are_words_of_the_json_form() {
    for status in SessionStatus::ALL {
        let json = serde_json::to_string(&status).unwrap();
        assert_eq!(json, format!("\"{}\"", status.as_str()));
        assert_eq!(status.to_string(), status.as_str().replace('-', " "));
    }
}
