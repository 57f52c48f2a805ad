//! Tests the forms of tools: on a terminal, from other processes, over the API and MCP, refused.

use agent_host_test_support::{
    TestEnv,
    api::ApiServer,
    at_once,
    chat::{Answer, ChatServer, ask},
    installed::here,
    mcp_client::{Client, call},
    of_kind,
    terminal::{on_a_terminal, plain},
};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

const PROMPT: &str = "Your order\u{1b}[2J?";

fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "count": { "type": "integer", "title": "How many\u{1b}]0;x\u{7}", "minimum": 1, "maximum": 9 },
            "gift": { "type": "boolean" },
            "note": { "type": "string", "description": "For the card.", "default": "none" },
            "size": { "type": "string", "oneOf": [
                { "const": "s", "title": "Small" }, { "const": "m", "title": "Medium" } ] },
        },
        "required": ["count", "size"],
    })
}

/// The form in a request. Its fields are in the order of the schema.
fn form() -> Value {
    json!([
        { "name": "count", "title": "How many\u{1b}]0;x\u{7}", "required": true,
          "kind": { "type": "integer", "minimum": 1, "maximum": 9 } },
        { "name": "gift", "kind": { "type": "boolean" } },
        { "name": "note", "description": "For the card.", "default": "none",
          "kind": { "type": "text" } },
        { "name": "size", "required": true, "kind": { "type": "one", "choices": [
            { "value": "s", "title": "Small" }, { "value": "m", "title": "Medium" } ] } },
    ])
}

/// A directory with the tools of the conformance suite.
fn env() -> TestEnv {
    let env = TestEnv::new();
    let guest = here("guests/dist/conformance.wasm");
    env.write("suite.wasm", std::fs::read(guest).unwrap());
    env.configure("[[tool]]\nname = \"suite\"\ncomponent = \"suite.wasm\"\n");
    env
}

fn server(schema: &Value) -> ChatServer {
    let input = json!({ "prompt": PROMPT, "schema": schema });
    ChatServer::start(vec![
        Answer::calls(&[("fill_form", input)]),
        Answer::text("That is all."),
    ])
}

fn result(server: &ChatServer) -> Value {
    let text = server.tool_results().concat();
    serde_json::from_str(&text).unwrap_or(Value::String(text))
}

/// The process ends with the question; another one brings the answer, and the guest runs again with
/// it. A wrong answer is refused, and the request stays open.
#[test]
fn form_is_answered_by_another_process() {
    let (env, server) = (env(), server(&schema()));
    let later = [
        "--permission-prompts",
        "later",
        "--output-format",
        "json",
        "go",
    ];
    let ran = ask(&env, &server, &later);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    let awaiting = ran.json()["outcome"]["continuation"]["awaiting"].clone();
    let question = json!({ "prompt": PROMPT, "free_text": false, "form": form() });
    assert_eq!(
        awaiting,
        json!({ "kind": "answer", "call_id": "call_0", "tool": "fill_form", "question": question })
    );
    let decide = |decision: &str| ask(&env, &server, &["--resume", "latest", "--decide", decision]);
    let before = env.events();
    let cases = [
        ("call_0=respond:three", "the question is a form"),
        ("call_0=choice:1", "the question is a form"),
        (
            r#"call_0=fields:{"count":3}"#,
            "the field `size` needs a value",
        ),
        (
            r#"call_0=fields:{"count":10,"size":"s"}"#,
            "the field `count` takes a number of at most 9",
        ),
        (
            r#"call_0=fields:{"count":3,"size":"s","x":1}"#,
            "the form has no field `x`",
        ),
    ];
    for (decision, why) in cases {
        let ran = decide(decision);
        assert_eq!(ran.code, Some(2), "{decision}: {ran:?}");
        assert!(ran.stderr.contains(why), "{decision}: {}", ran.stderr);
        assert_eq!(env.events(), before, "{decision}");
    }
    let ran = decide(r#"call_0=fields:{"size":"m","count":3}"#);
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (Some(0), "That is all.\n"),
        "{ran:?}"
    );
    let fields = json!({ "count": 3, "size": "m" });
    assert_eq!(result(&server), fields);
    let events = env.events();
    assert_eq!(of_kind(&events, "question-asked")[0]["question"], question);
    assert_eq!(
        of_kind(&events, "answer-received")[0]["answer"],
        json!({ "type": "fields", "fields": fields })
    );
    assert_eq!(of_kind(&events, "call-settled").len(), 1);
}

