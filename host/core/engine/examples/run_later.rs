//! Prints the page of the files that run later: `host/core/engine/RUN_LATER.md`.
#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use agent_host_engine::policy::run_later_document;

fn main() {
    print!("{}", run_later_document());
}
