//! `agent-host mcp login` and `logout`: the login of the user to a configured MCP server.

use super::configured;
use crate::{
    args::McpArgs,
    exit::{Exit, Failure},
    signals::Stop,
    terminal::{GREEN, Terminal, compose, escape_line},
};
use agent_host_app::Config;
use agent_host_mcp_client::{Endpoint, Login, LoginError, Reach};
use std::time::Duration;

/// The time for the user to log in.
const LOGIN_TIMEOUT: Duration = Duration::from_secs(15 * 60);

/// The maximum of pasted addresses that are not the one of the login.
const MAX_PASTES: usize = 3;

pub(super) async fn login(
    name: &str,
    args: &McpArgs,
    terminal: &Terminal,
) -> Result<Exit, Failure> {
    let config = configured(args)?;
    let endpoint = endpoint(name, &config).await?;
    let stop = Stop::listen(terminal);
    let cannot = |error: LoginError| {
        let name = escape_line(name);
        Failure::failed(format!("cannot log in to the MCP server `{name}`: {error}"))
    };
    tokio::select! {
        biased;
        () = stop.token.cancelled() => return Ok(stop.exit()),
        done = tokio::time::timeout(LOGIN_TIMEOUT, log_in(&endpoint, terminal)) => {
            let minutes = LOGIN_TIMEOUT.as_secs() / 60;
            let late = LoginError::Failed(format!("no one logged in within {minutes} minutes"));
            done.unwrap_or(Err(late)).map_err(cannot)?;
        }
    }
    let name = escape_line(name);
    terminal.note(&format!(
        "{GREEN}logged in{GREEN:#} to the MCP server `{name}`; forget it with `agent-host mcp logout {name}`"
    ));
    Ok(Exit::Done)
}

pub(super) async fn logout(
    name: &str,
    args: &McpArgs,
    terminal: &Terminal,
) -> Result<Exit, Failure> {
    let endpoint = endpoint(name, &configured(args)?).await?;
    if let Some(oauth) = &endpoint.oauth {
        let forgotten = oauth.store.clear();
        forgotten.map_err(|error| Failure::failed(format!("cannot forget the login: {error}")))?;
    }
    let name = escape_line(name);
    terminal.note(&format!("no login to the MCP server `{name}` is stored"));
    Ok(Exit::Done)
}

async fn log_in(endpoint: &Endpoint, terminal: &Terminal) -> Result<(), LoginError> {
    let login = Login::begin(endpoint).await?;
    let scopes = match login.scopes() {
        [] => "no particular scopes".to_owned(),
        scopes => format!("these scopes: {}", escape_line(&scopes.join(" "))),
    };
    terminal.note(&format!(
        "Open this address in a browser, and log in there if you trust its host. The login requests {scopes}.\n"
    ));
    // Alone on stdout, so that a script can open it.
    terminal.println_untrusted(login.url());
    if terminal.can_ask() {
        terminal.note(
            "\nIf the browser is on another machine, it is redirected to an address on 127.0.0.1 that it cannot open.",
        );
    }
    tokio::select! {
        address = login.redirected() => login.finish(&address?).await,
        pasted = pasted(&login, terminal), if terminal.can_ask() => pasted,
    }
}

/// Reads the address that a browser on another machine was redirected to.
async fn pasted(login: &Login, terminal: &Terminal) -> Result<(), LoginError> {
    for _ in 0..MAX_PASTES {
        let terminal = *terminal;
        let ask = move || compose(&terminal, "Paste that address here:");
        let Ok(Some(line)) = tokio::task::spawn_blocking(ask).await else {
            break;
        };
        match login.finish(&line).await {
            Err(error @ LoginError::OtherAddress) => terminal.error(&error.to_string()),
            finished => return finished,
        }
    }
    Err(LoginError::OtherAddress)
}

/// Returns the address of a configured server, with its token or login.
async fn endpoint(name: &str, config: &Config) -> Result<Endpoint, Failure> {
    let server = config.servers.iter().find(|server| server.name == name);
    let server = server.ok_or_else(|| {
        let names: Vec<&str> = config
            .servers
            .iter()
            .map(|server| server.name.as_str())
            .collect();
        let known = if names.is_empty() {
            "none are configured".to_owned()
        } else {
            names.join(", ")
        };
        Failure::usage(format!(
            "unknown MCP server `{}`: {known}",
            name.escape_debug()
        ))
    })?;
    if server.component().is_none()
        && let opened = server.open(None, None, None, &config.state_dir).await?
        && let Reach::Http(endpoint) = opened.reach
        && endpoint.oauth.is_some()
    {
        return Ok(endpoint);
    }
    Err(Failure::usage(format!(
        "cannot log in to the MCP server `{name}`: {}",
        LoginError::NotNeeded
    )))
}
