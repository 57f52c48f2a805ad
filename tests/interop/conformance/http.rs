//! Tests that HTTP is the same in every language: over the real client and a server on loopback,
//! with the host's grants, secrets and limits.

use super::server::{Meter, Server};
use agent_host_test_support::TestEnv;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::{net::TcpListener, path::Path};

/// The memory of a call, in bytes. A body of this size fits only in pieces.
pub(super) const MEMORY_BYTES: usize = 64 << 20;

/// The value of the secret.
const SECRET: &str = "s3cret-value-0123456789";

/// The texts in which a language tells a failure, and how it moves large bodies.
pub(super) struct Traits {
    pub(super) denied: &'static str,
    pub(super) unreachable: &'static str,
    pub(super) interrupted: &'static str,
    pub(super) timeout: &'static str,
    /// The size of the streamed bodies, in bytes.
    pub(super) body_bytes: usize,
    /// The memory of a call that sends such a body, in bytes.
    pub(super) sending_bytes: usize,
}

/// The SDKs with kinds of failures.
pub(super) const KINDS: Traits = Traits {
    denied: "denied",
    unreachable: "unreachable",
    interrupted: "interrupted",
    timeout: "timeout",
    body_bytes: MEMORY_BYTES,
    sending_bytes: MEMORY_BYTES,
};

/// Expects the tools `http` and `stream_http` of a component to do as those in other languages.
pub(super) fn speaks_http(env: &TestEnv, component: &Path, traits: &Traits) {
    let web = Web::new(env, component, traits);
    web.messages_arrive();
    web.redirects_are_responses();
    web.secrets_stay_with_the_host();
    web.failures_have_a_text(traits);
    web.bodies_are_streamed(traits);
}

struct Web<'a> {
    env: &'a TestEnv,
    server: Server,
    /// A granted port without a server.
    closed: u16,
}

impl<'a> Web<'a> {
    fn new(env: &'a TestEnv, component: &Path, traits: &Traits) -> Self {
        let server = Server::start();
        let closed = TcpListener::bind("127.0.0.1:0").unwrap();
        let closed = closed.local_addr().unwrap().port();
        let tool = |name: &str, limits: &str| {
            let grant = |port| {
                format!(
                    "[[tool.http]]\nhost = \"127.0.0.1\"\nport = {port}\nmethods = [\"GET\", \"POST\"]\n"
                )
            };
            format!(
                "[[tool]]\nname = \"{name}\"\ncomponent = {component:?}\nsecrets = [\"key\"]\nlimits = {{ {limits} }}\n{}{}",
                grant(server.port),
                grant(closed),
            )
        };
        let streams = |memory: usize| {
            format!(
                "memory-bytes = {memory}, http-request-bytes = {MEMORY_BYTES}, http-response-bytes = {MEMORY_BYTES}, http-timeout-ms = 60000, deadline-ms = 60000"
            )
        };
        let config = [
            format!(
                "[[secret]]\nname = \"key\"\nfrom = \"env:KEY\"\naudience = \"{}\"\n",
                server.url("")
            ),
            tool("web", &streams(MEMORY_BYTES)),
            tool("sender", &streams(traits.sending_bytes)),
            tool("hasty", "http-timeout-ms = 500"),
        ];
        env.write("http.toml", config.concat());
        Self {
            env,
            server,
            closed,
        }
    }

    /// Calls a tool, and returns its result. No output has the value of the secret.
    fn call(&self, component: &str, tool: &str, input: &Value) -> Value {
        let input = input.to_string();
        let arguments = [
            "call",
            component,
            tool,
            &input,
            "--json",
            "--config",
            "http.toml",
        ];
        let mut command = self.env.command(&arguments);
        let ran = command.env("KEY", SECRET).output().unwrap();
        let ran: agent_host_test_support::Ran = ran.into();
        for output in [&ran.stdout, &ran.stderr] {
            assert!(!output.contains(SECRET), "{output}");
        }
        assert!(!ran.stdout.is_empty(), "{}", ran.stderr);
        ran.json()
    }

