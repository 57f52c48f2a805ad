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
    /// Proxies each model to its upstream; `None` if litellm cannot be installed.
    fn before(env: &TestEnv, upstreams: &[Upstream]) -> Option<Self> {
        let models = upstreams.iter().map(Upstream::model);
        let config = json!({ "model_list": models.collect::<Vec<_>>() });
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

/// The body of each posted request. At its start litellm gets the list of models, too.
fn bodies(heard: &[Received]) -> Vec<Value> {
    heard
        .iter()
        .filter(|request| request.head.starts_with("POST "))
        .map(|request| serde_json::from_slice(&request.body).unwrap())
        .collect()
}

/// A wire, and the provider's server behind the proxy.
struct Upstream {
    wire: &'static Wire,
    /// The provider's name in litellm, and the path below its server's address.
    provider: (&'static str, &'static str),
    mock: Mock,
    /// Before the server.
    tap: Tap,
}

impl Upstream {
    /// Starts the server; `None` if aimock cannot be installed.
    fn start(wire: &'static Wire, provider: (&'static str, &'static str)) -> Option<Self> {
        let [_, calling, _, answer] = replies();
        let mock = Mock::start(&[calling, answer])?;
        let tap = Tap::before(mock.address);
        Some(Self {
            wire,
            provider,
            mock,
            tap,
        })
    }

    /// The proxy's entry for the model.
    fn model(&self) -> Value {
        let (_, model) = self.wire.model.split_once(':').unwrap();
        let (provider, path) = self.provider;
        json!({ "model_name": model, "litellm_params": {
            "model": format!("{provider}/{model}"),
            "api_base": format!("http://{}{path}", self.tap.address),
            "api_key": "k",
        }})
    }

    /// Plays a turn with calls on the wire, through the proxy.
    fn play(&self, proxy: &Proxy) {
        let wire = self.wire;
        let tap = Tap::before(proxy.address);
        let env = TestEnv::new();
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
            "{}: {}",
            wire.name,
            ran.stderr
        );
        assert_kept(wire, &env.events());
        let answered = [(200, false), (200, false)];
        assert_eq!(
            self.mock.journal(),
            answered.map(|(status, cut)| Answered { status, cut }),
            "{}",
            wire.name
        );
        let handed_on = |requests: &[Received]| -> Vec<Vec<Value>> {
            let bodies = bodies(requests);
            bodies.iter().map(|body| conversation(wire, body)).collect()
        };
        let (sent, received) = (tap.heard(), self.tap.heard());
        assert_eq!(handed_on(&received), handed_on(&sent), "{}", wire.name);
    }
}

/// One proxy serves all wires: its start takes six seconds of processor time.
#[test]
fn conversation_is_handed_on_unchanged_on_each_wire() {
    let wires = [
        (&OPENAI_CHAT, ("openai", "/v1")),
        (&OPENAI_RESPONSES, ("openai", "/v1")),
        (&ANTHROPIC, ("anthropic", "")),
        (&GEMINI, ("gemini", "/v1beta")),
    ];
    let upstreams: Option<Vec<Upstream>> = wires
        .into_iter()
        .map(|(wire, provider)| Upstream::start(wire, provider))
        .collect();
    let Some(upstreams) = upstreams else {
        return;
    };
    let env = TestEnv::new();
    let Some(proxy) = Proxy::before(&env, &upstreams) else {
        return;
    };
    for upstream in &upstreams {
        upstream.play(&proxy);
    }
}
