//! The *story*, one conversation for every provider: a prompt, a 429, parallel calls of which one
//! returns an image, one is denied and one fails, a stream that is cut in the middle of its text,
//! and the answer.

use super::{
    mock::{Answered, Mock},
    rows::{ANTHROPIC, GEMINI, OLLAMA, OPENAI_CHAT, OPENAI_RESPONSES, Wire, calls},
    tap::Tap,
};
use agent_host_test_support::{
    Ran, TestEnv,
    http::Received,
    of_kind,
    oracle::{Request, assert_accepted},
    pictures::{png, png_size},
};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

/// The model's reasoning before its calls.
pub(super) const THOUGHT: &str = "There is a file, and a picture.";
/// The model's text before its calls.
pub(super) const SAID: &str = "I look.";
/// The text of the thumbnail's result, beside the image.
pub(super) const SHOWN: &str = "p.png: 64x40 -> 8x5";
/// The result of the denied call.
pub(super) const DENIED: &str = "read /workspace/../outside.txt was refused: it leaves the granted directory (rule default-deny). \
    The tool then said: `../outside.txt` may not be read: the operator's grants do not allow it; work inside the granted directory, \
    and say so if the task needs more";
/// The result of the failing call.
pub(super) const MISSING: &str =
    "no such file or directory `gone.txt`; the directory `.` has: a.txt, p.png";
/// The model's answer.
pub(super) const ANSWER: &str = "The file says alpha; the picture is grey.";

/// A reply that is an error. The server asks for no delay, so that the test does not wait either.
fn refusal(status: u16, kind: &str, message: &str) -> Value {
    json!({"response": {
        "error": {"type": kind, "message": message}, "status": status, "retryAfter": 0,
    }})
}

/// The server's replies.
pub(super) fn replies() -> [Value; 4] {
    let calls =
        calls().map(|(id, name, input)| json!({"id": id, "name": name, "arguments": input}));
    let counted = |input, output| json!({"prompt_tokens": input, "completion_tokens": output});
    let usage = counted(11, 7);
    let calling =
        json!({"reasoning": THOUGHT, "content": SAID, "toolCalls": calls, "usage": usage});
    let cut = json!({"content": "The file says nothing of the kind, and the picture is"});
    [
        refusal(429, "rate_limit_error", "slow down"),
        json!({"response": calling}),
        json!({"response": cut, "chunkSize": 8, "latency": 2, "truncateAfterChunks": 6}),
        json!({"response": {"content": ANSWER, "usage": counted(13, 5)}, "chunkSize": 5}),
    ]
}

/// The conversation of a request, without the prompt cache markers, which move with each request.
pub(super) fn conversation(wire: &Wire, body: &Value) -> Vec<Value> {
    fn unmark(value: &mut Value) {
        match value {
            Value::Object(fields) => {
                fields.remove("cache_control");
                fields.values_mut().for_each(unmark);
            }
            Value::Array(items) => items.iter_mut().for_each(unmark),
            _ => {}
        }
    }
    let mut entries = body[wire.conversation].clone();
    unmark(&mut entries);
    entries.as_array().unwrap().clone()
}

/// The image that the thumbnail call returned, as the session keeps it.
fn thumbnail(env: &TestEnv, events: &[Value]) -> Vec<u8> {
    let settled = of_kind(events, "call-settled");
    let part = settled
        .iter()
        .filter_map(|event| event["output"]["value"].as_array())
        .flatten()
        .find(|part| part["media_type"] == "image/png")
        .unwrap();
    let digest = part["data"]["value"]["digest"].as_str().unwrap();
    let blob = env.command(&["sessions", "blob", digest]).output();
    let bytes = blob.unwrap().stdout;
    assert_eq!(png_size(&bytes), (8, 5));
    bytes
}

/// Runs the program with this wire's model behind the tap.
fn run(wire: &Wire, env: &TestEnv, tap: &Tap) -> Ran {
    env.command(&["run", "--model", wire.model, "What is there?"])
        .envs(wire.variables(tap.address))
        .output()
        .unwrap()
        .into()
}

/// Plays the story on one wire.
fn play(wire: &Wire) {
    let Some(mock) = Mock::start(&replies()) else {
        return;
    };
    let tap = Tap::before(mock.address);
    let env = TestEnv::new();
    env.write("a.txt", "alpha\n");
    env.write("p.png", png(64, 40));
    let ran = run(wire, &env, &tap);
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (Some(0), format!("{ANSWER}\n").as_str()),
        "{}",
        ran.stderr
    );
    let answered = [(429, false), (200, false), (200, true), (200, false)];
    assert_eq!(
        mock.journal(),
        answered.map(|(status, cut)| Answered { status, cut })
    );
    let events = env.events();
    assert_kept(wire, &events);
    assert_sent(wire, &thumbnail(&env, &events), &tap.heard());
}

/// The session has each reply and each result once, and nothing of the cut stream.
pub(super) fn assert_kept(wire: &Wire, events: &[Value]) {
    let replies: Vec<Value> = of_kind(events, "model-replied")
        .iter()
        .map(|event| {
            let (text, usage) = (&event["reply"]["text"], &event["reply"]["usage"]);
            json!([text, usage["input_tokens"], usage["output_tokens"]])
        })
        .collect();
    let [first, last] = if wire.counts {
        [json!([SAID, 11, 7]), json!([ANSWER, 13, 5])]
    } else {
        [json!([SAID, 0, 0]), json!([ANSWER, 0, 0])]
    };
    assert_eq!(replies, [first, last]);
    let results: Vec<&Value> = of_kind(events, "call-settled")
        .iter()
        .map(|event| &event["output"]["type"])
        .collect();
    assert_eq!(
        results,
        ["text", "content", "execution-denied", "error-text"]
    );
}

/// The server received the requests of its API: the same messages again after each fault, and then
/// with the results.
fn assert_sent(wire: &Wire, png: &[u8], heard: &[Received]) {
    let requests: Vec<Request> = heard
        .iter()
        .enumerate()
        .map(|(number, request)| {
            assert_eq!(request.target(), wire.target);
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
    let (kept, added) = now.split_at(before.len());
    assert_eq!(kept, before);
    assert_eq!(Value::from(added), (wire.added)(png, added));
}

/// An unknown key is reported at once, with the server's message and the variable to check.
fn be_refused(wire: &Wire) {
    let Some(mock) = Mock::start(&[refusal(401, "authentication_error", "no such key")]) else {
        return;
    };
    let env = TestEnv::new();
    let ran = run(wire, &env, &Tap::before(mock.address));
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (Some(1), ""),
        "{}",
        ran.stderr
    );
    for part in ["no such key", wire.key] {
        assert!(ran.stderr.contains(part), "no {part:?} in {}", ran.stderr);
    }
    assert!(!ran.stderr.contains("the-key"), "{}", ran.stderr);
    let refused = Answered {
        status: 401,
        cut: false,
    };
    assert_eq!(mock.journal(), [refused]);
}

#[test]
fn anthropic() {
    play(&ANTHROPIC);
    be_refused(&ANTHROPIC);
}

#[test]
fn openai_responses() {
    play(&OPENAI_RESPONSES);
    be_refused(&OPENAI_RESPONSES);
}

#[test]
fn openai_chat() {
    play(&OPENAI_CHAT);
    be_refused(&OPENAI_CHAT);
}

#[test]
fn gemini() {
    play(&GEMINI);
    be_refused(&GEMINI);
}

#[test]
fn ollama() {
    play(&OLLAMA);
    be_refused(&OLLAMA);
}
