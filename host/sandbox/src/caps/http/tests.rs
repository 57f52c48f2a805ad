//! Requests through the hooks to servers on this machine.

mod server;

use super::{
    GatedHttp, HttpClient,
    client::{NameLookup, pinned},
    fault::Fault,
    target::Target,
};
use crate::gate::{Gate, Tally};
use agent_host_core::{
    BoxFuture,
    limits::Limits,
    policy::{Grants, HttpGrant},
    tool::Effect,
};
use bytes::Bytes;
use http::{Method, Request};
use http_body_util::{BodyExt, Full, StreamBody};
use pretty_assertions::assert_eq;
use reqwest::dns::Name;
use server::Server;
use std::{
    io,
    net::IpAddr,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};
use wasmtime_wasi_http::{RequestOptions, WasiBody, WasiHttpHooks};

/// Names that lead where a test wants them to.
#[derive(Default)]
struct Names {
    addresses: Vec<IpAddr>,
    lookups: AtomicUsize,
}

impl NameLookup for Names {
    fn lookup(&self, _name: String) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
        self.lookups.fetch_add(1, Ordering::Relaxed);
        let found = self.addresses.clone();
        Box::pin(async move { Ok(found) })
    }
}

fn names(addresses: &[&str]) -> Arc<Names> {
    Arc::new(Names {
        addresses: addresses
            .iter()
            .map(|address| address.parse().unwrap())
            .collect(),
        lookups: AtomicUsize::new(0),
    })
}

fn grant(scheme: Option<&str>, host: &str, port: Option<u16>) -> HttpGrant {
    HttpGrant {
        scheme: scheme.map(str::to_owned),
        host: host.to_owned(),
        port,
    }
}

/// One call's HTTP, with everything that a test sets.
struct Call {
    grants: Vec<HttpGrant>,
    effect: Effect,
    limits: Limits,
    names: Arc<Names>,
    time: Duration,
}

impl Call {
    fn to(grants: Vec<HttpGrant>) -> Self {
        Self {
            grants,
            effect: Effect::Effectful,
            limits: Limits::default(),
            names: Arc::default(),
            time: Duration::from_secs(20),
        }
    }

    fn start(self) -> Running {
        let grants = Grants {
            dirs: Vec::new(),
            http: self.grants,
        };
        let gate = Gate::new(Arc::new(grants), self.effect, &self.limits);
        let client = Arc::new(HttpClient::with_names(self.names).unwrap());
        let deadline = Instant::now() + self.time;
        Running {
            hooks: GatedHttp::new(Arc::clone(&gate), client, &self.limits, deadline),
            gate,
        }
    }
}

struct Running {
    hooks: GatedHttp,
    gate: Arc<Gate>,
}

fn request(method: &str, url: &str) -> Request<WasiBody> {
    with_body(method, url, Bytes::new())
}

fn with_body(method: &str, url: &str, body: Bytes) -> Request<WasiBody> {
    let body = Full::new(body)
        .map_err(|never| match never {})
        .boxed_unsync();
    Request::builder()
        .method(method)
        .uri(url)
        .body(body)
        .unwrap()
}

impl Running {
    /// Sends, and tells status, fields of interest and body; or the error, by name.
    async fn send(&mut self, request: Request<WasiBody>) -> String {
        self.send_with(request, None).await
    }

    async fn send_with(
        &mut self,
        request: Request<WasiBody>,
        options: Option<RequestOptions>,
    ) -> String {
        let nothing = Box::new(async { Ok(()) });
        let future = self.hooks.send_request(request, options, nothing);
        let (response, _) = match Pin::from(future).await {
            Ok(answer) => answer,
            Err(error) => return format!("{error:?}"),
        };
        let status = response.status().as_u16();
        let location = response.headers().get("location").cloned();
        let location = location.map_or_else(String::new, |value| {
            format!(" to {}", value.to_str().unwrap())
        });
        match response.into_body().collect().await {
            Ok(body) => format!(
                "{status}{location} {}",
                String::from_utf8_lossy(&body.to_bytes())
            ),
            Err(error) => format!("{status} then {error:?}"),
        }
    }

