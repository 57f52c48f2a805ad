//! Tests the number of threads for the program's own tasks.

use agent_host_test_support::TestEnv;
use pretty_assertions::assert_eq;
use std::thread;

#[test]
fn threads_follow_the_option_the_variable_and_the_machine() {
    let env = TestEnv::new();
    let processors = thread::available_parallelism().unwrap().get();
    let default = processors.clamp(2, 256);
    let (doctor, http) = (&["doctor"][..], &["mcp", "--http", "127.0.0.1:0"][..]);
    for (command, args, variable, expected) in [
        (doctor, &["--threads", "5"][..], None, 5),
        (doctor, &[], Some("7"), 7),
        (doctor, &["--threads", "5"], Some("7"), 5),
        (doctor, &["--threads", "1"], None, 1),
        (doctor, &[], None, default),
        (&["mcp"], &[], None, 1),
        (&["mcp"], &["--threads", "2"], None, 2),
        // Without its token it does not serve.
        (http, &["--token-file", "missing"], None, default),
    ] {
        let mut command = env.command(&[&["--log", "agent_host=debug"], command, args].concat());
        if let Some(threads) = variable {
            command.env("AGENT_HOST_THREADS", threads);
        }
        let stderr = String::from_utf8(command.output().unwrap().stderr).unwrap();
        let line = format!(" {expected} threads for the host's tasks");
        assert!(stderr.contains(&line), "{args:?}, {variable:?}: {stderr}");
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
