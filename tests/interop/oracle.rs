//! Checks the golden requests of all adapters against the types of the providers' official SDKs.

use agent_host_test_support::{
    installed::here,
    oracle::{Request, WIRES, ask, assert_accepted},
};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::{collections::BTreeMap, fs};

/// The least number of golden requests per wire: one for each kind of message and of result.
const FEWEST: usize = 18;

/// The golden requests: `host/adapters/models/src/wire/WIRE/golden/NAME.json`.
fn golden() -> Vec<Request> {
    let mut requests = Vec::new();
    for directory in fs::read_dir(here("../host/adapters/models/src/wire")).unwrap() {
        let directory = directory.unwrap().path();
        let Ok(files) = fs::read_dir(directory.join("golden")) else {
            continue;
        };
        for file in files {
            let file = file.unwrap().path();
            requests.push(Request {
                wire: directory.file_name().unwrap().to_str().unwrap().to_owned(),
                name: file.file_stem().unwrap().to_str().unwrap().to_owned(),
                body: serde_json::from_slice(&fs::read(&file).unwrap())
                    .unwrap_or_else(|error| panic!("{}: {error}", file.display())),
            });
        }
    }
    requests
}

#[test]
fn golden_requests_pass() {
    let requests = golden();
    let mut counts = BTreeMap::new();
    for request in &requests {
        *counts.entry(request.wire.as_str()).or_insert(0) += 1;
    }
    assert_eq!(counts.keys().copied().collect::<Vec<_>>(), WIRES);
    assert!(counts.values().all(|count| *count >= FEWEST), "{counts:?}");
    assert_accepted(&requests);
}

#[test]
fn malformed_requests_of_each_wire_are_rejected() {
    let Some(output) = ask(&["--self-test"], "") else {
        return;
    };
    let told = String::from_utf8(output.stdout).unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{told}{stderr}");
    assert_eq!(told, "51 malformed requests of 5 wires\n");
}

#[test]
fn complaint_names_request_and_place() {
    let wrong = json!({ "model": "m", "messages": [{ "role": "tool", "content": ["no"], "name": "read" }] });
    let lines = [
        json!({ "wire": "ollama", "name": "two", "request": wrong }),
        json!({ "wire": "telex", "name": "n", "request": {} }),
        json!({ "wire": "ollama" }),
    ];
    let Some(output) = ask(&[], &lines.map(|line| format!("{line}\n")).concat()) else {
        return;
    };
    let told = String::from_utf8(output.stdout).unwrap();
    let complaints: Vec<Value> = told
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let expected = [
        json!({ "wire": "ollama", "name": "two", "problems": [
            "messages.0.content: Input should be a valid string",
            "messages.0.name: Extra inputs are not permitted",
        ] }),
        json!({ "wire": "telex", "name": "n", "problems": [
            ": no such wire; there are anthropic, openai_responses, openai_chat, gemini, ollama",
        ] }),
    ];
    assert_eq!(complaints, expected);
    assert_eq!(
        String::from_utf8(output.stderr).unwrap(),
        "line 3 is not {\"wire\", \"name\", \"request\"}: KeyError('name')\n"
    );
    assert_eq!(output.status.code(), Some(2));
}
