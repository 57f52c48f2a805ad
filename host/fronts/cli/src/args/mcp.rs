//! Arguments of `mcp`.

use super::ConfigArgs;
use agent_host_http::{AllowedHost, AllowedOrigin};
use agent_host_types::reason::Reason;
use clap::{Args as ClapArgs, Subcommand, ValueEnum};
use std::{
    net::{SocketAddr, ToSocketAddrs as _},
    path::PathBuf,
};

/// `mcp`.
#[derive(Debug, ClapArgs)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct McpArgs {
    /// The action; without one, serve.
    #[command(subcommand)]
    pub(crate) command: Option<McpCommand>,
    /// The configuration.
    #[command(flatten)]
    pub(crate) config: ConfigArgs,
    /// A component to serve in addition to the configured ones: a file, or `builtin:NAME`.
    /// Repeatable.
    #[arg(long = "tool", global = true, value_name = "FILE")]
    pub(crate) tools: Vec<String>,
    /// An agent of agent.toml to serve as the tool `agent_NAME`: each call runs it in a session of
    /// its own, with its model, tools and budgets. Repeatable.
    #[arg(long = "agent", global = true, value_name = "NAME")]
    pub(crate) agents: Vec<String>,
    /// Serve over HTTP at this address, such as `localhost:8080`; with port 0, at any free port.
    #[arg(long, value_name = "HOST:PORT", value_parser = address)]
    pub(crate) http: Option<SocketAddr>,
    /// With `--http`: a file with the token that clients must send, readable only by its owner
    /// [default: the variable AGENT_HOST_MCP_TOKEN, else a new one, which is printed].
    #[arg(long, value_name = "FILE", requires = "http")]
    pub(crate) token_file: Option<PathBuf>,
    /// With `--http`: another name, optionally with a port, by which clients may call this server.
    /// Repeatable.
    #[arg(long = "allow-host", value_name = "HOST[:PORT]", requires = "http")]
    pub(crate) allowed_hosts: Vec<AllowedHost>,
    /// With `--http`: an origin whose scripts may use this server, such as
    /// `https://app.example.org`. Repeatable.
    #[arg(long = "allow-origin", value_name = "ORIGIN", requires = "http")]
    pub(crate) allowed_origins: Vec<AllowedOrigin>,
    /// Print only errors on stderr.
    #[arg(long, short, global = true)]
    pub(crate) quiet: bool,
}

/// `mcp ...`.
#[derive(Debug, Subcommand)]
pub(crate) enum McpCommand {
    /// Print the configuration entry for clients to start this server, with absolute paths.
    Config {
        /// The name of the server in the client.
        #[arg(long, default_value = "agent-host")]
        name: String,
        /// Print the entry for a server that was started with `--http`, at this address.
        #[arg(long, value_name = "HOST:PORT", value_parser = address)]
        http: Option<SocketAddr>,
        /// Print it in this client's format [default: the format that most clients accept].
        #[arg(long, value_name = "CLIENT")]
        client: Option<McpClient>,
    },
    /// Log in to a configured MCP server with a `url`: prints the login address, and waits for the
    /// browser to return.
    Login {
        /// The server's name in agent.toml.
        server: String,
    },
    /// Forget the login to a configured MCP server. It stays valid at the server until it expires.
    Logout {
        /// The server's name in agent.toml.
        server: String,
    },
}

/// An MCP client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum McpClient {
    /// Claude Code.
    Claude,
    /// Claude Desktop.
    ClaudeDesktop,
    /// Cursor.
    Cursor,
    /// VS Code.
    #[value(name = "vscode")]
    VsCode,
    /// Zed.
    Zed,
}

/// Parses an address to listen at: an IP address or a name, and a port. Of the addresses of a name,
/// an IPv4 one is taken first.
fn address(text: &str) -> Result<SocketAddr, Reason> {
    if let Ok(address) = text.parse() {
        return Ok(address);
    }
    let found = text
        .to_socket_addrs()
        .map_err(|error| format!("{error}; write it like `localhost:8080` or `[::1]:8080`"))?;
    let found: Vec<SocketAddr> = found.collect();
    let first = found.iter().find(|address| address.is_ipv4());
    let first = first.or(found.first()).copied();
    first.ok_or_else(|| "the name has no address".into())
}
