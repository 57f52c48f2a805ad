//! Arguments of `serve`.

use super::ConfigArgs;
use agent_host_http::{AllowedHost, AllowedOrigin};
use clap::Args as ClapArgs;
use std::{net::SocketAddr, path::PathBuf};

/// `serve`.
#[derive(Debug, ClapArgs)]
pub(crate) struct ServeArgs {
    /// The configuration.
    #[command(flatten)]
    pub(crate) config: ConfigArgs,
    /// The model, as for `run`.
    #[arg(long, short, value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// The address to listen at; with port 0, at any port that is free.
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8420")]
    pub(crate) http: SocketAddr,
    /// A file with the token that clients must show, which only its owner may read [default: the
    /// variable AGENT_HOST_SERVE_TOKEN, else a new one, which is shown].
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
    /// A name, possibly with a port, that clients may call this server by besides its own address.
    /// Repeatable.
    #[arg(long = "allow-host", value_name = "HOST[:PORT]")]
    pub(crate) allowed_hosts: Vec<AllowedHost>,
    /// A page whose scripts may use this server, such as `https://app.example.org`. Repeatable.
    #[arg(long = "allow-origin", value_name = "ORIGIN")]
    pub(crate) allowed_origins: Vec<AllowedOrigin>,
    /// Say nothing on stderr but errors.
    #[arg(long, short)]
    pub(crate) quiet: bool,
}
