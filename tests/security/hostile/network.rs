//! Section F: connections to a host that is not granted. The sink, which listens at all of these
//! targets, detects a connection.

use super::{
    case::{Case, Ends},
    script::{Script, final_attempts, op},
    table,
};
use serde_json::{Value, json};
use std::{fs, path::Path, process::Command};

/// Every host, on the sink's port: a refusal is then due to the host's address.
const EVERYWHERE: &str =
    "[limits]\nhttp-requests = 500\n[[grants.http]]\nhost = \"*\"\nport = {sink}";

/// Starts the program in a network namespace where this machine has a public address and the names
/// in `hosts` have addresses.
const OWN_NETWORK: &str = r#"exec unshare --map-root-user --mount --net /bin/sh -c '
    ip link set lo up && ip address add 93.184.216.34/32 dev lo && mount --bind hosts /etc/hosts && exec "$0" "$@"' "$0" "$@""#;

pub(crate) fn cases() -> Vec<Case> {
    let mut cases = vec![
        addresses(),
        no_hosts(),
        names(),
        other_than_granted(),
        nothing_granted(),
        sockets(),
        denied_and_failed(),
    ];
    cases.extend(may_have_network().then(names_of_public_addresses));
    cases
}

fn get(url: &str) -> Value {
    op("http", json!({ "url": url }))
}

/// One request to each host, on the sink's port.
fn hosts<const N: usize>(hosts: [&str; N]) -> [Value; N] {
    hosts.map(|host| get(&format!("http://{host}:{{sink}}/")))
}

/// Addresses of this machine, of the networks around it, and of no one, in every spelling.
fn addresses() -> Case {
    let this_machine = [
        "127.0.0.1",
        "127.1",
        "127.0.1",
        "2130706433",
        "0x7f000001",
        "0x7F.1",
        "0177.0.0.1",
        "0177.1",
        "017700000001",
        "127.0.0.1.",
        "127.000.000.001",
        "0x7f.0x0.0x0.0x1",
        "127.0.0.0x1",
        "00000000177.0.0.1",
        "127.255.255.254",
        "0.0.0.0",
        "0",
        "0.0.0.1",
        "[::1]",
        "[0:0:0:0:0:0:0:1]",
        "[::0001]",
        "[::]",
        "[::ffff:0.0.0.0]",
        "[::ffff:127.0.0.1]",
        "[::FFFF:7F00:1]",
        "[::ffff:0:127.0.0.1]",
        "[::127.0.0.1]",
        "[64:ff9b::127.0.0.1]",
        "[64:ff9b::7f00:1]",
        "[64:ff9b:1::7f00:1]",
        "[2002:7f00:1::]",
        "[2002:7f00:1::1]",
        "[2001:0:7f00:1::]",
    ];
    let around = [
        "10.0.0.1",
        "10.255.255.255",
        "0xa.1",
        "172.16.0.1",
        "172.31.255.255",
        "192.168.1.1",
        "3232235777",
        "169.254.169.254",
        "0xa9fea9fe",
        "[::ffff:169.254.169.254]",
        "[::a9fe:a9fe]",
        "169.254.0.1",
        "[fe80::1]",
        "[febf::1]",
        "[fc00::1]",
        "[fd00:ec2::254]",
        "[fec0::1]",
        "100.64.0.1",
        "100.100.100.200",
        "100.127.255.255",
        "192.0.0.1",
        "192.0.0.192",
        "168.63.129.16",
    ];
    let reserved = [
        "192.0.2.1",
        "198.18.0.1",
        "198.19.255.255",
        "198.51.100.1",
        "203.0.113.1",
        "224.0.0.1",
        "239.255.255.255",
        "[ff02::1]",
        "[ff0e::1]",
        "240.0.0.1",
        "255.255.255.255",
        "[100::1]",
        "[2001:db8::1]",
        "[3fff::1]",
        "[5f00::1]",
    ];
    Script::default()
        .refused("http-request-denied", hosts(this_machine))
        .refused("http-request-denied", hosts(around))
        .refused("http-request-denied", hosts(reserved))
        .row('F', "addresses that only a grant by address opens")
        .config(EVERYWHERE)
}

/// URLs whose host different parsers read differently.
fn no_hosts() -> Case {
    let not_authorities = [
        "127%2e0.0.1",
        "%31%32%37.0.0.1",
        "127.0.0.1%00",
        "\u{ff11}\u{ff12}\u{ff17}.0.0.1",
        "\u{2460}\u{2461}\u{2466}.0.0.1",
        "127\u{3002}0\u{3002}0\u{3002}1",
        "127.0.0.1\\",
        "127.0.0.1#1.1.1.1",
        "[::1",
        "::1",
    ];
    let not_addresses = [
        "256.0.0.1",
        "0x100000000",
        "4294967296",
        "1.2.3.4.5",
        "[127.0.0.1]",
        "[fe80::1%25eth0]",
    ];
    let users = ["1.1.1.1@127.0.0.1", "user:password@127.0.0.1", "@127.0.0.1"];
    Script::default()
        .refused("invalid-authority", hosts(not_authorities))
        .refused("http-request-uri-invalid", hosts(not_addresses))
        .refused("http-request-denied", hosts(users))
        .row('F', "hosts that are none")
        .config(EVERYWHERE)
}

