//! Connections: raw TCP over wasi:sockets, and requests over wasi:http.

use std::net::SocketAddr;
use wasip2::http::outgoing_handler::handle;
use wasip2::http::types::{Fields, OutgoingRequest, Scheme};
use wasip2::io::streams::StreamError;
use wasip2::sockets::instance_network::instance_network;
use wasip2::sockets::network::{IpAddressFamily, IpSocketAddress, Ipv4SocketAddress};
use wasip2::sockets::tcp_create_socket::create_tcp_socket;

/// The most bytes that are read of an answer.
const MAX_ANSWER_BYTES: usize = 64 * 1024;

pub(crate) fn connect(address: &str) -> Result<String, String> {
    let Ok(SocketAddr::V4(v4)) = address.parse() else {
        return Err("not an IPv4 address with a port".to_owned());
    };
    let [a, b, c, d] = v4.ip().octets();
    let address = IpSocketAddress::Ipv4(Ipv4SocketAddress {
        port: v4.port(),
        address: (a, b, c, d),
    });
    let socket = create_tcp_socket(IpAddressFamily::Ipv4)
        .map_err(|code| format!("create: {}", code.name()))?;
    socket
        .start_connect(&instance_network(), address)
        .map_err(|code| format!("connect: {}", code.name()))?;
    socket.subscribe().block();
    socket
        .finish_connect()
        .map_err(|code| format!("connect: {}", code.name()))?;
    Ok("connected".to_owned())
}

pub(crate) fn get(url: &str, authorization: &str) -> Result<String, String> {
    let (authority, target) = url
        .strip_prefix("http://")
        .map(|rest| rest.split_at(rest.find('/').unwrap_or(rest.len())))
        .ok_or("the URL is not http")?;
    let fields = Fields::new();
    if !authorization.is_empty() {
        fields
            .append("authorization", authorization.as_bytes())
            .map_err(|error| format!("{error:?}"))?;
    }
    let request = OutgoingRequest::new(fields);
    request
        .set_scheme(Some(&Scheme::Http))
        .and_then(|()| request.set_authority(Some(authority)))
        .and_then(|()| request.set_path_with_query(Some(target)))
        .map_err(|()| "the URL is refused")?;
    let pending = handle(request, None).map_err(|code| format!("{code:?}"))?;
    pending.subscribe().block();
    let answer = match pending.get() {
        Some(Ok(Ok(answer))) => answer,
        Some(Ok(Err(code))) => return Err(format!("{code:?}")),
        Some(Err(())) | None => return Err("no answer".to_owned()),
    };
    let body = answer.consume().map_err(|()| "no body")?;
    let stream = body.stream().map_err(|()| "no body")?;
    let mut bytes = Vec::new();
    while bytes.len() < MAX_ANSWER_BYTES {
        match stream.blocking_read(MAX_ANSWER_BYTES as u64) {
            Ok(chunk) => bytes.extend_from_slice(&chunk),
            Err(StreamError::Closed) => break,
            Err(error) => return Err(format!("{error:?}")),
        }
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
