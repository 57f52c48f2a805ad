//! Tests that arguments are edited in an editor.

use super::{RUN, env, read, write};
use agent_host_test_support::{
    chat::{Answer, ChatServer},
    terminal::{MARKER, at_a_terminal_with, plain},
};
use pretty_assertions::assert_eq;
use std::os::unix::fs::PermissionsExt as _;

/// The editor gets a private file, and its result is checked and shown before it runs.
#[test]
fn arguments_are_edited_in_the_editor() {
    let env = env();
    let seen = env.outside().join("seen");
    let editor = env.outside().join("editor");
    let script = format!(
        "#!/bin/sh\nstat -c '%a %n' \"$2\" \"$(dirname \"$2\")\" >> {seen}\nprintf '%s' \"$(cat {next})\" > \"$2\"\nmv {other} {next} 2>/dev/null\nexit 0\n",
        seen = seen.display(),
        next = env.outside().join("next").display(),
        other = env.outside().join("other").display(),
    );
    std::fs::write(&editor, script).unwrap();
    std::fs::set_permissions(&editor, std::fs::Permissions::from_mode(0o755)).unwrap();
    std::fs::write(env.outside().join("next"), "{\"path\": 1}").unwrap();
    std::fs::write(
        env.outside().join("other"),
        "{\"path\": \"b.txt\", \"content\": \"mine\"}",
    )
    .unwrap();
    let server = ChatServer::start(vec![
        Answer::calls(&[write("a.txt", "1")]),
        Answer::text("That is all."),
    ]);
    let program = format!("EDITOR='{} -w'", editor.display());
    let mut running = at_a_terminal_with(&env, &server, 80, &program, RUN);
    for (prompts, line) in ["e\n", "y\n", "y\n", "y\n"].iter().enumerate() {
        running.stdout.says(MARKER, prompts + 1);
        running.types(line);
    }
    let ran = running.end();
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let shown = plain(&ran.stdout);
    for text in [
        "The arguments do not fit the tool's schema",
        "Edited  write_file b.txt  may change things",
        "│ content: mine\r\n",
    ] {
        assert!(shown.contains(text), "no {text:?} in {shown}");
    }
    assert_eq!(
        (read(&env, "a.txt"), read(&env, "b.txt").as_deref()),
        (None, Some("mine"))
    );
    let seen = std::fs::read_to_string(seen).unwrap();
    let modes: Vec<&str> = seen
        .lines()
        .filter_map(|line| line.split(' ').next())
        .collect();
    assert_eq!(modes, ["600", "700", "600", "700"]);
    for line in seen.lines().filter_map(|line| line.split(' ').nth(1)) {
        assert!(!std::path::Path::new(line).exists(), "{line}");
    }
}
