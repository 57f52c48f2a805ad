//! Any text as a URL: with everything granted and every name resolving to this machine, no request
//! arrives here.

use super::{
    call::{Call, HELLO, grant, names},
    server::Server,
};
use proptest::prelude::*;
use std::{net::Ipv4Addr, sync::LazyLock};
use tokio::runtime::Runtime;

struct Fuzzed {
    runtime: Runtime,
    server: Server,
}

/// One server for all inputs, which must receive none of them.
static FUZZED: LazyLock<Fuzzed> = LazyLock::new(|| {
    let runtime = Runtime::new().unwrap();
    let server = runtime.block_on(Server::start(HELLO));
    Fuzzed { runtime, server }
});

/// A number in a spelling of URLs: decimal, octal, hexadecimal, with leading zeros.
fn number(value: u32) -> impl Strategy<Value = String> {
    prop::sample::select(vec![
        format!("{value}"),
        format!("0{value:o}"),
        format!("00{value:o}"),
        format!("0x{value:x}"),
        format!("0X{value:X}"),
    ])
}

/// An address of this machine or its networks in some spelling of its four, three, two or one
/// numbers.
fn spelled() -> impl Strategy<Value = String> {
    let special = vec![
        Ipv4Addr::LOCALHOST,
        Ipv4Addr::new(127, 1, 2, 3),
        Ipv4Addr::UNSPECIFIED,
        Ipv4Addr::new(10, 0, 0, 1),
        Ipv4Addr::new(169, 254, 169, 254),
        Ipv4Addr::new(192, 168, 0, 1),
        Ipv4Addr::new(172, 31, 0, 1),
        Ipv4Addr::new(100, 64, 0, 1),
    ];
    (prop::sample::select(special), 0..4_usize).prop_flat_map(|(address, leading)| {
        let octets = address.octets();
        let mut numbers: Vec<u32> = octets
            .iter()
            .take(leading)
            .map(|octet| u32::from(*octet))
            .collect();
        let rest = octets
            .iter()
            .skip(leading)
            .fold(0, |sum, octet| sum << 8 | u32::from(*octet));
        numbers.push(rest);
        let numbers: Vec<_> = numbers.into_iter().map(number).collect();
        (numbers, prop::sample::select(vec![".", "。", "．", "%2e"]))
            .prop_map(|(numbers, dot)| numbers.join(dot))
    })
}

fn in_ipv6() -> impl Strategy<Value = String> {
    let special = vec!["127.0.0.1", "10.0.0.1", "169.254.169.254"];
    let form = vec![
        "::ffff:",
        "::",
        "::ffff:0:",
        "64:ff9b::",
        "64:ff9b:1::",
        "0:0:0:0:0:ffff:",
        "fe80::",
        "fd00::",
        "ff02::",
    ];
    (prop::sample::select(form), prop::sample::select(special))
        .prop_map(|(form, address)| format!("[{form}{address}]"))
}

fn host() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => spelled(),
        2 => in_ipv6(),
        1 => Just("[::1]".to_owned()),
        1 => prop::sample::select(vec!["localhost", "LOCALHOST.", "①②⑦.⓪.⓪.①", "127.0.0.1.nip.example", "::1", "[::1%25lo]"])
            .prop_map(str::to_owned),
        1 => "[a-z.@%:\\[\\]\\\\-]{1,24}",
    ]
}

fn url() -> impl Strategy<Value = String> {
    let scheme = prop::sample::select(vec![
        "http://",
        "HTTP://",
        "https://",
        "http:",
        "http:\\\\",
        "//",
        "ftp://",
        "file://",
        "",
    ]);
    let user = prop_oneof![6 => Just(""), 1 => Just("user@"), 1 => Just("example.com:80@"), 1 => Just("example.com#@"), 1 => Just("example.com\\@")];
    let path = prop::sample::select(vec![
        "/",
        "",
        "/..//127.0.0.1/",
        "?@127.0.0.1",
        "#@example.com",
        "/\t",
    ]);
    let whole = (scheme, user, host(), path)
        .prop_map(|(scheme, user, host, path)| format!("{scheme}{user}{host}:PORT{path}"));
    prop_oneof![12 => whole, 1 => ".{0,40}"]
}

proptest! {
    #[test]
    fn any_ungranted_url_reaches_no_server(url in url(), literal in any::<bool>()) {
        let Fuzzed { runtime, server } = &*FUZZED;
        let url = url.replace("PORT", &server.port.to_string());
        // WASI's types refuse what is not a URI.
        if url.parse::<http::Uri>().is_err() {
            return Ok(());
        }
        let port = Some(server.port);
        let mut grants = vec![grant(None, "*", port), grant(None, "*", None)];
        if literal {
            // The grant of one special address opens no other one.
            grants.push(grant(None, "127.0.0.9", port));
        }
        let mut call = Call::to(grants);
        call.names = names(&["127.0.0.1", "::1", "::ffff:127.0.0.1", "10.0.0.1"]);
        let mut call = call.start();
        let found = runtime.block_on(call.get(&url));
        prop_assert!(!found.starts_with("200"), "{url}: {found}");
        prop_assert_eq!(call.stats().hosts, Vec::<String>::new(), "{}", url);
        prop_assert_eq!(server.seen(), Vec::<String>::new(), "{}", url);
    }
}