    async fn get(&mut self, url: &str) -> String {
        self.send(request("GET", url)).await
    }

    fn tally(&self) -> Tally {
        self.gate.tally()
    }
}

const HELLO: &str = "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello";

#[tokio::test]
async fn plain_exchange() {
    let server = Server::start(HELLO).await;
    let mut call = Call::to(vec![server.grant()]).start();
    assert_eq!(call.get(&server.url("/a/../b?q=1")).await, "200 hello");
    let post = with_body("POST", &server.url("/p"), Bytes::from_static(b"12345678"));
    assert_eq!(call.send(post).await, "200 hello");
    let seen = server.seen();
    assert_eq!(seen.len(), 2);
    let host = format!("host: 127.0.0.1:{}\r\n", server.port);
    assert!(
        seen[0].starts_with("GET /b?q=1 HTTP/1.1\r\n") && seen[0].contains(&host),
        "{seen:?}"
    );
    assert!(
        seen[1].starts_with("POST /p HTTP/1.1\r\n") && seen[1].contains("12345678"),
        "{seen:?}"
    );
    let tally = call.tally();
    assert_eq!(
        (
            tally.bytes_in,
            tally.bytes_out,
            tally.hosts,
            tally.first_denial
        ),
        (10, 8, vec!["127.0.0.1".to_owned()], None)
    );
}

/// The exchange above, in a process whose environment names a proxy that does not exist.
#[test]
fn proxies_of_the_environment_are_ignored() {
    let mut child = std::process::Command::new(std::env::current_exe().unwrap());
    child.args([
        "--exact",
        "caps::http::tests::plain_exchange",
        "--test-threads=1",
    ]);
    for name in [
        "http_proxy",
        "HTTP_PROXY",
        "https_proxy",
        "HTTPS_PROXY",
        "all_proxy",
        "ALL_PROXY",
    ] {
        child.env(name, "http://127.0.0.1:1");
    }
    child.env_remove("no_proxy").env_remove("NO_PROXY");
    let output = child.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && text.contains("1 passed"),
        "{text}"
    );
}

#[tokio::test]
async fn what_is_not_granted_is_denied() {
    let server = Server::start(HELLO).await;
    let url = server.url("/");
    let port = server.port;
    let table = [
        (Vec::new(), url.clone(), "HttpRequestDenied"),
        (
            vec![grant(None, "example.com", None)],
            url.clone(),
            "HttpRequestDenied",
        ),
        (
            vec![grant(Some("https"), "127.0.0.1", Some(port))],
            url.clone(),
            "HttpRequestDenied",
        ),
        (
            vec![grant(None, "127.0.0.1", None)],
            url.clone(),
            "HttpRequestDenied",
        ),
        (
            vec![grant(None, "*", Some(port))],
            url.clone(),
            "HttpRequestDenied",
        ),
        (
            vec![server.grant()],
            format!("http://user@127.0.0.1:{port}/"),
            "HttpRequestDenied",
        ),
        (
            vec![server.grant()],
            format!("http://user:secret@127.0.0.1:{port}/"),
            "HttpRequestDenied",
        ),
        (
            vec![server.grant()],
            format!("http://127.0.0.1:{port}@127.0.0.2/"),
            "HttpRequestDenied",
        ),
        (vec![server.grant()], url, "200 hello"),
    ];
    for (grants, url, expected) in table {
        let mut call = Call::to(grants).start();
        assert_eq!(call.get(&url).await, expected, "{url}");
        let denial = call.tally().first_denial;
        assert_eq!(denial.is_some(), expected == "HttpRequestDenied");
        assert!(!denial.unwrap_or_default().contains("secret"));
    }
    assert_eq!(server.seen().len(), 1);
}

