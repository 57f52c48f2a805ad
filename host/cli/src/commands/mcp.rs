//! `agent-host mcp`: the configured tools for a client of the Model Context Protocol. stdout is the client's; all that people should
//! know is on stderr.

use super::{configure, permission_summary};
use crate::{
    args::{McpArgs, McpCommand, McpServed},
    exit::{Exit, Failure},
    signals::Stop,
    terminal::{Terminal, YELLOW, escape, json_lines},
};
use agent_host_app::{Config, Host, Overrides};
use agent_host_engine::tool::ToolRunner as _;
use agent_host_http::{HttpOptions, HttpServer, exposure_warning};
use agent_host_mcp::{
    Reloaded, Server,
    http::{self, ConfiguredToken, SessionLimits},
    serve_stdio, standard_streams,
};
use serde_json::{Map, Value, json};
use std::{net::SocketAddr, path::Path};
use tokio_util::sync::CancellationToken;

pub(super) async fn mcp(args: McpArgs, terminal: &Terminal) -> Result<Exit, Failure> {
    match args.command {
        Some(McpCommand::Config { name, http, served }) => entry(&name, http, &served, terminal),
        None => serve(args, terminal).await,
    }
}

async fn serve(args: McpArgs, terminal: &Terminal) -> Result<Exit, Failure> {
    let mut config = configured(&args.served)?;
    config.hidden_files.extend(args.token_file.clone());
    let stop = Stop::listen(terminal, None).map_err(Failure::failed)?;
    let host = tokio::select! {
        biased;
        () = stop.token.cancelled() => return Ok(stop.exit()),
        opened = Host::open_tools(config) => opened?,
    };
    let server = Server::new(host);
    let watched = server.clone();
    let (shown, quiet) = (*terminal, args.quiet);
    let watch = tokio::spawn(async move {
        watched
            .watch(|reloaded| tell(reloaded, quiet, &shown))
            .await;
    });
    let served = match args.http {
        Some(address) => over_http(&server, address, args, terminal, stop.token).await,
        None => {
            if !quiet {
                let whom = "standard input and output, to whoever started this";
                intro(server.host(), whom, terminal);
            }
            let (input, output) = standard_streams();
            let served = serve_stdio(&server, input, output, stop.token).await;
            served.map_err(Failure::failed)
        }
    };
    // Whatever happened to the connections, what was recorded is kept.
    server.close().await;
    watch.abort();
    // Clients close their side when they are done, and a signal is how a person is.
    served.map(|()| Exit::Done)
}

async fn over_http(
    server: &Server,
    address: SocketAddr,
    args: McpArgs,
    terminal: &Terminal,
    stop: CancellationToken,
) -> Result<(), Failure> {
    let variable = std::env::var(http::TOKEN_VARIABLE).ok();
    let found = http::configured_token(args.token_file.as_deref(), variable.as_deref());
    let ConfiguredToken { token, generated } = found.map_err(Failure::usage)?;
    let mut options = HttpOptions::new(token);
    options.allowed_hosts = args.allowed_hosts;
    options.allowed_origins = args.allowed_origins;
    options.exposed_headers = vec![http::SESSION_ID];
    let listener = HttpServer::bind(address, options)
        .map_err(|error| Failure::failed(format!("cannot listen at {address}: {error}")))?;
    let address = listener.address();
    if !args.quiet {
        let whom = format!("http://{address}{} to whoever has the token", http::PATH);
        intro(server.host(), &whom, terminal);
    }
    if let Some(text) = generated {
        // Nobody could use the server without it.
        terminal.note(&format!("the token, made for this run alone: {text}"));
    }
    if let Some(warning) = exposure_warning(address) {
        terminal.note(&format!("{YELLOW}warning:{YELLOW:#} {warning}"));
    }
    let handlers = server.clone();
    let handler = move || handlers.handler();
    http::serve(listener, SessionLimits::default(), handler, stop).await;
    Ok(())
}

fn configured(served: &McpServed) -> Result<Config, Failure> {
    let overrides = Overrides {
        tools: served.tools.clone(),
        ..Overrides::default()
    };
    configure(served.config.clone(), overrides)
}

