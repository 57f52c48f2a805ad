//! Faults that end an answer and never the conversation, terminals that go away, and what is shown
//! while an answer takes its time: on screens of 60, 80 and 200 columns.

use crate::conversation::{CHAT, CTRL_D, WIDTHS, begin, held_at, paste, user_messages};
use agent_host_test_support::{
    TestEnv, at_once,
    chat::{Answer, ChatServer},
    of_kind,
    screen::OnScreen,
};
use pretty_assertions::assert_eq;
use serde_json::json;

const UP: &str = "\u{1b}[A";
const RETRY: &str = "Press Enter, or type /retry, to send the message again.";

/// Starts a conversation with its steps, which is not quiet.
fn begin_with_steps(env: &TestEnv, server: &ChatServer, columns: u16) -> OnScreen {
    let mut screen = OnScreen::start(env, server, columns, &[CHAT[0], CHAT[2], CHAT[3]]);
    screen.until_last_row(">");
    screen
}

/// Sends a message, and waits for its answer and the next message.
fn ask(screen: &mut OnScreen, message: &str, answer: &str) {
    screen.types(format!("{message}\r"));
    screen.until_row(answer);
    screen.until_last_row(">");
}

fn leave(mut screen: OnScreen) {
    screen.types(CTRL_D);
    assert_eq!(screen.end(), Some(0));
}

#[test]
fn fault_at_each_width_leaves_the_message() {
    at_once(WIDTHS, |columns| {
        let env = TestEnv::new();
        env.write("agent.toml", "[openai-compat]\nretries = 0\n");
        let fault = Answer::status("500 Internal Server Error", &json!({}));
        let server = ChatServer::start(vec![fault, Answer::text("Here.")]);
        let mut screen = begin(&env, &server, columns);
        screen.types("a question\r");
        screen.until_row(RETRY);
        screen.until_last_row("> a question");
        let shown = screen.rows();
        assert!(
            shown
                .iter()
                .any(|row| row.starts_with("error: The model server at ")),
            "{shown:#?}"
        );
        ask(&mut screen, "", "Here.");
        leave(screen);
    });
}

#[test]
fn answer_that_takes_too_long_is_asked_for_again() {
    at_once(WIDTHS, |columns| {
        let env = TestEnv::new();
        env.write(
            "agent.toml",
            "[openai-compat]\nretries = 0\nfirst-chunk-timeout-seconds = 1\n",
        );
        let (server, arrived, release) =
            held_at(0, vec![Answer::text("Late."), Answer::text("Here.")]);
        let mut screen = begin(&env, &server, columns);
        screen.types("a question\r");
        arrived();
        screen.until_row(RETRY);
        release.send(()).unwrap();
        screen.until_last_row("> a question");
        ask(&mut screen, "", "Here.");
        leave(screen);
        assert_eq!(user_messages(&server.requests()[1]), ["a question"]);
    });
}

/// The model is told of a failure, answers, and is asked further questions.
#[test]
fn failing_tool_does_not_end_the_conversation() {
    for columns in WIDTHS {
        let env = TestEnv::new();
        let read = Answer::calls(&[("read_file", json!({ "path": "none.txt" }))]);
        let server = ChatServer::start(vec![
            read,
            Answer::text("There is none."),
            Answer::text("More."),
        ]);
        let mut screen = begin_with_steps(&env, &server, columns);
        ask(&mut screen, "a question", "There is none.");
        screen.until_text("✗ Read none.txt  failed: no such file or directory");
        ask(&mut screen, "go on", "More.");
        leave(screen);
        assert_eq!(
            user_messages(&server.requests()[2]),
            ["a question", "go on"]
        );
    }
}

/// A request that fails is repeated, and the screen says why and when.
#[test]
fn wait_for_a_retry_is_shown() {
    at_once(WIDTHS, |columns| {
        let env = TestEnv::new();
        let fault = Answer::status("429 Too Many Requests\r\nretry-after: 2", &json!({}));
        let server = ChatServer::start(vec![fault, Answer::text("Here.")]);
        let mut screen = begin_with_steps(&env, &server, columns);
        screen.types("a question\r");
        let reason = "the model server is limiting requests; retrying in ";
        let visible = &reason[..reason.len().min(usize::from(columns) - 4)];
        screen.until_text(visible);
        screen.until_row("Here.");
        screen.until_last_row(">");
        leave(screen);
    });
}