#[tokio::test]
async fn every_spelling_of_this_machine_is_denied() {
    let server = Server::start(HELLO).await;
    let port = server.port;
    let mut call = Call::to(vec![
        grant(None, "*", Some(port)),
        grant(None, "127.0.0.9", Some(port)),
    ])
    .start();
    for host in [
        "127.0.0.1",
        "127.1",
        "127.0.1",
        "2130706433",
        "0x7f000001",
        "0x7f.1",
        "0177.0.0.1",
        "0177.1",
        "127.0.0.1.",
        "[::1]",
        "[0:0:0:0:0:0:0:1]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[::127.0.0.1]",
        "[64:ff9b::127.0.0.1]",
        "[2002:7f00:1::]",
        "[::ffff:0:127.0.0.1]",
        "[::]",
        "0.0.0.0",
        "0",
        "10.0.0.1",
        "172.16.0.1",
        "192.168.1.1",
        "169.254.169.254",
        "[fe80::1]",
        "[fd00:ec2::254]",
        "100.100.100.200",
        "224.0.0.1",
        "[ff02::1]",
        "255.255.255.255",
    ] {
        let found = call.get(&format!("http://{host}:{port}/")).await;
        assert_eq!(found, "HttpRequestDenied", "{host}");
    }
    assert_eq!(server.seen(), Vec::<String>::new());
}

#[tokio::test]
async fn names_that_lead_inside_are_prohibited() {
    let server = Server::start(HELLO).await;
    let port = server.port;
    for address in [
        "127.0.0.1",
        "::1",
        "::ffff:127.0.0.1",
        "10.1.1.1",
        "169.254.169.254",
        "64:ff9b::7f00:1",
        "fd00::1",
    ] {
        let names = names(&[address]);
        let mut call = Call::to(vec![
            grant(None, "*", Some(port)),
            grant(None, "127.0.0.1", Some(port)),
        ]);
        call.names = Arc::clone(&names);
        let mut call = call.start();
        let found = call.get(&format!("http://localhost:{port}/")).await;
        assert_eq!(
            (&*found, names.lookups.load(Ordering::Relaxed)),
            ("DestinationIpProhibited", 1),
            "{address}"
        );
        assert_eq!(call.tally().hosts, Vec::<String>::new());
    }
    let mut call = Call::to(vec![grant(None, "*", None)]).start();
    let unknown = r#"DnsError { rcode: Some("NXDOMAIN"), info_code: None }"#;
    assert_eq!(call.get("http://nowhere.example/").await, unknown);
    assert_eq!(server.seen(), Vec::<String>::new());
}

