//! Runs one row with the program, and checks the invariants that hold for every guest.

use super::{
    case::{Case, Ends},
    server::Server,
    sink::Sink,
    snapshot,
};
use agent_host_sandbox::LoadFault;
use agent_host_test_support::{Ran, TestEnv, of_kind, program, traces};
use agent_host_types::failure::MAX_MESSAGE_BYTES;
use pretty_assertions::assert_eq;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::{
    collections::BTreeSet,
    path::Path,
    process::{Command, Stdio},
    sync::mpsc,
    thread,
    time::Duration,
};

/// The time after which the host itself counts as stuck. It exceeds every deadline in the table,
/// including compilation.
const PATIENCE: Duration = Duration::from_secs(90);

/// The secret in the program's environment and in a file beside the working directory; no row may
/// show it. Each encoding writes its characters differently.
pub(crate) const SECRET: &str = "hunter2/in+the=environment";

/// Runs a row and checks everything about it.
pub(crate) fn check(case: &Case) {
    let env = TestEnv::new();
    let sink = Sink::start();
    write_files(case, &env, &sink, &Server::start());
    let before = snapshot::take(env.outside());
    let ran = run(&env, case, &sink);
    let after = snapshot::take(env.outside());
    // The state directory and the lock file are the host's own to change.
    let mut expected = vec!["state", "work/agent.lock"];
    expected.extend(&case.may_change);
    let name = format!("{}: {}", case.section, case.name);
    let changed = snapshot::changes(&before, &after, &expected);
    assert_eq!(changed, Vec::<std::path::PathBuf>::new(), "{name}: changed");
    assert_eq!(sink.contacts(), case.contacts, "{name}: connections");
    check_stderr(&name, &ran);
    traces::assert_none(SECRET, &format!("{name}: stdout"), ran.stdout.as_bytes());
    let state = env.outside().join("state");
    if state.exists() {
        traces::assert_none_below(SECRET, &state);
    }
    match case.ends.as_slice() {
        [Ends::Refused(fault, says)] => {
            return check_refusal(&name, &ran, &[&format!("({fault})"), says]);
        }
        [Ends::Unusable(says)] => return check_refusal(&name, &ran, &[says]),
        [Ends::Anyhow] if ran.code == Some(2) => {
            let mut faults = LoadFault::ALL.iter().map(|fault| format!("({fault})"));
            let named = faults.find(|fault| ran.stderr.contains(fault));
            assert!(named.is_some(), "{name}: {}", ran.stderr);
            return check_refusal(&name, &ran, &[]);
        }
        _ => {}
    }
    assert_eq!(ran.code, Some(0), "{name}: {}", ran.stderr);
    let seen: Vec<Value> = serde_json::from_str(&ran.stdout)
        .unwrap_or_else(|error| panic!("{name}: {error}: {ran:?}"));
    let settled = settled(&name, case, &env);
    assert_eq!(
        (seen.len(), settled.len()),
        (case.ends.len(), case.ends.len()),
        "{name}: results"
    );
    for ((output, seen), ends) in settled.iter().zip(&seen).zip(&case.ends) {
        check_output(&name, ends, output, &env);
        assert_eq!(
            output["type"], seen["type"],
            "{name}: what the model was shown"
        );
        if output["type"] != "content" {
            assert_eq!(
                output["value"], seen["value"],
                "{name}: what the model was shown"
            );
        }
    }
}

/// A refused component or configuration: the operator gets the reason, and nothing else happens.
fn check_refusal(name: &str, ran: &Ran, says: &[&str]) {
    let stderr = &ran.stderr;
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (Some(2), ""),
        "{name}: {stderr}"
    );
    for text in says {
        assert!(stderr.contains(text), "{name}: no {text:?} in {stderr}");
    }
    assert!(stderr.len() <= MAX_MESSAGE_BYTES, "{name}: {stderr}");
}

/// Writes the component, the configuration and the script.
fn write_files(case: &Case, env: &TestEnv, sink: &Sink, server: &Server) {
    let filled = |text: &str| {
        text.replace("{sink}", &sink.port().to_string())
            .replace("{server}", &server.port().to_string())
            .replace("{work}", &env.work().display().to_string())
    };
    env.write("hostile.wasm", case.bytes());
    env.write(
        "agent.toml",
        filled(&format!(
            "state-dir = \"../state\"\n{}\n[[tool]]\nname = \"hostile\"\ncomponent = \"hostile.wasm\"\napproval = \"never\"\n",
            if case.config.contains("[grants") || case.config.contains("[[grants") {
                case.config.clone()
            } else {
                format!("{}\n[grants]\n", case.config)
            }
        )),
    );
    let call = json!({"tool": case.tool, "input": filled(&case.input)});
    let script = json!({"turn": [
        {"call": vec![call; case.ends.len()]},
        {"text": "{{ results | tojson }}"},
    ]});
    env.write("script.toml", toml::to_string(&script).unwrap());
    std::fs::write(env.outside().join("secret.txt"), SECRET).unwrap();
    (case.prepare)(&env.work());
}

