//! Arguments of `serve`.

use super::ConfigArgs;
use crate::log::LogFormat;
use agent_host_http::{AllowedHost, AllowedOrigin};
use agent_host_serve::{AccessRole, TokenName, TokenSessions};
use clap::{
    Args as ClapArgs, Subcommand,
    builder::{PossibleValuesParser, TypedValueParser},
};
use std::{net::SocketAddr, path::PathBuf};

/// `serve`.
#[derive(Debug, ClapArgs)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct ServeArgs {
    /// The action; without one, serve.
    #[command(subcommand)]
    pub(crate) command: Option<ServeCommand>,
    /// The configuration.
    #[command(flatten)]
    pub(crate) config: ConfigArgs,
    /// The model, as for `run`.
    #[arg(long, short, value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// The address to listen on; with port 0, any free port. A socket passed by systemd takes
    /// precedence.
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8420")]
    pub(crate) http: SocketAddr,
    /// Serve nothing: run the sessions that other hosts of the store accepted but have no capacity
    /// for, and continue those of hosts that stopped. Requires `url` in `[store]`.
    #[arg(long, conflicts_with_all = ["http", "token_file", "tls_cert", "allowed_origins"])]
    pub(crate) worker: bool,
    /// Let tokens with the role `operator` see, continue and delete the sessions of all projects in
    /// the store. Without it, they see only those of the server's own project.
    #[arg(long, conflicts_with = "worker")]
    pub(crate) all_projects: bool,
    /// A file with the operator's token, readable only by its owner [default: the variable
    /// AGENT_HOST_SERVE_TOKEN, else a new one, which is printed]. Manage other tokens with `serve
    /// token`.
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
    /// Serve over TLS, with the certificate in this PEM file, followed by any intermediate ones. A
    /// replaced file is used from the next connection on.
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub(crate) tls_cert: Option<PathBuf>,
    /// The private key of the certificate, a PEM file.
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub(crate) tls_key: Option<PathBuf>,
    /// Another name, optionally with a port, by which clients may call this server. Repeatable.
    #[arg(long = "allow-host", value_name = "HOST[:PORT]")]
    pub(crate) allowed_hosts: Vec<AllowedHost>,
    /// An origin whose scripts may use this server, such as `https://app.example.org`. Repeatable.
    #[arg(long = "allow-origin", value_name = "ORIGIN")]
    pub(crate) allowed_origins: Vec<AllowedOrigin>,
    /// The format of messages on stderr: `text`, or `json` for one object per line with its time,
    /// level and message, and the ids of the session and the call that it belongs to.
    #[arg(
        long,
        env = "AGENT_HOST_LOG_FORMAT",
        value_name = "FORMAT",
        default_value = "text",
        hide_possible_values = true
    )]
    pub(crate) log_format: LogFormat,
    /// Print only errors on stderr.
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

/// `serve ...`.
#[derive(Debug, Subcommand)]
pub(crate) enum ServeCommand {
    /// Create, list or revoke tokens with roles, for clients other than the operator.
    Token {
        /// The action.
        #[command(subcommand)]
        command: TokenCommand,
    },
    /// Ask a server on this machine whether it can take work, and exit with 0 or 1: for container
    /// probes, which cannot send a token.
    Probe {
        /// The address of the server.
        #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:8420")]
        url: String,
        /// Ask only whether it is alive.
        #[arg(long)]
        live: bool,
        /// A file with a token of any role [default: the variable AGENT_HOST_SERVE_TOKEN].
        #[arg(long, value_name = "FILE")]
        token_file: Option<PathBuf>,
        /// The PEM certificate of the authority that signed the server's certificate [default: the
        /// system's authorities].
        #[arg(long, value_name = "FILE")]
        ca: Option<PathBuf>,
    },
}

/// `serve token ...`.
#[derive(Debug, Subcommand)]
pub(crate) enum TokenCommand {
    /// Create a token, and print it: only its hash is stored. A running server accepts it at once.
    Create {
        /// The token's name, which the journal records with its actions: 1 to 64 characters of `a`
        /// to `z`, `0` to `9` and `-`.
        name: TokenName,
        /// The role: `viewer` reads sessions; `user` also creates them, sends messages, answers
        /// questions, cancels, undoes, names and deletes; `approver` also decides on calls;
        /// `operator` also remembers decisions for the project, and reads the grants.
        #[arg(long, value_parser = roles())]
        role: AccessRole,
        /// The sessions that it can see: `own` for those that it starts and their agents' sessions,
        /// or `project` for all of the server's project [default: `own` for a user, `project` for
        /// the other roles].
        #[arg(long, value_parser = scopes())]
        sessions: Option<TokenSessions>,
    },
    /// List the tokens: names, roles, visible sessions, and dates.
    List {
        /// Print JSON, one token per line.
        #[arg(long)]
        json: bool,
    },
    /// Revoke a token. A running server refuses it from its next request on.
    Revoke {
        /// The token's name.
        name: TokenName,
    },
}

fn scopes() -> impl TypedValueParser<Value = TokenSessions> {
    let names = TokenSessions::ALL.map(TokenSessions::as_str);
    PossibleValuesParser::new(names).try_map(|name| name.parse::<TokenSessions>())
}

fn roles() -> impl TypedValueParser<Value = AccessRole> {
    let names = AccessRole::ALL.map(AccessRole::as_str);
    PossibleValuesParser::new(names).try_map(|name| name.parse::<AccessRole>())
}
