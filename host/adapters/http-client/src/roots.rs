//! The certificates of authorities: those in the program and those of the machine.

#[cfg(test)]
mod tests;

use rustls::{
    RootCertStore,
    pki_types::{CertificateDer, pem, pem::PemObject as _},
};
use std::sync::{Arc, LazyLock};

/// Returns the authorities that are trusted: those of Mozilla's program, and those of the machine's
/// store, or of `SSL_CERT_FILE` and `SSL_CERT_DIR` where they are set. They are read once.
#[must_use]
pub fn roots() -> Arc<RootCertStore> {
    static ROOTS: LazyLock<Arc<RootCertStore>> = LazyLock::new(|| {
        let found = rustls_native_certs::load_native_certs();
        for error in found.errors {
            tracing::warn!("the system's certificates are not used: {error}");
        }
        Arc::new(with_bundled(found.certs))
    });
    Arc::clone(&ROOTS)
}

/// A file that does not name authorities.
#[derive(Debug, thiserror::Error)]
pub enum AuthorityError {
    /// It is not in PEM.
    #[error("it is not in PEM ({0})")]
    Pem(#[from] pem::Error),
    /// A certificate in it cannot be an authority's.
    #[error("a certificate in it is not valid ({0})")]
    Certificate(#[from] rustls::Error),
    /// It has none.
    #[error("it contains no certificate")]
    Empty,
}

/// Reads the certificates of authorities in PEM, which are trusted in the place of all others.
///
/// # Errors
/// It has no certificate, or one that is none.
pub fn authorities(pem: &[u8]) -> Result<Arc<RootCertStore>, AuthorityError> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(pem) {
        roots.add(certificate?)?;
    }
    match roots.is_empty() {
        true => Err(AuthorityError::Empty),
        false => Ok(Arc::new(roots)),
    }
}

/// Adds the authorities in the program to these. One that cannot be read is left out.
fn with_bundled(certificates: Vec<CertificateDer<'static>>) -> RootCertStore {
    let mut roots = RootCertStore {
        roots: webpki_roots::TLS_SERVER_ROOTS.to_vec(),
    };
    roots.add_parsable_certificates(certificates);
    roots
}
