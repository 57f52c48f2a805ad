//! Errors of connections, in words for the user: the libraries below name types of their own.

#[cfg(test)]
mod tests;

use super::{Server, failure::AttemptError};
use crate::retry::Retry;
use agent_host_types::model::ModelErrorKind;
use rustls::{CertificateError, Error as TlsError};
use std::{error::Error, io};

impl Server {
    /// The error of a failed connection or transfer.
    pub(super) fn connection_error(&self, error: &reqwest::Error) -> AttemptError {
        let url = self.shown_url();
        let io = innermost_io(error);
        let refused = io.is_some_and(|error| error.kind() == io::ErrorKind::ConnectionRefused);
        let text = if error.is_connect() && error.is_timeout() {
            let seconds = self.timeouts.connect.as_secs_f64();
            format!(
                "No connection to the model server at {url} within {seconds} s. Check the base URL and the network."
            )
        } else if refused {
            format!(
                "No model server answers at {url}: the connection was refused. Is the server running? Start a local \
                 one first, e.g. with `ollama serve`; otherwise check the base URL."
            )
        } else if error.is_dns() {
            format!(
                "The host name in {url} could not be found. Check the base URL and the network."
            )
        } else if error.is_connect() {
            let cause = io.map_or("it could not be established".to_owned(), cause);
            format!("No connection to the model server at {url}: {cause}. Check the base URL.")
        } else {
            let ended = if error.is_body() || error.is_decode() {
                "the answer ended early"
            } else {
                "the server closed it before answering"
            };
            let cause = io.map_or(ended.to_owned(), cause);
            format!("The connection to the model server at {url} was lost: {cause}.")
        };
        // The error itself has the URL with its query.
        tracing::debug!(cause = ?error.source(), "no connection to the model server");
        AttemptError::new(ModelErrorKind::Unreachable, text, Retry::Backoff)
    }
}

/// Returns the last I/O error among the causes of an error.
fn innermost_io(error: &reqwest::Error) -> Option<&io::Error> {
    let first: &(dyn Error + 'static) = error;
    let causes = std::iter::successors(Some(first), |&error| error.source());
    causes.filter_map(<dyn Error>::downcast_ref).last()
}

/// Returns the words for an I/O error.
fn cause(error: &io::Error) -> String {
    use io::ErrorKind as Kind;
    if let Some(inner) = error.get_ref() {
        if let Some(error) = inner.downcast_ref() {
            return tls_cause(error).to_owned();
        }
        if let Some(error) = inner.downcast_ref() {
            return cause(error);
        }
    }
    match error.kind() {
        Kind::ConnectionReset | Kind::ConnectionAborted | Kind::BrokenPipe => {
            "the server closed it".to_owned()
        }
        Kind::UnexpectedEof => "the answer ended early".to_owned(),
        // The operating system's own words.
        _ if error.raw_os_error().is_some() => error.to_string(),
        _ => "it failed".to_owned(),
    }
}

/// Returns the words for a TLS error.
fn tls_cause(error: &TlsError) -> &'static str {
    match error {
        TlsError::InvalidCertificate(CertificateError::UnknownIssuer) => {
            "the server's certificate is from an authority that this machine does not trust (set SSL_CERT_FILE to \
             the authority's certificate)"
        }
        TlsError::InvalidCertificate(
            CertificateError::Expired | CertificateError::ExpiredContext { .. },
        ) => "the server's certificate has expired",
        TlsError::InvalidCertificate(
            CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. },
        ) => "the server's certificate is not valid yet; check this machine's clock",
        TlsError::InvalidCertificate(
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
        ) => "the server's certificate is for another name",
        TlsError::InvalidCertificate(_) => "the server's certificate is not valid",
        TlsError::InvalidMessage(_) => "the server does not use TLS at that address",
        TlsError::AlertReceived(_) => "the server refused the TLS handshake",
        _ => "the TLS handshake failed",
    }
}