#[test]
fn reasoning_is_one_line_at_each_width() {
    let reasoning = "The list is long, and the user asks about bread and milk. ".repeat(20);
    for columns in WIDTHS {
        let env = TestEnv::new();
        let server = ChatServer::start(vec![Answer::reasoned(&reasoning, "Bread.")]);
        let mut screen = begin_with_steps(&env, &server, columns);
        ask(&mut screen, "a question", "Bread.");
        let rows = screen.rows();
        let shown: Vec<&String> = rows
            .iter()
            .filter(|row| row.contains("reasoning"))
            .collect();
        let [line] = shown.as_slice() else {
            panic!("{rows:#?}");
        };
        assert!(line.starts_with("reasoning: The list is"), "{line}");
        assert!(line.ends_with("… (1,160 characters)"), "{line}");
        screen.types("/reasoning\r");
        screen.until_text(&reasoning);
        screen.until_last_row(">");
        leave(screen);
    }
}

/// The steps of an agent stand below the one that started it, indented.
#[test]
fn steps_of_an_agent_are_indented() {
    for columns in WIDTHS {
        let env = TestEnv::new();
        env.configure(
            "agents = [\"clerk\"]\n[[agent]]\nname = \"clerk\"\ndescription = \"Reads.\"\n\
             tools = [\"read_file\"]\n",
        );
        env.write("list.txt", "bread");
        let instructions = json!({ "instructions": "look" });
        let server = ChatServer::start(vec![
            Answer::calls(&[("agent_clerk", instructions)]),
            Answer::calls(&[("read_file", json!({ "path": "list.txt" }))]),
            Answer::text("Bread."),
            Answer::text("There is bread."),
        ]);
        let mut screen = begin_with_steps(&env, &server, columns);
        ask(&mut screen, "a question", "There is bread.");
        let rows = screen.rows();
        let at = |text: &str| rows.iter().position(|row| row.starts_with(text));
        let places = [
            at("the agent clerk is working"),
            at("  ✓ Read list.txt  "),
            at("✓ Asked the agent clerk"),
        ];
        assert!(
            places.iter().all(Option::is_some) && places.is_sorted(),
            "{rows:#?}"
        );
        leave(screen);
    }
}

/// A text that is too long for the history of sent messages is nowhere else.
#[test]
fn large_paste_outlives_the_terminal() {
    at_once(WIDTHS, |columns| {
        let env = TestEnv::new();
        let server = ChatServer::start(Vec::new());
        let mut screen = begin(&env, &server, columns);
        let lines: Vec<String> = (0..20_000)
            .map(|line| format!("{line:05} {}", "x".repeat(45)))
            .collect();
        screen.types(paste(&lines.join("\r")));
        let last = format!("  {}", lines.last().unwrap());
        screen.until_last_row(&last);
        screen.hang_up();
        let mut screen = begin(&env, &server, columns);
        screen.types(UP);
        screen.until_last_row(&last);
    });
}

/// The answer ends with the terminal; its message is in the session, and what was typed meanwhile
/// in the history.
#[test]
fn terminal_that_vanishes_during_an_answer_loses_nothing() {
    for columns in WIDTHS {
        let env = TestEnv::new();
        let (server, arrived, release) =
            held_at(0, vec![Answer::text("Lost."), Answer::text("Here.")]);
        let mut screen = begin_with_steps(&env, &server, columns);
        screen.types("one\r");
        arrived();
        screen.types("the next thought");
        screen.until_text("> the next thought");
        screen.hang_up();
        release.send(()).unwrap();
        let mut screen = OnScreen::start(&env, &server, columns, &["run", "-c"]);
        // The message without an answer is sent again.
        screen.until_row(RETRY);
        screen.until_last_row("> one");
        ask(&mut screen, "", "Here.");
        screen.types(UP);
        screen.until_last_row("> one");
        screen.types(UP);
        screen.until_last_row("> the next thought");
        assert_eq!(user_messages(&server.requests()[1]), ["one"]);
    }
}

/// Nothing is decided by a terminal that goes away, and the call is asked about again.
#[test]
fn terminal_that_vanishes_during_an_approval_decides_nothing() {
    at_once(WIDTHS, |columns| {
        let env = TestEnv::new();
        env.configure("[[grants.dir]]\nhost = \".\"\nmode = \"read-write\"\n");
        let write = json!({ "path": "note.txt", "content": "hello" });
        let server = ChatServer::start(vec![Answer::calls(&[("write_file", write)])]);
        let mut screen = begin(&env, &server, columns);
        screen.types("write\r");
        screen.until_text("Allow write_file? [y] once");
        screen.until_last_row(">");
        screen.types("y");
        screen.until_last_row("> y");
        screen.hang_up();
        assert!(!env.work().join("note.txt").exists());
        assert_eq!(of_kind(&env.events(), "decision-recorded").len(), 0);
        let mut screen = OnScreen::start(&env, &server, columns, &["run", "-c"]);
        screen.until_text("Allow write_file? [y] once");
    });
}
