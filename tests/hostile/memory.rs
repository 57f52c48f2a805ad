//! Section C: guests that take memory and handles.

use super::{
    case::{Case, Ends},
    table,
};
use agent_host_core::failure::ToolErrorCode;

pub(crate) fn cases() -> Vec<Case> {
    vec![
        Case::file(
            'C',
            "grow.wat",
            Ends::Failed(ToolErrorCode::OutOfMemory, "8388608 bytes"),
        )
        .limits("memory-bytes = 8388608"),
        Case::file(
            'C',
            "table-growth.wat",
            Ends::Failed(ToolErrorCode::ResourceLimit, "100 elements"),
        )
        .limits("table-elements = 100"),
    ]
}

#[test]
fn memory_and_handles() {
    table::run(&cases());
}
