//! Instants across zones, changes of the clock, and leap days.

use super::Timetable;
use jiff::Timestamp;
use pretty_assertions::assert_eq;
use std::collections::BTreeMap;

fn ms(instant: &str) -> u64 {
    let instant: Timestamp = instant.parse().unwrap();
    u64::try_from(instant.as_millisecond()).unwrap()
}

fn cron(text: &str, zone: &str) -> Timetable {
    Timetable::cron(text, zone).unwrap()
}

/// The next instants, in UTC.
fn following(timetable: &Timetable, after: &str, count: usize) -> Vec<String> {
    let mut found = Vec::new();
    let mut at = ms(after);
    while let Some(next) = timetable.next(at).filter(|_| found.len() < count) {
        at = next;
        let next = i64::try_from(next).unwrap();
        found.push(Timestamp::from_millisecond(next).unwrap().to_string());
    }
    found
}

#[test]
fn instants_follow_the_clocks_of_their_zone() {
    for (text, zone, after, expected) in [
        // Plain days, in zones on both sides of UTC, and one of a quarter of an hour.
        (
            "0 9 * * MON-FRI",
            "UTC",
            "2026-11-27T08:59:59Z",
            ["2026-11-27T09:00:00Z", "2026-11-30T09:00:00Z"],
        ),
        (
            "0 9 * * *",
            "America/New_York",
            "2026-12-01T00:00:00Z",
            ["2026-12-01T14:00:00Z", "2026-12-02T14:00:00Z"],
        ),
        (
            "30 6 * * *",
            "Asia/Kathmandu",
            "2026-12-01T00:45:00Z",
            ["2026-12-02T00:45:00Z", "2026-12-03T00:45:00Z"],
        ),
        // The same hour of the day before and after a change.
        (
            "0 9 * * *",
            "Europe/Berlin",
            "2026-03-28T00:00:00Z",
            ["2026-03-28T08:00:00Z", "2026-03-29T07:00:00Z"],
        ),
        // 02:30 is left out on 29 March: at the change, at 01:00 UTC.
        (
            "30 2 * * *",
            "Europe/Berlin",
            "2026-03-28T02:00:00Z",
            ["2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z"],
        ),
        // Every time that is left out is one instant, which 03:00 is, too.
        (
            "0,20,40 2,3 * * *",
            "Europe/Berlin",
            "2026-03-29T00:59:00Z",
            ["2026-03-29T01:00:00Z", "2026-03-29T01:20:00Z"],
        ),
        // 02:30 is shown twice on 25 October: the first time, at 00:30 UTC.
        (
            "30 2 * * *",
            "Europe/Berlin",
            "2026-10-24T12:00:00Z",
            ["2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"],
        ),
        // From between both times, and from behind the second one.
        (
            "30 2 * * *",
            "Europe/Berlin",
            "2026-10-25T00:45:00Z",
            ["2026-10-26T01:30:00Z", "2026-10-27T01:30:00Z"],
        ),
        (
            "*/30 * * * *",
            "Europe/Berlin",
            "2026-10-25T00:00:00Z",
            ["2026-10-25T00:30:00Z", "2026-10-25T02:00:00Z"],
        ),
        // A change of half an hour.
        (
            "15 2 * * *",
            "Australia/Lord_Howe",
            "2026-10-03T00:00:00Z",
            ["2026-10-03T15:30:00Z", "2026-10-04T15:15:00Z"],
        ),
        // A day that was left out as a whole.
        (
            "0 9 30 12 *",
            "Pacific/Apia",
            "2011-12-01T00:00:00Z",
            ["2011-12-30T10:00:00Z", "2012-12-29T19:00:00Z"],
        ),
        // Leap days, also over a century without one, and the last day of a month.
        (
            "0 0 29 2 *",
            "UTC",
            "2027-01-01T00:00:00Z",
            ["2028-02-29T00:00:00Z", "2032-02-29T00:00:00Z"],
        ),
        (
            "0 0 L * *",
            "UTC",
            "2028-02-01T00:00:00Z",
            ["2028-02-29T00:00:00Z", "2028-03-31T00:00:00Z"],
        ),
    ] {
        let found = following(&cron(text, zone), after, 2);
        assert_eq!(found, expected, "{text} {zone} {after}");
    }
}

