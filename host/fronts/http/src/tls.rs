//! TLS with a certificate and a key in files, which may be replaced while the server runs.

use rustls::{
    ServerConfig,
    crypto::ring,
    pki_types::{
        CertificateDer, PrivateKeyDer,
        pem::{self, PemObject as _},
    },
};
use std::{
    fmt, io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::SystemTime,
};

/// The protocol of connections: HTTP/1.1 alone.
const ALPN: &[u8] = b"http/1.1";

/// A certificate chain and its key in PEM files. A new pair in their place is taken at the next
/// connection; while it cannot be used, the one before is.
pub struct TlsFiles {
    certificate: PathBuf,
    key: PathBuf,
    current: Mutex<LoadedPair>,
}

/// A pair as it was read.
struct LoadedPair {
    stamps: Option<[Stamp; 2]>,
    config: Arc<ServerConfig>,
}

/// Tells versions of a file apart.
type Stamp = (SystemTime, u64);

impl TlsFiles {
    /// Reads a certificate, with those between it and the authority behind it, and its key.
    ///
    /// # Errors
    /// A file cannot be read, or the two cannot be used together.
    pub fn load(certificate: PathBuf, key: PathBuf) -> io::Result<Self> {
        // Before they are read, so that a change meanwhile is seen later.
        let stamps = stamps(&certificate, &key);
        let config = read(&certificate, &key)?;
        let current = Mutex::new(LoadedPair { stamps, config });
        Ok(Self {
            certificate,
            key,
            current,
        })
    }

    /// Returns the settings of a new connection. Reads the files if they changed.
    pub(crate) fn config(&self) -> Arc<ServerConfig> {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        let stamps = stamps(&self.certificate, &self.key);
        if stamps != current.stamps {
            match read(&self.certificate, &self.key) {
                Ok(config) => {
                    current.config = config;
                    tracing::info!("the certificate was replaced");
                }
                // One of the two may be written in a moment.
                Err(error) => tracing::warn!("the previous certificate is still used: {error}"),
            }
            current.stamps = stamps;
        }
        Arc::clone(&current.config)
    }
}

impl fmt::Debug for TlsFiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TlsFiles({})", self.certificate.display())
    }
}

/// Returns what tells the versions of both files apart; `None` while one cannot be seen.
fn stamps(certificate: &Path, key: &Path) -> Option<[Stamp; 2]> {
    let stamp = |path: &Path| {
        let found = path.metadata().ok()?;
        Some((found.modified().ok()?, found.len()))
    };
    Some([stamp(certificate)?, stamp(key)?])
}

fn read(certificate: &Path, key: &Path) -> io::Result<Arc<ServerConfig>> {
    let text = |path: &Path| {
        std::fs::read(path)
            .map_err(|error| io::Error::other(format!("cannot read {}: {error}", path.display())))
    };
    let no = |path: &Path, what: &str, error: pem::Error| {
        io::Error::other(format!(
            "{} has no {what} in PEM format: {error}",
            path.display()
        ))
    };
    let chain = text(certificate)?;
    let chain = CertificateDer::pem_slice_iter(&chain).collect::<Result<Vec<_>, _>>();
    let chain = chain.and_then(|chain| match chain.is_empty() {
        true => Err(pem::Error::NoItemsFound),
        false => Ok(chain),
    });
    let chain = chain.map_err(|source| no(certificate, "certificate", source))?;
    let private = PrivateKeyDer::from_pem_slice(&text(key)?);
    let private = private.map_err(|source| no(key, "private key", source))?;
    let provider = Arc::new(ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .and_then(|builder| {
            builder
                .with_no_client_auth()
                .with_single_cert(chain, private)
        });
    let mut config = config.map_err(|error| {
        let (certificate, key) = (certificate.display(), key.display());
        let why =
            format!("the certificate {certificate} does not work with the key {key}: {error}");
        io::Error::other(why)
    })?;
    config.alpn_protocols = vec![ALPN.to_owned()];
    Ok(Arc::new(config))
}
