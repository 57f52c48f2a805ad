//! `agent-host serve` over TLS, and at a socket that was passed to it.

use agent_host_test_support::{
    TestEnv,
    api::{ApiServer, TOKEN, VARIABLE},
    program, repository,
    running::Running,
};
use pretty_assertions::assert_eq;
use std::{
    fs,
    net::TcpStream,
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, Instant},
};

/// The arguments of a server that needs no model.
const SERVE: [&str; 5] = ["serve", "--http", "127.0.0.1:0", "--model", "script:tour"];

/// A file of the test authority, or a program beside them.
fn tls(name: &str) -> PathBuf {
    repository().join("tests/it/tls").join(name)
}

/// Starts a server, and returns the part of its first line behind `scheme` and before the path.
fn started(command: &mut Command, scheme: &str) -> (Running, String) {
    let mut running = Running::start(command.env(VARIABLE, TOKEN));
    let line = running.stderr.line_with(scheme);
    let (_, rest) = line.split_once(scheme).unwrap();
    let (address, _) = rest.split_once("/api/v1").unwrap();
    (running, address.to_owned())
}

/// Reads the state of a server over TLS, and returns what the client says.
fn read(address: &str, authority: &Path) -> (bool, String) {
    let client = Command::new("python3")
        .arg(tls("client.py"))
        .args([address, "/api/v1/health", TOKEN])
        .arg(authority)
        .output()
        .unwrap();
    let said = String::from_utf8(client.stdout).unwrap();
    (client.status.success(), said.trim_end().to_owned())
}

/// Writes a certificate of its own authority, and its key.
fn self_signed(certificate: &Path, key: &Path) {
    let made = Command::new("openssl")
        .args(["req", "-x509", "-newkey", "ec", "-nodes", "-days", "9"])
        .args(["-pkeyopt", "ec_paramgen_curve:prime256v1"])
        .args(["-subj", "/CN=127.0.0.1"])
        .args(["-addext", "subjectAltName=IP:127.0.0.1"])
        .arg("-out")
        .arg(certificate)
        .arg("-keyout")
        .arg(key)
        .output()
        .unwrap();
    assert!(made.status.success(), "{made:?}");
}

/// A certificate that is replaced is served from the next connection on; a broken one is not.
#[test]
fn certificate_is_served_and_replaced() {
    let env = TestEnv::new();
    let (certificate, key) = (env.outside().join("c.pem"), env.outside().join("k.pem"));
    fs::copy(tls("server.pem"), &certificate).unwrap();
    fs::copy(tls("server.key"), &key).unwrap();
    let mut command = env.command(&SERVE);
    command.arg("--tls-cert").arg(&certificate);
    command.arg("--tls-key").arg(&key);
    let (running, address) = started(&mut command, "https://");
    let served = (true, "200".to_owned());
    assert_eq!(read(&address, &tls("ca.pem")), served);

    self_signed(&certificate, &key);
    let own = env.outside().join("own.pem");
    fs::copy(&certificate, &own).unwrap();
    assert_eq!(read(&address, &own), served);
    assert_eq!(read(&address, &tls("ca.pem")), (false, String::new()));
    fs::write(&certificate, "broken").unwrap();
    assert_eq!(read(&address, &own), served);
    drop(running);
}

#[test]
fn unusable_certificate_is_refused_with_the_file() {
    let env = TestEnv::new();
    let (certificate, key) = (env.outside().join("c.pem"), env.outside().join("k.pem"));
    self_signed(&certificate, &key);
    let text = |path: &Path| path.to_str().unwrap().to_owned();
    let (other, absent) = (text(&tls("server.key")), text(&env.outside().join("none")));
    let (certificate, key) = (text(&certificate), text(&key));
    for (given, expected) in [
        (
            [&absent, &key],
            format!("cannot read {absent}: No such file or directory"),
        ),
        (
            [&key, &key],
            format!("{key} has no certificate in PEM format: "),
        ),
        (
            [&certificate, &certificate],
            format!("{certificate} has no private key in PEM format: "),
        ),
        (
            [&certificate, &other],
            format!("the certificate {certificate} does not work with the key {other}: "),
        ),
    ] {
        let [certificate, key] = given;
        let args = ["--tls-cert", certificate, "--tls-key", key];
        let ran = env.run(&[&SERVE[..], &args].concat());
        assert_eq!(ran.code, Some(2), "{given:?}: {ran:?}");
        assert!(ran.stderr.contains(&expected), "{expected}: {}", ran.stderr);
    }
}

/// Streams of events leave connections to requests that end.
#[test]
fn streams_of_events_are_bounded_by_open_files() {
    let env = TestEnv::new();
    let mut command = Command::new("sh");
    command
        .args(["-c", r#"ulimit -n 400 && exec "$0" "$@""#])
        .arg(program())
        .args(SERVE);
    let (running, address) = started(env.prepare(&mut command), "http://");
    let server = ApiServer { running, address };
    let session = server.create("hi");
    // Half of the files are for connections, and three quarters of those for streams.
    let streams: Vec<_> = (0..150).map(|_| server.events(&session, None)).collect();
    let refused = server.get(&format!("/sessions/{session}/events"));
    assert_eq!(refused.problem(), (503, "too-many-readers".to_owned()));
    // One that stays after that holds no connection.
    assert!(refused.head.contains("connection: close"), "{refused:?}");
    assert_eq!(server.get("/health").status, 200);
    drop(streams);
}

/// Connections that say nothing give way, of as many as the hard limit of open files allows.
#[test]
fn idle_connections_keep_no_client_waiting() {
    // Less than the time that an idle connection has.
    const HONEST: Duration = Duration::from_secs(15);
    let env = TestEnv::new();
    let mut command = Command::new("sh");
    command
        .args([
            "-c",
            r#"ulimit -Sn 200 && ulimit -Hn 400 && exec "$0" "$@""#,
        ])
        .arg(program())
        .args(SERVE);
    let (running, address) = started(env.prepare(&mut command), "http://");
    let limits = fs::read_to_string(format!("/proc/{}/limits", running.pid())).unwrap();
    let files = limits
        .lines()
        .find(|line| line.starts_with("Max open files"));
    let files: Vec<&str> = files.unwrap().split_whitespace().skip(3).collect();
    assert_eq!(files, ["400", "400", "files"]);
    let idle: Vec<TcpStream> = (0..300)
        .map(|_| TcpStream::connect(&address).unwrap())
        .collect();
    let server = ApiServer { running, address };
    let began = Instant::now();
    assert_eq!(server.get("/health").status, 200);
    let took = began.elapsed();
    assert!(
        took < HONEST,
        "a request waited {took:?} beside idle connections"
    );
    drop(idle);
}

#[test]
fn passed_socket_is_served() {
    let env = TestEnv::new();
    let mut command = Command::new("python3");
    command.arg(tls("passed.py")).arg(program()).args(SERVE);
    let (mut running, address) = started(env.prepare(&mut command), "http://");
    let port = running.stdout.line_with("");
    assert_eq!(address, format!("127.0.0.1:{}", port.trim_end()));
    let mut stream = TcpStream::connect(&address).unwrap();
    let request = format!(
        "GET /api/v1/health HTTP/1.0\r\nHost: {address}\r\nAuthorization: Bearer {TOKEN}\r\n\r\n"
    );
    std::io::Write::write_all(&mut stream, request.as_bytes()).unwrap();
    let answer = std::io::read_to_string(stream).unwrap();
    assert!(answer.starts_with("HTTP/1.0 200 OK\r\n"), "{answer}");
}
