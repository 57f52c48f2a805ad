//! Tests of the screen during and after a run, drawn by a terminal emulator.

use agent_host_test_support::{
    TestEnv,
    chat::{Answer, ChatServer, ask},
    screen::{on_screen, screen},
};
use pretty_assertions::assert_eq;

const REPORT: &str = include_str!("../../host/cli/src/terminal/markdown/tests/report.md");

const RUN: &str = "run --quiet --model openai-compat:m go";

#[test]
fn answer_is_rendered_at_each_width() {
    let screens = [
        (
            60,
            include_str!("../../host/cli/src/terminal/markdown/tests/report_60.txt"),
        ),
        (
            80,
            include_str!("../../host/cli/src/terminal/markdown/tests/report_80.txt"),
        ),
        (
            200,
            include_str!("../../host/cli/src/terminal/markdown/tests/report_200.txt"),
        ),
    ];
    for (columns, expected) in screens {
        let env = TestEnv::new();
        let server = ChatServer::start(vec![Answer::text(REPORT)]);
        let ran = on_screen(&env, &server, columns, "", RUN).end();
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert_eq!(screen(&ran.stdout, columns), expected.trim_end());
    }
}

/// Where rendering is switched off, the bytes are those that the model sent.
#[test]
fn markdown_is_plain_where_it_is_not_wanted() {
    let cases = [
        ("", "run --plain --quiet --model openai-compat:m go"),
        ("NO_COLOR=1", RUN),
        ("TERM=dumb", RUN),
        ("TERM=", RUN),
    ];
    for (settings, args) in cases {
        let env = TestEnv::new();
        let server = ChatServer::start(vec![Answer::text(REPORT)]);
        let ran = on_screen(&env, &server, 80, settings, args).end();
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert_eq!(
            ran.stdout,
            REPORT.replace('\n', "\r\n"),
            "{settings} {args}"
        );
    }
    let server = ChatServer::start(vec![Answer::text(REPORT)]);
    let piped = ask(&TestEnv::new(), &server, &["--quiet", "go"]);
    assert_eq!(piped.stdout, format!("{REPORT}\n"));
}

/// Text beside calls, and text that the server sends again, each stand on lines of their own.
#[test]
fn steps_stand_between_rendered_texts() {
    let env = TestEnv::new();
    let said = |text: &str| Answer::text(text);
    let server = ChatServer::start(vec![
        said("**Half** of an answer that is cut").cut(),
        said("The **whole** answer"),
    ]);
    let args = "run --model openai-compat:m go";
    let ran = on_screen(&env, &server, 80, "", args).end();
    let shown = screen(&ran.stdout, 80);
    let (_, shown) = shown.split_once("\n\n").unwrap();
    assert_eq!(
        shown,
        "Half of an answer that is cut\nthe model's answer broke off; it is asked again\nThe whole answer"
    );
}
