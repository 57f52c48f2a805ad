//! Measures the decoding of a response: processor time of the thread that asks, from the request to
//! the reply, HTTP included. A server in another thread sends streams of short deltas, each several
//! times as long as the one before; the time per megabyte is constant. host/BENCHMARKS.md has the
//! figures.

use agent_host_engine::model::Model as _;
use agent_host_models::{Endpoint, HttpModel, Provider, RetryPolicy, Timeouts};
use agent_host_types::{
    message::{Message, Role},
    model::ModelRequest,
};
use criterion::{
    BenchmarkId, Criterion, SamplingMode, Throughput, criterion_group, criterion_main,
};
use std::{
    fs,
    io::{self, BufRead as _, BufReader, Read as _, Write as _},
    net::{TcpListener, TcpStream},
    thread,
    time::Duration,
};
use tokio::runtime::Runtime;

/// One delta of text: 20 bytes, the average of models.
const DELTA: &str = "twenty bytes of text";

const MEGABYTE: usize = 1_000_000;

/// The measured wires, with the data of a text event and of the events that end a stream.
const WIRES: [(Provider, &str, &[&str]); 2] = [
    (
        Provider::Anthropic,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"twenty bytes of text"}}"#,
        &[
            r#"{"type":"content_block_stop","index":0}"#,
            r#"{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":7}}"#,
            r#"{"type":"message_stop"}"#,
        ],
    ),
    (
        Provider::OpenAiCompat,
        r#"{"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":"twenty bytes of text"},"finish_reason":null}]}"#,
        &[
            r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#,
            "[DONE]",
        ],
    ),
];

/// Returns the processor time of this thread so far (the first figure of schedstat, in
/// nanoseconds).
fn processor_time() -> Duration {
    let stat = fs::read_to_string("/proc/thread-self/schedstat").expect("Linux tells it");
    let spent = stat.split(' ').next().expect("it has three figures");
    Duration::from_nanos(spent.parse().expect("it is a number"))
}

/// Returns a stream of about this many bytes, and its number of deltas.
fn stream(provider: Provider, delta: &str, end: &[&str], bytes: usize) -> (String, usize) {
    let mut body = String::new();
    if provider == Provider::Anthropic {
        event(
            &mut body,
            r#"{"type":"message_start","message":{"id":"msg_1","usage":{"input_tokens":11,"output_tokens":1}}}"#,
        );
        event(
            &mut body,
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#,
        );
    }
    let mut deltas = 0;
    while body.len() < bytes {
        event(&mut body, delta);
        deltas += 1;
    }
    end.iter().for_each(|data| event(&mut body, data));
    (body, deltas)
}

/// Appends an event. Those of Anthropic have a name too, which is in the data as well.
fn event(body: &mut String, data: &str) {
    if data.starts_with(r#"{"type":"content_block_delta"#) {
        body.push_str("event: content_block_delta\n");
    }
    body.push_str("data: ");
    body.push_str(data);
    body.push_str("\n\n");
}

/// Answers every request with this stream, for as long as the process lives. Returns the address.
fn serve(body: String) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("it has one");
    thread::spawn(move || {
        for client in listener.incoming() {
            // The client may hang up when it has read what it wants.
            let _ = client.and_then(|client| answer(client, &body));
        }
    });
    format!("http://{address}")
}

/// Reads a request and answers.
fn answer(client: TcpStream, body: &str) -> io::Result<()> {
    let mut reader = BufReader::new(client);
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        if let Some(value) = line.strip_prefix("content-length: ") {
            length = value.trim().parse().unwrap_or(0);
        }
        if line.trim().is_empty() {
            break;
        }
    }
    io::copy(&mut (&mut reader).take(length), &mut io::sink())?;
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    let mut client = reader.into_inner();
    client.write_all(head.as_bytes())?;
    client.write_all(body.as_bytes())
}

/// Returns a model behind this server, without retries.
fn model(provider: Provider, base_url: String) -> HttpModel {
    let endpoint = Endpoint {
        base_url,
        key: None,
        key_source: "THE_KEY".to_owned(),
        extras: agent_host_models::RequestExtras::default(),
        timeouts: Timeouts::default(),
    };
    HttpModel::new(provider, "m", endpoint, provider.capabilities())
        .expect("the endpoint can be used")
        .with_retry(RetryPolicy::NONE)
}

fn decode(criterion: &mut Criterion) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let request = ModelRequest {
        system: None,
        messages: vec![Message::text(Role::User, "go")],
        tools: vec![],
        answer_schema: None,
    };
    for (provider, delta, end) in WIRES {
        let mut group = criterion.benchmark_group(format!("decode {}", provider.name()));
        group.sampling_mode(SamplingMode::Flat).sample_size(20);
        for megabytes in [1, 2, 4, 8] {
            let (body, deltas) = stream(provider, delta, end, megabytes * MEGABYTE);
            group.throughput(Throughput::Bytes(body.len() as u64));
            let model = model(provider, serve(body));
            let id = BenchmarkId::from_parameter(format!("{megabytes} MB, {deltas} deltas"));
            group.bench_function(id, |bencher| {
                bencher.iter_custom(|times| {
                    (0..times)
                        .map(|_| spent(&runtime, &model, &request, deltas))
                        .sum()
                });
            });
        }
        group.finish();
    }
}

/// Returns the processor time of one reply.
fn spent(runtime: &Runtime, model: &HttpModel, request: &ModelRequest, deltas: usize) -> Duration {
    let before = processor_time();
    let reply = runtime.block_on(model.respond(request, &|_| {}));
    let spent = processor_time() - before;
    assert_eq!(reply.expect("a reply").text.len(), deltas * DELTA.len());
    spent
}

criterion_group!(benches, decode);
criterion_main!(benches);
