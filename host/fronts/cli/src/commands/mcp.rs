//! `agent-host mcp`: serves the configured tools to MCP clients. stdout belongs to the client; text
//! for users goes to stderr.

mod entry;
mod login;

use super::configure;
use crate::{
    args::{McpArgs, McpCommand},
    exit::{Exit, Failure},
    signals::Stop,
    terminal::{Terminal, YELLOW, escape},
};
use agent_host_app::{Config, Host, HostError, Overrides, reach};
use agent_host_http::{HttpOptions, HttpServer, exposure_warning};
use agent_host_mcp::{
    Reloaded, Server,
    http::{self, ConfiguredToken, SessionLimits},
    serve_stdio, standard_streams,
};
use agent_host_process::raise_descriptor_limit;
use std::net::SocketAddr;
use tokio_util::sync::CancellationToken;

pub(super) async fn mcp(args: McpArgs, terminal: &Terminal) -> Result<Exit, Failure> {
    match &args.command {
        Some(McpCommand::Config { name, http, client }) => {
            entry::print(name, *http, *client, &args, terminal)
        }
        Some(McpCommand::Login { server }) => login::login(server, &args, terminal).await,
        Some(McpCommand::Logout { server }) => login::logout(server, &args, terminal).await,
        None => serve(args, terminal).await,
    }
}

async fn serve(args: McpArgs, terminal: &Terminal) -> Result<Exit, Failure> {
    let mut config = configured(&args)?;
    config.hidden_files.extend(args.token_file.clone());
    let stop = Stop::listen(terminal);
    let host = tokio::select! {
        biased;
        () = stop.token.cancelled() => return Ok(stop.exit()),
        opened = open(config, &args.agents) => opened?,
    };
    let server = Server::new(host, &args.agents)?;
    let quiet = args.quiet;
    let serving = async {
        match args.http {
            Some(address) => over_http(&server, address, args, terminal, stop.token).await,
            None => over_stdio(&server, quiet, terminal, stop.token).await,
        }
    };
    reloading(&server, quiet, terminal, serving).await?;
    Ok(Exit::Done)
}

/// Serves the tools of a configuration over standard input and output, until the input ends or
/// `stop`.
pub(super) async fn serve_tools(
    config: Config,
    terminal: &Terminal,
    stop: CancellationToken,
) -> Result<(), Failure> {
    let server = Server::new(open(config, &[]).await?, &[])?;
    let quiet = false;
    let serving = over_stdio(&server, quiet, terminal, stop);
    reloading(&server, quiet, terminal, serving).await
}

/// Reloads what changes while the server serves, and closes it.
async fn reloading(
    server: &Server,
    quiet: bool,
    terminal: &Terminal,
    serving: impl Future<Output = Result<(), Failure>>,
) -> Result<(), Failure> {
    let (watched, shown) = (server.clone(), *terminal);
    let watch = tokio::spawn(async move {
        watched
            .watch(|reloaded| report_reload(reloaded, quiet, &shown))
            .await;
    });
    let served = serving.await;
    // Makes the journal durable, however the connections ended.
    server.close().await;
    watch.abort();
    // Closed input and a signal are the normal ends of a server.
    served
}

async fn over_stdio(
    server: &Server,
    quiet: bool,
    terminal: &Terminal,
    stop: CancellationToken,
) -> Result<(), Failure> {
    if !quiet {
        let clients = "standard input and output, to the program that started this one";
        intro(server, clients, terminal);
    }
    let (input, output) = standard_streams();
    let served = serve_stdio(server, input, output, stop).await;
    served.map_err(Failure::failed)
}

async fn over_http(
    server: &Server,
    address: SocketAddr,
    args: McpArgs,
    terminal: &Terminal,
    stop: CancellationToken,
) -> Result<(), Failure> {
    // Each connection is a descriptor.
    raise_descriptor_limit();
    let value = std::env::var(http::TOKEN_VARIABLE).ok();
    let file = args.token_file.as_deref();
    let found = http::configured_token(file, http::TOKEN_VARIABLE, value.as_deref());
    let ConfiguredToken { token, generated } = found.map_err(Failure::usage)?;
    let mut options = HttpOptions::new(token);
    options.allowed_hosts = args.allowed_hosts;
    options.allowed_origins = args.allowed_origins;
    options.exposed_headers = vec![http::SESSION_ID];
    let listener = HttpServer::bind(address, options)
        .map_err(|error| Failure::failed(format!("cannot listen at {address}: {error}")))?;
    let address = listener.address();
    if !args.quiet {
        let clients = format!("http://{address}{} to clients with the token", http::PATH);
        intro(server, &clients, terminal);
    }
    if let Some(text) = generated {
        // No client can connect without it.
        terminal.note(&format!("the token, valid only for this run: {text}"));
    }
    if let Some(warning) = exposure_warning(address) {
        terminal.warn(&warning);
    }
    http::serve(server, listener, SessionLimits::default(), stop).await;
    Ok(())
}

/// Opens the host, with the models of its agents if some are served.
async fn open(config: Config, agents: &[String]) -> Result<Host, HostError> {
    for agent in agents {
        config.agent(agent)?;
    }
    match agents {
        [] => Host::open_tools(config).await,
        _ => Host::open(config).await,
    }
}

fn configured(served: &McpArgs) -> Result<Config, Failure> {
    let overrides = Overrides {
        tools: served.tools.clone(),
        ..Overrides::default()
    };
    configure(served.config.clone(), overrides)
}

/// Prints what is served and what it may reach, from the values that the policy checks.
fn intro(server: &Server, clients: &str, terminal: &Terminal) {
    let tools = server.tool_names().join(", ");
    let reach = reach(server.host().agents().registry()).join("\n  ");
    terminal.note(&escape(&format!(
        "serving over {clients}: {tools}\naccess: {reach}"
    )));
}

fn report_reload(reloaded: Reloaded, quiet: bool, terminal: &Terminal) {
    match reloaded {
        Reloaded::Served(components) if !quiet => terminal.note(&format!(
            "changed, and now served: {}",
            escape(&components.join(", "))
        )),
        Reloaded::Served(_) => {}
        Reloaded::Refused(error) => terminal.note(&format!(
            "{YELLOW}not reloaded; still serving the accepted tools:{YELLOW:#} {}",
            escape(&error.to_string())
        )),
    }
}
