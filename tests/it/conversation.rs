//! A conversation on a terminal: the composer as a terminal emulator shows it, and what stays when
//! an answer fails or is stopped.

use agent_host_test_support::{
    TestEnv, at_once,
    chat::{Answer, ChatServer},
    of_kind,
    screen::{OnScreen, ROWS},
};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::sync::mpsc::{Sender, channel};

pub(crate) const CHAT: [&str; 4] = ["run", "--quiet", "--model", "openai-compat:m"];
const QUESTION: &str = "What should the agent do? (/help for help, Ctrl-D to leave)";
const CTRL_C: &str = "\u{3}";
pub(crate) const CTRL_D: &str = "\u{4}";

/// The widths of the terminal, in columns.
pub(crate) const WIDTHS: [u16; 3] = [60, 80, 200];

const ESCAPE: &str = "\u{1b}";
const UP: &str = "\u{1b}[A";

/// A program without retries, so that a failure is seen at once.
const NO_RETRIES: &str = "[openai-compat]\nretries = 0\n";

pub(crate) fn paste(text: &str) -> String {
    format!("\u{1b}[200~{text}\u{1b}[201~")
}

/// Starts a conversation, whose composer is empty.
pub(crate) fn begin(env: &TestEnv, server: &ChatServer, columns: u16) -> OnScreen {
    let mut screen = OnScreen::start(env, server, columns, &CHAT);
    screen.until(|rows| rows == ["", QUESTION, ">"]);
    screen
}

/// A server whose answer to a request (from 0) waits until the test has sent something.
pub(crate) fn held_at(held: usize, answers: Vec<Answer>) -> (ChatServer, impl Fn(), Sender<()>) {
    let (tell, arrived) = channel();
    let (release, released) = channel();
    let server = ChatServer::watched(answers, move |point| {
        if point == 2 * held {
            tell.send(()).unwrap();
            // An error means that the test has ended.
            let _ = released.recv();
        }
    });
    let wait = move || arrived.recv().unwrap();
    (server, wait, release)
}

/// The user's messages in a request.
pub(crate) fn user_messages(request: &Value) -> Vec<&str> {
    let messages = request["messages"].as_array().unwrap().iter();
    let users = messages.filter(|message| message["role"] == "user");
    users
        .map(|user| user["content"].as_str().unwrap())
        .collect()
}

/// The rows of a text in a composer.
fn rows_of(text: &str, columns: usize, width: usize) -> Vec<String> {
    let characters: Vec<char> = text.chars().collect();
    let rows = characters.chunks((columns - 3) / width);
    let text = rows.map(|row| row.iter().collect::<String>());
    let marked = text.enumerate().map(|(row, text)| match row {
        0 => format!("> {text}"),
        _ => format!("  {text}"),
    });
    marked.collect()
}

/// Texts are broken at the edge, wide characters too, and the cursor is where the next key goes.
#[test]
fn composer_fits_every_width() {
    let server = ChatServer::start(Vec::new());
    for columns in WIDTHS {
        for (text, width) in [("0123456789".repeat(30), 1), ("日本語".repeat(40), 2)] {
            let env = TestEnv::new();
            let mut screen = begin(&env, &server, columns);
            screen.types(&text);
            let composed = rows_of(&text, columns.into(), width);
            let mut expected = vec![String::new(), QUESTION.to_owned()];
            expected.extend(composed);
            screen.until(|rows| rows == expected);
            // To the beginning, and a character there.
            screen.types("\u{1}x");
            let moved = rows_of(&format!("x{text}"), columns.into(), width);
            screen.until(|rows| width == 2 || rows[2..] == moved);
            screen.until_text("> x");
            assert_eq!(screen.cursor(), (2, 3), "{columns}");
        }
    }
}

