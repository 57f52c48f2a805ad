//! `agent-host serve probe`: whether a server on this machine takes work.

use super::TOKEN_VARIABLE;
use crate::exit::{Exit, Failure};
use agent_host_http::Token;
use agent_host_http_client::{authorities, builder, is_loopback, tls_config, tls_config_with};
use agent_host_serve::API;
use reqwest::Url;
use serde_json::Value;
use std::{
    fs::{self, File},
    io::Read as _,
    path::Path,
    time::Duration,
};

/// The time that a server has to answer. Probes of containers give less or more.
const TIMEOUT: Duration = Duration::from_secs(5);

/// The longest answer that is read, in bytes.
const MAX_ANSWER: usize = 64 * 1024;

pub(super) async fn probe(
    url: &str,
    live: bool,
    token_file: Option<&Path>,
    ca: Option<&Path>,
) -> Result<Exit, Failure> {
    let route = if live { "health" } else { "ready" };
    let address: Url = format!("{}{API}/{route}", url.trim_end_matches('/'))
        .parse()
        .map_err(|error| Failure::usage(format!("invalid `--url`: {error}")))?;
    if address.scheme() != "https" && !is_loopback(&address) {
        return Err(Failure::usage(
            "the server is on another machine, so the token would be sent unencrypted; use an https address",
        ));
    }
    let token = read_token(token_file)?;
    let tls = match ca {
        None => tls_config().map_err(Failure::failed)?,
        Some(file) => {
            let unusable = |error: String| {
                Failure::usage(format!("invalid `--ca`: {}: {error}", file.display()))
            };
            let pem = fs::read(file).map_err(|error| unusable(error.to_string()))?;
            let roots = authorities(&pem).map_err(|error| unusable(error.to_string()))?;
            tls_config_with(roots).map_err(Failure::failed)?
        }
    };
    let client = builder(tls).no_proxy().timeout(TIMEOUT).build();
    let client = client.map_err(Failure::failed)?;
    let no_answer = |error: reqwest::Error| {
        Failure::failed(format!(
            "the server does not answer: {}",
            error.without_url()
        ))
    };
    let asked = client.get(address).bearer_auth(token);
    let mut answer = asked.send().await.map_err(no_answer)?;
    if answer.status().is_success() {
        return Ok(Exit::Done);
    }
    let status = answer.status();
    let mut body = Vec::new();
    while let Some(part) = answer.chunk().await.map_err(no_answer)? {
        body.extend_from_slice(&part);
        if body.len() > MAX_ANSWER {
            break;
        }
    }
    let problem: Value = serde_json::from_slice(&body).unwrap_or_default();
    let detail = problem
        .get("detail")
        .and_then(Value::as_str)
        .unwrap_or("no reason");
    Err(Failure::failed(format!(
        "the server is not ready: {status}: {detail}"
    )))
}

/// Reads the token from the file, or from the variable.
fn read_token(file: Option<&Path>) -> Result<String, Failure> {
    let Some(path) = file else {
        let token = std::env::var(TOKEN_VARIABLE).ok();
        return token.filter(|token| !token.is_empty()).ok_or_else(|| {
            Failure::usage(format!(
                "there is no token; pass one with `--token-file` or {TOKEN_VARIABLE}"
            ))
        });
    };
    let mut text = String::new();
    let read = File::open(path).and_then(|file| {
        let limit = Token::MAX_BYTES as u64 + 1;
        file.take(limit).read_to_string(&mut text)
    });
    read.map_err(|error| {
        let path = path.display();
        Failure::usage(format!("cannot read the token from {path}: {error}"))
    })?;
    Ok(text.trim().to_owned())
}
