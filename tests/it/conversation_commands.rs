//! Commands of a conversation, and standard input behind a prompt.

use crate::conversation::{CHAT, CTRL_D, WIDTHS, begin, user_messages};
use agent_host_test_support::{
    Ran, TestEnv, at_once,
    chat::{Answer, ChatServer, ask},
    of_kind,
    pictures::png,
    screen::OnScreen,
};
use pretty_assertions::assert_eq;
use serde_json::json;

/// A misspelt command is not sent to the model, and stays to be corrected; two slashes send it.
#[test]
fn unknown_command_suggests_a_known_one() {
    let env = TestEnv::new();
    let server = ChatServer::start(vec![Answer::text("Sent.")]);
    let mut screen = begin(&env, &server, 80);
    screen.types("/hlep me\r");
    screen.until_text("Unknown command /hlep. Did you mean /help?");
    screen.until_last_row("> /hlep me");
    screen.types("\u{1}/\r");
    screen.until_row("Sent.");
    assert_eq!(user_messages(&server.requests()[0]), ["/hlep me"]);
}

/// Each command shows or changes what it says, at each width, and none is sent to the model.
#[test]
fn commands_show_and_change_the_conversation() {
    for columns in [60, 80, 200] {
        commands_at(columns);
    }
}

fn commands_at(columns: u16) {
    let env = TestEnv::new();
    env.write("notes.txt", "the notes");
    env.write("dot.png", png(2, 2));
    let server = ChatServer::start(vec![Answer::text("First."), Answer::text("Second.")]);
    let mut screen = begin(&env, &server, columns);
    screen.types("one\r");
    screen.until_row("First.");
    screen.until_last_row(">");
    let before = [
        ("/cost", "11 tokens read (0 from the cache), 7 written"),
        ("/context", "of the window of 128000"),
        ("/model", "The model is openai-compat:m"),
        ("/effort", "The effort is as configured"),
        ("/grants", "no network"),
        ("/approvals", "No approvals are remembered"),
        ("/memory", "Nothing is remembered"),
        ("/explain", "No call of session"),
        ("/last", "No tool was called in this conversation."),
        ("/retry", "There is nothing to retry"),
        (
            "/model openai-compat:other",
            "openai-compat:other answers from",
        ),
        ("/effort most", "write one of `none`"),
        ("/file none.txt", "cannot use the file none.txt"),
        ("/file notes.txt", "It will be sent with the next message."),
        ("/image none.png", "cannot use the image none.png"),
        ("/image dot.png", "It will be sent with the next message."),
        ("/export", "name the new file"),
        (
            "/export talk.session",
            "agent-host sessions import talk.session",
        ),
        ("/tools", "write_file"),
        ("/help", "Ctrl-C or Esc stops the answer"),
    ];
    show(&mut screen, &before);
    assert!(env.work().join("talk.session").exists());
    screen.types("two\r");
    screen.until_row("Second.");
    screen.until_last_row(">");
    let requests = server.requests();
    assert_eq!(requests.len(), 2);
    assert_eq!(requests[1]["model"], "other");
    let last = requests[1]["messages"].as_array().unwrap().last().unwrap();
    let content = last["content"].to_string();
    for sent in ["the notes", "two", "data:image/png;base64,"] {
        assert!(content.contains(sent), "no {sent:?} in {content}");
    }
    show(
        &mut screen,
        &[(
            "/compact",
            "The conversation will be shortened before the next answer.",
        )],
    );
    screen.types("/quit\r");
    assert_eq!(screen.end(), Some(0));
    let replied = of_kind(&env.events(), "model-replied").len();
    assert_eq!(replied, 2);
}

/// `/last` and Ctrl-O show the last call in full; what is typed already stays.
#[test]
fn last_call_is_shown_in_full_by_command_and_key() {
    at_once(WIDTHS, |columns| {
        let env = TestEnv::new();
        env.write("notes.txt", "hello");
        let server = ChatServer::start(vec![
            Answer::calls(&[("read_file", json!({ "path": "notes.txt" }))]),
            Answer::text("First."),
        ]);
        let mut screen = begin(&env, &server, columns);
        screen.types("one\r");
        screen.until_row("First.");
        screen.until_last_row(">");
        show(
            &mut screen,
            &[
                (
                    "/last",
                    "call read_file {\"path\":\"notes.txt\"} (call_0, text)",
                ),
                ("/cost", "tokens read"),
            ],
        );
        screen.types("draft\u{f}");
        screen.until_text("> /last");
        screen.until_text("allowed read /workspace/notes.txt");
        screen.until_last_row("> draft");
        screen.types("\u{15}/quit\r");
        assert_eq!(screen.end(), Some(0));
    });
}

