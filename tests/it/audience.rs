//! Tests `[[flow.audience]]`: where text of private files may go, by each way out, and by way of
//! programs and agents.

use agent_host_test_support::{
    TestEnv,
    chat::{Answer, ChatServer, ask, results_of},
    http::page,
    of_kind,
};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

/// A project with a private file, whose text may go to one server and back to its directory.
struct Project {
    env: TestEnv,
    /// The server in the audience, and another one.
    crm: String,
    other: String,
}

fn project(more: &str) -> Project {
    let (crm, other) = (page("text/plain", "ok"), page("text/plain", "ok"));
    let env = TestEnv::new();
    env.write("private/plan.md", "The budget is 7.");
    env.write("README.md", "Nothing private.");
    env.configure(format!(
        r#"
memory.enabled = true
{more}
[flow]
mode = "ask"
trusted = ["*"]
[[flow.audience]]
from = "dir:/workspace/private/**"
to = ["http:127.0.0.1:{crm}", "dir:/workspace/private/**"]
[[tool]]
name = "fetch"
component = "builtin:fetch"
approval = "never"
[[tool.http]]
host = "127.0.0.1"
port = {crm}
scheme = "http"
[[tool.http]]
host = "127.0.0.1"
port = {other}
scheme = "http"
[[tool]]
name = "files"
component = "builtin:files"
approval = "never"
[[tool.dir]]
host = "."
mode = "read-write"
"#
    ));
    let url = |port: u16| format!("http://127.0.0.1:{port}/");
    Project {
        env,
        crm: url(crm),
        other: url(other),
    }
}

impl Project {
    fn fetch(url: &str) -> (&'static str, Value) {
        ("fetch", json!({ "url": url }))
    }

    /// The part of a result that says where the text may not go.
    fn refusal(url: &str) -> String {
        let server = url.trim_start_matches("http://").trim_end_matches('/');
        format!("Text from dir:/workspace/private/** must not go to http:{server}")
    }
}

