//! Tests the number of threads for the program's own tasks.

use agent_host_test_support::{TestEnv, mcp_client::Client};
use pretty_assertions::assert_eq;
use serde_json::json;
use std::thread;

/// Returns the number of threads with tokio's default name while the program serves.
fn runtime_threads(env: &TestEnv, args: &[&str], variable: Option<&str>) -> usize {
    let mut command = env.command(&[&["mcp"], args].concat());
    if let Some(threads) = variable {
        command.env("AGENT_HOST_THREADS", threads);
    }
    let client = Client::of(&mut command).initialized(json!({}));
    let tasks = format!("/proc/{}/task", client.running.pid());
    let names = std::fs::read_dir(tasks).unwrap().map(|task| {
        // A thread that ends meanwhile has no name.
        let name = std::fs::read_to_string(task.unwrap().path().join("comm"));
        name.unwrap_or_default()
    });
    let count = names.filter(|name| name.starts_with("tokio-")).count();
    assert_eq!(client.close().code, Some(0));
    count
}

#[test]
fn threads_follow_the_option_the_variable_and_the_machine() {
    let env = TestEnv::new();
    let processors = thread::available_parallelism().unwrap().get();
    // Threads for blocking work have the same name.
    let others = runtime_threads(&env, &["--threads", "1"], None) - 1;
    for (args, variable, expected) in [
        (&["--threads", "5"][..], None, 5),
        (&[], Some("7"), 7),
        (&["--threads", "5"], Some("7"), 5),
        (&[], None, processors.clamp(2, 256)),
    ] {
        let threads = runtime_threads(&env, args, variable) - others;
        assert_eq!(threads, expected, "{args:?} and {variable:?}");
    }
}

#[test]
fn number_of_threads_out_of_range_is_a_usage_error() {
    let env = TestEnv::new();
    for threads in ["0", "257", "two"] {
        let ran = env.run(&["--threads", threads, "doctor"]);
        assert_eq!(ran.code, Some(2), "{threads}: {}", ran.stderr);
    }
}