#[tokio::test]
async fn names_are_pinned_to_their_good_addresses() {
    let names = names(&["10.0.0.1", "93.184.216.34", "::1", "2606:4700::1111"]);
    let grants = Grants {
        dirs: Vec::new(),
        http: vec![grant(None, "*", None)],
    };
    let gate = Gate::new(Arc::new(grants), Effect::Effectful, &Limits::default());
    let target = Target::new(&request("GET", "http://mixed.example/"), gate)
        .ok()
        .unwrap();
    let resolver = pinned(Arc::new(target), Arc::clone(&names) as Arc<dyn NameLookup>);
    let found = resolver
        .resolve("mixed.example".parse::<Name>().unwrap())
        .await;
    let found: Vec<String> = found
        .ok()
        .unwrap()
        .map(|address| address.to_string())
        .collect();
    assert_eq!(found, ["93.184.216.34:0", "[2606:4700::1111]:0"]);
    assert_eq!(names.lookups.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn a_read_only_tool_only_looks() {
    let server = Server::start(HELLO).await;
    for (method, expected) in [
        ("GET", "200 hello"),
        ("POST", "HttpRequestDenied"),
        ("PUT", "HttpRequestDenied"),
        ("DELETE", "HttpRequestDenied"),
        ("PATCH", "HttpRequestDenied"),
        ("OPTIONS", "HttpRequestDenied"),
        ("get", "HttpRequestDenied"),
    ] {
        let mut call = Call::to(vec![server.grant()]);
        call.effect = Effect::ReadOnly;
        assert_eq!(
            call.start().send(request(method, &server.url("/"))).await,
            expected,
            "{method}"
        );
    }
    let mut call = Call::to(vec![server.grant()]).start();
    let connect = Request::builder()
        .method(Method::CONNECT)
        .uri(server.url("/"))
        .body(request("GET", "/").into_body())
        .unwrap();
    assert_eq!(call.send(connect).await, "HttpRequestMethodInvalid");
    assert_eq!(server.seen().len(), 1);
}

#[tokio::test]
async fn redirects_and_codings_are_handed_over() {
    let target = Server::start(HELLO).await;
    let redirect = format!(
        "HTTP/1.1 302 Found\r\nlocation: {}\r\ncontent-length: 0\r\n\r\n",
        target.url("/x")
    );
    let server = Server::start(&redirect).await;
    let mut call = Call::to(vec![server.grant(), target.grant()]).start();
    assert_eq!(
        call.get(&server.url("/")).await,
        format!("302 to {} ", target.url("/x"))
    );
    assert_eq!(target.seen(), Vec::<String>::new());

    let packed =
        Server::start("HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 3\r\n\r\nabc")
            .await;
    let mut call = Call::to(vec![packed.grant()]).start();
    assert_eq!(call.get(&packed.url("/")).await, "200 abc");
    assert!(!packed.seen()[0].to_lowercase().contains("accept-encoding"));
}

#[tokio::test]
async fn responses_are_capped() {
    let limits = Limits {
        http_response_bytes: 1_000,
        http_header_bytes: 500,
        ..Limits::default()
    };
    let body = |length: usize| {
        format!(
            "HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n{}",
            "x".repeat(length)
        )
    };
    let endless = format!("HTTP/1.1 200 OK\r\n\r\n{}", "x".repeat(5_000));
    let fields = format!(
        "HTTP/1.1 200 OK\r\nx: {}\r\ncontent-length: 0\r\n\r\n",
        "y".repeat(600)
    );
    let many = format!(
        "HTTP/1.1 200 OK\r\n{}content-length: 0\r\n\r\n",
        "a: b\r\n".repeat(10_000)
    );
    let table = [
        (body(1_000), format!("200 {}", "x".repeat(1_000)), None),
        (
            body(1_001),
            "HttpResponseBodySize(Some(1001))".to_owned(),
            Some("limits.http-response-bytes"),
        ),
        (
            endless,
            "200 then HttpResponseBodySize(Some(1000))".to_owned(),
            Some("limits.http-response-bytes"),
        ),
        (
            fields,
            "HttpResponseHeaderSectionSize(Some(624))".to_owned(),
            Some("limits.http-header-bytes"),
        ),
        (many, "HttpProtocolError".to_owned(), None),
    ];
    for (response, expected, rule) in table {
        let server = Server::start(&response).await;
        let mut call = Call::to(vec![server.grant()]);
        call.limits = limits.clone();
        let mut call = call.start();
        assert_eq!(call.get(&server.url("/")).await, expected);
        let rules: Vec<String> = call
            .tally()
            .audit
            .into_iter()
            .map(|entry| entry.rule)
            .collect();
        let expected: Vec<&str> = ["grants.http[0]"].into_iter().chain(rule).collect();
        assert_eq!(rules, expected);
    }
}

#[tokio::test]
async fn requests_are_capped() {
    let limits = Limits {
        http_request_bytes: 1_000,
        http_header_bytes: 500,
        http_requests: 4,
        ..Limits::default()
    };
    let server = Server::start(HELLO).await;
    let mut call = Call::to(vec![server.grant()]);
    call.limits = limits;
    let mut call = call.start();
    let url = server.url("/");
    let sized = |length: usize| with_body("POST", &url, vec![b'x'; length].into());
    assert_eq!(call.send(sized(1_000)).await, "200 hello");
    assert_eq!(
        call.send(sized(1_001)).await,
        "HttpRequestBodySize(Some(1001))"
    );

    // A body that does not say how large it is.
    let pieces = (0..20).map(|_| Ok(http_body::Frame::data(Bytes::from(vec![b'x'; 100]))));
    let streamed = StreamBody::new(futures_util::stream::iter(pieces)).boxed_unsync();
    let streamed = Request::builder()
        .method("POST")
        .uri(&url)
        .body(streamed)
        .unwrap();
    assert_eq!(call.send(streamed).await, "HttpRequestBodySize(Some(1000))");

    let mut large = request("GET", &url);
    large
        .headers_mut()
        .insert("x", "y".repeat(600).parse().unwrap());
    assert_eq!(
        call.send(large).await,
        "HttpRequestHeaderSectionSize(Some(605))"
    );
    assert_eq!(call.get(&url).await, "HttpRequestDenied");
    assert_eq!(
        call.tally().audit.last().map(|entry| entry.rule.clone()),
        Some("limits.http-requests".to_owned())
    );
    assert_eq!(call.tally().bytes_out, 2_000);
}

#[tokio::test]
async fn servers_that_do_not_answer_are_given_up() {
    let short = Duration::from_millis(150);
    let silent = Server::silent("").await;
    let dripping = Server::silent("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhello").await;
    let table = [
        (&silent, None, "HttpResponseTimeout"),
        (&dripping, None, "200 then HttpResponseTimeout"),
    ];
    for (server, options, expected) in table {
        let mut call = Call::to(vec![server.grant()]);
        call.time = short;
        let began = Instant::now();
        let found = call
            .start()
            .send_with(request("GET", &server.url("/")), options)
            .await;
        assert_eq!(found, expected);
        assert!(began.elapsed() < Duration::from_secs(5));
    }
    let first = RequestOptions {
        first_byte_timeout: Some(short),
        ..RequestOptions::default()
    };
    let between = RequestOptions {
        between_bytes_timeout: Some(short),
        ..RequestOptions::default()
    };
    for (server, options, expected) in [
        (&silent, first, "HttpResponseTimeout"),
        (&dripping, between, "200 then ConnectionReadTimeout"),
    ] {
        let mut call = Call::to(vec![server.grant()]).start();
        let found = call
            .send_with(request("GET", &server.url("/")), Some(options))
            .await;
        assert_eq!(found, expected);
    }
}

#[tokio::test]
async fn broken_servers_have_codes() {
    let table = [
        ("", "HttpProtocolError"),
        ("nonsense\r\n\r\n", "HttpProtocolError"),
        (
            "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhello",
            "200 then ConnectionTerminated",
        ),
        (
            "HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nhello",
            "HttpProtocolError",
        ),
    ];
    for (response, expected) in table {
        let server = Server::start(response).await;
        let mut call = Call::to(vec![server.grant()]).start();
        assert_eq!(call.get(&server.url("/")).await, expected, "{response}");
    }
    let server = Server::start(HELLO).await;
    let port = server.port;
    let mut call = Call::to(vec![grant(Some("https"), "127.0.0.1", Some(port))]).start();
    assert_eq!(
        call.get(&format!("https://127.0.0.1:{port}/")).await,
        "TlsProtocolError"
    );
    let closed = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = closed.local_addr().unwrap().port();
    drop(closed);
    let mut call = Call::to(vec![grant(None, "127.0.0.1", Some(port))]).start();
    assert_eq!(
        call.get(&format!("http://127.0.0.1:{port}/")).await,
        "ConnectionRefused"
    );
}

#[test]
fn faults_have_codes() {
    let table = [
        (Fault::AddressProhibited, "DestinationIpProhibited"),
        (Fault::RequestBodySize(7), "HttpRequestBodySize(Some(7))"),
        (Fault::RequestBody, "HttpProtocolError"),
        (Fault::Protocol, "HttpProtocolError"),
    ];
    for (fault, expected) in table {
        assert_eq!(format!("{:?}", fault.into_error()), expected);
    }
    assert!(HttpClient::new().is_ok());
}