/// No instant comes twice, and none is lost, over two years of hours in which clocks change: 27
/// times on each day, but for those that a change leaves out, which are one instant.
#[test]
fn instants_are_each_one_and_in_order() {
    for (zone, expected) in [
        // The first one is the time of the beginning, which is not after itself. 03:00 is the
        // change.
        ("Europe/Berlin", vec![26, 18, 18]),
        ("America/New_York", vec![18, 18]),
        // From 02:00 to 02:30.
        ("Australia/Lord_Howe", vec![23, 23]),
    ] {
        let timetable = cron("*/7 1-3 * * *", zone);
        let mut at = ms("2026-01-01T00:00:00Z");
        let end = ms("2028-01-01T00:00:00Z");
        let mut days = BTreeMap::<String, u32>::new();
        while let Some(next) = timetable.next(at).filter(|next| *next < end) {
            assert!(next > at, "{zone} {next}");
            at = next;
            let shown = timetable.show(next);
            let (day, _) = shown.split_once('T').unwrap();
            *days.entry(day.to_owned()).or_default() += 1;
        }
        assert!((729..=730).contains(&days.len()), "{zone} {}", days.len());
        let other: Vec<u32> = days.into_values().filter(|count| *count != 27).collect();
        assert_eq!(other, expected, "{zone}");
    }
}

#[test]
fn once_is_one_instant_of_its_zone() {
    for (time, zone, expected) in [
        ("2026-12-01T09:00", "UTC", "2026-12-01T09:00:00Z"),
        ("2026-12-01T09:00", "Europe/Berlin", "2026-12-01T08:00:00Z"),
        ("2026-03-29T02:30", "Europe/Berlin", "2026-03-29T01:00:00Z"),
        ("2026-10-25T02:30", "Europe/Berlin", "2026-10-25T00:30:00Z"),
    ] {
        let timetable = Timetable::once(time, zone).unwrap();
        let found = following(&timetable, "2026-01-01T00:00:00Z", 2);
        assert_eq!(found, [expected], "{time} {zone}");
        assert_eq!(timetable.next(ms(expected)), None, "{time} {zone}");
    }
}

#[test]
fn latest_is_the_last_of_those_that_were_missed() {
    let hourly = cron("0 * * * *", "UTC");
    let latest = |after: &str, until: &str| hourly.latest(ms(after), ms(until));
    let nine = Some(ms("2026-12-01T09:00:00Z"));
    assert_eq!(latest("2026-12-01T04:30:00Z", "2026-12-01T09:59:59Z"), nine);
    assert_eq!(latest("2026-12-01T08:59:59Z", "2026-12-01T09:00:00Z"), nine);
    assert_eq!(latest("2026-12-01T09:00:00Z", "2026-12-01T09:59:59Z"), None);
    // The clock was put back.
    assert_eq!(latest("2026-12-01T09:30:00Z", "2026-12-01T08:00:00Z"), None);
}

#[test]
fn times_that_are_none_are_refused() {
    let fields = "fields instead of 5: minute, hour, day of the month, month and day of the week";
    for (text, expected) in [
        ("", format!("it has 0 {fields}")),
        ("@daily", format!("it has 1 {fields}")),
        ("0 9 * * * Europe/Berlin", format!("it has 6 {fields}")),
        ("0 0 30 2 *", "no day matches".to_owned()),
    ] {
        assert_eq!(Timetable::cron(text, "UTC").unwrap_err(), expected.into());
    }
    for text in [
        "60 * * * *",
        "* 24 * * *",
        "a * * * *",
        "*/0 * * * *",
        "5-1 * * * *",
    ] {
        let why = Timetable::cron(text, "UTC").unwrap_err().to_string();
        assert!(!why.is_empty() && !why.contains('\n'), "{why}");
    }
    let zone = "unknown time zone `Europe/Nowhere`; write it like `Europe/Berlin`";
    let refused = Timetable::cron("0 9 * * *", "Europe/Nowhere");
    assert_eq!(refused.unwrap_err().as_str(), zone);
    for text in ["tomorrow", "2026-02-30T09:00", "2026-12-01T09:00Z", ""] {
        let refused = Timetable::once(text, "UTC").unwrap_err().to_string();
        assert_eq!(
            refused, "it is not a time like `2026-12-01T09:00`",
            "{text}"
        );
    }
}
