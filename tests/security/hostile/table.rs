//! The table of all rows, and the checks of the table as a whole.

use super::{
    case::{Case, Component, Ends, guests},
    files, harness, load, memory, network, own_files, quotas, run_later, secrets, services, social,
    time, values,
};
use agent_host_sandbox::LoadFault;
use agent_host_types::failure::ToolErrorCode;
use pretty_assertions::assert_eq;
use std::{
    collections::{BTreeMap, BTreeSet},
    io::Write as _,
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

/// Every row.
fn all() -> Vec<Case> {
    [
        load::cases(),
        time::cases(),
        memory::cases(),
        values::cases(),
        services::cases(),
        network::cases(),
        secrets::cases(),
        files::cases(),
        quotas::cases(),
        own_files::cases(),
        run_later::cases(),
        social::cases(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Codes that no row can cause by itself, each with the file and the test that does.
const ELSEWHERE: [(ToolErrorCode, &str, &str); 6] = [
    (
        ToolErrorCode::Cancelled,
        "tests/it/deploy.rs",
        "sigterm_drains_and_second_cancels",
    ),
    (
        ToolErrorCode::InterruptedUnknown,
        "host/core/engine/src/turn/tests/interrupted.rs",
        "interrupted_calls_are_repeated_only_where_that_is_safe",
    ),
    (
        ToolErrorCode::ToolUnavailable,
        "host/adapters/sandbox/src/call/tests.rs",
        "missing_granted_directory_makes_the_tool_unavailable",
    ),
    (
        ToolErrorCode::ChangedSinceApproval,
        "tests/it/lock.rs",
        "changed_component_is_refused_until_accepted",
    ),
    (
        ToolErrorCode::AgentBudget,
        "host/core/engine/src/turn/tests/children.rs",
        "result_of_the_call_is_how_the_agent_ended",
    ),
    (
        ToolErrorCode::AgentFailed,
        "host/core/engine/src/turn/tests/children.rs",
        "result_of_the_call_is_how_the_agent_ended",
    ),
];

/// Load faults that no row can cause: no guest makes the compiler fail to start.
const FAULTS_ELSEWHERE: [(LoadFault, &str, &str); 2] = [
    (
        LoadFault::HostFailed,
        "host/adapters/sandbox/src/component/compiler/tests.rs",
        "worker_that_cannot_be_started_is_a_host_fault",
    ),
    (
        LoadFault::Unreadable,
        "host/adapters/sandbox/src/component/bytes/tests.rs",
        "file_unreadable_or_too_large_is_refused",
    ),
];

/// Runs the rows of a section, two at a time.
pub(crate) fn run(cases: &[Case]) {
    each(cases, harness::check);
}

/// Checks every row, two at a time.
pub(crate) fn each(cases: &[Case], check: impl Fn(&Case) + Sync) {
    let next = AtomicUsize::new(0);
    let failed = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if catch_unwind(AssertUnwindSafe(|| check(case))).is_err() {
                        failed.lock().unwrap().push(case.name.as_str());
                    }
                }
            });
        }
    });
    // Each has printed its fault above.
    assert_eq!(
        failed.into_inner().unwrap(),
        Vec::<&str>::new(),
        "rows that failed"
    );
}

#[test]
fn table_row_names_are_unique() {
    let mut count: BTreeMap<String, usize> = BTreeMap::new();
    let rows = all();
    // Past the test harness, which hides the output of a passing test.
    writeln!(std::io::stderr(), "hostile table: {} rows", rows.len()).unwrap();
    for case in rows {
        *count.entry(case.name).or_default() += 1;
    }
    count.retain(|_, count| *count > 1);
    assert_eq!(count, BTreeMap::new());
}

#[test]
fn table_covers_every_guest() {
    let files: BTreeSet<String> = std::fs::read_dir(guests())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    let rows: BTreeSet<String> = all()
        .iter()
        .filter_map(|case| match case.component {
            Component::File(file) => Some(file.to_owned()),
            Component::Bytes(_) | Component::Prebuilt(_) => None,
        })
        .collect();
    assert_eq!(files, rows);
}

/// Asserts that a test of this name is in this file.
fn assert_test(file: &str, test: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../..")
        .join(file);
    let source = std::fs::read_to_string(path).unwrap();
    assert!(
        source.contains(&format!("fn {test}()")),
        "no {test} in {file}"
    );
}

#[test]
fn table_covers_every_code_and_fault() {
    let mut codes = BTreeSet::new();
    for (code, file, test) in ELSEWHERE {
        assert_test(file, test);
        codes.insert(code);
    }
    let mut faults = BTreeSet::new();
    for (fault, file, test) in FAULTS_ELSEWHERE {
        assert_test(file, test);
        faults.insert(fault.as_str());
    }
    for end in all().iter().flat_map(|case| &case.ends) {
        match end {
            Ends::Failed(code, _) => drop(codes.insert(*code)),
            Ends::Refused(fault, _) => drop(faults.insert(fault.as_str())),
            Ends::Unusable(_)
            | Ends::Anyhow
            | Ends::Denied(_)
            | Ends::Returned(_)
            | Ends::Checked(_) => {}
        }
    }
    assert_eq!(codes, BTreeSet::from(ToolErrorCode::ALL));
    assert_eq!(
        faults,
        LoadFault::ALL.iter().map(|fault| fault.as_str()).collect()
    );
}
