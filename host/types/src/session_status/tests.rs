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
use strum::IntoEnumIterator as _;

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

#[test]
fn event_sequences_have_their_status() {
    let started = || event("session-started");
    let input = || event("input-received");
    let asked = || end_named("awaiting-confirmation");
    let same = |name| [name; 3];
    let open = ["interrupted", "queued", "running"];
    let of_client = ["interrupted", "interrupted", "running"];
    let cases = [
        (vec![started()], ["new", "queued", "new"]),
        (
            vec![started(), event("run-configured")],
            ["new", "queued", "new"],
        ),
        (vec![started(), input()], open),
        (vec![started(), input(), event("model-replied")], open),
        (vec![started(), input(), end_named("done")], same("done")),
        // The next turn of a session was killed.
        (vec![started(), input(), end_named("done"), input()], open),
        (
            vec![started(), input(), end_named("needs-more-turns")],
            open,
        ),
        (
            vec![started(), input(), end_named("halted")],
            same("halted"),
        ),
        (vec![started(), input(), event("run-halted")], open),
        (
            vec![started(), input(), end_named("budget-exceeded")],
            same("over-budget"),
        ),
        (
            vec![started(), input(), end_named("refusal")],
            same("refused"),
        ),
        (
            vec![started(), input(), end_named("cancelled")],
            same("cancelled"),
        ),
        (vec![started(), input(), end_named("error")], same("failed")),
        (
            vec![started(), input(), ended_with_failed_node()],
            same("done-with-errors"),
        ),
        (vec![started(), input(), event("approval-requested")], open),
        (
            vec![started(), input(), asked()],
            same("waiting-for-approval"),
        ),
        (
            vec![started(), input(), end_named("awaiting-answer")],
            same("waiting-for-answer"),
        ),
        (
            vec![started(), input(), end_named("pending-tool-calls")],
            same("waiting-for-results"),
        ),
        (
            vec![started(), input(), end_named("awaiting-children")],
            same("waiting-for-results"),
        ),
        (
            vec![started(), input(), asked(), event("decision-recorded")],
            open,
        ),
        (
            vec![
                started(),
                input(),
                end_named("awaiting-answer"),
                event("answer-received"),
            ],
            open,
        ),
        // The result of an external call is stored, and its turn was killed.
        (
            vec![
                started(),
                input(),
                end_named("pending-tool-calls"),
                event("call-settled"),
            ],
            open,
        ),
        // Between two turns.
        (
            vec![started(), input(), asked(), event("approval-revoked")],
            same("waiting-for-approval"),
        ),
        (
            vec![
                started(),
                input(),
                end_named("done"),
                event("files-restored"),
            ],
            same("done"),
        ),
        (
            vec![
                started(),
                input(),
                end_named("done"),
                event("loop-configured"),
            ],
            same("done"),
        ),
        // Nothing waits in a copy.
        (
            vec![started(), input(), asked(), event("session-forked")],
            ["new", "queued", "new"],
        ),
        (
            vec![started(), input(), event("session-forked")],
            ["new", "queued", "new"],
        ),
        (
            vec![
                started(),
                input(),
                end_named("done"),
                event("session-forked"),
            ],
            same("done"),
        ),
        // A client drives the loop.
        (vec![client_started()], same("done")),
        (vec![client_started(), event("call-intended")], of_client),
        (
            vec![
                client_started(),
                event("call-intended"),
                event("call-settled"),
            ],
            same("done"),
        ),
        (
            vec![
                client_started(),
                event("call-intended"),
                event("call-settled"),
                event("state-merged"),
            ],
            same("done"),
        ),
    ];
    for (events, expected) in cases {
        let kinds: Vec<&str> = events.iter().map(Event::kind).collect();
        assert_eq!(statuses(&events), expected, "{kinds:?}");
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
    let names: Vec<&str> = SessionPhase::iter().map(SessionPhase::as_str).collect();
    let read: Vec<SessionPhase> = names
        .iter()
        .filter_map(|name| SessionPhase::from_stored(name))
        .collect();
    assert_eq!(read, SessionPhase::iter().collect::<Vec<_>>());
    assert_eq!(SessionPhase::from_stored("asleep"), None);
    // The name by which stores find the sessions that wait.
    for phase in SessionPhase::iter() {
        assert_eq!(
            phase.is_waiting(),
            phase.as_str().starts_with("waiting-for-")
        );
    }
}

#[test]
fn status_names_are_words_of_the_json_form() {
    for status in SessionStatus::iter() {
        let json = serde_json::to_string(&status).unwrap();
        assert_eq!(json, format!("\"{}\"", status.as_str()));
        assert_eq!(status.to_string(), status.as_str().replace('-', " "));
    }
}
