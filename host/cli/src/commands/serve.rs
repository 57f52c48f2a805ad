//! `agent-host serve`: the HTTP API.

use super::{configure, flush_telemetry, tool_names};
use crate::{
    args::ServeArgs,
    exit::{Exit, Failure},
    signals::Stop,
    terminal::{Terminal, YELLOW, escape},
};
use agent_host_app::{Host, Overrides, reach};
use agent_host_http::{HttpOptions, HttpServer, exposure_warning};
use agent_host_mcp::http::{ConfiguredToken, configured_token};
use agent_host_serve::{API, Service};
use std::{net::SocketAddr, sync::Arc};

/// The environment variable that holds the token if no file is named.
const TOKEN_VARIABLE: &str = "AGENT_HOST_SERVE_TOKEN";

/// Connections served at once; a reader of events holds one.
const MAX_CONNECTIONS: usize = 1024;

/// Bytes of a request's body: a message with files.
const MAX_BODY_BYTES: usize = 32 * 1024 * 1024;

pub(super) async fn serve(args: ServeArgs, terminal: &Terminal) -> Result<Exit, Failure> {
    let overrides = Overrides {
        model: args.model.clone(),
        ..Overrides::default()
    };
    let mut config = configure(args.config.clone(), overrides)?;
    config.hidden_files.extend(args.token_file.clone());
    // The sessions of several users are no part of what started the server.
    if let Some(telemetry) = &mut config.telemetry {
        telemetry.parent = None;
    }
    let stop = Stop::listen(terminal);
    let host = tokio::select! {
        biased;
        () = stop.token.cancelled() => return Ok(stop.exit()),
        opened = Host::open(config) => Arc::new(opened?),
    };
    let value = std::env::var(TOKEN_VARIABLE).ok();
    let found = configured_token(args.token_file.as_deref(), TOKEN_VARIABLE, value.as_deref());
    let ConfiguredToken { token, generated } = found.map_err(Failure::usage)?;
    let mut options = HttpOptions::new(token);
    options.limits.connections = MAX_CONNECTIONS;
    options.limits.body_bytes = MAX_BODY_BYTES;
    options.refused = agent_host_serve::refused;
    options.allowed_hosts = args.allowed_hosts;
    options.allowed_origins = args.allowed_origins;
    let server = HttpServer::bind(args.http, options).map_err(|error| {
        let address = args.http;
        Failure::failed(format!(
            "cannot listen at {address}: {error}; choose another address with --http"
        ))
    })?;
    let address = server.address();
    if !args.quiet {
        intro(&host, address, terminal);
    }
    if let Some(text) = &generated {
        // No client can connect without it.
        terminal.note(&format!(
            "open http://{address}/#token={text}\nor try it: curl -H 'Authorization: Bearer {text}' http://{address}{API}/sessions\nthe token is made for this run alone"
        ));
    }
    if let Some(warning) = exposure_warning(address) {
        terminal.note(&format!("{YELLOW}warning:{YELLOW:#} {warning}"));
    }
    Service::new(Arc::clone(&host))
        .serve(server, stop.token)
        .await;
    flush_telemetry(&host, terminal).await;
    // A signal is the normal end of a server.
    Ok(Exit::Done)
}

/// Prints what is served and what it may reach, from the values that the policy checks.
fn intro(host: &Host, address: SocketAddr, terminal: &Terminal) {
    let model = host.model().provenance();
    let tools = tool_names(host.registry());
    let reach = reach(host.registry()).join("\n  ");
    terminal.note(&escape(&format!(
        "serving the API at http://{address}{API}, and the page at http://{address}/\nmodel: {}:{}\ntools: {tools}\nwhich may reach: {reach}",
        model.provider, model.model
    )));
}
