//! Arguments of `mcp`.

use super::ConfigArgs;
use agent_host_http::{AllowedHost, AllowedOrigin};
use clap::{Args as ClapArgs, Subcommand};
use std::{net::SocketAddr, path::PathBuf};

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
    /// A component to serve besides the configured ones: a file, or `builtin:NAME`. Repeatable.
    #[arg(long = "tool", global = true, value_name = "FILE")]
    pub(crate) tools: Vec<String>,
    /// Serve over HTTP at this address, such as `127.0.0.1:8080`; with port 0, at any that is free.
    #[arg(long, value_name = "ADDR")]
    pub(crate) http: Option<SocketAddr>,
    /// With `--http`: a file with the token that clients must show, which only its owner may read
    /// [default: the variable AGENT_HOST_MCP_TOKEN, else a new one, which is shown].
    #[arg(long, value_name = "FILE", requires = "http")]
    pub(crate) token_file: Option<PathBuf>,
    /// With `--http`: a name, possibly with a port, that clients may call this server by besides
    /// its own address. Repeatable.
    #[arg(long = "allow-host", value_name = "HOST[:PORT]", requires = "http")]
    pub(crate) allowed_hosts: Vec<AllowedHost>,
    /// With `--http`: a page whose scripts may use this server, such as `https://app.example.org`.
    /// Repeatable.
    #[arg(long = "allow-origin", value_name = "ORIGIN", requires = "http")]
    pub(crate) allowed_origins: Vec<AllowedOrigin>,
    /// Say nothing on stderr but errors.
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

/// `mcp ...`.
#[derive(Debug, Subcommand)]
pub(crate) enum McpCommand {
    /// Print the entry that clients take into their configuration to start this server, with
    /// absolute paths.
    Config {
        /// The name of the server in the client.
        #[arg(long, default_value = "agent-host")]
        name: String,
        /// The entry for a server that was started with `--http`, at this address.
        #[arg(long, value_name = "ADDR")]
        http: Option<SocketAddr>,
    },
    /// Log in to a configured MCP server with a `url`: prints the address at which to do so, and
    /// waits until the browser is back.
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
