use crate::{
    AllowedHost, AllowedOrigin,
    allowed::{HTTP_PORT, check_host, own_hosts},
    exposure_warning,
};
use http::{HeaderMap, Uri};
use pretty_assertions::assert_eq;
use std::net::SocketAddr;

#[test]
fn malformed_host_or_origin_is_refused() {
    for text in [
        "",
        "*",
        "http://host",
        "host/path",
        "host:port",
        "a b",
        "user@host",
        "*.host",
    ] {
        let error = text.parse::<AllowedHost>().unwrap_err().to_string();
        assert!(
            error.starts_with("this is not a host; "),
            "{text:?}: {error}"
        );
    }
    for text in [
        "",
        "*",
        "null",
        "host",
        "https://",
        "https://host/",
        "ftp://host",
        "https://*",
    ] {
        let error = text.parse::<AllowedOrigin>().unwrap_err().to_string();
        assert!(
            error.starts_with("this is not an origin; "),
            "{text:?}: {error}"
        );
    }
    assert!("ftp://host:21".parse::<AllowedOrigin>().is_ok());
}

#[test]
fn own_hosts_and_warning_follow_the_bound_address() {
    let all = [
        "localhost:80",
        "127.0.0.1:80",
        "[::1]:80",
        "192.0.2.1:80",
        "[2001:db8::1]:80",
    ];
    let cases = [
        (
            "127.0.0.1:80",
            vec!["localhost:80", "127.0.0.1:80", "[::1]:80"],
            None,
        ),
        (
            "[::1]:80",
            vec!["localhost:80", "127.0.0.1:80", "[::1]:80"],
            None,
        ),
        (
            "0.0.0.0:80",
            vec!["localhost:80", "127.0.0.1:80", "[::1]:80"],
            Some("0.0.0.0:80"),
        ),
        (
            "[::]:80",
            vec!["localhost:80", "127.0.0.1:80", "[::1]:80"],
            Some("[::]:80"),
        ),
        ("192.0.2.1:80", vec!["192.0.2.1:80"], Some("192.0.2.1:80")),
        (
            "[2001:db8::1]:80",
            vec!["[2001:db8::1]:80"],
            Some("[2001:db8::1]:80"),
        ),
    ];
    for (address, expected, reachable) in cases {
        let address: SocketAddr = address.parse().unwrap();
        let allowed = own_hosts(address);
        let own = all.into_iter().filter(|host| {
            let headers = HeaderMap::from_iter([(http::header::HOST, host.parse().unwrap())]);
            check_host(&Uri::from_static("/"), &headers, &allowed, HTTP_PORT).is_ok()
        });
        assert_eq!(own.collect::<Vec<_>>(), expected, "{address}");
        let warning = reachable.map(|address| {
            format!(
                "other machines can reach {address}, and the traffic is not encrypted, so anyone who reads it learns \
                 the token; listen on 127.0.0.1 behind a TLS proxy"
            )
        });
        assert_eq!(exposure_warning(address), warning);
    }
}
