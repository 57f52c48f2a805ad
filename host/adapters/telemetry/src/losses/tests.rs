use super::{INTERVAL, LossLog};
use pretty_assertions::assert_eq;
use std::time::{Duration, Instant};

#[test]
fn losses_are_told_once_a_minute_while_they_grow() {
    let start = Instant::now();
    let mut log = LossLog::default();
    let second = Duration::from_secs(1);
    let cases = [
        (0, 0, start, None),
        (2, 0, start, Some("traces are not sent: 2 spans: refused")),
        // Too soon.
        (3, 9, start + INTERVAL - second, None),
        (
            3,
            9,
            start + INTERVAL,
            Some(
                "traces are not sent: 1 spans: refused; and the queue is full; 9 notes were dropped",
            ),
        ),
        // Nothing new.
        (3, 9, start + INTERVAL * 3, None),
        (
            3,
            10,
            start + INTERVAL * 4,
            Some("traces are not sent: the queue is full; 1 notes were dropped"),
        ),
    ];
    for (lost, dropped, now, expected) in cases {
        let line = log.line(lost, dropped, Some("refused"), now);
        assert_eq!(line.as_deref(), expected, "{lost} {dropped}");
    }
}