/// The hint names the fields, and can be followed; the user can decline.
#[test]
fn form_can_be_rejected() {
    let (env, server) = (env(), server(&schema()));
    let ran = ask(&env, &server, &["--permission-prompts", "later", "go"]);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    let fields = "Its form has the fields count (integer, required), gift (true or false), note (text), size (s or m, required).";
    for shown in [fields, "--decide call_0=fields:JSON"] {
        assert!(ran.stderr.contains(shown), "no {shown:?} in {}", ran.stderr);
    }
    let ran = ask(
        &env,
        &server,
        &["--resume", "latest", "--decide", "call_0=reject"],
    );
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(result(&server), json!("cancelled"));
}

/// One field after the other, each until its value fits; nothing of the tool reaches the terminal
/// as it is.
#[test]
fn form_is_filled_in_on_the_terminal() {
    let (env, server) = (env(), server(&schema()));
    // Begins; a number that is too large; no gift; the default; a choice; edits; sends.
    let keys = "a\n10\n3\n\n\n3\n2\ne\na\n4\ny\nhi\n1\ns\n";
    let ran = on_a_terminal(&env, &server, "run --model openai-compat:m go", keys);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let shown = plain(&ran.stdout);
    for text in [
        "Its form has 4 fields. [a] answer  [c] cancel  [l] answer later",
        "Type a number without a fraction (required)",
        "This field takes a number of at most 9.",
        "Type y or n; leave empty to skip it",
        "│ For the card.",
        "Type a text; leave empty for \"none\"",
        "[1] Small",
        "Type the number of a choice, 1 to 2.",
        "  count: 3\r\n  note: \"none\"\r\n  size: \"m\"\r\n",
        "  count: 4\r\n  gift: true\r\n  note: \"hi\"\r\n  size: \"s\"\r\n",
        "Send it to the tool fill_form? [s] send  [e] edit  [c] cancel  [l] answer later",
    ] {
        assert!(shown.contains(text), "no {text:?} in {shown}");
    }
    for hostile in ["\u{1b}[2J", "\u{1b}]0;"] {
        assert!(!ran.stdout.contains(hostile), "{}", ran.stdout);
    }
    let expected = json!({ "count": 4, "gift": true, "note": "hi", "size": "s" });
    assert_eq!(result(&server), expected);
}

#[test]
fn form_is_refused_or_left_open_on_the_terminal() {
    let cases = [
        ("c\n", Some(0), Some(json!("cancelled"))),
        ("a\n3\n\n\n1\nc\n", Some(0), Some(json!("cancelled"))),
        ("l\n", Some(3), None),
        ("a\n3\n\n\n1\nl\n", Some(3), None),
    ];
    at_once(cases, |(keys, code, expected)| {
        let (env, server) = (env(), server(&schema()));
        let ran = on_a_terminal(&env, &server, "run --model openai-compat:m go", keys);
        assert_eq!(ran.code, code, "{keys:?}: {ran:?}");
        if let Some(expected) = expected {
            assert_eq!(result(&server), expected, "{keys:?}");
        }
    });
}

