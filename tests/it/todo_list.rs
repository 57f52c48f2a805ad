//! Tests `todo-list`: a list of tasks that the model keeps in the session.

use agent_host_test_guests::{Definition, Guest};
use agent_host_test_support::{
    Ran, TestEnv,
    chat::{Answer, ChatServer, ask},
    of_kind,
};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

fn tasks(first: &str, second: &str) -> Value {
    json!([
        { "content": "read the list", "status": first },
        { "content": "sum \u{1b}[2Jit up", "status": second },
    ])
}

fn write(first: &str, second: &str) -> Answer {
    Answer::calls(&[("write_todos", json!({ "todos": tasks(first, second) }))])
}

fn offered(request: &Value) -> Vec<&str> {
    let tools = request["tools"].as_array().unwrap().iter();
    let names = tools.map(|tool| tool["function"]["name"].as_str().unwrap());
    names.filter(|name| *name == "write_todos").collect()
}

fn system(request: &Value) -> &str {
    request["messages"][0]["content"].as_str().unwrap()
}

fn done(ran: &Ran) {
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (Some(0), "Done.\n"),
        "{ran:?}"
    );
}

#[test]
fn list_is_kept_shown_and_resumed() {
    let env = TestEnv::new();
    env.configure("todo-list = true\n");
    let server = ChatServer::start(vec![
        write("in_progress", "pending"),
        write("completed", "in_progress"),
        Answer::text("Done."),
        Answer::text("Done."),
    ]);
    let ran = ask(&env, &server, &["go"]);
    done(&ran);
    let shown = "✓ write_todos: 1 of 2 done\n  [x] read the list\n  [>] sum \\u{1b}[2Jit up\n";
    assert!(ran.stderr.contains(shown), "{}", ran.stderr);
    let list = "1 of 2 done\n[x] read the list\n[>] sum \u{1b}[2Jit up";
    assert_eq!(server.tool_results(), [list]);
    let requests = server.requests();
    assert_eq!(offered(&requests[0]), ["write_todos"]);
    assert!(system(&requests[0]).ends_with("mark each as completed as soon as it is."));
    // The beginning of each request is that of the one before, as caches of providers need it.
    assert_eq!(system(&requests[0]), system(&requests[2]));
    let events = env.events();
    let session = env.run(&["sessions", "list", "--json"]).json()["session"].clone();
    let merged: Vec<&Value> = of_kind(&events, "state-merged")
        .iter()
        .map(|event| &event["delta"])
        .collect();
    let lists = |tasks: Value| json!({ "todos": { session.as_str().unwrap(): tasks } });
    assert_eq!(
        merged,
        [
            &lists(tasks("in_progress", "pending")),
            &lists(tasks("completed", "in_progress")),
        ]
    );
    done(&ask(&env, &server, &["--continue", "and now?"]));
    assert_eq!(system(&server.requests()[3]), system(&requests[0]));
}

#[test]
fn list_is_offered_only_where_it_is_configured() {
    let env = TestEnv::new();
    let server = ChatServer::start(vec![write("pending", "pending"), Answer::text("Done.")]);
    done(&ask(&env, &server, &["go"]));
    assert_eq!(offered(&server.requests()[0]), [""; 0]);
    assert!(server.tool_results()[0].contains("unknown-tool"));
}

/// Tasks that do not fit are refused with the reason, and change nothing.
#[test]
fn tasks_that_do_not_fit_change_nothing() {
    let env = TestEnv::new();
    env.configure("todo-list = true\n");
    let late = json!({ "todos": [{ "content": "a", "status": "late" }] });
    let server = ChatServer::start(vec![
        Answer::calls(&[("write_todos", late)]),
        Answer::text("Done."),
    ]);
    done(&ask(&env, &server, &["go"]));
    let result: Value = serde_json::from_str(&server.tool_results()[0]).unwrap();
    assert_eq!(result["error"]["code"], "invalid-input", "{result}");
    assert_eq!(of_kind(&env.events(), "state-merged"), [&json!(null); 0]);
}

/// A component cannot take the place of the list.
#[test]
fn component_with_the_name_of_the_tool_is_refused() {
    let env = TestEnv::new();
    let guest = Guest {
        definitions: vec![Definition {
            name: "write_todos".into(),
            ..Definition::default()
        }],
        ..Guest::default()
    };
    env.write("todos.wasm", guest.bytes());
    env.configure("todo-list = true\n[[tool]]\nname = \"todos\"\ncomponent = \"todos.wasm\"\n");
    let ran = env.run(&["run", "go"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains("`write_todos`"), "{}", ran.stderr);
}