#[test]
fn composer_follows_the_size_of_the_terminal() {
    let env = TestEnv::new();
    let server = ChatServer::start(Vec::new());
    let mut screen = begin(&env, &server, 80);
    let text = "0123456789".repeat(10);
    screen.types(&text);
    screen.until_last_row(&rows_of(&text, 80, 1)[1]);
    screen.resize(200);
    screen.until_last_row(&format!("> {text}"));
    screen.resize(60);
    screen.until_last_row(&rows_of(&text, 60, 1)[1]);
}

/// A character that a terminal obeys, reorders or hides is shown as its escape, and sent as it is.
#[test]
fn pasted_control_characters_are_shown_and_sent() {
    let env = TestEnv::new();
    let server = ChatServer::start(vec![Answer::text("Seen.")]);
    let mut screen = begin(&env, &server, 80);
    let text = "a\u{1b}]0;title\u{7}b\u{1b}[31m\u{202e}c\u{200b}d שלום";
    screen.types(paste(text));
    screen.until_last_row("> a\\u{1b}]0;title\\u{7}b\\u{1b}[31m\\u{202e}c\\u{200b}d שלום");
    screen.types("\r");
    screen.until_row("Seen.");
    assert_eq!(user_messages(&server.requests()[0]), [text]);
    let written = String::from_utf8_lossy(&screen.written);
    for injected in ["\u{1b}]0;", "\u{1b}[31m", "\u{202e}", "\u{200b}"] {
        assert!(!written.contains(injected), "{injected:?}");
    }
}

#[test]
fn typed_bytes_that_are_no_text_leave_a_mark() {
    for columns in WIDTHS {
        let env = TestEnv::new();
        let server = ChatServer::start(vec![Answer::text("Seen.")]);
        let mut screen = begin(&env, &server, columns);
        screen.types(b"caf\xe9 \xffok\r");
        screen.until_row("Seen.");
        assert_eq!(
            user_messages(&server.requests()[0]),
            ["caf\u{fffd} \u{fffd}ok"]
        );
    }
}

/// A paste is one message, of any size, and the screen shows its end.
#[test]
fn large_paste_is_one_message() {
    at_once(WIDTHS, |columns| {
        let env = TestEnv::new();
        env.configure("[context]\nwindow-tokens = 2000000\n");
        let server = ChatServer::start(vec![Answer::text("Long.")]);
        let mut screen = begin(&env, &server, columns);
        let lines: Vec<String> = (0..20_000)
            .map(|line| format!("{line:05} {}", "x".repeat(45)))
            .collect();
        let text = lines.join("\n");
        assert!(text.len() > 1_000_000);
        screen.types(paste(&lines.join("\r")));
        let last = format!("  {}", lines.last().unwrap());
        screen.until_last_row(&last);
        screen.types("\r");
        screen.until_row("Long.");
        assert_eq!(user_messages(&server.requests()[0]), [text]);
    });
}

/// Alt-Enter and a backslash begin a line, and Enter sends all of them. A line may be longer than
/// the 4,095 bytes that a terminal's own editor keeps.
#[test]
fn message_of_several_and_long_lines_is_sent_whole() {
    for columns in WIDTHS {
        let env = TestEnv::new();
        let server = ChatServer::start(vec![Answer::text("Seen.")]);
        let mut screen = begin(&env, &server, columns);
        let long = "z".repeat(10_000);
        screen.types(format!("one\u{1b}\rtwo\\\r{long}"));
        screen.until_text("zzz");
        screen.types("\r");
        screen.until_row("Seen.");
        assert_eq!(
            user_messages(&server.requests()[0]),
            [format!("one\ntwo\n{long}")]
        );
    }
}

