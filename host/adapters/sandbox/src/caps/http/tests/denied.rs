//! Requests that must not be sent, in every spelling.

use super::{
    super::{client::PinnedResolver, names::ToolLookups, target::RequestTarget},
    call::{Call, HELLO, grant, names, request},
    server::Server,
};
use crate::gate::Gate;
use agent_host_engine::policy::Grants;
use agent_host_types::{limits::Limits, tool::Effect};
use http::{Method, Request};
use pretty_assertions::assert_eq;
use reqwest::dns::{Name, Resolve as _};
use std::sync::{Arc, atomic::Ordering};

#[tokio::test]
async fn request_without_grant_is_denied() {
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
        let denial = call.stats().first_denial;
        assert_eq!(denial.is_some(), expected == "HttpRequestDenied");
        assert!(!denial.is_some_and(|denial| denial.sentence.contains("secret")));
    }
    assert_eq!(server.seen().len(), 1);
}

#[tokio::test]
async fn loopback_in_any_spelling_is_denied() {
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
        "0X7F.0.0.1",
        "0x7f.0x0.0x0.0x1",
        "017700000001",
        "127.0x1",
        "127.0.0.1.",
        "[::1]",
        "[0:0:0:0:0:0:0:1]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[::127.0.0.1]",
        "[64:ff9b::127.0.0.1]",
        "[2002:7f00:1::]",
        "[2002:A9FE:A9FE::1]",
        "[::FFFF:A9FE:A9FE]",
        "[64:ff9b:1::127.0.0.1]",
        "[64:ff9b:1:7f00:0:100::]",
        "[2001:0:4136:e378:8000:63bf:3fff:fdd2]",
        "[2001:db8::1]",
        "[fec0::1]",
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
        "2852039166",
        "0xa9fea9fe",
        "192.0.0.192",
        "192.0.2.1",
        "198.18.0.1",
        "240.0.0.1",
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
async fn disguised_host_is_judged_as_parsed() {
    let server = Server::start(HELLO).await;
    let port = server.port;
    let no_uri = "not a URI";
    let denied = "HttpRequestDenied";
    let invalid = "HttpRequestUriInvalid";
    let prohibited = "DestinationIpProhibited";
    // Returns the result for the guest if every public name is granted and resolves to this
    // machine.
    for (host, expected) in [
        ("LOCALHOST", prohibited),
        ("localhost.", prohibited),
        ("LocalHost.LocalDomain", prohibited),
        ("metadata.google.internal", prohibited),
        ("xn--localhost", invalid),
        ("user@localhost", denied),
        ("a:b@localhost", denied),
        ("public.example@127.0.0.1", denied),
        ("127.0.0.1 ", no_uri),
        ("127.0.0.1\\@public.example", no_uri),
        ("%31%32%37.0.0.1", no_uri),
        ("localhos%74", no_uri),
        ("\u{ff11}27.0.0.1", no_uri),
        ("127\u{3002}0.0.1", no_uri),
        ("[fe80::1%25eth0]", invalid),
        ("[::1%lo]", invalid),
        ("[::1", no_uri),
        ("[127.0.0.1]", invalid),
        ("256.0.0.1", invalid),
        ("127.0.0.1.1", invalid),
        ("0x7f.0.0.0.1", invalid),
        ("08.0.0.1", invalid),
    ] {
        let mut call = Call::to(vec![
            grant(None, "*", Some(port)),
            grant(None, "127.0.0.1", Some(port)),
        ]);
        call.names = names(&["127.0.0.1"]);
        let url = format!("http://{host}:{port}/");
        let found = match url.parse::<http::Uri>() {
            Ok(_) => call.start().get(&url).await,
            // wasi:http takes an authority only in this form, so it never gets here.
            Err(_) => no_uri.to_owned(),
        };
        assert_eq!(found, expected, "{host}");
    }
    assert_eq!(server.seen(), Vec::<String>::new());
}

#[tokio::test]
async fn name_of_private_address_is_prohibited() {
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
        assert_eq!(call.stats().hosts, Vec::<String>::new());
    }
    let mut call = Call::to(vec![grant(None, "*", None)]).start();
    let unknown = r#"DnsError { rcode: Some("NXDOMAIN"), info_code: None }"#;
    assert_eq!(call.get("http://nowhere.example/").await, unknown);
    assert_eq!(server.seen(), Vec::<String>::new());
}

#[tokio::test]
async fn name_is_pinned_to_allowed_addresses() {
    let names = names(&["10.0.0.1", "93.184.216.34", "::1", "2606:4700::1111"]);
    let grants = Grants {
        http: vec![grant(None, "*", None)],
        ..Grants::default()
    };
    let gate = Gate::new(Arc::new(grants), Effect::Effectful, &Limits::default());
    let target = RequestTarget::parse("GET", "http://mixed.example/", gate)
        .ok()
        .unwrap();
    let resolver = PinnedResolver {
        target: Arc::new(target),
        names: Arc::new(ToolLookups::new(Arc::clone(&names) as Arc<_>)),
    };
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
async fn read_only_tool_may_only_get_and_head() {
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
