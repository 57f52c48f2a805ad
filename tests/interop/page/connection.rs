//! A server that is killed and started again while a page is open, and text as it arrives.

use super::*;
use pretty_assertions::assert_eq;
use rustix::process::Signal;
use std::sync::mpsc;

/// The page tells a server that is gone, a proxy in its place and another token; when the server is
/// back, nothing is lost or there twice.
#[test]
fn restarts() {
    let Some(browser) = Browser::find() else {
        return;
    };
    let env = TestEnv::new();
    let (go_on, waits) = mpsc::channel::<()>();
    let answers = vec![
        Answer::text("Hello."),
        Answer::text("This is half of the answer that never ends well."),
        Answer::text("Here I am."),
    ];
    // The second answer stays at its half until the server is dead.
    let model = ChatServer::watched(answers, move |point| {
        if point == 3 {
            let _ = waits.recv();
        }
    });
    let server = ApiServer::start(&env, &model, &[]);
    let address = server.address.clone();
    let mut script = browser.start(&server, "restarts");
    script.until("kill\n");
    server.running.signal(Signal::KILL);
    server.running.end();
    drop(go_on);
    script.types("killed\n");
    script.until("start\n");
    let server = ApiServer::start_at(&address, TOKEN, &env, &model, &[]);
    script.types("started\n");
    script.until("other token\n");
    server.running.signal(Signal::KILL);
    server.running.end();
    let other = "another-token-that-only-this-test-knows";
    let _server = ApiServer::start_at(&address, other, &env, &model, &[]);
    script.types(&format!("{other}\n"));
    let ended = script.end();
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_eq!(of_kind(&env.events(), "turn-interrupted").len(), 1);
}

/// The answer whose halves come apart.
fn halves() -> Answer {
    Answer::text("The first half is here. And this: The second half is here.")
}

/// Runs a script of the page against a model whose answers wait at the points that `holds` names.
/// Each word that the script says sets the model free at one of them.
fn run_with(
    script: &str,
    answers: Vec<Answer>,
    holds: impl Fn(usize) -> bool + Send + 'static,
    words: &[&str],
) {
    let Some(browser) = Browser::find() else {
        return;
    };
    let env = TestEnv::new();
    let (go_on, waits) = mpsc::channel::<()>();
    let model = ChatServer::watched(answers, move |point| {
        if holds(point) {
            waits.recv().unwrap();
        }
    });
    let server = ApiServer::start(&env, &model, &[]);
    let mut script = browser.start(&server, script);
    for word in words {
        script.until(&format!("{word}\n"));
        go_on.send(()).unwrap();
        script.types("sent\n");
    }
    let ended = script.end();
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
}

/// An answer is shown as it arrives: it starts when the page reads, and its second half comes when
/// the page has the first.
#[test]
fn live_text() {
    run_with(
        "live",
        vec![halves()],
        |point| point < 2,
        &["asked", "half"],
    );
}

/// The last lines of a program that runs, with hostile ones, until the test lets it end.
#[test]
fn printed_lines() {
    let Some(browser) = Browser::find().filter(|_| has_python()) else {
        return;
    };
    let env = TestEnv::new();
    let server = json!(["python3", here("it/mcp_client/server.py"), "tells"]);
    env.configure(format!(
        "code = true\ntool = []\n[[mcp]]\nname = \"s\"\ncommand = {server}\n\
         approval = \"never\"\nread-only = [\"act\"]\n"
    ));
    let until = env.work().join("until");
    let made = Command::new("mkfifo").arg(&until).status().unwrap();
    assert!(made.success());
    let hostile = json!("<img src=x onerror='window.harmed=1'>\u{202e}");
    let wait = json!({"message": "waits", "until": until});
    let code = format!(
        "console.log('one'); console.log('two'); console.log({hostile}); console.log('last'); \
         await tools.s_act({wait}); return 1;"
    );
    let answers = vec![
        Answer::calls(&[
            ("run_javascript", json!({ "code": code })),
            ("run_javascript", json!({"code": "return 2;"})),
        ]),
        Answer::text("Done."),
    ];
    // Lines are told to those who read, so that the calls start when the page does.
    let (go_on, waits) = mpsc::channel::<()>();
    let model = ChatServer::watched(answers, move |point| {
        if point == 0 {
            waits.recv().unwrap();
        }
    });
    let server = ApiServer::start(&env, &model, &[]);
    let mut script = browser.start(&server, "printed");
    script.until("asked\n");
    go_on.send(()).unwrap();
    script.types("sent\n");
    script.until("seen\n");
    fs::File::options().write(true).open(until).unwrap();
    script.types("ended\n");
    let ended = script.end();
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
}

/// The text that the model wrote before the page reads is there at once, and the rest follows.
#[test]
fn text_before_the_stream_is_shown() {
    run_with("late-stream", vec![halves()], |point| point == 1, &["half"]);
}

/// The view follows an answer that grows, unless the reader went back.
#[test]
fn growing_answer() {
    let lines: String = (1..=200)
        .map(|n| format!("This is line {n}.\n\n"))
        .collect();
    let words = [
        "first request",
        "first half",
        "second request",
        "second half",
    ];
    let answers = vec![Answer::text(&lines), Answer::text(&lines)];
    run_with("growing", answers, |_| true, &words);
}
