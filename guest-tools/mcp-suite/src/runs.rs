//! Tools that report while a call runs: printed lines and progress.

use std::{thread::sleep, time::Duration};

use agent_tool::{progress, tool};

/// The pause between two steps, as the suite wants it.
const PAUSE: Duration = Duration::from_millis(50);

/// Says on stderr when it starts, works and ends.
#[tool(effect = "read-only")]
#[expect(clippy::print_stderr, reason = "this is how a tool logs")]
pub(crate) fn test_tool_with_logging() -> &'static str {
    eprintln!("Tool execution started");
    sleep(PAUSE);
    eprintln!("Tool processing data");
    sleep(PAUSE);
    eprintln!("Tool execution completed");
    "logged"
}

/// Says something on stderr.
#[tool(effect = "read-only")]
#[expect(clippy::print_stderr, reason = "this is how a tool logs")]
pub(crate) fn test_logging_tool() -> &'static str {
    eprintln!("This is for the caller");
    "logged"
}

/// Reports that nothing, half and all of it is done.
#[tool(effect = "read-only")]
pub(crate) fn test_tool_with_progress() -> &'static str {
    progress::report_fraction("begun", 0.0);
    sleep(PAUSE);
    progress::report_fraction("half done", 0.5);
    sleep(PAUSE);
    progress::report_fraction("done", 1.0);
    "done"
}

/// Takes a while, in which a client may lose its connection and come back.
#[tool(effect = "read-only")]
pub(crate) fn test_reconnection() -> &'static str {
    sleep(PAUSE);
    "Reconnection test completed"
}
