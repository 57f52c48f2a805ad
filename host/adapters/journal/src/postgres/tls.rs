//! The encryption of connections: to another machine always, with the chain and the name of the
//! server's certificate verified, and never a fall back to plain ones.

use crate::error::{PostgresError, StoreError};
use rustls::{ClientConfig, RootCertStore, crypto::ring};
use std::{net::IpAddr, sync::Arc};
use tokio_postgres::{
    Config,
    config::{Host, SslMode, SslNegotiation},
};
use tokio_postgres_rustls::MakeRustlsConnect;

/// The name of the protocol in a handshake without a request before it (`sslnegotiation=direct`).
const PROTOCOL: &[u8] = b"postgresql";

/// Parses an address and decides how its connections are encrypted. `sslmode=verify-full` is what
/// every encrypted connection does here; the parser knows only `require`.
pub(super) fn config(url: &str) -> Result<Config, StoreError> {
    let url = url.replace("sslmode=verify-full", "sslmode=require");
    // The parser's error does not show the password.
    let mut config: Config = url.parse().map_err(PostgresError::Url)?;
    let mode = match (is_on_this_machine(&config), config.get_ssl_mode()) {
        (_, SslMode::Require) | (false, SslMode::Prefer) => SslMode::Require,
        // No one between two processes of a machine reads along, and the certificates that
        // distributions make for a server are of no authority.
        (true, _) => SslMode::Disable,
        (false, _) => {
            let location = super::database::location(&config);
            return Err(PostgresError::Unencrypted(location).into());
        }
    };
    config.ssl_mode(mode);
    Ok(config)
}

/// Returns the maker of encrypted connections, which trusts these authorities alone.
pub(super) fn connector(
    authorities: &Arc<RootCertStore>,
    config: &Config,
) -> Result<MakeRustlsConnect, StoreError> {
    let mut tls = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| PostgresError::Pool(error.to_string()))?
        .with_root_certificates(Arc::clone(authorities))
        .with_no_client_auth();
    if config.get_ssl_negotiation() == SslNegotiation::Direct {
        tls.alpn_protocols = vec![PROTOCOL.to_vec()];
    }
    Ok(MakeRustlsConnect::new(tls))
}

/// Whether every server of an address is reached without a network.
pub(super) fn is_on_this_machine(config: &Config) -> bool {
    let mut addresses = config.get_hostaddrs().iter();
    config.get_hosts().iter().all(is_local) && addresses.all(IpAddr::is_loopback)
}

fn is_local(host: &Host) -> bool {
    match host {
        Host::Unix(_) => true,
        Host::Tcp(name) => {
            let address = name.parse::<IpAddr>();
            address.map_or(name == "localhost", |address| address.is_loopback())
        }
    }
}