/// Without a user, the answer is `unavailable`; a form that cannot be shown is an error of the
/// tool, and no one is asked.
#[test]
fn form_that_cannot_be_shown_is_refused() {
    let fields = (0..10_000).map(|index| (format!("f{index}"), json!({ "type": "boolean" })));
    let many: serde_json::Map<String, Value> = fields.collect();
    let choices: Vec<String> = (0..65).map(|choice| choice.to_string()).collect();
    let one = |field: Value| json!({ "type": "object", "properties": { "f\u{1b}": field } });
    let nested = one(json!({ "type": "object", "properties": {} }));
    let cases = [
        (schema(), None),
        (
            json!({ "type": "object", "properties": many }),
            Some("its schema has more than 65536 bytes"),
        ),
        (
            nested,
            Some("its field `f\\u{1b}` is not a string, number, integer or boolean"),
        ),
        (
            one(json!({ "type": "string", "enum": choices })),
            Some("its field `f\\u{1b}` does not have 1 to 64 choices"),
        ),
    ];
    for (schema, why) in cases {
        let env = env();
        let server = server(&schema);
        let ran = ask(&env, &server, &["--permission-prompts", "none", "go"]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let expected = why.map_or(json!("unavailable"), |why| {
            let message = format!(
                "The tool asked with an invalid form: {why}; a form is a JSON Schema of one object with flat fields."
            );
            json!({ "error": { "code": "invalid-output", "message": message } })
        });
        assert_eq!(result(&server), expected);
        assert_eq!(of_kind(&env.events(), "question-asked").len(), 0);
    }
}

#[test]
fn form_is_shown_and_answered_over_the_api() {
    let (env, model) = (env(), server(&schema()));
    let server = ApiServer::start(&env, &model, &[]);
    let session = server.create("go");
    let mut stream = server.events(&session, None);
    stream.until("turn-ended");
    let requests = server.get(&format!("/sessions/{session}/requests")).json();
    let continuation = &requests["requests"][0];
    assert_eq!(continuation["awaiting"]["question"]["form"], form());
    let request = continuation["request"].as_str().unwrap();
    let (_, request) = request.split_once('/').unwrap();
    let path = format!("/sessions/{session}/requests/{request}/answer");
    let answer = |answer: Value| {
        let body = json!({ "continuation": continuation, "answer": answer });
        server.post(&path, &body)
    };
    let refused = answer(json!({ "type": "fields", "fields": { "count": "3", "size": "s" } }));
    assert_eq!(refused.status, 409, "{refused:?}");
    let why = "the field `count` takes a number without a fraction";
    let detail = refused.json()["detail"].clone();
    assert!(detail.as_str().unwrap().contains(why), "{detail}");
    let fields = json!({ "count": 3, "size": "s", "note": "hi" });
    let taken = answer(json!({ "type": "fields", "fields": fields }));
    assert_eq!(taken.status, 202, "{taken:?}");
    stream.until("turn-ended");
    stream.until("turn-ended");
    assert_eq!(result(&model), fields);
}

#[test]
fn form_goes_through_the_mcp_client() {
    let env = env();
    let filled = json!({ "count": 3, "size": "m" });
    let cases = [
        (json!({ "action": "accept", "content": filled }), filled),
        (json!({ "action": "decline" }), json!("cancelled")),
        // An answer that does not fit the form is none.
        (
            json!({ "action": "accept", "content": { "count": 10, "size": "m" } }),
            json!("cancelled"),
        ),
    ];
    for (reply, expected) in cases {
        let mut client = Client::start(&env, &[], json!({ "elicitation": { "form": {} } }));
        let input = json!({ "prompt": PROMPT, "schema": schema() });
        client.send(&call(1, "fill_form", input));
        // What a client displays of a field is escaped; what it sends back is not.
        let mut shown = schema();
        shown["properties"]["count"]["title"] = json!("How many\\u{1b}]0;x\\u{7}");
        let mut asked = client.next();
        assert_eq!(asked["method"], "elicitation/create", "{asked}");
        asked["params"].as_object_mut().unwrap().remove("_meta");
        assert_eq!(
            asked["params"],
            json!({
                "mode": "form",
                "message": "The tool fill_form asks you, in its own words:\n│ Your \
                    order\\u{1b}[2J?\nYour answer goes to the tool fill_form and approves nothing.",
                "requestedSchema": shown,
            })
        );
        client.send(&json!({ "jsonrpc": "2.0", "id": asked["id"], "result": reply }));
        let result = client.next()["result"].clone();
        let text = result["content"][0]["text"].as_str().unwrap();
        let text = serde_json::from_str(text).unwrap_or_else(|_| json!(text));
        assert_eq!(text, expected, "{result}");
        assert_eq!(client.close().code, Some(0));
    }
}