/// Types commands, and waits for the text of each.
fn show(screen: &mut OnScreen, commands: &[(&str, &str)]) {
    for (command, text) in commands {
        screen.types(format!("{command}\r"));
        screen.until_text(text);
        screen.until_last_row(">");
    }
}

/// Tab completes the models of the configuration and the sessions of the project.
#[test]
fn tab_completes_models_and_sessions() {
    let env = TestEnv::new();
    env.write("agent.toml", "model = \"openai-compat:unusual\"\n");
    let server = ChatServer::start(vec![Answer::text("First.")]);
    assert_eq!(ask(&env, &server, &["one"]).code, Some(0));
    let session = session_of(&env);
    let mut screen = OnScreen::start(&env, &server, 80, &["run", "--quiet"]);
    screen.until_last_row(">");
    screen.types("/model open\t");
    screen.until_last_row("> /model openai-compat:unusual");
    screen.types(format!("\u{15}/resume {}\t", &session[..12]));
    screen.until_last_row(&format!("> /resume {session}"));
}

fn session_of(env: &TestEnv) -> String {
    env.events()[0]["session"].as_str().unwrap().to_owned()
}

/// `/resume` continues a session with the model of its last run and shows its end; one that was
/// given more than this conversation is left to the command that gives it.
#[test]
fn resume_takes_over_what_a_session_was_run_with() {
    let env = TestEnv::new();
    env.write("agent.toml", "model = \"openai-compat:m\"\n");
    let answers = ["**One**.", "Two.", "Three."].map(Answer::text);
    let server = ChatServer::start(answers.into());
    let run = |args: &[&str]| {
        let mut command = env.command(&[&["run"], args].concat());
        let command = command.env("OPENAI_COMPAT_BASE_URL", &server.base_url);
        assert_eq!(command.output().unwrap().status.code(), Some(0));
    };
    run(&["--name", "other", "--model", "openai-compat:other", "first"]);
    run(&["--name", "writing", "--write", "second"]);
    let mut screen = OnScreen::start(&env, &server, 80, &["run", "--quiet"]);
    screen.until_last_row(">");
    let refused = "was run with --write, which this conversation does not have. To continue it with them: agent-host \
        run --resume ";
    show(&mut screen, &[("/resume writing", refused)]);
    screen.types("/resume other\r");
    screen.until_row("openai-compat:other answers from the next message on.");
    screen.until_last_row(">");
    let rows = screen.rows();
    let end = rows.iter().position(|row| row == "You: first");
    let end = end.unwrap_or_else(|| panic!("{rows:#?}"));
    assert_eq!(rows[end + 1], "One.");
    screen.types("third\r");
    screen.until_row("Three.");
    let last = &server.requests()[2];
    assert_eq!(last["model"], "other");
    assert_eq!(user_messages(last), ["first", "third"]);
}

/// The built-in tour does not go on with a session of a real model.
#[test]
fn tour_resumes_no_session_of_a_model() {
    let env = TestEnv::new();
    env.write("agent.toml", "model = \"openai-compat:m\"\n");
    let server = ChatServer::start(vec![Answer::text("One.")]);
    let mut command = env.command(&["run", "first"]);
    let command = command.env("OPENAI_COMPAT_BASE_URL", &server.base_url);
    assert_eq!(command.output().unwrap().status.code(), Some(0));
    env.write("agent.toml", "");
    let session = session_of(&env);
    let before = env.run(&["sessions", "show", &session]).stdout;
    let mut screen = OnScreen::start(&env, &server, 80, &["run", "--quiet"]);
    screen.until_last_row(">");
    let refused = "no model is configured now, so the built-in tour would resume it.";
    show(&mut screen, &[("/resume latest", refused)]);
    screen.types(CTRL_D);
    assert_eq!(screen.end(), Some(0));
    let shown = env.run(&["sessions", "show", &session]).stdout;
    assert_eq!((shown, server.requests().len()), (before, 1));
}

