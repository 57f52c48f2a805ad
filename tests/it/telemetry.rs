//! Tests that a collector which does not take traces changes nothing of a run but one warning.
//! `tests/interop/telemetry.rs` has the traces.

use agent_host_test_support::{
    Ran, TestEnv,
    chat::{Answer, ChatServer},
};
use pretty_assertions::assert_eq;
use std::{
    io::{Read as _, Write as _},
    net::TcpListener,
    thread,
};

/// Runs with traces for this address.
fn run(env: &TestEnv, variables: &[(&str, &str)]) -> Ran {
    let server = ChatServer::start(vec![Answer::text("Four.")]);
    env.command(&["run", "--quiet", "--model", "openai-compat:m", "2 and 2?"])
        .env("OPENAI_COMPAT_BASE_URL", &server.base_url)
        .envs(variables.iter().copied())
        .output()
        .unwrap()
        .into()
}

/// Asserts the answer and the only line of stderr; an empty one for none.
fn assert_ran(ran: &Ran, warning: &str) {
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (Some(0), "Four.\n"),
        "{ran:?}"
    );
    assert_eq!(ran.stderr.trim_end(), warning, "{ran:?}");
}

#[test]
fn telemetry_that_no_one_takes_leaves_one_warning() {
    let env = TestEnv::new();
    // Refuses connections: nothing listens there any more.
    let closed = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let endpoint = format!("http://{closed}");
    let ran = run(&env, &[("OTEL_EXPORTER_OTLP_ENDPOINT", &endpoint)]);
    let start = format!("warning: traces were not sent: 2 spans for {endpoint}: ");
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (Some(0), "Four.\n"),
        "{ran:?}"
    );
    assert!(ran.stderr.starts_with(&start), "{ran:?}");
    assert_eq!(ran.stderr.lines().count(), 1, "{ran:?}");

    // Takes connections, and never answers.
    let hanging = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}", hanging.local_addr().unwrap());
    let ran = run(&env, &[("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", &endpoint)]);
    assert_ran(
        &ran,
        &format!("warning: traces were not sent: {endpoint} did not accept them within 2 s"),
    );
}

/// A variable that another program understands is no reason not to run.
#[test]
fn telemetry_variables_never_fail_a_run() {
    let env = TestEnv::new();
    let endpoint = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1");
    let (traces, metrics) = (
        ("OTEL_TRACES_EXPORTER", "none"),
        ("OTEL_METRICS_EXPORTER", "none"),
    );
    assert_ran(&run(&env, &[endpoint, ("OTEL_SDK_DISABLED", "true")]), "");
    assert_ran(&run(&env, &[endpoint, traces, metrics]), "");
    for (off, lost) in [(traces, "metrics"), (metrics, "traces")] {
        let ran = run(&env, &[endpoint, off]);
        let start = format!("warning: {lost} were not sent: ");
        assert!(ran.stderr.starts_with(&start), "{ran:?}");
        assert_eq!(ran.stderr.lines().count(), 1, "{ran:?}");
    }
    let ran = run(&env, &[("OTEL_EXPORTER_OTLP_ENDPOINT", "localhost:4317")]);
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (Some(0), "Four.\n"),
        "{ran:?}"
    );
    assert!(
        ran.stderr
            .contains("OTEL_EXPORTER_OTLP_ENDPOINT is not an address"),
        "{ran:?}"
    );
    let compressed = ("OTEL_EXPORTER_OTLP_COMPRESSION", "zstd");
    let ran = run(&env, &[endpoint, compressed]);
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (Some(0), "Four.\n"),
        "{ran:?}"
    );
    assert!(
        ran.stderr
            .starts_with("warning: traces were not sent: 2 spans for "),
        "{ran:?}"
    );
}

/// The answer of a server is bounded, and no redirect is followed to another one.
#[test]
fn telemetry_goes_to_the_chosen_server_alone() {
    let env = TestEnv::new();
    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    let target = other.local_addr().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let _ = stream.read(&mut [0; 65536]).unwrap();
            let head = format!(
                "HTTP/1.1 307 Temporary Redirect\r\nlocation: http://{target}/\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
            );
            // The client may be gone.
            let _ = stream.write_all(head.as_bytes());
        }
    });
    let ran = run(&env, &[("OTEL_EXPORTER_OTLP_ENDPOINT", &endpoint)]);
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (Some(0), "Four.\n"),
        "{ran:?}"
    );
    assert!(
        ran.stderr.starts_with("warning: traces were not sent: "),
        "{ran:?}"
    );
    other.set_nonblocking(true).unwrap();
    let asked = other.accept().map(|_| ()).map_err(|error| error.kind());
    assert_eq!(asked, Err(std::io::ErrorKind::WouldBlock));
}
