//! A collector of OTLP over HTTP, and the decoding of what it took.

use agent_host_test_support::{Ran, TestEnv, chat::ChatServer, http::Received, installed::here};
use pretty_assertions::assert_eq;
use serde_json::Value;
use std::{
    fs,
    io::{BufReader, Write as _},
    net::{TcpListener, TcpStream},
    path::PathBuf,
    process::Command,
    sync::{Arc, Mutex},
    thread,
};

/// A collector that takes every request.
pub(super) struct Collector {
    pub(super) endpoint: String,
    requests: Arc<Mutex<Vec<Received>>>,
}

impl Collector {
    pub(super) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        let requests = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&requests);
        thread::spawn(move || {
            for stream in listener.incoming() {
                // Traces and metrics have a connection each, which stays open.
                let (stream, log) = (stream.unwrap(), Arc::clone(&log));
                thread::spawn(move || take(stream, &log));
            }
        });
        Self { endpoint, requests }
    }

    /// The requests to an address so far.
    pub(super) fn requests_to(&self, target: &str) -> Vec<Received> {
        let requests = self.requests.lock().unwrap();
        let to = requests.iter().filter(|request| request.target() == target);
        to.cloned().collect()
    }

    /// The spans so far, in the order in which they ended.
    pub(super) fn spans(&self, python: &PathBuf, env: &TestEnv) -> Vec<Value> {
        decode(python, env, &[], &self.requests_to("/v1/traces"))
    }

    /// The metrics of the last request.
    pub(super) fn metrics(&self, python: &PathBuf, env: &TestEnv) -> Vec<Value> {
        let requests = self.requests_to("/v1/metrics");
        let last = requests.len() - 1;
        decode(python, env, &["metrics"], &requests[last..])
    }

    pub(super) fn run(&self, env: &TestEnv, server: &ChatServer, args: &[&str]) -> Ran {
        self.run_below(env, server, "", args)
    }

    /// Runs with a `TRACEPARENT`.
    pub(super) fn run_below(
        &self,
        env: &TestEnv,
        server: &ChatServer,
        parent: &str,
        args: &[&str],
    ) -> Ran {
        env.command(&[&["run", "--model", "openai-compat:m"], args].concat())
            .env("OPENAI_COMPAT_BASE_URL", &server.base_url)
            .env("OTEL_EXPORTER_OTLP_ENDPOINT", &self.endpoint)
            .env("OTEL_EXPORTER_OTLP_HEADERS", "x-team=blue")
            .env("OTEL_SERVICE_NAME", "tests")
            .env("TRACEPARENT", parent)
            .output()
            .unwrap()
            .into()
    }
}

/// Takes the requests of a connection.
fn take(mut stream: TcpStream, log: &Mutex<Vec<Received>>) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    while let Some(request) = Received::read(&mut reader) {
        log.lock().unwrap().push(request);
        let taken = "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";
        // The client may be gone.
        let _ = stream.write_all(taken.as_bytes());
    }
}

/// Decodes the bodies of requests.
fn decode(python: &PathBuf, env: &TestEnv, args: &[&str], requests: &[Received]) -> Vec<Value> {
    let files = requests.iter().enumerate().map(|(number, request)| {
        assert_eq!(
            request.field("content-type"),
            Some("application/x-protobuf")
        );
        assert_eq!(request.field("x-team"), Some("blue"));
        let file = env.outside().join(format!("request-{number}"));
        fs::write(&file, &request.body).unwrap();
        file
    });
    let files: Vec<PathBuf> = files.collect();
    let output = Command::new(python)
        .arg(here("interop/telemetry/decode.py"))
        .args(args)
        .args(files)
        .output();
    let ran = Ran::from(output.unwrap());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    ran.json_lines()
}
