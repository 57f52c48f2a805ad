//! `agent-host serve`: the HTTP API.

mod probe;
mod token;

use super::{configure, flush_telemetry, tool_names};
use crate::{
    args::{ServeArgs, ServeCommand},
    exit::{Exit, Failure},
    limits,
    signals::Stop,
    terminal::{Terminal, escape},
};
use agent_host_app::{Config, ConfiguredAgents, Host, Overrides, reach};
use agent_host_http::{HttpOptions, HttpServer, TlsFiles, exposure_warning};
use agent_host_mcp::http::{ConfiguredToken, configured_token};
use agent_host_process::raise_descriptor_limit;
use agent_host_serve::{API, Links, ServerAccess, Service, TokenFile, Triggers};
use listenfd::ListenFd;
use std::{net::TcpListener, sync::Arc};

/// The environment variable that holds the token if no file is named.
const TOKEN_VARIABLE: &str = "AGENT_HOST_SERVE_TOKEN";

/// Connections served at once, at most; a reader of events holds one.
const MAX_CONNECTIONS: usize = 16 * 1024;

/// Bytes of a request's body: a message with files.
const MAX_BODY_BYTES: usize = 32 * 1024 * 1024;

pub(super) async fn serve(args: ServeArgs, terminal: &Terminal) -> Result<Exit, Failure> {
    match args.command {
        Some(ServeCommand::Token { command }) => {
            return token::token(command, args.config, terminal);
        }
        Some(ServeCommand::Probe {
            url,
            live,
            token_file,
            ca,
        }) => return probe::probe(&url, live, token_file.as_deref(), ca.as_deref()).await,
        None => {}
    }
    // Each connection is a descriptor.
    raise_descriptor_limit();
    // Taken before a program is started, which would inherit it.
    let passed = ListenFd::from_env().take_tcp_listener(0);
    let passed = passed.map_err(|error| {
        Failure::failed(format!(
            "cannot serve on the socket that was passed: {error}"
        ))
    })?;
    let config = server_config(&args)?;
    let stop = Stop::listen(terminal);
    let host = tokio::select! {
        biased;
        () = stop.token.cancelled() => return Ok(stop.exit()),
        opened = Host::open(config) => Arc::new(opened?),
    };
    // The name by which users reach it, if it has one besides its address: behind TLS, its own or
    // that of a proxy.
    let public = args.allowed_hosts.first();
    let public = public.map(|host| format!("https://{host}"));
    if args.worker {
        return work(&host, public, stop, args.quiet, terminal).await;
    }
    let value = std::env::var(TOKEN_VARIABLE).ok();
    let found = configured_token(args.token_file.as_deref(), TOKEN_VARIABLE, value.as_deref());
    let ConfiguredToken { token, generated } = found.map_err(Failure::usage)?;
    let tokens = TokenFile::in_state_dir(&host.config().state_dir);
    let quiet = args.quiet;
    let scheme = if args.tls_cert.is_some() {
        "https"
    } else {
        "http"
    };
    let all_projects = args.all_projects;
    let links = host.config().session_links;
    let links = links.then(|| Links::new(Arc::clone(host.sessions().store())));
    let access = ServerAccess::new(token, tokens).with_links(links);
    let server = listen(args, passed, access)?;
    let address = server.address();
    let url = format!("{scheme}://{address}");
    let triggers = open_triggers(host.config(), public.as_deref().unwrap_or(&url)).await?;
    if !quiet {
        intro(host.agents(), &url, terminal);
    }
    if let Some(token) = &generated {
        note_generated(token, &url, terminal);
    }
    if let Some(warning) = exposure_warning(address).filter(|_| scheme == "http") {
        terminal.warn(&warning);
    }
    Service::new(Arc::clone(&host))
        .with_triggers(triggers)
        .with_all_projects(all_projects)
        .serve(server, stop.token)
        .await;
    flush_telemetry(&host, terminal).await;
    // A signal is the normal end of a server.
    Ok(Exit::Done)
}