/// `/clear` begins a session, `/fork` copies one, and `/resume` lists and continues them.
#[test]
fn commands_change_between_sessions() {
    let env = TestEnv::new();
    let server = ChatServer::start(vec![
        Answer::text("First."),
        Answer::text("Second."),
        Answer::text("Third."),
        Answer::text("Fourth."),
    ]);
    let mut screen = begin(&env, &server, 80);
    let steps = [
        ("one", "First."),
        ("/clear", "This is session"),
        ("two", "Second."),
    ];
    for (text, shown) in steps {
        screen.types(format!("{text}\r"));
        screen.until_text(shown);
        screen.until_last_row(">");
    }
    screen.types("/resume\r");
    screen.until_text("Type the number of a session");
    // The older one of both.
    screen.types("2\r");
    screen.until_last_row(">");
    screen.types("three\r");
    screen.until_row("Third.");
    screen.until_last_row(">");
    screen.types("/fork\r");
    screen.until_last_row(">");
    screen.types("four\r");
    screen.until_row("Fourth.");
    screen.until_last_row(">");
    screen.types(CTRL_D);
    assert_eq!(screen.end(), Some(0));
    let requests = server.requests();
    let messages: Vec<Vec<&str>> = requests.iter().map(user_messages).collect();
    assert_eq!(
        messages,
        [
            vec!["one"],
            vec!["two"],
            vec!["one", "three"],
            vec!["one", "three", "four"]
        ]
    );
    let listed = env.run(&["sessions", "list", "--json"]).stdout;
    assert_eq!(listed.lines().count(), 3, "{listed}");
}

/// Standard input follows the prompt as a block, `-` stands for it, and it has to be UTF-8.
#[test]
fn standard_input_follows_the_prompt() {
    let table: [(&[&str], &[u8], &str); 4] = [
        (
            &["summarise"],
            b"line 1\n```\nline 2\n",
            "summarise\n\n````\nline 1\n```\nline 2\n````",
        ),
        (&["summarise"], b"", "summarise"),
        (&["-"], b"all of it\n", "all of it\n"),
        (&[], b"all of it\n", "all of it\n"),
    ];
    for (args, input, sent) in table {
        let env = TestEnv::new();
        let server = ChatServer::start(vec![Answer::text("Done.")]);
        let ran = piped(&env, &server, args, input);
        assert_eq!(
            (ran.code, ran.stdout.as_str()),
            (Some(0), "Done.\n"),
            "{ran:?}"
        );
        assert_eq!(user_messages(&server.requests()[0]), [sent]);
    }
    let env = TestEnv::new();
    let server = ChatServer::start(Vec::new());
    let ran = piped(&env, &server, &["summarise"], b"caf\xe9");
    assert_eq!(ran.code, Some(2));
    let why = "error: cannot read what follows the prompt from standard input: it is not UTF-8 from byte 3 on; \
        convert it, such as with `iconv -t UTF-8`\n";
    assert_eq!(ran.stderr, why);
}

/// Runs the program with this standard input.
fn piped(env: &TestEnv, server: &ChatServer, args: &[&str], input: &[u8]) -> Ran {
    let file = env.outside().join("input");
    std::fs::write(&file, input).unwrap();
    env.command(&[&CHAT, args].concat())
        .env("OPENAI_COMPAT_BASE_URL", &server.base_url)
        .stdin(std::fs::File::open(file).unwrap())
        .output()
        .unwrap()
        .into()
}

/// The window's title names the directory while the conversation lasts; a shell command is refused
/// and stays in the composer, where `@` completes a file by a part of its path.
#[test]
fn conversation_names_the_window_and_refuses_the_shell() {
    at_once(WIDTHS, |columns| {
        let env = TestEnv::new();
        std::fs::create_dir_all(env.work().join("docs/deep")).unwrap();
        env.write("docs/deep/otters.md", "Otters.");
        let server = ChatServer::start(vec![Answer::text("Seen.")]);
        let mut screen = begin(&env, &server, columns);
        screen.types("!rm -rf .\r");
        screen.until_text("`!` runs no command here");
        screen.until_last_row("> !rm -rf .");
        screen.types("\u{15}@otters\t");
        screen.until_last_row("> @docs/deep/otters.md");
        screen.types("\r");
        screen.until_row("Seen.");
        screen.until_last_row(">");
        let written = String::from_utf8_lossy(&screen.written).into_owned();
        assert_eq!(
            written
                .matches("\u{1b}[22;2t\u{1b}]2;agent-host: work\u{7}")
                .count(),
            1
        );
        assert!(!written.contains("\u{1b}[23;2t"), "{written}");
        assert_eq!(server.requests().len(), 1);
        screen.types(CTRL_D);
        screen.until_written("\u{1b}[23;2t");
        assert_eq!(screen.end(), Some(0));
    });
}
