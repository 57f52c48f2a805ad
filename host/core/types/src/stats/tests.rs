use super::{
    DAY_MS, Figures, MAX_NAMES, MAX_PENDING_CALLS, OTHERS, STATS_KINDS, SessionStats, StatsBy,
    StatsChange, Sums,
};
use crate::{
    event::tests::every::{call_events, conversation_events, user_events, workflow_events},
    session_status::SessionPhase,
};
use pretty_assertions::assert_eq;

fn call(tool: &str) -> StatsChange {
    let figures = Figures {
        tool_calls: 1,
        tool_us: 5,
        ..Figures::default()
    };
    StatsChange::ToolCall(tool.to_owned(), figures)
}

/// Folds calls of tools on days.
fn used(calls: &[(u64, &str)]) -> SessionStats {
    let mut stats = SessionStats::default();
    for (day, tool) in calls {
        stats.add(day * DAY_MS + 7, &call(tool));
    }
    stats
}

/// A day, a name, and their sessions and calls.
type Row = (u32, String, u64, u64);

/// The sessions and the calls of each row, and of everything.
fn counts(sums: &Sums, by: StatsBy, since: u32) -> (Vec<Row>, (u64, u64)) {
    let (rows, total) = sums.figures(by, since);
    let rows = rows.into_iter();
    let rows = rows.map(|(day, name, of)| (day, name, of.sessions, of.tool_calls));
    (rows.collect(), (total.sessions, total.tool_calls))
}

#[test]
fn kinds_are_those_of_the_events_with_a_change() {
    let mut events = conversation_events();
    events.extend(call_events());
    events.extend(user_events());
    events.extend(workflow_events());
    for event in events {
        let is_listed = STATS_KINDS.contains(&event.kind());
        let has_change = StatsChange::from_event(&event).is_some();
        assert!(is_listed || !has_change, "{}", event.kind());
    }
}

/// A session counts once in each row, from any day on, whatever the days on which it used it.
#[test]
fn session_counts_once_in_each_row() {
    let mut sums = used(&[(3, "a"), (3, "a"), (3, "b"), (5, "a")]).take_pending();
    sums.add_all(used(&[(4, "b"), (5, "b")]).take_pending());
    let day = |day, sessions, calls| (day, String::new(), sessions, calls);
    let tool = |name: &str, sessions, calls| (0, name.to_owned(), sessions, calls);
    assert_eq!(
        counts(&sums, StatsBy::Day, 0),
        (vec![day(3, 1, 3), day(4, 1, 1), day(5, 2, 2)], (2, 6))
    );
    assert_eq!(
        counts(&sums, StatsBy::Tool, 0),
        (vec![tool("a", 1, 3), tool("b", 2, 3)], (2, 6))
    );
    assert_eq!(
        counts(&sums, StatsBy::Tool, 4),
        (vec![tool("a", 1, 1), tool("b", 1, 2)], (2, 3))
    );
    assert_eq!(counts(&sums, StatsBy::Tool, 6), (Vec::new(), (0, 0)));
}

/// Figures that are added in parts have the sums of the whole.
#[test]
fn sums_in_parts_are_those_of_the_whole() {
    let calls = [(3, "a"), (3, "b"), (5, "a"), (6, "b"), (6, "b")];
    let whole = used(&calls).take_pending();
    for split in 0..calls.len() {
        let (first, rest) = calls.split_at(split);
        let mut stats = used(first);
        let mut sums = stats.take_pending();
        // A store keeps the state as JSON.
        let stored = serde_json::to_string(&stats).unwrap();
        let mut stats: SessionStats = serde_json::from_str(&stored).unwrap();
        for (day, tool) in rest {
            stats.add(day * DAY_MS, &call(tool));
        }
        sums.add_all(stats.take_pending());
        assert_eq!(sums, whole, "{split}");
        sums.subtract(whole.clone());
        assert!(sums.is_empty(), "{split}");
    }
}

#[test]
fn clock_that_goes_back_begins_no_day_again() {
    let sums = used(&[(3, "a"), (4, "a"), (3, "a")]).take_pending();
    let day = |day, calls| (day, String::new(), 1, calls);
    let rows = vec![day(3, 1), day(4, 2)];
    assert_eq!(counts(&sums, StatsBy::Day, 0), (rows, (1, 3)));
}

#[test]
fn names_beyond_the_bound_share_a_row() {
    let names: Vec<String> = (0..MAX_NAMES + 9).map(|n| format!("tool-{n}")).collect();
    let calls: Vec<(u64, &str)> = names.iter().map(|name| (3, name.as_str())).collect();
    let (rows, _) = counts(used(&calls).pending(), StatsBy::Tool, 0);
    assert_eq!(rows.len(), MAX_NAMES + 1);
    assert!(rows.contains(&(0, OTHERS.to_owned(), 1, 9)));
    let long = "x\0".repeat(1_000);
    let (rows, _) = counts(used(&[(3, &long)]).pending(), StatsBy::Tool, 0);
    assert_eq!(rows, [(0, "x\u{fffd}".repeat(64), 1, 1)]);
}

/// The figures of a run are due at its end, or when they are many.
#[test]
fn figures_are_due_at_the_end_of_a_run() {
    for phase in [
        SessionPhase::New,
        SessionPhase::Open,
        SessionPhase::ClientOpen,
        SessionPhase::ClientIdle,
    ] {
        let mut stats = used(&[(3, "a")]);
        assert!(stats.take_due(phase).is_empty());
        for _ in 1..MAX_PENDING_CALLS {
            stats.add(3 * DAY_MS, &call("a"));
        }
        assert!(!stats.take_due(phase).is_empty());
        assert!(stats.pending().is_empty());
    }
    for phase in [SessionPhase::Done, SessionPhase::WaitingForApproval] {
        assert!(!used(&[(3, "a")]).take_due(phase).is_empty());
    }
}
