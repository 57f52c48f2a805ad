//! `--record` and `replay:`: a run that was recorded plays again, without its server.

use crate::support::{
    Place, Ran,
    chat::{Answer, ChatServer, ask},
};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt as _;

/// What a session's events say, without what differs from run to run: times, and ids that are made up.
fn story(place: &Place) -> Vec<Value> {
    let kinds = ["model-replied", "call-settled", "turn-ended"];
    let events = place
        .events()
        .into_iter()
        .map(|mut record| record["event"].take());
    events
        .filter(|event| kinds.iter().any(|kind| event["kind"] == *kind))
        .map(|event| {
            json!([
                event["kind"],
                event["reply"],
                event["call_id"],
                event["output"]
            ])
        })
        .collect()
}

fn replay(place: &Place) -> Ran {
    place.run(&[
        "run",
        "--model",
        "replay:../run.jsonl",
        "what does a.txt say?",
    ])
}

/// The first answer is refused for now, the second one breaks off, the third calls tools, the last one says what they found.
#[test]
fn a_run_with_a_cut_stream_and_a_retry_plays_again() {
    let place = Place::new();
    place.write("a.txt", "alpha\n");
    let server = ChatServer::start(vec![
        Answer::status("503 Busy", &json!({ "error": "busy" })),
        Answer::text("I will look, and then").cut(),
        Answer::calls(&[
            ("read_file", json!({ "path": "a.txt" })),
            ("read_file", json!({ "path": "gone.txt" })),
        ]),
        Answer::text("The file says alpha."),
    ]);
    let ran = ask(
        &place,
        &server,
        &["--record", "../run.jsonl", "what does a.txt say?"],
    );
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (Some(0), "The file says alpha.\n"),
        "{}",
        ran.stderr
    );
    let recorded = story(&place);
    assert_eq!(recorded.len(), 6, "{recorded:#?}");
    let file = place.work().join("../run.jsonl");
    let mode = std::fs::metadata(&file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);

    let again = replay(&place);
    assert_eq!(
        (again.code, again.stdout, story(&place)),
        (Some(0), ran.stdout, recorded),
        "{}",
        again.stderr
    );
    assert_eq!(server.requests().len(), 4);
}

#[test]
fn what_cannot_be_recorded_or_played_is_refused() {
    let place = Place::new();
    place.write("taken", "mine");
    let server = ChatServer::start(vec![]);
    let taken = place.work().join("taken");
    for (ran, expected) in [
        (
            ask(&place, &server, &["--record", "taken", "hi"]),
            "taken: it exists; name a file that does not",
        ),
        (
            place.run(&["run", "--model", "script:tour", "--record", "new", "hi"]),
            "there is nothing to record: the model of this run is not behind a server",
        ),
        (
            place.run(&["run", "--model", "replay:./taken", "hi"]),
            "The recording cannot be played: it does not begin as a recording does",
        ),
        (replay(&place), "run.jsonl: No such file"),
    ] {
        assert_eq!(
            (ran.code, ran.stdout.as_str()),
            (Some(2), ""),
            "{}",
            ran.stderr
        );
        assert!(ran.stderr.contains(expected), "{expected}\n{}", ran.stderr);
    }
    assert_eq!(std::fs::read(taken).unwrap(), b"mine");
}
