//! The story: a prompt, a 429, calls in parallel of which one returns an image, one is denied and one fails, a stream that is cut
//! in the middle of its text, and the answer.

use super::{
    mock::{Answered, Mock},
    rows::{OPENAI_CHAT, Wire},
    tap::Tap,
};
use crate::support::{
    Place, Ran,
    http::Received,
    of_kind,
    oracle::{Request, assert_accepted},
    pictures::{png, png_size},
};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

/// What the model is told of the thumbnail, beside the picture.
pub(super) const SHOWN: &str = "p.png: 64x40 -> 8x5";
/// What the model is told of the call that may not be.
pub(super) const DENIED: &str = "read /workspace/../outside.txt was refused: it leaves the granted folder (rule default-deny). \
    The tool then said: `../outside.txt` may not be read: the operator's grants do not allow it; work inside the granted folder, \
    and say so if the task needs more";
/// What the model is told of the call that fails.
pub(super) const MISSING: &str =
    "no such file or folder `gone.txt`; the folder `.` has: a.txt, p.png";
/// How it ends.
const ANSWER: &str = "The file says alpha; the picture is grey.";

/// The server's part. A wait of no time after the 429, so that the test does not wait either.
fn replies() -> [Value; 4] {
    [
        json!({"response": {
            "error": {"message": "slow down", "type": "rate_limit_error"}, "status": 429, "retryAfter": 0,
        }}),
        json!({"response": {"content": "I look.", "toolCalls": [
            {"id": "c1", "name": "read_file", "arguments": {"path": "a.txt"}},
            {"id": "c2", "name": "image_thumbnail", "arguments": {"path": "p.png", "max_width": 8}},
            {"id": "c3", "name": "read_file", "arguments": {"path": "../outside.txt"}},
            {"id": "c4", "name": "read_file", "arguments": {"path": "gone.txt"}},
        ]}}),
        json!({
            "response": {"content": "The file says nothing of the kind, and the picture is"},
            "chunkSize": 8, "latency": 2, "truncateAfterChunks": 4,
        }),
        json!({"response": {"content": ANSWER}, "chunkSize": 5}),
    ]
}

/// The conversation of a request. Where a prompt cache is to begin moves on with each request, and is no part of it.
fn conversation(wire: &Wire, body: &Value) -> Vec<Value> {
    fn without_marks(value: &mut Value) {
        match value {
            Value::Object(fields) => {
                fields.remove("cache_control");
                fields.values_mut().for_each(without_marks);
            }
            Value::Array(items) => items.iter_mut().for_each(without_marks),
            _ => {}
        }
    }
    let mut entries = body[wire.conversation].clone();
    without_marks(&mut entries);
    entries.as_array().unwrap().clone()
}

/// The picture that the thumbnail call returned, as the session keeps it.
fn thumbnail(place: &Place, events: &[Value]) -> Vec<u8> {
    let settled = of_kind(events, "call-settled");
    let part = settled
        .iter()
        .filter_map(|event| event["output"]["value"].as_array())
        .flatten()
        .find(|part| part["media_type"] == "image/png")
        .unwrap();
    let digest = part["data"]["value"]["digest"].as_str().unwrap();
    let blob = place.command(&["sessions", "blob", digest]).output();
    let bytes = blob.unwrap().stdout;
    assert_eq!(png_size(&bytes), (8, 5));
    bytes
}

/// Plays the story on one wire.
fn play(wire: &Wire) {
    let Some(mock) = Mock::start(&replies()) else {
        return;
    };
    let tap = Tap::before(mock.address);
    let place = Place::new();
    place.write("a.txt", "alpha\n");
    place.write("p.png", png(64, 40));
    let ran = place
        .command(&["run", "--model", wire.model, "What is there?"])
        .envs((wire.variables)(tap.address))
        .output();
    let ran = Ran::from(ran.unwrap());
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (Some(0), format!("{ANSWER}\n").as_str()),
        "{}",
        ran.stderr
    );
    let answered = [(429, false), (200, false), (200, true), (200, false)];
    let answered = answered.map(|(status, cut)| Answered {
        path: wire.path.to_owned(),
        status,
        cut,
    });
    assert_eq!(mock.journal(), answered);
    let events = place.events();
    assert_kept(&events);
    assert_sent(wire, &thumbnail(&place, &events), &tap.heard());
}

/// The session has each reply and each result once, and nothing of what was cut.
fn assert_kept(events: &[Value]) {
    let of = |kind, field: &str, inner: &str| -> Vec<Value> {
        let events = of_kind(events, kind);
        let fields = events.iter().map(|event| event[field][inner].clone());
        fields.collect()
    };
    assert_eq!(of("model-replied", "reply", "text"), ["I look.", ANSWER]);
    assert_eq!(
        of("call-settled", "output", "type"),
        ["text", "content", "execution-denied", "error-text"]
    );
}

/// The server was asked as the wire has it: the same words again after each fault, and then with the results.
fn assert_sent(wire: &Wire, png: &[u8], heard: &[Received]) {
    let requests: Vec<Request> = heard
        .iter()
        .enumerate()
        .map(|(number, request)| {
            assert_eq!(request.target(), wire.path);
            Request {
                wire: wire.name.to_owned(),
                name: format!("request {number} of the story"),
                body: serde_json::from_slice(&request.body).unwrap(),
            }
        })
        .collect();
    assert_accepted(&requests);
    let [first, again, second, once_more] = &requests[..] else {
        panic!("{} requests", requests.len());
    };
    assert_eq!((&first.body, &second.body), (&again.body, &once_more.body));
    let before = conversation(wire, &first.body);
    let now = conversation(wire, &second.body);
    assert_eq!(now[..before.len()], before);
    assert_eq!(Value::from(&now[before.len()..]), (wire.added)(png));
}

#[test]
fn the_story_on_openai_chat() {
    play(&OPENAI_CHAT);
}
