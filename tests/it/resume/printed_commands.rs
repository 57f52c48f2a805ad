//! The commands that a run prints at its end, pasted into a shell.

use super::*;
use pretty_assertions::assert_eq;

/// The ends of runs: arguments, configuration, the model's answers, the exit code, and the exit
/// code of each printed command, in order.
#[test]
fn printed_commands_can_be_pasted() {
    type End = (
        &'static str,
        &'static [&'static str],
        fn() -> (TestEnv, ChatServer),
        i32,
        &'static [i32],
    );
    fn files(answers: Vec<Answer>) -> (TestEnv, ChatServer) {
        let env = TestEnv::new();
        env.configure(format!("{FILES}{WRITING}"));
        (env, ChatServer::start(answers))
    }
    let ends: [End; 7] = [
        (
            "calls that wait",
            &["--permission-prompts", "later"],
            || {
                files(vec![
                    Answer::calls(&[write("note.txt"), write("it's; $(other).txt")]),
                    Answer::text("That is all."),
                ])
            },
            3,
            // Without a terminal, the first one waits on.
            &[3, 0],
        ),
        (
            "a question",
            &["--permission-prompts", "later"],
            asking,
            3,
            &[3, 0],
        ),
        (
            "a budget of model calls",
            &["--max-turns", "1"],
            || {
                files(vec![
                    Answer::calls(&[("list_directory", json!({ "path": "." }))]),
                    Answer::text("That is all."),
                ])
            },
            4,
            &[0],
        ),
        (
            "a budget of tokens, with another one",
            &["--max-total-tokens", "18", "--max-turns", "9"],
            || {
                files(vec![
                    Answer::calls(&[("list_directory", json!({ "path": "." }))]),
                    Answer::text("That is all."),
                ])
            },
            4,
            &[0],
        ),
        (
            "a model that fails",
            &[],
            || {
                files(vec![
                    Answer::status("400 Bad Request", &json!({ "error": { "message": "no" } })),
                    Answer::text("That is all."),
                ])
            },
            1,
            &[0],
        ),
        (
            "a call that no one could approve",
            &[],
            || {
                files(vec![
                    Answer::calls(&[write("note.txt")]),
                    Answer::text("That is all."),
                    Answer::calls(&[write("note.txt")]),
                    Answer::text("That is all."),
                ])
            },
            6,
            &[0],
        ),
        (
            "calls that run outside",
            &["--config", "outside file.toml"],
            || {
                let (env, server) = files(vec![
                    Answer::calls(&[("pay", json!({}))]),
                    Answer::text("That is all."),
                ]);
                env.write(
                    "outside file.toml",
                    "[[external-tool]]\nname = \"pay\"\ndescription = \"Pays.\"\napproval = \"never\"\n\
                     [external-tool.input-schema]\ntype = \"object\"\n",
                );
                env.write("results.json", r#"[{"call_id": "call_0", "value": 1}]"#);
                (env, server)
            },
            3,
            &[0],
        ),
    ];
    for (end, args, start, code, expected) in ends {
        let (env, server) = start();
        let first = [&["run", "--model", "openai-compat:m", "go"], args].concat();
        let ran = run(&env, &server, &first);
        assert_eq!(ran.code, Some(code), "{end}: {ran:?}");
        let printed = hints(&ran);
        let pasted: Vec<Ran> = printed
            .iter()
            .map(|hint| shell(&env, &server, hint))
            .collect();
        let codes: Vec<i32> = pasted.iter().filter_map(|ran| ran.code).collect();
        assert_eq!(codes, expected, "{end}: {printed:?} {pasted:?}");
        let last = &pasted.last().unwrap().stdout;
        assert_eq!(last, "That is all.\n", "{end}: {printed:?}");
    }
}

/// A model's id of a call is quoted in the printed command.
#[test]
fn hint_quotes_what_a_model_wrote() {
    let env = TestEnv::new();
    env.configure(format!("{FILES}{WRITING}"));
    let server = ChatServer::start(vec![
        Answer::calls_with_ids(&[("$(touch owned)' x", write("note.txt"))]),
        Answer::text("That is all."),
    ]);
    let ran = run(
        &env,
        &server,
        &[&["run", "--model", "openai-compat:m", "go"], &LATER[..]].concat(),
    );
    assert_eq!(ran.code, Some(3), "{ran:?}");
    let pasted = shell(&env, &server, &hints(&ran)[1]);
    assert_eq!(
        (pasted.code, pasted.stdout.as_str()),
        (Some(0), "That is all.\n"),
        "{pasted:?}"
    );
    assert_eq!(note(&env).as_deref(), Some("hello"));
    assert!(!Path::new(&env.work().join("owned")).exists());
}
