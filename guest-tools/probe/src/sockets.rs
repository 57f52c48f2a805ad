//! Attempts through wasi:sockets.

use std::net::SocketAddr;

use serde_json::json;
use wasip2::sockets::instance_network::instance_network;
use wasip2::sockets::ip_name_lookup::resolve_addresses;
use wasip2::sockets::network::{
    ErrorCode, IpAddressFamily, IpSocketAddress, Ipv4SocketAddress, Ipv6SocketAddress,
};
use wasip2::sockets::tcp_create_socket::create_tcp_socket;
use wasip2::sockets::udp_create_socket::create_udp_socket;

use crate::run::Outcome;

pub(crate) fn connect(address: &str) -> Outcome {
    let (family, address) = parse(address)?;
    let socket = create_tcp_socket(family).map_err(|code| step("create", code))?;
    socket
        .start_connect(&instance_network(), address)
        .map_err(|code| step("connect", code))?;
    socket.subscribe().block();
    socket
        .finish_connect()
        .map_err(|code| step("connect", code))?;
    Ok(json!("connected"))
}

pub(crate) fn bind(address: &str) -> Outcome {
    let (family, address) = parse(address)?;
    let socket = create_tcp_socket(family).map_err(|code| step("create", code))?;
    socket
        .start_bind(&instance_network(), address)
        .map_err(|code| step("bind", code))?;
    socket.finish_bind().map_err(|code| step("bind", code))?;
    Ok(json!("bound"))
}

pub(crate) fn bind_udp(address: &str) -> Outcome {
    let (family, address) = parse(address)?;
    let socket = create_udp_socket(family).map_err(|code| step("create", code))?;
    socket
        .start_bind(&instance_network(), address)
        .map_err(|code| step("bind", code))?;
    socket.finish_bind().map_err(|code| step("bind", code))?;
    Ok(json!("bound"))
}

pub(crate) fn lookup(name: &str) -> Outcome {
    let stream =
        resolve_addresses(&instance_network(), name).map_err(|code| step("lookup", code))?;
    stream.subscribe().block();
    let address = stream
        .resolve_next_address()
        .map_err(|code| step("lookup", code))?;
    Ok(json!(format!("{address:?}")))
}

/// Names the refused step, with the error.
fn step(step: &str, code: ErrorCode) -> String {
    format!("{step}: {}", code.name())
}

fn parse(address: &str) -> Result<(IpAddressFamily, IpSocketAddress), String> {
    Ok(match address.parse().map_err(|_| "not an address")? {
        SocketAddr::V4(v4) => {
            let [a, b, c, d] = v4.ip().octets();
            let address = Ipv4SocketAddress {
                port: v4.port(),
                address: (a, b, c, d),
            };
            (IpAddressFamily::Ipv4, IpSocketAddress::Ipv4(address))
        }
        SocketAddr::V6(v6) => {
            let [a, b, c, d, e, f, g, h] = v6.ip().segments();
            let address = Ipv6SocketAddress {
                port: v6.port(),
                flow_info: 0,
                address: (a, b, c, d, e, f, g, h),
                scope_id: 0,
            };
            (IpAddressFamily::Ipv6, IpSocketAddress::Ipv6(address))
        }
    })
}
