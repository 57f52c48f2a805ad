//! Measures the memory, the descriptors and the outcomes of a process that runs hostile guests
//! beside a neighbour. Times are measured by `cargo bench -p agent-host-benches --bench neighbour`.

use super::{
    case::Case,
    memory,
    meter::{self, KEPT_BYTES, Order, Report, What},
    table, time,
};
use agent_host_types::limits::Limits;
use pretty_assertions::assert_eq;
use std::collections::BTreeMap;

const MIB: u64 = 1024 * 1024;

/// The memory that a call may use beyond its limit.
const PEAK_BYTES: u64 = 64 * MIB;

/// The attempts per measurement, since other programs use the machine, too.
const TRIES: usize = 3;

/// The limits of a row, empty if it sets none.
fn limits(case: &Case) -> Limits {
    let config: toml::Table = toml::from_str(&case.config).unwrap();
    match config.get("limits") {
        Some(limits) => limits.clone().try_into().unwrap(),
        None => Limits::default(),
    }
}

/// Measures up to three times, until a measurement has no faults.
fn measured(test: &str, case: &Case, what: What, wrong: impl Fn(&Report, &Limits) -> Vec<String>) {
    let directory = tempfile::tempdir().unwrap();
    let component = directory.path().join("hostile.wasm");
    std::fs::write(&component, case.bytes()).unwrap();
    let order = Order {
        what,
        component,
        tool: case.tool.clone(),
        limits: limits(case),
    };
    let mut found = Vec::new();
    for _ in 0..TRIES {
        let report = meter::ordered(test, &order, directory.path());
        found = wrong(&report, &order.limits);
        if found.is_empty() {
            return;
        }
        found.push(format!("{report:?}"));
    }
    panic!("{}: {}", case.name, found.join("; "));
}

/// The faults in the memory and descriptors of the process.
fn leaks(report: &Report, most_bytes: u64) -> Vec<String> {
    let mut wrong = Vec::new();
    if report.peak_bytes > most_bytes {
        wrong.push(format!("{} bytes at the peak", report.peak_bytes));
    }
    if report.kept_bytes > KEPT_BYTES {
        wrong.push(format!("{} bytes kept", report.kept_bytes));
    }
    if report.descriptors > 0 {
        wrong.push(format!("{} descriptors kept", report.descriptors));
    }
    wrong
}

#[test]
fn neighbours_answer_and_memory_is_returned() {
    if meter::serve() {
        return;
    }
    let granted =
        |case: &Case| case.config.contains("[[grants") || case.config.contains("[sandbox]");
    let cases = [time::cases(), memory::cases()].into_iter().flatten();
    let cases: Vec<Case> = cases
        .filter(|case| case.ends.len() == 1 && !granted(case))
        .collect();
    table::each(&cases, |case| {
        measured(
            "hostile::lane::neighbours_answer_and_memory_is_returned",
            case,
            What::Beside,
            // Two callers have two calls at once.
            |report, limits| leaks(report, 2 * limits.memory_bytes + PEAK_BYTES),
        );
    });
}

#[test]
fn thousand_concurrent_loops_are_stopped() {
    if meter::serve() {
        return;
    }
    let case = row("loop.wat", time::cases());
    measured(
        "hostile::lane::thousand_concurrent_loops_are_stopped",
        &case,
        What::Crowd(1_000),
        |report, _| {
            let mut wrong = leaks(report, 512 * MIB);
            if report.timeouts() != 1_000 {
                wrong.push(format!("ended with {:?}", report.codes));
            }
            wrong
        },
    );
}

#[test]
fn leaked_handles_do_not_accumulate() {
    if meter::serve() {
        return;
    }
    let case = row("leak.wat", memory::cases());
    measured(
        "hostile::lane::leaked_handles_do_not_accumulate",
        &case,
        What::Calls(100_000),
        |report, _| {
            let mut wrong = leaks(report, PEAK_BYTES);
            if report.codes != BTreeMap::from([("text".to_owned(), 100_000)]) {
                wrong.push(format!("ended with {:?}", report.codes));
            }
            wrong
        },
    );
}

#[test]
fn calls_dropped_at_any_point_free_resources() {
    if meter::serve() {
        return;
    }
    let files = [
        "loop.wat",
        "flood-of-host-calls.wat",
        "sleep.wat",
        "loop-in-post-return.wat",
    ];
    let cases = files.map(|file| row(file, time::cases()));
    table::each(&cases, |case| {
        measured(
            "hostile::lane::calls_dropped_at_any_point_free_resources",
            case,
            What::Dropped(24),
            |report, _| {
                let mut wrong = leaks(report, PEAK_BYTES);
                if report.codes != BTreeMap::from([("dropped".to_owned(), 24)]) {
                    wrong.push(format!("ended with {:?}", report.codes));
                }
                wrong
            },
        );
    });
}

/// The row with this name.
fn row(name: &str, cases: Vec<Case>) -> Case {
    cases.into_iter().find(|case| case.name == name).unwrap()
}

#[test]
fn meter_detects_a_leak() {
    let kept = Report {
        peak_bytes: PEAK_BYTES + 1,
        kept_bytes: KEPT_BYTES + 1,
        descriptors: 1,
        ..Report::default()
    };
    assert_eq!(
        leaks(&kept, PEAK_BYTES),
        [
            "67108865 bytes at the peak",
            "16777217 bytes kept",
            "1 descriptors kept"
        ]
    );
    assert_eq!(leaks(&Report::default(), PEAK_BYTES), Vec::<String>::new());
}
