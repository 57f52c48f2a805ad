//! HTTP exchanges, recorded with a real server and replayed without one.

use super::{TestDir, mismatches, of};
use crate::test::TestPlan;
use pretty_assertions::assert_eq;
use std::{
    io::{BufRead as _, BufReader, Write as _},
    net::TcpListener,
    thread::JoinHandle,
};

/// Answers one request with its own header fields, and ends.
fn server() -> (u16, JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let served = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let lines = BufReader::new(&stream).lines().map(Result::unwrap);
        let head: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
        let body = "the weather is fine";
        let length = body.len();
        let answer = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: {length}\r\n\r\n{body}"
        );
        stream.write_all(answer.as_bytes()).unwrap();
        head.join("\n")
    });
    (port, served)
}

fn cases(port: u16) -> String {
    format!(
        "
        [[grants.http]]
        host = '127.0.0.1'
        port = {port}
        [[case]]
        name = 'asks'
        tool = 'fetch'
        input = {{ url = 'http://127.0.0.1:{port}/weather' }}
        recording = 'recordings/weather.jsonl'
        expect.variant = 'text'
        expect.matches = 'the weather is fine'
    "
    )
}

fn recording() -> TestPlan {
    TestPlan {
        record: true,
        ..of("builtin:fetch")
    }
}

#[tokio::test]
async fn recording_is_replayed_without_a_server() {
    let dir = TestDir::new();
    let file = dir.path("tests/recordings/weather.jsonl");
    let (port, served) = server();
    let report = dir.run(&cases(port), of("builtin:fetch")).await.unwrap();
    let missing = format!(
        "{}, which can be replayed; create it with `--record`",
        file.display()
    );
    assert_eq!(
        mismatches(&report),
        [(
            "asks",
            vec![[
                "recording",
                missing.as_str(),
                "No such file or directory (os error 2)"
            ]]
        )]
    );

    let report = dir.run(&cases(port), recording()).await.unwrap();
    assert_eq!(mismatches(&report), [("asks", vec![])]);
    assert_eq!(report.cases[0].written, [file.display().to_string()]);
    assert!(
        served
            .join()
            .unwrap()
            .starts_with("GET /weather HTTP/1.1\n")
    );

    let report = dir.run(&cases(port), of("builtin:fetch")).await.unwrap();
    assert_eq!(mismatches(&report), [("asks", vec![])]);
    // The gate also judges replayed requests, so the grant counts as used.
    assert!(report.coverage.unwrap().grants[0].used);
}

#[tokio::test]
async fn case_without_record_never_reaches_the_network() {
    let dir = TestDir::new();
    // No connection is ever accepted here.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let port = listener.local_addr().unwrap().port();
    let text = format!(
        "127.0.0.1:{port} cannot be reached: nothing answers there; try again later or use another address"
    );
    let unrecorded = cases(port)
        .replace("recording = 'recordings/weather.jsonl'", "")
        .replace(
            "expect.variant = 'text'",
            &format!("expect.error-text = '{text}'"),
        )
        .replace("expect.matches = 'the weather is fine'", "");
    let request = format!("GET http://127.0.0.1:{port}/weather");
    for plan in [of("builtin:fetch"), recording()] {
        let report = dir.run(&unrecorded, plan).await.unwrap();
        assert_eq!(
            mismatches(&report),
            [(
                "asks",
                vec![[
                    "recording",
                    "no requests: the case has no `recording`; set it to a file, and run with `--record`",
                    request.as_str()
                ]]
            )]
        );
    }
    assert!(listener.accept().is_err());
}

#[tokio::test]
async fn recording_grants_and_answers_nothing_else() {
    let dir = TestDir::new();
    let file = dir.path("tests/recordings/weather.jsonl");
    let exchange = |url: &str| {
        format!(
            "{{\"type\":\"recording\",\"version\":1}}\n{{\"type\":\"exchange\",\"request\":{{\"method\":\"GET\",\"url\":\"{url}\"}},\
             \"outcome\":{{\"response\":{{\"status\":200,\"headers\":[],\"body\":{{\"text\":\"hello\"}}}}}}}}\n"
        )
    };
    dir.write(
        "tests/recordings/weather.jsonl",
        &exchange("https://other.example/"),
    );
    let cases = "
        [[grants.http]]
        host = 'api.example'
        [[case]]
        name = 'denied'
        tool = 'fetch'
        input = { url = 'https://other.example/' }
        recording = 'recordings/weather.jsonl'
        expect.denied = true
        [[case]]
        name = 'not there'
        tool = 'fetch'
        input = { url = 'https://api.example/' }
        recording = 'recordings/weather.jsonl'
        expect.variant = 'error-text'
    ";
    let report = dir.run(cases, of("builtin:fetch")).await.unwrap();
    let expected = format!(
        "only requests with an answer in {}, each as often as it has one; record it again with `--record`",
        file.display()
    );
    assert_eq!(
        mismatches(&report),
        [
            ("denied", vec![]),
            (
                "not there",
                vec![["recording", expected.as_str(), "GET https://api.example/"]]
            ),
        ]
    );
}

#[tokio::test]
async fn cases_sharing_a_recording_are_refused() {
    let dir = TestDir::new();
    let case = cases(1);
    let (grants, one) = case.split_at(case.find("[[case]]").unwrap());
    let other = one.replace("'asks'", "'asks again'");
    let error = dir
        .run(&format!("{grants}{one}{other}"), recording())
        .await
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "the cases `asks` and `asks again` would both be recorded in {}; use a different file for each",
            dir.path("tests/recordings/weather.jsonl").display()
        )
    );
}

/// A recording has the secret's name, so a replay needs neither value nor variable.
#[tokio::test]
async fn secret_is_needed_only_for_recording() {
    let dir = TestDir::new();
    let (port, _served) = server();
    let cases = format!(
        "
        [[secret]]
        name = 'key'
        from = 'env:KEY_THAT_NOBODY_HAS'
        audience = 'http://127.0.0.1:{port}'
        [grants]
        secrets = ['key']
        http = [{{ host = '127.0.0.1', port = {port} }}]
        [[case]]
        name = 'posts'
        tool = 'fetch'
        input = {{ url = 'http://127.0.0.1:{port}/', headers = {{ authorization = 'Bearer secret://key' }} }}
        recording = 'recording.jsonl'
        expect.text = 'hello'
    "
    );
    dir.write(
        "tests/recording.jsonl",
        &format!(
            "{{\"type\":\"recording\",\"version\":1}}\n{{\"type\":\"exchange\",\"request\":{{\"method\":\"GET\",\"url\":\"http://127.0.0.1:{port}/\"}},\
             \"outcome\":{{\"response\":{{\"status\":200,\"headers\":[[\"content-type\",\"text/plain\"]],\"body\":{{\"text\":\"hello\"}}}}}}}}\n"
        ),
    );
    let report = dir.run(&cases, of("builtin:fetch")).await.unwrap();
    assert_eq!(mismatches(&report), [("posts", vec![])]);
    let error = dir.run(&cases, recording()).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "the secret `key` should be in the variable KEY_THAT_NOBODY_HAS, which is not set; set it, or change `from` \
         of the secret `key`"
    );
}
