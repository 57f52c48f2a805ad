//! Tests `completions` and `man` with the programs that read them.

use agent_host_test_support::TestEnv;
use pretty_assertions::assert_eq;
use std::{
    io::Write as _,
    process::{Command, Stdio},
};

/// The output of another program for this text; absent if this machine does not have the program.
fn fed(program: &mut Command, text: &str) -> Option<(Option<i32>, String)> {
    let mut child = program
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .ok()?;
    child
        .stdin
        .take()
        .unwrap()
        .write_all(text.as_bytes())
        .unwrap();
    let output = child.wait_with_output().unwrap();
    let said =
        String::from_utf8(output.stderr).unwrap() + &String::from_utf8(output.stdout).unwrap();
    Some((output.status.code(), said))
}

#[test]
fn bash_completes_commands_and_options() {
    let env = TestEnv::new();
    let script = env.run(&["completions", "bash"]);
    assert_eq!((script.code, script.stderr.as_str()), (Some(0), ""));
    let completed = |words: &str, word: usize| {
        let script = &script.stdout;
        let ask = format!(
            "{script}\nCOMP_WORDS=({words}); COMP_CWORD={word}; _agent__host agent-host \"${{COMP_WORDS[$COMP_CWORD]}}\" \
             \"${{COMP_WORDS[$COMP_CWORD-1]}}\"; echo \"${{COMPREPLY[@]}}\""
        );
        let (code, said) = fed(Command::new("bash").args(["--norc", "-s"]), &ask).unwrap();
        assert_eq!(code, Some(0), "{said}");
        said
    };
    assert_eq!(completed("agent-host doc", 1), "doctor\n");
    assert_eq!(completed("agent-host sessions sh", 2), "show\n");
    assert_eq!(completed("agent-host workflow gr", 2), "graph\n");
    assert_eq!(
        completed("agent-host run --output-format ''", 3),
        "text json stream-json\n"
    );
}

#[test]
fn completions_exist_for_each_shell() {
    let env = TestEnv::new();
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = env.run(&["completions", shell]);
        assert_eq!(
            (script.code, script.stderr.as_str()),
            (Some(0), ""),
            "{shell}"
        );
        assert!(script.stdout.contains("explain"), "{shell}");
    }
}

#[test]
fn man_page_exists_for_each_command() {
    let env = TestEnv::new();
    for (command, title, line) in [
        (
            vec![],
            ".TH agent-host 1 ",
            "agent\\-host \\- Run LLM agents whose tools are sandboxed WebAssembly components",
        ),
        (
            vec!["run"],
            ".TH agent-host-run 1 ",
            "Run the agent on a prompt, on standard input, or in a conversation at the terminal",
        ),
        (
            vec!["workflow", "graph"],
            ".TH agent-host-workflow-graph 1 ",
            "Draw a workflow",
        ),
        (
            vec!["sessions", "show"],
            ".TH agent-host-sessions-show 1 ",
            "\\fB\\-\\-json\\fR",
        ),
    ] {
        let page = env.run(&[&["man"], command.as_slice()].concat());
        assert_eq!(
            (page.code, page.stderr.as_str()),
            (Some(0), ""),
            "{command:?}"
        );
        assert!(page.stdout.contains(title), "{command:?}: {}", page.stdout);
        assert!(page.stdout.contains(line), "{command:?}: {}", page.stdout);
    }
    let refused = env.run(&["man", "sessions", "shwo"]);
    assert_eq!(refused.code, Some(2));
    assert!(
        refused
            .stderr
            .contains("`agent-host sessions` has no command `shwo`; available: list, name,"),
        "{}",
        refused.stderr
    );
}