    fn http(&self, input: &Value) -> Value {
        self.call("web", "http", input)
    }

    fn messages_arrive(&self) {
        let text = json!({ "method": "GET", "url": self.server.url("/text") });
        assert_eq!(
            self.http(&text),
            json!({ "type": "json", "value": { "status": 200, "answer": "one, two", "body": "Grüße ☃" } })
        );
        let echo = self.server.url("/echo");
        let cases = [
            (json!("hé\0llo\n"), "POST [a, b b] hé\0llo\n"),
            (json!(""), "POST [a, b b] "),
        ];
        for (body, echoed) in cases {
            let input = json!({ "method": "POST", "url": echo, "name": "X-Many", "values": ["a", "b b"], "body": body });
            assert_eq!(
                self.http(&input),
                json!({ "type": "json", "value": { "status": 201, "answer": null, "body": echoed } })
            );
        }
    }

    fn redirects_are_responses(&self) {
        self.server.heads();
        let moved = json!({ "method": "GET", "url": self.server.url("/moved") });
        assert_eq!(
            self.http(&moved),
            json!({ "type": "json", "value": { "status": 302, "answer": null, "body": "moved" } })
        );
        assert_eq!(self.server.heads().len(), 1);
    }

    fn secrets_stay_with_the_host(&self) {
        self.server.heads();
        let input = json!({
            "method": "GET",
            "url": self.server.url("/secret"),
            "name": "authorization",
            "values": ["Bearer secret://key"],
        });
        // The tool sees neither what was sent nor what the server repeats of it.
        assert_eq!(
            self.http(&input),
            json!({ "type": "json", "value": { "status": 200, "answer": null, "body": "you said Bearer [secret:key]" } })
        );
        let heads = self.server.heads();
        let sent = format!("authorization: Bearer {SECRET}\r\n");
        assert!(heads.iter().any(|head| head.contains(&sent)), "{heads:?}");
    }

    fn failures_have_a_text(&self, traits: &Traits) {
        let get = |url: &str| json!({ "method": "GET", "url": url });
        let elsewhere = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = elsewhere.local_addr().unwrap().port();
        assert_eq!(
            self.http(&get(&format!("http://127.0.0.1:{port}/x"))),
            json!({ "type": "execution-denied", "reason": format!(
                "GET http://127.0.0.1:{port}/x was refused: no HTTP grant covers http://127.0.0.1:{port} (rule default-deny). The tool then said: {}",
                traits.denied
            )})
        );
        let closed = self.closed;
        assert_eq!(
            self.http(&get(&format!("http://127.0.0.1:{closed}/"))),
            json!({ "type": "error-text", "value": traits.unreachable })
        );
        assert_eq!(
            self.http(&get(&self.server.url("/cut"))),
            json!({ "type": "error-text", "value": traits.interrupted })
        );
        let never = self.server.url("/never");
        assert_eq!(
            self.call("hasty", "http", &get(&never)),
            json!({ "type": "error-json", "value": { "code": "resource-limit", "message": format!(
                "GET {never} was refused: one exchange may take at most 500 ms (rule limits.http-timeout-ms). The tool then said: {}",
                traits.timeout
            )}})
        );
    }

    fn bodies_are_streamed(&self, traits: &Traits) {
        let Meter { bytes, sum } = Meter::of(traits.body_bytes);
        let large = self.server.url(&format!("/{bytes}"));
        let stream = |input: &Value| self.call("web", "stream_http", input);
        assert_eq!(
            stream(&json!({ "url": large })),
            json!({ "type": "json", "value": { "bytes": bytes, "sum": sum, "answer": null } })
        );
        if bytes == MEMORY_BYTES {
            let held = stream(&json!({ "url": large, "whole": true }));
            assert_eq!(held["value"]["code"], "out-of-memory", "{held}");
        }
        let measure = json!({ "url": self.server.url("/measure"), "size": bytes });
        assert_eq!(
            self.call("sender", "stream_http", &measure),
            json!({ "type": "json", "value": { "bytes": 0, "sum": 0, "answer": format!("{bytes} {sum}") } })
        );
    }
}