const READ: fn() -> (&'static str, Value) = || ("read_file", json!({"path": "private/plan.md"}));

fn write(path: &str) -> (&'static str, Value) {
    (
        "write_file",
        json!({"path": path, "content": "The budget is 7."}),
    )
}

#[test]
fn private_text_goes_to_its_audience_alone() {
    let project = project("");
    let calls = [
        Project::fetch(&project.other),
        ("remember", json!({"text": "Nothing private."})),
        write("before.md"),
        READ(),
        Project::fetch(&project.crm),
        Project::fetch(&project.other),
        write("after.md"),
        write("private/notes.md"),
        ("remember", json!({"text": "The budget is 7."})),
    ];
    let results = results_of(&project.env, &calls);
    let refused = [5, 6, 8];
    for (at, result) in results.iter().enumerate() {
        let is_refused = result.contains("must not go to");
        assert_eq!(is_refused, refused.contains(&at), "{at}: {result}");
    }
    assert!(
        results[5].contains(&Project::refusal(&project.other)),
        "{results:?}"
    );
    assert!(
        results[6].contains("must not go to dir:/workspace/after.md"),
        "{results:?}"
    );
    assert!(results[8].contains("must not go to memory"), "{results:?}");
    let is_there = |path| project.env.work().join(path).exists();
    assert!(is_there("before.md") && is_there("private/notes.md") && !is_there("after.md"));
    let events = project.env.events();
    let settled = of_kind(&events, "call-settled");
    let source = json!(["dir:/workspace/private/**"]);
    assert_eq!(settled[3]["labels"], source);
    let replayed = project.env.run(&["sessions", "replay", "latest"]);
    assert_eq!(replayed.code, Some(0), "{replayed:?}");
    let told = project.env.run(&["explain", "latest"]).stdout;
    assert!(told.contains("flow.audience"), "{told}");
    // A later session that has not read the text is free, until it reads what was written with it.
    let notes = ("read_file", json!({"path": "private/notes.md"}));
    let fetch = || Project::fetch(&project.other);
    let results = results_of(&project.env, &[fetch(), notes, fetch()]);
    assert_eq!(results[0], "ok");
    assert!(results[2].contains("must not go to http:"), "{results:?}");
}

#[test]
fn private_text_stays_in_its_audience_in_a_program() {
    let project = project("code = true");
    let refusal = Project::refusal(&project.other);
    let program = format!(
        "const text = await tools.read_file({{path: 'private/plan.md'}});
         const sent = await tools.fetch({{url: '{}' + '?' + text.length}});
         let refused = '';
         try {{ await tools.fetch({{url: '{}'}}); }} catch (error) {{ refused = error.message; }}
         return {{ sent, refused }};",
        project.crm, project.other
    );
    let results = results_of(
        &project.env,
        &[("run_javascript", json!({ "code": program }))],
    );
    assert!(results[0].contains(&refusal), "{results:?}");
}

/// Neither a search nor an agent that is told the text is a way around it.
#[test]
fn private_text_stays_in_its_audience_in_an_agent() {
    let project =
        project("agents = [\"helper\"]\n[[agent]]\nname = \"helper\"\ndescription = \"Helps.\"");
    let refusal = Project::refusal(&project.other);
    let search = ("search_files", json!({"pattern": "budget"}));
    let results = results_of(&project.env, &[search, Project::fetch(&project.other)]);
    assert!(results[1].contains("must not go to http:"), "{results:?}");

    let server = ChatServer::start(vec![
        Answer::calls(&[READ()]),
        Answer::calls(&[(
            "agent_helper",
            json!({"instructions": "Send: the budget is 7."}),
        )]),
        Answer::calls(&[Project::fetch(&project.other)]),
        Answer::text("It was refused."),
        Answer::text("Done."),
    ]);
    let ran = ask(&project.env, &server, &["go"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let requests = json!(server.requests()).to_string();
    assert!(requests.contains(&refusal), "{requests}");
}

/// The nodes of a workflow hand on what they read, and so do the agents among them.
#[test]
fn private_text_stays_in_its_audience_in_a_workflow() {
    let project = project(
        r#"
[[agent]]
name = "sender"
description = "Sends."
[[workflow]]
name = "w"
description = "Sends a plan."
[[workflow.node]]
id = "read"
tool = "read_file"
input = { path = "'private/plan.md'" }
next = ["write", "send"]
[[workflow.node]]
id = "write"
tool = "write_file"
input = { path = "'after.md'", content = "read.text" }
on-error = "continue"
[[workflow.node]]
id = "send"
agent = "sender"
message = "read.text"
"#,
    );
    let server = ChatServer::start(vec![
        Answer::calls(&[Project::fetch(&project.other)]),
        Answer::text("It was refused."),
    ]);
    let ran = ask(&project.env, &server, &["--workflow", "w", "go"]);
    // A node failed.
    assert_eq!(ran.code, Some(7), "{ran:?}");
    assert!(!project.env.work().join("after.md").exists());
    let requests = json!(server.requests()).to_string();
    assert!(
        requests.contains(&Project::refusal(&project.other)),
        "{requests}"
    );
    let replayed = project.env.run(&["sessions", "replay", "latest"]);
    assert_eq!(replayed.code, Some(0), "{replayed:?}");
}

/// Many sources without an audience limit nothing, and many private files are one source.
#[test]
fn many_sources_limit_no_more_than_they_are() {
    let project = project("");
    for number in 0..40 {
        project
            .env
            .write(&format!("docs/{number}.md"), "The budget is public.");
        project
            .env
            .write(&format!("private/{number}.md"), "The budget is 7.");
    }
    let search = |path: &str| ("search_files", json!({"pattern": "budget", "path": path}));
    let results = results_of(
        &project.env,
        &[
            search("docs"),
            Project::fetch(&project.other),
            search("private"),
            Project::fetch(&project.crm),
            write("private/notes.md"),
            Project::fetch(&project.other),
        ],
    );
    let refused: Vec<bool> = results
        .iter()
        .map(|it| it.contains("must not go to"))
        .collect();
    assert_eq!(
        refused,
        [false, false, false, false, false, true],
        "{results:?}"
    );
}
