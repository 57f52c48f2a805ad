//! The program with the `agent.toml` of its place, as the tests of crashes run it.

use crate::support::{Place, Ran, chat::ChatServer};
use serde_json::Value;
use std::process::Command;

/// The program. The file is named, since one that is only found may not say as much.
pub(crate) fn program(place: &Place, args: &[&str]) -> Command {
    place.command(&[args, &["--config", "agent.toml"]].concat())
}

/// `run` with this server's model.
pub(crate) fn asking(place: &Place, server: &ChatServer, args: &[&str]) -> Command {
    let mut command = program(
        place,
        &[&["run", "--model", "openai-compat:m"], args].concat(),
    );
    command.env("OPENAI_COMPAT_BASE_URL", &server.base_url);
    command
}

/// Runs it to its end.
pub(crate) fn run(place: &Place, args: &[&str]) -> Ran {
    program(place, args).output().unwrap().into()
}

/// The events of the newest session.
pub(crate) fn journaled(place: &Place) -> Vec<Value> {
    let shown = run(place, &["sessions", "show", "latest", "--json"]);
    assert_eq!(shown.code, Some(0), "{}", shown.stderr);
    shown.json_lines()
}

/// The session goes on to the end of the play.
pub(crate) fn goes_on(place: &Place) {
    is_done(&run(place, &["run", "--resume", "latest"]));
}

/// The model has said its last word.
pub(crate) fn is_done(ran: &Ran) {
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (Some(0), "That is all.\n"),
        "{}",
        ran.stderr
    );
}
