//! Section C: guests that use up memory and handles.

use super::{
    case::{Case, Ends},
    table,
};
use agent_host_test_guests::{Definition, Guest};
use agent_host_types::failure::ToolErrorCode::{self, OutOfMemory, ResourceLimit};
use serde_json::json;

/// One guest, the limits of its call, and its end.
type Row = (&'static str, &'static str, ToolErrorCode, &'static str);

const MEMORY: &str = "memory-bytes = 8388608";
const EIGHT_MIB: &str = "8388608 bytes";

pub(crate) fn cases() -> Vec<Case> {
    let rows: [Row; 19] = [
        ("grow.wat", MEMORY, OutOfMemory, EIGHT_MIB),
        ("grow-at-once.wat", MEMORY, OutOfMemory, EIGHT_MIB),
        ("grow-beyond-addresses.wat", MEMORY, OutOfMemory, EIGHT_MIB),
        ("touch-all.wat", MEMORY, OutOfMemory, EIGHT_MIB),
        ("second-memory.wat", MEMORY, OutOfMemory, EIGHT_MIB),
        ("many-memories.wat", MEMORY, OutOfMemory, EIGHT_MIB),
        ("growing-side-by-side.wat", MEMORY, OutOfMemory, EIGHT_MIB),
        ("flood-of-random.wat", MEMORY, OutOfMemory, EIGHT_MIB),
        (
            "table-growth.wat",
            "table-elements = 100",
            ResourceLimit,
            "100 elements",
        ),
        (
            "tables-side-by-side.wat",
            "table-elements = 5000",
            ResourceLimit,
            "5000 elements",
        ),
        (
            "big-table.wat",
            "table-elements = 100",
            ResourceLimit,
            "100 elements",
        ),
        ("many-tables.wat", "tables = 3", ResourceLimit, "3 tables"),
        (
            "streams.wat",
            "open-resources = 50",
            ResourceLimit,
            "`open-resources`",
        ),
        (
            "fields.wat",
            "open-resources = 50",
            ResourceLimit,
            "`open-resources`",
        ),
        (
            "fields-full.wat",
            "http-header-bytes = 65536",
            ResourceLimit,
            "`http-header-bytes`",
        ),
        (
            "fields-cloned.wat",
            "open-resources = 500",
            ResourceLimit,
            "`open-resources`",
        ),
        ("random-huge.wat", "", ResourceLimit, "`random-bytes`"),
        ("random-most.wat", "", ResourceLimit, "`random-bytes`"),
        (
            "descriptors.wat",
            "deadline-ms = 300",
            ToolErrorCode::Timeout,
            "300 ms",
        ),
    ];
    let mut cases: Vec<Case> = rows
        .into_iter()
        .map(|(file, limits, code, says)| {
            Case::file('C', file, Ends::Failed(code, says)).limits(limits)
        })
        .collect();
    cases.push(
        Case::file(
            'C',
            "many-memories.wat",
            Ends::Failed(ResourceLimit, "3 memories"),
        )
        .named("counted")
        .limits("memories = 3"),
    );
    // With a directory each answer holds a descriptor, and the handles run out.
    cases.push(
        Case::file(
            'C',
            "descriptors.wat",
            Ends::Failed(ResourceLimit, "`open-resources`"),
        )
        .named("with a directory")
        .limits("open-resources = 50")
        .config("[[grants.dir]]\nhost = \".\"\n"),
    );
    // The handles that one call leaks are freed at its end; the lane calls it 100,000 times.
    cases.push(Case::file(
        'C',
        "leak.wat",
        Ends::Returned(json!({"type": "text", "value": ""})),
    ));
    cases.push(
        Case::made(
            'C',
            "many core instances",
            crowd(10),
            Ends::Failed(ResourceLimit, "3 instances"),
        )
        .limits("instances = 3"),
    );
    cases
}

/// A guest with `n` further core instances.
fn crowd(count: usize) -> Vec<u8> {
    let component = format!(
        "(core module $m){}",
        "(core instance (instantiate $m))".repeat(count)
    );
    Guest {
        component: &component,
        definitions: vec![Definition {
            name: "hostile".to_owned(),
            ..Definition::default()
        }],
        ..Guest::default()
    }
    .bytes()
}

#[test]
fn memory_and_handles() {
    table::run(&cases());
}
