//! Measures the time from the first byte of a model's answer on the socket to its first text on
//! stdout, in a whole process.

use agent_host_benches::program;
use criterion::{Criterion, SamplingMode, criterion_group, criterion_main};
use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{TcpListener, TcpStream},
    path::Path,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

/// The head of the answer and its first text, in one write.
const BEGINNING: &str = concat!(
    "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n",
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"Hello\"}}]}\n\n",
);

/// The rest of the answer.
const END: &str = concat!(
    "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n",
    "data: [DONE]\n\n",
);

/// Runs the program once and returns the time to its first text.
fn first_text(home: &Path, listener: &TcpListener) -> Duration {
    let address = listener.local_addr().expect("it listens");
    let mut process = Command::new(program())
        .args([
            "run",
            "--model",
            "openai-compat:m",
            "--output-format",
            "stream-json",
            "Hi.",
        ])
        .env_clear()
        .env("HOME", home)
        .env("OPENAI_COMPAT_BASE_URL", format!("http://{address}/v1"))
        .current_dir(home.join("work"))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the program starts");
    let (mut client, _) = listener.accept().expect("it asks");
    read_request(&client);
    let stdout = process.stdout.take().expect("it is piped");
    let mut lines = BufReader::new(stdout).lines();
    let begun = Instant::now();
    client.write_all(BEGINNING.as_bytes()).expect("it listens");
    let shown = lines.any(|line| line.is_ok_and(|line| line.contains("Hello")));
    let took = begun.elapsed();
    assert!(shown, "the text was not shown");
    client.write_all(END.as_bytes()).expect("it listens");
    drop(client);
    lines.for_each(drop);
    assert!(process.wait().is_ok_and(|status| status.success()));
    took
}

/// Reads a request to its end.
fn read_request(client: &TcpStream) {
    let mut reader = BufReader::new(client);
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).expect("a line of the head");
        if let Some(value) = line.strip_prefix("content-length: ") {
            length = value.trim().parse().expect("a number");
        }
        if line.trim().is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).expect("the body");
}

fn whole_process(criterion: &mut Criterion) {
    let home = tempfile::tempdir().expect("a directory for the benchmark");
    std::fs::create_dir(home.path().join("work")).expect("a working directory");
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    // The first run compiles the tools.
    first_text(home.path(), &listener);
    let mut group = criterion.benchmark_group("run");
    group.sampling_mode(SamplingMode::Flat).sample_size(50);
    group.bench_function("first byte to first text", |bencher| {
        bencher.iter_custom(|times| (0..times).map(|_| first_text(home.path(), &listener)).sum());
    });
    group.finish();
}

criterion_group!(benches, whole_process);
criterion_main!(benches);
