//! The proxy of litellm, a third-party reader of requests, between the program and aimock: a turn
//! with parallel calls on each API that it serves. It has to hand the conversation on unchanged.

use super::{
    mock::{Answered, Mock},
    rows::{ANTHROPIC, GEMINI, OPENAI_CHAT, OPENAI_RESPONSES, Wire},
    story::{ANSWER, assert_kept, conversation, replies},
    tap::Tap,
};
use agent_host_test_support::{
    Ran, TestEnv, http::Received, installed::litellm, pictures::png, running::Running,
};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::{net::SocketAddr, process::Command};

/// The key of the proxy, which refuses to start with a short one.
const KEY: &str = "sk-a-key-that-only-these-tests-know-0123456789";

/// The proxy. It ends with the test.
struct Proxy {
    address: SocketAddr,
    _running: Running,
}

impl Proxy {
    /// Proxies all models of a provider to this URL; `None` if litellm cannot be installed.
    fn before(env: &TestEnv, provider: &str, url: &str) -> Option<Self> {
        let parameters =
            json!({ "model": format!("{provider}/*"), "api_base": url, "api_key": "k" });
        let config = json!({
            "model_list": [{ "model_name": "*", "litellm_params": parameters }],
        });
        let config = env.write("litellm.yaml", config.to_string());
        let mut command = Command::new(litellm()?);
        env.prepare(&mut command)
            .arg("--config")
            .arg(config)
            .args(["--host", "127.0.0.1", "--port", "0"])
            .env("LITELLM_MASTER_KEY", KEY)
            // Prices are not fetched.
            .env("LITELLM_LOCAL_MODEL_COST_MAP", "True");
        let mut running = Running::start(&mut command);
        let line = running.stderr.line_with("Uvicorn running on http://");
        let (_, rest) = line.split_once("http://").unwrap();
        let address = rest.split_whitespace().next().unwrap().parse().unwrap();
        Some(Self {
            address,
            _running: running,
        })
    }
}

/// The body of each request.
fn bodies(heard: &[Received]) -> Vec<Value> {
    heard
        .iter()
        .map(|request| serde_json::from_slice(&request.body).unwrap())
        .collect()
}

/// Plays a turn with calls on one wire, through the proxy, which finds this path at the provider.
fn play(wire: &Wire, provider: &str, path: &str) {
    let [_, calling, _, answer] = replies();
    let Some(mock) = Mock::start(&[calling, answer]) else {
        return;
    };
    let upstream = Tap::before(mock.address);
    let env = TestEnv::new();
    let url = format!("http://{}{path}", upstream.address);
    let Some(proxy) = Proxy::before(&env, provider, &url) else {
        return;
    };
    let tap = Tap::before(proxy.address);
    env.write("a.txt", "alpha\n");
    env.write("p.png", png(64, 40));
    let output = env
        .command(&[
            "run",
            "--system",
            "",
            "--model",
            wire.model,
            "What is there?",
        ])
        .envs(wire.variables(tap.address))
        .env(wire.key, KEY)
        .output();
    let ran: Ran = output.unwrap().into();
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (Some(0), format!("{ANSWER}\n").as_str()),
        "{}",
        ran.stderr
    );
    assert_kept(wire, &env.events());
    let answered = [(200, false), (200, false)];
    assert_eq!(
        mock.journal(),
        answered.map(|(status, cut)| Answered { status, cut })
    );
    let handed_on = |requests: &[Received]| -> Vec<Vec<Value>> {
        let bodies = bodies(requests);
        bodies.iter().map(|body| conversation(wire, body)).collect()
    };
    assert_eq!(handed_on(&upstream.heard()), handed_on(&tap.heard()));
}

#[test]
fn openai_chat() {
    play(&OPENAI_CHAT, "openai", "/v1");
}

#[test]
fn openai_responses() {
    play(&OPENAI_RESPONSES, "openai", "/v1");
}

#[test]
fn anthropic() {
    play(&ANTHROPIC, "anthropic", "");
}

#[test]
fn gemini() {
    play(&GEMINI, "gemini", "/v1beta");
}