/// Keys that are pressed during an answer are the beginning of the next message; Enter among them
/// sends nothing.
#[test]
fn text_typed_during_an_answer_stays() {
    let env = TestEnv::new();
    let answers = vec![Answer::text("First."), Answer::text("Second.")];
    let (server, arrived, release) = held_at(0, answers);
    let args = [CHAT[0], CHAT[2], CHAT[3]];
    let mut screen = OnScreen::start(&env, &server, 80, &args);
    screen.until_last_row(">");
    screen.types("one\r");
    arrived();
    let long = "y".repeat(5_000);
    screen.types(format!("then\r{long}"));
    // The line of the work shows what is typed.
    screen.until_text("> yyy");
    release.send(()).unwrap();
    // The end of the text fills the screen.
    let end = rows_of(&long, 80, 1).pop().unwrap();
    screen.until(|rows| rows.len() == usize::from(ROWS) && rows.last() == Some(&end));
    assert_eq!(server.requests().len(), 1);
    screen.types("\r");
    screen.until_row("Second.");
    let requests = server.requests();
    assert_eq!(
        user_messages(&requests[1]),
        ["one", &format!("then\n{long}")]
    );
}

/// A failure ends the answer; the message stays in the composer, and Enter sends it again.
#[test]
fn failed_answer_is_asked_for_again() {
    let failures = [
        Answer::status("429 Too Many Requests", &json!({})),
        Answer::status("500 Internal Server Error", &json!({})),
        Answer::status("400 Bad Request", &json!({ "error": { "message": "no" } })),
        Answer::text("half").cut(),
    ];
    for (case, failure) in failures.into_iter().enumerate() {
        let env = TestEnv::new();
        env.write("agent.toml", NO_RETRIES);
        let server = ChatServer::start(vec![failure, Answer::text("Here."), Answer::text("More.")]);
        let mut screen = begin(&env, &server, 80);
        screen.types("a question\r");
        screen.until_text("Press Enter, or type /retry, to send the message again.");
        screen.until_last_row("> a question");
        screen.types("\r");
        screen.until_row("Here.");
        screen.until_last_row(">");
        screen.types("go on\r");
        screen.until_row("More.");
        screen.until_last_row(">");
        screen.types(CTRL_D);
        assert_eq!(screen.end(), Some(0), "{case}");
        let sent: Vec<Value> = server.requests();
        let messages: Vec<Vec<&str>> = sent.iter().map(user_messages).collect();
        assert_eq!(
            messages,
            [
                vec!["a question"],
                vec!["a question"],
                vec!["a question", "go on"]
            ],
            "{case}"
        );
        let inputs = of_kind(&env.events(), "input-received").len();
        assert_eq!(inputs, 2, "{case}: the message is in the session once");
    }
}

/// `/retry` does what Enter does, and a changed message is another one.
#[test]
fn failed_message_is_retried_or_changed() {
    let table = [
        ("\u{15}/retry\r", vec!["a question"]),
        (" now\r", vec!["a question", "a question now"]),
    ];
    for (keys, expected) in table {
        let env = TestEnv::new();
        env.write("agent.toml", NO_RETRIES);
        let failure = Answer::status("500 Internal Server Error", &json!({}));
        let server = ChatServer::start(vec![failure, Answer::text("Here.")]);
        let mut screen = begin(&env, &server, 80);
        screen.types("a question\r");
        screen.until_text("Press Enter, or type /retry");
        screen.until_last_row("> a question");
        screen.types(keys);
        screen.until_row("Here.");
        assert_eq!(user_messages(&server.requests()[1]), expected, "{keys:?}");
    }
}

/// Ctrl-C or Escape stops the answer, and the conversation continues; the same key again leaves.
#[test]
fn stopped_answer_leaves_the_conversation_open() {
    for key in [CTRL_C, ESCAPE] {
        for leaves in [false, true] {
            let env = TestEnv::new();
            let (server, arrived, release) =
                held_at(0, vec![Answer::text("Lost."), Answer::text("Here.")]);
            let mut screen = begin(&env, &server, 80);
            screen.types("a question\r");
            arrived();
            screen.types(key);
            screen.until_row("Stopped.");
            screen.until_last_row("> a question");
            release.send(()).unwrap();
            if leaves {
                screen.types(key);
                assert_eq!(screen.end(), Some(130), "{key:?}");
                continue;
            }
            screen.types("\r");
            screen.until_row("Here.");
            screen.until_last_row(">");
            screen.types(CTRL_D);
            assert_eq!(screen.end(), Some(0), "{key:?}");
            assert_eq!(user_messages(&server.requests()[1]), ["a question"]);
        }
    }
}