/// Runs the program and waits for its exit. Kills a program that hangs, and fails the test.
fn run(env: &TestEnv, case: &Case, sink: &Sink) -> Ran {
    let args = [
        "run",
        "--config",
        "agent.toml",
        "--model",
        "script:script.toml",
    ];
    let grants = case.grants.iter().flat_map(|grant| ["--grant", grant]);
    let args: Vec<&str> = args.into_iter().chain(grants).chain(["go on"]).collect();
    // A proxy without a grant: a client that obeys the environment connects to the sink.
    let proxy = format!("http://127.0.0.1:{}", sink.port());
    let program = program();
    let mut command = match case.launcher {
        None => Command::new(program),
        Some(line) => {
            let mut shell = Command::new("/bin/sh");
            shell.args(["-c", line, program]);
            shell
        }
    };
    let child = env
        .prepare(command.args(&args))
        .env("AGENT_HOST_TEST_SECRET", SECRET)
        .env("RUST_BACKTRACE", "1")
        .envs(
            [
                "http_proxy",
                "HTTP_PROXY",
                "https_proxy",
                "HTTPS_PROXY",
                "all_proxy",
                "ALL_PROXY",
            ]
            .map(|name| (name, &proxy)),
        )
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let pid = Pid::from_child(&child);
    let (ended, end) = mpsc::channel();
    thread::spawn(move || ended.send(child.wait_with_output()));
    match end.recv_timeout(PATIENCE) {
        // A surviving child of the program would hold stderr open and block this read.
        Ok(output) => output.unwrap().into(),
        Err(_) => {
            kill_process(pid, Signal::KILL).unwrap();
            panic!("{}: {}: the host does not end", case.section, case.name);
        }
    }
}

/// Checks stderr, which a user reads on a terminal and a guest can influence.
fn check_stderr(name: &str, ran: &Ran) {
    let text = &ran.stderr;
    for mark in ["panicked", "stack backtrace", "wasm backtrace"] {
        assert!(!text.contains(mark), "{name}: {mark:?} on stderr: {text}");
    }
    traces::assert_none(SECRET, &format!("{name}: stderr"), text.as_bytes());
    let steering = |c: char| {
        (c.is_control() && c != '\n' && c != '\t')
            || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    let found: Vec<char> = text.chars().filter(|c| steering(*c)).collect();
    assert_eq!(found, Vec::<char>::new(), "{name}: {text:?}");
}

/// Returns the outputs of the calls, after a check of the journal: each call that ran was intended
/// once, and each was settled once.
fn settled(name: &str, case: &Case, env: &TestEnv) -> Vec<Value> {
    let args = [
        "sessions",
        "show",
        "latest",
        "--json",
        "--config",
        "agent.toml",
    ];
    let shown = env.run(&args);
    assert_eq!(shown.code, Some(0), "{name}: {}", shown.stderr);
    let events = shown.json_lines();
    let intended = of_kind(&events, "call-intended");
    let settled = of_kind(&events, "call-settled");
    let ids = |events: &[&Value]| -> BTreeSet<String> {
        events
            .iter()
            .map(|event| event["call_id"].to_string())
            .collect()
    };
    let runs = match case.ends.as_slice() {
        // Whether a call began is not known in advance; it began at most once.
        [Ends::Anyhow] => intended.len().min(1),
        ends => ends.iter().filter(|ends| ends.is_after_the_start()).count(),
    };
    assert_eq!(
        (intended.len(), ids(&intended).len()),
        (runs, runs),
        "{name}: intended"
    );
    let calls = case.ends.len();
    assert_eq!(
        (settled.len(), ids(&settled).len()),
        (calls, calls),
        "{name}: settled"
    );
    // The limits are in the first event, and in later ones only if they differ.
    let limits = settled
        .first()
        .map(|event| &event["accounting"]["limits"])
        .filter(|limits| limits["deadline-ms"].is_u64());
    for event in &settled {
        if runs == calls {
            let limits = limits.unwrap_or_else(|| panic!("{name}: no limits in {event}"));
            let peak = &event["accounting"]["peak_memory_bytes"];
            assert!(
                peak.as_u64() <= limits["memory-bytes"].as_u64(),
                "{name}: {event}"
            );
        }
    }
    settled
        .iter()
        .map(|event| event["output"].clone())
        .collect()
}

/// Checks a result against its row. Results of the host itself are short and reveal nothing about
/// the host.
fn check_output(name: &str, ends: &Ends, output: &Value, env: &TestEnv) {
    let (of_host, says) = match ends {
        Ends::Failed(code, says) => {
            assert_eq!(
                (&output["type"], &output["value"]["code"]),
                (&json!("error-json"), &json!(code)),
                "{name}: {output}"
            );
            (output["value"]["message"].as_str().unwrap(), says)
        }
        Ends::Denied(says) => {
            assert_eq!(output["type"], "execution-denied", "{name}: {output}");
            (output["reason"].as_str().unwrap(), says)
        }
        Ends::Checked(check) => return check(output),
        Ends::Returned(expected) => return assert_eq!(output, expected, "{name}"),
        Ends::Anyhow => (output["value"]["message"].as_str().unwrap_or_default(), &""),
        Ends::Refused(..) | Ends::Unusable(_) => panic!("{name}: {output}"),
    };
    assert!(of_host.contains(says), "{name}: no {says:?} in {of_host}");
    assert!(of_host.len() <= MAX_MESSAGE_BYTES, "{name}: {of_host}");
    let home = std::env::var("HOME").unwrap_or_else(|_| "/root".to_owned());
    let private = [
        env.outside(),
        Path::new(env!("CARGO_MANIFEST_DIR")),
        Path::new(&home),
    ];
    let marks = private.iter().map(|path| path.to_str().unwrap());
    for mark in marks.chain([SECRET, "backtrace", "0x", "/rustc/", ".rs:", "panicked"]) {
        assert!(!of_host.contains(mark), "{name}: {mark:?} in {of_host}");
    }
}
