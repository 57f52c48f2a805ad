//! Attempts at wasi:http and wasi:sockets 0.3.

use wasip3::{
    http::{
        client,
        types::{Fields, Method, Request, Response, Scheme},
    },
    sockets::{
        ip_name_lookup,
        types::{IpAddressFamily, TcpSocket, UdpSocket},
    },
    wit_bindgen::spawn_local,
};

/// Sends a request; returns status and body.
pub(crate) async fn request(method: &str, url: &str, body: String) -> Result<String, String> {
    let (scheme, rest) = url.split_once("://").unwrap_or(("http", url));
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    let (mut writer, reader) = wasip3::wit_stream::new();
    let (trailers, trailers_reader) = wasip3::wit_future::new(|| Ok(None));
    drop(trailers);
    let has_body = !body.is_empty();
    let contents = has_body.then_some(reader);
    let (request, sent) = Request::new(Fields::new(), contents, trailers_reader, None);
    let refused = |()| "the request cannot be made".to_owned();
    request
        .set_method(&match method {
            "post" => Method::Post,
            "head" => Method::Head,
            _ => Method::Get,
        })
        .map_err(refused)?;
    let scheme = match scheme {
        "http" => Scheme::Http,
        "https" => Scheme::Https,
        other => Scheme::Other(other.to_owned()),
    };
    request.set_scheme(Some(&scheme)).map_err(refused)?;
    request.set_authority(Some(authority)).map_err(refused)?;
    request
        .set_path_with_query(Some(&format!("/{path}")))
        .map_err(refused)?;
    if has_body {
        spawn_local(async move {
            writer.write_all(body.into_bytes()).await;
        });
    }
    let response = client::send(request)
        .await
        .map_err(|code| format!("{code:?}"))?;
    drop(sent);
    let status = response.get_status_code();
    let (result, result_reader) = wasip3::wit_future::new(|| Ok(()));
    drop(result);
    let (stream, trailers) = Response::consume_body(response, result_reader);
    let bytes = stream.collect().await;
    match trailers.await {
        Ok(_) => Ok(format!("{status} {}", String::from_utf8_lossy(&bytes))),
        Err(code) => Err(format!("{status} {} bytes, then {code:?}", bytes.len())),
    }
}

pub(crate) async fn socket(operation: &str, name: &str) -> Result<String, String> {
    match operation {
        "tcp" => match TcpSocket::create(IpAddressFamily::Ipv4) {
            Ok(_) => Ok("a socket".to_owned()),
            Err(code) => Err(format!("{code:?}")),
        },
        "udp" => match UdpSocket::create(IpAddressFamily::Ipv4) {
            Ok(_) => Ok("a socket".to_owned()),
            Err(code) => Err(format!("{code:?}")),
        },
        _ => match ip_name_lookup::resolve_addresses(name.to_owned()).await {
            Ok(addresses) => Ok(format!("{addresses:?}")),
            Err(code) => Err(format!("{code:?}")),
        },
    }
}
