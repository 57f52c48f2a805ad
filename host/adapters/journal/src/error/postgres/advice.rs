//! The part of a message of PostgreSQL that says what a failure means and what to do.

#[cfg(test)]
mod tests;

use rustls::CertificateError;
use std::io;
use tokio_postgres::error::SqlState;

/// The library's words for a server that refuses to encrypt a connection. It has no code for that.
const NO_TLS: &str = "server does not support TLS";

/// Returns what an error of PostgreSQL means and what to do about it.
pub(super) fn postgres_advice(location: &str, error: &tokio_postgres::Error) -> String {
    let Some(code) = error.code() else {
        return tls_advice(location, error).unwrap_or_else(|| {
            format!(
                "{location} cannot be reached ({}); check the server and the network, then try again",
                chain(error)
            )
        });
    };
    code_advice(location, code, &said(error))
}

/// Returns the server's own words of an error, fit for a message.
pub(super) fn said(error: &tokio_postgres::Error) -> String {
    let said = error.as_db_error().map_or("", |error| error.message());
    said.escape_debug().to_string()
}

/// Returns what a code of the server means and what to do about it.
fn code_advice(location: &str, code: &SqlState, said: &str) -> String {
    match *code {
        SqlState::READ_ONLY_SQL_TRANSACTION => format!(
            "{location} is a standby and accepts no writes ({said}); give the address of the primary"
        ),
        SqlState::T_R_SERIALIZATION_FAILURE | SqlState::T_R_DEADLOCK_DETECTED => {
            format!(
                "{location} refused the write because of another one at the same time ({said}); try again"
            )
        }
        SqlState::ADMIN_SHUTDOWN | SqlState::CRASH_SHUTDOWN | SqlState::CANNOT_CONNECT_NOW => {
            format!("{location} is shutting down or starting up ({said}); try again in a moment")
        }
        SqlState::DISK_FULL | SqlState::OUT_OF_MEMORY => format!(
            "{location} has no space left ({said}); free some, then resume the session: everything up to the last completed \
             step is kept"
        ),
        SqlState::TOO_MANY_CONNECTIONS => format!(
            "{location} has no free connection ({said}); lower `connections` in [store], or raise the server's \
             `max_connections`"
        ),
        SqlState::INSUFFICIENT_PRIVILEGE => format!(
            "the user of {location} lacks permission ({said}); grant it what `agent-host store grants ROLE` prints"
        ),
        SqlState::INVALID_PASSWORD | SqlState::INVALID_AUTHORIZATION_SPECIFICATION => format!(
            "{location} refused the user ({said}); check the user name and password in `url` of [store], and the \
             server's `pg_hba.conf`"
        ),
        _ => format!(
            "{location} failed with code {} ({said}); see the server's log",
            code.code()
        ),
    }
}

/// Returns what a failure of the encryption means and what to do about it; `None` for any other
/// failure.
fn tls_advice(location: &str, error: &tokio_postgres::Error) -> Option<String> {
    let cause = std::error::Error::source(error)?;
    if cause.to_string() == NO_TLS {
        return Some(format!(
            "{location} does not encrypt its connections, so nothing was sent to it; set `ssl = on` there, with a \
             certificate for its name"
        ));
    }
    let inner = cause.downcast_ref::<io::Error>()?.get_ref()?;
    let error = inner.downcast_ref::<rustls::Error>()?;
    let rustls::Error::InvalidCertificate(fault) = error else {
        return Some(format!(
            "a TLS connection to {location} failed ({}); see the server's log",
            error.to_string().escape_debug()
        ));
    };
    Some(match fault {
        CertificateError::UnknownIssuer => format!(
            "the certificate of {location} is from an authority that is not trusted here; set `ca` in [store] to the \
             authority's certificate"
        ),
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            format!(
                "the certificate of {location} is for another name ({}); use a name from the certificate in the \
                 address, or issue one for this name",
                fault.to_string().escape_debug()
            )
        }
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => format!(
            "the certificate of {location} has expired; renew it, or correct this machine's clock"
        ),
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            format!("the certificate of {location} is not valid yet; correct this machine's clock")
        }
        fault => format!(
            "the certificate of {location} cannot be verified ({}); use one that an authority issued for the \
             server's name",
            fault.to_string().escape_debug()
        ),
    })
}

/// Joins an error with its causes: the library's own text does not name them.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text.escape_debug().to_string()
}
