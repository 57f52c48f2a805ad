//! Schemathesis sends thousands of requests, valid and not, that it makes from the OpenAPI document
//! of `agent-host serve`: none fails in the server, and each response is one that the document has.

use agent_host_test_support::{
    Ran, TestEnv,
    api::{ApiServer, TOKEN},
    chat::{Answer, ChatServer},
    installed::schemathesis,
};
use pretty_assertions::assert_eq;
use serde_json::json;
use std::{fs, process::Command};

/// The numbers of its random requests begin with this one, so that a failure can be repeated.
const SEED: &str = "21";

/// The events of a session do not end, so that they are no response to check; what deletes the
/// session would leave the others without one.
const LEFT_OUT: [&str; 4] = [
    "--exclude-path-regex",
    "/events$",
    "--exclude-method",
    "DELETE",
];

/// The API refuses more than a schema can say: a name that is taken, or a session that runs.
const NO_CHECK: &str = "positive_data_acceptance";

#[test]
fn responses_are_those_of_the_document() {
    let Some(schemathesis) = schemathesis() else {
        return;
    };
    let env = TestEnv::new();
    env.write("note.txt", "hello");
    let write = Answer::calls(&[("write_file", json!({"path": "a", "content": "a"}))]);
    // More than there are requests.
    let mut answers = vec![write];
    answers.resize_with(20_000, || Answer::text("Hello."));
    let model = ChatServer::start(answers);
    let server = ApiServer::start(&env, &model, &["--write"]);
    let session = server.create("hi");
    server.events(&session, None).until("turn-ended");
    let values = env.outside().join("schemathesis.toml");
    let text = format!("[parameters]\nsession = \"{session}\"\n\"path.model\" = \"agent-host\"\n");
    fs::write(&values, text).unwrap();
    let document = format!("http://{}/api/v1/openapi.json", server.address);
    let output = Command::new(schemathesis)
        .current_dir(env.outside())
        .arg("--config-file")
        .arg(values)
        .args(["run", &document, "--header"])
        .arg(format!("Authorization: Bearer {TOKEN}"))
        .args(["--checks", "all", "--exclude-checks", NO_CHECK])
        .args(LEFT_OUT)
        .args(["--phases", "examples,coverage,fuzzing,stateful"])
        .args(["--max-examples", "20", "--seed", SEED, "--no-color"])
        .args(["--continue-on-failure", "--request-timeout", "20"])
        .output();
    let ran: Ran = output.unwrap().into();
    assert_eq!(ran.code, Some(0), "{}", ran.stdout);
    // Every operation of the document was tried, but for those left out.
    let operations = format!("Tested: {}", 45 - 4);
    assert!(ran.stdout.contains(&operations), "{}", ran.stdout);
    assert_eq!(server.get("/health").status, 200);
}
