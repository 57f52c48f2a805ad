//! `agent-host trust` with and without a terminal: who says yes.

use crate::trust::{ASKING, DEMAND, trust_file};
use agent_host_test_support::{TestEnv, chat::ChatServer, terminal::on_a_terminal};
use pretty_assertions::assert_eq;

/// A script has to say that it trusts the directory; a script of the directory is one, too.
#[test]
fn trust_without_a_terminal_needs_yes() {
    for (directory, command) in [
        (".", "agent-host trust --yes"),
        ("a b", "agent-host trust --yes 'a b'"),
    ] {
        let env = TestEnv::new();
        env.write(&format!("{directory}/agent.toml"), ASKING);
        let refused = env.run(&["trust", directory]);
        assert_eq!((refused.code, refused.stdout.as_str()), (Some(2), ""));
        for says in [
            format!("  - {DEMAND}\n"),
            "nothing is trusted, because the question needs a terminal".to_owned(),
            format!("then trust it with: {command}\n"),
        ] {
            assert!(refused.stderr.contains(&says), "no {says:?} in {refused:?}");
        }
        assert!(!trust_file(&env).exists());
        let trusted = env.run(&["trust", directory, "--yes"]);
        assert_eq!(trusted.code, Some(0), "{trusted:?}");
        assert!(trusted.stderr.contains(DEMAND), "{trusted:?}");
        assert!(trusted.stdout.starts_with("trusted "), "{trusted:?}");
        // What is trusted already needs no answer.
        assert_eq!(env.run(&["trust", directory]).code, Some(0));
    }
}

/// The end of a command is shown, however long it is; one too long for a question is not accepted
/// by an answer.
#[test]
fn end_of_a_command_is_shown_before_it_is_trusted() {
    for (words, asks) in [(100, true), (400, false)] {
        let harmless = "harmless ".repeat(words);
        let env = TestEnv::new();
        env.write(
            "agent.toml",
            format!(
                "[[mcp]]\nname = \"a\"\ncommand = [\"sh\", \"-c\", \"{harmless}; touch EVIL\"]\n"
            ),
        );
        let ran = on_a_terminal(&env, &ChatServer::start(Vec::new()), "trust", "y\n");
        let shown = ran.stdout.replace("\r\n", " ");
        assert_eq!(shown.contains("; touch EVIL"), asks, "{shown}");
        assert_eq!(shown.contains("Do you trust"), asks, "{shown}");
        assert_eq!(trust_file(&env).exists(), asks);
    }
}

/// On a terminal the command asks, unless it is told not to.
#[test]
fn trust_on_a_terminal_asks() {
    for (line, keys, code) in [
        ("trust", "n\n", 5),
        ("trust", "y\n", 0),
        ("trust --yes", "", 0),
    ] {
        let env = TestEnv::new();
        env.write("agent.toml", ASKING);
        let ran = on_a_terminal(&env, &ChatServer::start(Vec::new()), line, keys);
        assert_eq!(ran.code, Some(code), "{line}: {ran:?}");
        assert!(ran.stdout.contains(DEMAND), "{ran:?}");
        assert_eq!(ran.stdout.contains("Do you trust"), !keys.is_empty());
        assert_eq!(trust_file(&env).exists(), code == 0, "{line}: {ran:?}");
    }
}
