//! Streams of events beside the journal: the words of calls, and a reply that arrives.

use super::*;
use pretty_assertions::assert_eq;
use std::time::Duration;

/// The words of the calls in a stream, in order.
fn told(events: &[ServerEvent]) -> Vec<Value> {
    let calls = events.iter().filter_map(|event| event.data.get("calls"));
    calls
        .flat_map(|calls| calls.as_array().unwrap().clone())
        .collect()
}

/// A call is told when it is requested, when it starts and when it ended, also to a reader that
/// comes behind its arguments.
#[test]
fn calls_are_told_in_words() {
    let env = TestEnv::new();
    env.write("note.txt", "hello");
    let model = ChatServer::start(vec![
        Answer::calls(&[
            ("read_file", json!({"path": "note.txt"})),
            ("search_files", json!({"pattern": "h"})),
            ("unknown\u{202e}", json!({"path": "a\nb"})),
            ("fetch", json!({"url": "https://example.com/"})),
        ]),
        Answer::text("Done."),
    ]);
    let server = ApiServer::start(&env, &model, &[]);
    let session = server.create("go");
    let mut stream = server.events(&session, None);
    let mut events = stream.until("turn-ended");
    events.extend(stream.until("turn-ended"));
    let of_reply = events
        .iter()
        .find(|event| event.data["event"]["kind"] == "model-replied");
    let unknown = "unknown\\u{202e}";
    assert_eq!(
        of_reply.unwrap().data["calls"],
        json!([
            {"call_id": "call_0", "words": "read_file note.txt", "kind": "read"},
            {"call_id": "call_1", "words": "search_files", "kind": "search"},
            {"call_id": "call_2", "words": format!("{unknown} \"a b\""), "kind": "other"},
            {"call_id": "call_3", "words": "fetch https://example.com/", "kind": "network"},
        ])
    );
    let read = json!({"call_id": "call_0", "words": "Read note.txt  5 B", "kind": "read"});
    let ended = told(&events);
    assert!(ended.contains(&read), "{ended:?}");
    let words: Vec<&Value> = ended
        .iter()
        .filter(|call| call["call_id"] == "call_2")
        .collect();
    assert_eq!(words[1]["tool"], unknown);
    let seq = events.iter().find(|event| {
        event.data["event"]["kind"] == "call-settled" && event.data["event"]["call_id"] == "call_0"
    });
    let before = seq.unwrap().id.unwrap() - 1;
    let late = told(&server.events(&session, Some(before)).until("turn-ended"));
    assert!(late.contains(&read), "{late:?}");
}

/// A reader that comes in the middle of a reply gets its text from the start, once.
#[test]
fn reply_that_arrives_is_whole_for_a_late_reader() {
    let env = TestEnv::new();
    let (reached, points) = mpsc::channel();
    let (go_on, waits) = mpsc::channel::<()>();
    let answer = Answer::text("The first half is here. And this: The second half is here.");
    let model = ChatServer::watched(vec![answer], move |point| {
        reached.send(point).unwrap();
        if point == 1 {
            waits.recv_timeout(Duration::from_secs(60)).unwrap();
        }
    });
    let server = ApiServer::start(&env, &model, &[]);
    let session = server.create("go");
    let mut early = server.events(&session, None);
    assert_eq!((points.recv(), points.recv()), (Ok(0), Ok(1)));
    let first: Vec<ServerEvent> = early.until_live("text");
    let half = first.last().unwrap().data["text"]
        .as_str()
        .unwrap()
        .to_owned();
    let mut late = server.events(&session, None);
    let begun = late.until_live("text");
    let kinds: Vec<&Value> = begun
        .iter()
        .rev()
        .take(3)
        .map(|event| match &event.data["live"] {
            Value::Null => &event.data["event"]["kind"],
            live => live,
        })
        .collect();
    assert_eq!(kinds, ["text", "restarted", "model-requested"]);
    assert_eq!(begun.last().unwrap().data["text"], half);
    go_on.send(()).unwrap();
    let rest = late.until("turn-ended");
    let text: String = rest
        .iter()
        .filter_map(|event| event.data["text"].as_str())
        .collect();
    assert_eq!(
        format!("{half}{text}"),
        "The first half is here. And this: The second half is here."
    );
}

/// The page of an agent's session: its text arrives there as it does, and whole for a late reader.
#[test]
fn reply_of_an_agent_arrives_in_its_own_session() {
    let env = TestEnv::new();
    env.configure(
        "agents = [\"clerk\"]\n\n[[agent]]\nname = \"clerk\"\ndescription = \"Reads.\"\n",
    );
    let (reached, points) = mpsc::channel();
    let (go_on, waits) = mpsc::channel::<()>();
    let answers = vec![
        Answer::calls(&[("agent_clerk", json!({"instructions": "see"}))]),
        Answer::text("The first half is here. And this: The second half is here."),
        Answer::text("Done."),
    ];
    // The point 3 is the middle of the agent's answer.
    let model = ChatServer::watched(answers, move |point| {
        if point == 3 {
            reached.send(point).unwrap();
            waits.recv_timeout(Duration::from_secs(60)).unwrap();
        }
    });
    let server = ApiServer::start(&env, &model, &[]);
    let session = server.create("go");
    let mut root = server.events(&session, None);
    let spawned = root.until("agent-spawned");
    let agent = spawned.last().unwrap().data["event"]["session"].clone();
    let agent = agent.as_str().unwrap();
    assert_eq!(points.recv(), Ok(3));
    let half = root.until_live("text").last().unwrap().data["text"].clone();
    let mut late = server.events(agent, None);
    let begun = late.until_live("text");
    let last: Vec<&Value> = begun
        .iter()
        .rev()
        .take(2)
        .map(|event| &event.data)
        .collect();
    assert_eq!(
        last,
        [
            &json!({"live": "text", "text": half}),
            &json!({"live": "restarted"})
        ]
    );
    go_on.send(()).unwrap();
    let rest = late.until("turn-ended");
    let text: String = rest
        .iter()
        .filter_map(|event| event.data["text"].as_str())
        .collect();
    assert_eq!(
        format!("{}{text}", half.as_str().unwrap()),
        "The first half is here. And this: The second half is here."
    );
    let settled = root.until("call-settled");
    let result = &settled.last().unwrap().data["event"]["output"]["value"];
    assert_eq!(*result, format!("{}{text}", half.as_str().unwrap()));
}
