//! The certificates of authorities: those in the program and those of the machine.

#[cfg(test)]
mod tests;

use rustls::{RootCertStore, pki_types::CertificateDer};
use std::sync::{Arc, LazyLock};

/// Returns the authorities that are trusted: those of Mozilla's program, and those of the machine's
/// store, or of `SSL_CERT_FILE` and `SSL_CERT_DIR` where they are set. They are read once.
pub(crate) fn roots() -> Arc<RootCertStore> {
    static ROOTS: LazyLock<Arc<RootCertStore>> = LazyLock::new(|| {
        let found = rustls_native_certs::load_native_certs();
        for error in found.errors {
            tracing::warn!("certificates of this machine are not used: {error}");
        }
        Arc::new(with_bundled(found.certs))
    });
    Arc::clone(&ROOTS)
}

/// Adds the authorities in the program to these. One that cannot be read is left out.
fn with_bundled(certificates: Vec<CertificateDer<'static>>) -> RootCertStore {
    let mut roots = RootCertStore {
        roots: webpki_roots::TLS_SERVER_ROOTS.to_vec(),
    };
    roots.add_parsable_certificates(certificates);
    roots
}
