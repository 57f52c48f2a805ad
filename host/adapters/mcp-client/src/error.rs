//! Errors of connecting to a server. Each text states the problem, its cause and the remedy; quotes
//! from a server are bounded.

/// The reason why a server cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConnectError {
    /// The command cannot be run or the URL is invalid.
    #[error(
        "cannot start the MCP server `{server}`: {why}; correct its `command`, `url` or `component` under [[mcp]]"
    )]
    Start {
        /// The configured name of the server.
        server: String,
        /// The cause.
        why: String,
    },
    /// The handshake or the list of tools took too long.
    #[error(
        "the MCP server `{server}` was not ready within {seconds} seconds{detail}; raise `connect-timeout-seconds` \
         under [[mcp]], or correct its `command`, `url` or `component`"
    )]
    Silent {
        /// The configured name of the server.
        server: String,
        /// The timeout in seconds.
        seconds: u64,
        /// How its process ended and its last line on stderr, as a clause that begins with `, `, or
        /// empty.
        detail: String,
    },
    /// The handshake failed.
    #[error(
        "the MCP server `{server}` cannot be used: {why}{detail}. Try the `command`, `url` or `component` under [[mcp]] by hand"
    )]
    Unusable {
        /// The configured name of the server.
        server: String,
        /// The cause.
        why: String,
        /// How its process ended and its last line on stderr, as a clause that begins with `, `, or
        /// empty.
        detail: String,
    },
    /// The server speaks the transport that streamable HTTP replaced.
    #[error(
        "the MCP server `{server}` uses the HTTP+SSE transport of 2024-11-05, which is not supported; set `url` \
         under [[mcp]] to its streamable HTTP endpoint (often `/mcp` instead of `/sse`), or use a version of the \
         server that has one"
    )]
    HttpSse {
        /// The configured name of the server.
        server: String,
    },
    /// The server wants a token, and has none or one that it does not take.
    #[error(
        "the MCP server `{server}` requires a login; run `agent-host mcp login {server}`, or set `token` under [[mcp]]"
    )]
    Login {
        /// The configured name of the server.
        server: String,
    },
    /// The list of tools is invalid.
    #[error(
        "cannot use the tools of the MCP server `{server}`: {why}. List the tools that you want in `tools = [..]` \
         under [[mcp]], or use another version of the server"
    )]
    Tools {
        /// The configured name of the server.
        server: String,
        /// The tool and its defect.
        why: String,
    },
}