/// Says what is served and what it may reach: read from the values that the gate decides by.
fn intro(host: &Host, whom: &str, terminal: &Terminal) {
    let tools = host.registry().tools().iter();
    let names: Vec<&str> = tools.map(|tool| tool.definition.name.as_str()).collect();
    let reach = permission_summary::of(host.registry()).join("\n  ");
    terminal.note(&escape(&format!(
        "serving over {whom}: {}\nwhich may reach: {reach}",
        names.join(", ")
    )));
}

fn tell(reloaded: Reloaded, quiet: bool, terminal: &Terminal) {
    match reloaded {
        Reloaded::Served { components } if !quiet => terminal.note(&format!(
            "changed, and served from now on: {}",
            escape(&components.join(", "))
        )),
        Reloaded::Served { .. } => {}
        Reloaded::Refused { error } => terminal.note(&format!(
            "{YELLOW}not reloaded, what was accepted goes on being served:{YELLOW:#} {}",
            escape(&error.to_string())
        )),
    }
}

/// Prints the entry for the configuration of a client.
fn entry(
    name: &str,
    http: Option<SocketAddr>,
    served: &McpServed,
    terminal: &Terminal,
) -> Result<Exit, Failure> {
    let server = match http {
        Some(address) => json!({
            "type": "http",
            "url": format!("http://{address}{}", http::PATH),
            "headers": { "Authorization": "Bearer TOKEN" },
        }),
        None => started(served, terminal)?,
    };
    let servers = Map::from_iter([(name.to_owned(), server)]);
    let document = json!({ "mcpServers": servers });
    terminal.println(&json_lines(&document));
    if http.is_some() {
        terminal.note("Put the server's token in the place of TOKEN.");
    }
    Ok(Exit::Done)
}

/// How a client starts this program: with absolute paths, since it starts it anywhere.
fn started(served: &McpServed, terminal: &Terminal) -> Result<Value, Failure> {
    let program = std::env::current_exe().map_err(Failure::failed)?;
    // What cannot be served is told here, where somebody reads it.
    let config = configured(served)?;
    let mut args = vec!["mcp".to_owned()];
    let mut option = |name: &str, value: String| args.extend([name.to_owned(), value]);
    if let Some(file) = &config.file {
        option("--config", text(file)?);
        if served.config.config.is_none() {
            terminal.note(&escape(&format!(
                "The entry names {}, so that whatever it says from now on is served without a question about trust.",
                file.display()
            )));
        }
    }
    for tool in &served.tools {
        let path = config.working_dir.join(tool);
        option(
            "--tool",
            if tool.starts_with("builtin:") {
                tool.clone()
            } else {
                text(&path)?
            },
        );
    }
    for grant in &served.config.grants {
        option("--grant", grant_anywhere(grant, &config.working_dir)?);
    }
    // The folder that is granted because nobody named one would be another one where a client starts this.
    if config.implied_grant().is_some() {
        let mode = if served.config.write { ":rw" } else { "" };
        option(
            "--grant",
            format!("dir:{}{mode}", text(&config.working_dir)?),
        );
    } else if served.config.write {
        args.push("--write".to_owned());
    }
    if let Some(folder) = &served.config.state_dir {
        args.extend([
            "--state-dir".to_owned(),
            text(&config.working_dir.join(folder))?,
        ]);
    }
    Ok(json!({ "command": text(&program)?, "args": args }))
}

/// A grant that means the same wherever it is read: a folder in it gets its absolute path.
fn grant_anywhere(grant: &str, folder: &Path) -> Result<String, Failure> {
    match grant.strip_prefix("dir:") {
        Some(path) => Ok(format!("dir:{}", text(&folder.join(path))?)),
        None => Ok(grant.to_owned()),
    }
}

fn text(path: &Path) -> Result<String, Failure> {
    path.to_str().map(str::to_owned).ok_or_else(|| {
        Failure::usage(format!(
            "the path {} cannot be written in JSON; move what it names to one of UTF-8",
            path.display()
        ))
    })
}
