//! Section A: components that are no components, that lie about themselves, or that no compiler should see.

use super::{
    case::{Case, Ends},
    table,
};
use agent_host_sandbox::LoadFault;

pub(crate) fn cases() -> Vec<Case> {
    vec![
        Case::file(
            'A',
            "ungranted-import.wat",
            Ends::Refused(LoadFault::MissingCapability, "`acme:database/query@1.0.0`"),
        ),
        Case::file(
            'A',
            "nothing-exported.wat",
            Ends::Refused(LoadFault::ContractMismatch, "exports nothing"),
        ),
        Case::file(
            'A',
            "memory64.wat",
            Ends::Refused(LoadFault::UnsupportedFeature, "memory64"),
        ),
        Case::made(
            'A',
            "a file beyond the cap",
            vec![0; 64 * 1024 * 1024 + 1],
            Ends::Refused(LoadFault::TooLarge, "67108865 bytes"),
        ),
        Case::made(
            'A',
            "a million empty functions",
            wat::parse_str(format!(
                "(component (core module {}))",
                "(func)".repeat(1_000_000)
            ))
            .unwrap(),
            Ends::Refused(LoadFault::CompileLimit, "too long to compile"),
        ),
        Case::made(
            'A',
            "an empty file",
            Vec::new(),
            Ends::Refused(LoadFault::NotAComponent, "not a WebAssembly component"),
        ),
    ]
}

#[test]
fn load_and_compile() {
    table::run(&cases());
}
