//! Pictures of results on a pseudo-terminal, whose end plays terminals that draw them.

use agent_host_test_support::{
    TestEnv,
    chat::{Answer, ChatServer},
    pictures::{png, png_size},
    screen::{OnScreen, on_screen},
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use pretty_assertions::assert_eq;
use serde_json::json;

const RUN: [&str; 4] = ["run", "--model", "openai-compat:m", "look"];

/// The question that every terminal answers, with what erases it.
const LAST_QUESTION: &str = "\u{1b}[c\r\u{1b}[K";

/// The beginnings of a picture in each protocol.
const KITTY: &str = "\u{1b}_Ga=T,f=100,q=2,c=3,m=";
const ITERM2: &str = "\u{1b}]1337;File=inline=1;";
const SIXEL: &str = "\u{1b}P0;1q";

fn model() -> ChatServer {
    let input = json!({ "path": "tall.png", "max_width": 1_000, "max_height": 1_000 });
    ChatServer::start(vec![
        Answer::calls(&[("image_thumbnail", input)]),
        Answer::text("It is **grey**."),
    ])
}

fn project() -> TestEnv {
    let env = TestEnv::new();
    // 24 by 240 pixels fit 80 columns of 10 pixels and half of 24 rows of 20.
    env.write("tall.png", png(100, 1_000));
    env
}

/// Runs on a terminal that gives these answers, and returns what was written to it.
fn written(answers: &str) -> String {
    let (env, server) = (project(), model());
    let mut screen = OnScreen::start(&env, &server, 80, &RUN);
    screen.until_written(LAST_QUESTION);
    screen.types(answers);
    screen.until_text("It is grey.");
    let written = String::from_utf8_lossy(&screen.written).into_owned();
    assert_eq!(screen.end(), Some(0));
    written
}

/// Returns what is between two texts.
fn between<'a>(text: &'a str, begin: &str, end: &str) -> &'a str {
    let (_, rest) = text.split_once(begin).expect(begin);
    rest.split_once(end).expect(end).0
}

#[test]
fn kitty_terminal_shows_picture_below_its_call() {
    let answers =
        "\u{1b}_Gi=31;OK\u{1b}\\\u{1b}P>|kitty(0.40.1)\u{1b}\\\u{1b}[6;20;10t\u{1b}[?62;c";
    let shown = written(answers);
    let (call, picture) = shown.split_once(KITTY).unwrap();
    assert!(call.contains("Looked at tall.png"), "{shown}");
    assert!(call.contains("(image/png, "), "{shown}");
    let picture = format!("{KITTY}{}", picture.split_once("\r\n").unwrap().0);
    let pieces = picture.split("\u{1b}\\").filter(|piece| !piece.is_empty());
    let data: String = pieces
        .map(|piece| piece.split_once(';').unwrap().1)
        .collect();
    assert_eq!(png_size(&STANDARD.decode(data).unwrap()), (24, 240));
}

#[test]
fn iterm2_terminal_shows_picture_below_its_call() {
    let shown = written("\u{1b}P>|iTerm2 3.5.4\u{1b}\\\u{1b}[6;20;10t\u{1b}[?62;4c");
    let data = between(&shown, ITERM2, "\u{7}").split_once("width=3:");
    let data = STANDARD.decode(data.unwrap().1).unwrap();
    assert_eq!(png_size(&data), (24, 240));
}

#[test]
fn sixel_terminal_shows_picture_below_its_call() {
    let shown = written("\u{1b}[?64;1;2;4;6;9;15;18;21;22;28c");
    let sixels = between(&shown, SIXEL, "\u{1b}\\");
    assert!(sixels.starts_with("\"1;1;24;240#0;2;"), "{sixels}");
    // The rows of the picture, in bands of six.
    assert_eq!(sixels.matches('-').count(), 40);
}

#[test]
fn terminal_without_pictures_or_answers_shows_the_line() {
    for answers in ["\u{1b}_Gi=31;ENOTSUP\u{1b}\\\u{1b}[?62;22c", ""] {
        let shown = written(answers);
        assert!(shown.contains("Looked at tall.png"), "{shown}");
        for begin in [KITTY, ITERM2, SIXEL, "image/png"] {
            assert!(!shown.contains(begin), "{begin:?}: {shown}");
        }
    }
}

/// Kitty's question would become the title of a window of a multiplexer.
#[test]
fn multiplexer_is_not_asked_for_kitty_pictures() {
    let env = project();
    let server = model();
    let args = "run --model openai-compat:m look";
    let mut running = on_screen(&env, &server, 80, "TMUX=/tmp/tmux", args);
    running.stdout.until(LAST_QUESTION);
    running.types("\u{1b}P>|iTerm2 3\u{1b}\\\u{1b}[?1;2;4c");
    let ran = running.end();
    assert!(!ran.stdout.contains("\u{1b}_G"), "{ran:?}");
    assert!(ran.stdout.contains(SIXEL), "{ran:?}");
}

#[test]
fn terminal_is_not_asked_where_pictures_are_unwanted() {
    let cases = [
        ("NO_COLOR=1", "run --model openai-compat:m look"),
        ("TERM=dumb", "run --model openai-compat:m look"),
        ("TERM=linux", "run --model openai-compat:m look"),
        ("", "run --plain --model openai-compat:m look"),
        ("", "run --quiet --model openai-compat:m look"),
        ("", "run --model openai-compat:m look > answer.txt"),
        ("", "run --model openai-compat:m look < /dev/null"),
    ];
    for (settings, args) in cases {
        let (env, server) = (project(), model());
        let ran = on_screen(&env, &server, 80, settings, args).end();
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert!(
            !ran.stdout.contains("\u{1b}[c"),
            "{settings} {args}: {ran:?}"
        );
    }
}