/// Returns the configuration of a server: its secrets are hidden from tools.
fn server_config(args: &ServeArgs) -> Result<Config, Failure> {
    let overrides = Overrides {
        model: args.model.clone(),
        ..Overrides::default()
    };
    let mut config = configure(args.config.clone(), overrides)?;
    let secrets = [&args.token_file, &args.tls_key];
    config
        .hidden_files
        .extend(secrets.into_iter().flatten().cloned());
    // The sessions of several users are no part of what started the server.
    if let Some(telemetry) = &mut config.telemetry {
        telemetry.serves();
    }
    Ok(config)
}

/// Prints the token that was made for this run, without which no client can connect.
fn note_generated(token: &str, url: &str, terminal: &Terminal) {
    terminal.note(&format!(
        "open {url}/#token={token}\nor try it: curl -H 'Authorization: Bearer {token}' {url}{API}/sessions\nthe \
         token is valid only for this run"
    ));
}

/// Opens schedules and webhooks, with the address by which users reach the server.
async fn open_triggers(config: &Config, page: &str) -> Result<Triggers, Failure> {
    let opened = Triggers::open(config, page).await;
    opened.map_err(|error| Failure::failed(error.to_string()))
}

/// Runs the sessions of other hosts.
async fn work(
    host: &Arc<Host>,
    public: Option<String>,
    stop: Stop,
    quiet: bool,
    terminal: &Terminal,
) -> Result<Exit, Failure> {
    if host.sessions().store().shared_runs().is_none() {
        return Err(Failure::usage(
            "`--worker` runs sessions of other hosts, but this host's store is not shared; set `url` in [store], or \
             leave `--worker` out",
        ));
    }
    if !quiet {
        let placement = host.placement();
        let tools = tool_names(host.agents().registry());
        let reach = reach(host.agents().registry()).join("\n  ");
        terminal.note(&escape(&format!(
            "working on {} for the sessions of the store\ntools: {tools}\naccess: {reach}",
            placement.machine
        )));
    }
    let triggers = open_triggers(host.config(), public.as_deref().unwrap_or_default()).await?;
    Service::new(Arc::clone(host))
        .with_triggers(triggers)
        .work(stop.token)
        .await;
    flush_telemetry(host, terminal).await;
    Ok(Exit::Done)
}

/// Listens at a socket that was passed, else at the address of the arguments.
fn listen(
    args: ServeArgs,
    passed: Option<TcpListener>,
    access: ServerAccess,
) -> Result<HttpServer, Failure> {
    let mut options = HttpOptions::new(access);
    // The other half of the descriptors is for calls, MCP servers and the journal.
    let descriptors = limits::descriptors().map_or(usize::MAX, |limit| limit / 2);
    options.limits.connections = MAX_CONNECTIONS.min(descriptors);
    options.limits.body_bytes = MAX_BODY_BYTES;
    options.refused = agent_host_serve::refused;
    options.allowed_hosts = args.allowed_hosts;
    options.allowed_origins = args.allowed_origins;
    if let (Some(certificate), Some(key)) = (args.tls_cert, args.tls_key) {
        options.tls = Some(TlsFiles::load(certificate, key).map_err(Failure::usage)?);
    }
    match passed {
        Some(passed) => HttpServer::from_listener(passed, options).map_err(|error| {
            Failure::failed(format!(
                "cannot serve on the socket that was passed: {error}"
            ))
        }),
        None => HttpServer::bind(args.http, options).map_err(|error| {
            let address = args.http;
            Failure::failed(format!(
                "cannot listen at {address}: {error}; choose another address with --http"
            ))
        }),
    }
}

/// Prints what is served and what it may reach, from the values that the policy checks.
fn intro(agents: &ConfiguredAgents, url: &str, terminal: &Terminal) {
    let model = agents.model().provenance();
    let tools = tool_names(agents.registry());
    let reach = reach(agents.registry()).join("\n  ");
    terminal.note(&escape(&format!(
        "serving the API at {url}{API}, and the page at {url}/\nmodel: {}:{}\ntools: {tools}\naccess: {reach}",
        model.provider, model.model
    )));
}
