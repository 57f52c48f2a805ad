//! Why a server cannot be used. The texts say what, why and what to do; what a server said is bounded in them.

/// Why a server cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConnectError {
    /// Its command cannot be run, or its address cannot be asked.
    #[error(
        "the MCP server `{server}` cannot be started: {why}; correct its `command` or `url` under [[mcp]]"
    )]
    Start {
        /// Its name.
        server: String,
        /// What went wrong.
        why: String,
    },
    /// It did not say in time what it is and what its tools are.
    #[error(
        "the MCP server `{server}` did not get ready within {seconds} seconds{words}; give it more with `connect-timeout-seconds` under [[mcp]], or correct its `command` or `url`"
    )]
    Silent {
        /// Its name.
        server: String,
        /// How long it was waited for.
        seconds: u64,
        /// The end of what it wrote to stderr, as a clause, or nothing.
        words: String,
    },
    /// It did not begin as the protocol says.
    #[error(
        "the MCP server `{server}` cannot be used: {why}{words}. Try what stands under [[mcp]] by hand"
    )]
    Unusable {
        /// Its name.
        server: String,
        /// What went wrong.
        why: String,
        /// The end of what it wrote to stderr, as a clause, or nothing.
        words: String,
    },
    /// What it says of its tools cannot be used.
    #[error(
        "the tools of the MCP server `{server}` cannot be used: {why}. Name the tools that you want with `tools = [..]` under [[mcp]], or use another version of the server"
    )]
    Tools {
        /// Its name.
        server: String,
        /// What is wrong with which tool.
        why: String,
    },
}