/// In the composer, Ctrl-C empties the text, and leaves when it is pressed again.
#[test]
fn interrupt_in_the_composer_leaves_at_the_second_time() {
    for columns in WIDTHS {
        let env = TestEnv::new();
        let server = ChatServer::start(Vec::new());
        let mut screen = begin(&env, &server, columns);
        screen.types("a thought");
        screen.until_last_row("> a thought");
        screen.types(CTRL_C);
        screen.until_last_row("Press Ctrl-C again or Ctrl-D to leave.");
        // Another key, and the text is still there.
        screen.types(UP);
        screen.until_last_row("> a thought");
        screen.types(CTRL_C);
        screen.until_last_row("Press Ctrl-C again or Ctrl-D to leave.");
        screen.types(CTRL_C);
        assert_eq!(screen.end(), Some(130));
    }
}

/// The history belongs to a project, and has neither secrets nor the text of others.
#[test]
fn history_is_there_in_the_next_conversation() {
    for columns in WIDTHS {
        let env = TestEnv::new();
        let server = ChatServer::start(vec![
            Answer::text("One."),
            Answer::text("Two."),
            Answer::text("Three."),
        ]);
        let mut screen = begin(&env, &server, columns);
        for (message, answer) in [
            ("find a red thing", "One."),
            (" the password is x", "Two."),
            ("two\u{1b}\rlines", "Three."),
        ] {
            screen.types(format!("{message}\r"));
            screen.until_row(answer);
            screen.until_last_row(">");
        }
        screen.types(CTRL_D);
        assert_eq!(screen.end(), Some(0));

        let mut screen = begin(&env, &server, columns);
        screen.types(UP);
        screen.until(|rows| rows.ends_with(&["> two".to_owned(), "  lines".to_owned()]));
        // Up in the text, and then to the message before.
        screen.types(format!("{UP}{UP}"));
        screen.until_last_row("> find a red thing");
        screen.types(format!("{CTRL_C}\u{12}lin"));
        screen.until_last_row("search: lin");
        screen.until_row("> two");
        screen.types("\r");
        screen.until_last_row("  lines");
        screen.types(CTRL_D);
    }
}

/// The text that was not sent when the terminal went away is in the history.
#[test]
fn vanishing_terminal_loses_nothing() {
    for columns in WIDTHS {
        let env = TestEnv::new();
        let server = ChatServer::start(Vec::new());
        let mut screen = begin(&env, &server, columns);
        screen.types(paste("a long\rthought"));
        screen.until_last_row("  thought");
        screen.hang_up();
        let mut screen = begin(&env, &server, columns);
        screen.types(UP);
        screen.until_last_row("  thought");
        screen.until_row("> a long");
        assert_eq!(server.requests(), [json!(null); 0]);
    }
}

#[test]
fn tab_completes_commands_and_files() {
    for columns in WIDTHS {
        let env = TestEnv::new();
        env.write("notes.txt", "");
        env.write("nothing.md", "");
        let server = ChatServer::start(Vec::new());
        let mut screen = begin(&env, &server, columns);
        screen.types("/qu\t");
        screen.until_row("> /quit");
        screen.types("\u{15}read @n\t");
        screen.until(|rows| {
            rows.ends_with(&["> read @not".to_owned(), "notes.txt  nothing.md".to_owned()])
        });
        screen.types("e\t now");
        screen.until_last_row("> read @notes.txt now");
    }
}