/// No pattern grants a name that resolves to this machine.
fn names() -> Case {
    Script::default()
        .refused(
            "destination-ip-prohibited",
            hosts(["localhost", "LOCALHOST"]),
        )
        .row('F', "a granted name that leads to this machine")
        .config(EVERYWHERE)
}

/// Names that resolve to addresses that only look public: one of this machine, and the platform's
/// own.
fn names_of_public_addresses() -> Case {
    Script::default()
        .refused(
            "destination-ip-prohibited",
            hosts(["own.example", "mapped.example", "platform.example"]),
        )
        .row('F', "names that lead to public addresses of this machine")
        .config(EVERYWHERE)
        .prepared(own_names)
        .launched(OWN_NETWORK)
}

fn own_names(work: &Path) {
    let names = "93.184.216.34 own.example\n::ffff:93.184.216.34 mapped.example\n168.63.129.16 platform.example\n";
    fs::write(work.join("hosts"), names).unwrap();
}

/// Whether this user may create a network namespace; some kernels and containers forbid that, and
/// then the row is skipped.
#[expect(clippy::print_stderr, reason = "a row that cannot run says so")]
fn may_have_network() -> bool {
    let place = tempfile::tempdir().unwrap();
    own_names(place.path());
    let tried = Command::new("/bin/sh")
        .args(["-c", OWN_NETWORK, "true"])
        .current_dir(place.path())
        .output()
        .unwrap();
    if !tried.status.success() {
        eprintln!("no network of its own for a row here, so this machine has no public address");
    }
    tried.status.success()
}

/// One address is granted, with a scheme and a port. Everything else is refused, however close.
fn other_than_granted() -> Case {
    let near = [
        "http://127.0.0.1:{sink}/",
        "http://127.0.0.1/",
        "https://127.0.0.1:{server}/hello",
        "http://127.0.0.2:{server}/hello",
        "http://[::ffff:127.0.0.1]:{server}/hello",
        "http://localhost:{server}/hello",
        "http://127.0.0.1:{server}@127.0.0.1:{sink}/",
    ];
    let hello = json!({ "status": 200, "headers": [["content-length", "5"]], "body": "hello" });
    Script::default()
        .gives(hello.clone(), get("http://127.0.0.1:{server}/hello"))
        .gives(hello, get("http://2130706433:{server}/hello"))
        .refused("http-request-denied", near.map(get))
        .row('F', "next to a granted address")
        .config("[[grants.http]]\nhost = \"127.0.0.1\"\nscheme = \"http\"\nport = {server}")
}

fn nothing_granted() -> Case {
    Script::default()
        .refused(
            "http-request-denied",
            hosts(["127.0.0.1", "example.com", "localhost"]),
        )
        .row_of("probe_read", 'F', "no host is granted")
}

/// Sockets and name lookups are never available, whatever is granted.
fn sockets() -> Case {
    let address = |word: &str, address: &str| op(word, json!({ "address": address }));
    let lookup = |name: &str| op("lookup", json!({ "name": name }));
    Script::default()
        .refused(
            "create: access-denied",
            [
                address("connect", "127.0.0.1:{sink}"),
                address("connect", "[::1]:80"),
                address("bind", "0.0.0.0:0"),
                address("bind", "[::]:8080"),
                address("bind-udp", "127.0.0.1:0"),
                address("bind-udp", "[::]:53"),
            ],
        )
        .refused(
            "lookup: permanent-resolver-failure",
            [
                "localhost",
                "example.com",
                "127.0.0.1",
                "169.254.169.254",
                "::1",
                "",
            ]
            .map(lookup),
        )
        .row('F', "sockets and names")
        .config(EVERYWHERE)
        .config("[[grants.http]]\nhost = \"127.0.0.1\"\nport = {sink}")
}

/// When the tool then fails, the model sees that the policy was the cause.
fn denied_and_failed() -> Case {
    let attempts = [
        get("http://127.0.0.1:{sink}/"),
        op("panic", json!({ "message": "refused" })),
    ];
    final_attempts(
        'F',
        "a refused request, and a crash",
        &attempts,
        Ends::Denied("default-deny"),
    )
}

#[test]
fn network() {
    table::run(&cases());
}
