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
    script.stdout.until("kill\n");
    server.running.signal(Signal::KILL);
    server.running.end();
    drop(go_on);
    script.types("killed\n");
    script.stdout.until("start\n");
    let server = ApiServer::start_at(&address, TOKEN, &env, &model, &[]);
    script.types("started\n");
    script.stdout.until("other token\n");
    server.running.signal(Signal::KILL);
    server.running.end();
    let other = "another-token-that-only-this-test-knows";
    let _server = ApiServer::start_at(&address, other, &env, &model, &[]);
    script.types(&format!("{other}\n"));
    let ended = script.end();
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_eq!(of_kind(&env.events(), "turn-interrupted").len(), 1);
}

/// An answer is shown as it arrives.
#[test]
fn live_text() {
    let Some(browser) = Browser::find() else {
        return;
    };
    let env = TestEnv::new();
    // The answer starts when the page reads, and its second half comes when it has the first.
    let (go_on, waits) = mpsc::channel::<()>();
    let answer = Answer::text("The first half is here. And this: The second half is here.");
    let model = ChatServer::watched(vec![answer], move |point| {
        if point < 2 {
            waits.recv().unwrap();
        }
    });
    let server = ApiServer::start(&env, &model, &[]);
    let mut script = browser.start(&server, "live");
    script.stdout.until("asked\n");
    go_on.send(()).unwrap();
    script.types("sent\n");
    script.stdout.until("half\n");
    go_on.send(()).unwrap();
    script.types("sent\n");
    let ended = script.end();
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
}

/// The text that the model wrote before the page reads is there at once, and the rest follows.
#[test]
fn text_before_the_stream_is_shown() {
    let Some(browser) = Browser::find() else {
        return;
    };
    let env = TestEnv::new();
    let (go_on, waits) = mpsc::channel::<()>();
    let answer = Answer::text("The first half is here. And this: The second half is here.");
    let model = ChatServer::watched(vec![answer], move |point| {
        if point == 1 {
            waits.recv().unwrap();
        }
    });
    let server = ApiServer::start(&env, &model, &[]);
    let mut script = browser.start(&server, "late-stream");
    script.stdout.until("half\n");
    go_on.send(()).unwrap();
    script.types("sent\n");
    let ended = script.end();
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
}

/// The view follows an answer that grows, unless the reader went back.
#[test]
fn growing_answer() {
    let Some(browser) = Browser::find() else {
        return;
    };
    let env = TestEnv::new();
    let (go_on, waits) = mpsc::channel::<()>();
    let lines: String = (1..=200)
        .map(|n| format!("This is line {n}.\n\n"))
        .collect();
    let model = ChatServer::watched(
        vec![Answer::text(&lines), Answer::text(&lines)],
        move |_| waits.recv().unwrap(),
    );
    let server = ApiServer::start(&env, &model, &[]);
    let mut script = browser.start(&server, "growing");
    for word in [
        "first request\n",
        "first half\n",
        "second request\n",
        "second half\n",
    ] {
        script.stdout.until(word);
        go_on.send(()).unwrap();
        script.types("sent\n");
    }
    let ended = script.end();
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
}
