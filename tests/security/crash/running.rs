//! The program with the `agent.toml` of its test directory, for the crash tests.

use agent_host_test_support::{Ran, TestEnv, chat::ChatServer};
use serde_json::Value;
use std::process::Command;

/// The program with `--config`, since a configuration that is only found has fewer rights.
pub(crate) fn configured(env: &TestEnv, args: &[&str]) -> Command {
    env.command(&[args, &["--config", "agent.toml"]].concat())
}

/// `run` with this server's model.
pub(crate) fn asking(env: &TestEnv, server: &ChatServer, args: &[&str]) -> Command {
    let mut command = configured(
        env,
        &[&["run", "--model", "openai-compat:m"], args].concat(),
    );
    command.env("OPENAI_COMPAT_BASE_URL", &server.base_url);
    command
}

/// Runs the program and waits for its end.
pub(crate) fn run(env: &TestEnv, args: &[&str]) -> Ran {
    configured(env, args).output().unwrap().into()
}

/// The events of the newest session.
pub(crate) fn journaled(env: &TestEnv) -> Vec<Value> {
    let shown = run(env, &["sessions", "show", "latest", "--json"]);
    assert_eq!(shown.code, Some(0), "{}", shown.stderr);
    shown.json_lines()
}

/// Resumes the session to the end of the play.
pub(crate) fn resumes(env: &TestEnv) {
    is_done(&run(env, &["run", "--resume", "latest"]));
}

/// Whether the model has sent its final message.
pub(crate) fn is_done(ran: &Ran) {
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (Some(0), "That is all.\n"),
        "{}",
        ran.stderr
    );
}
