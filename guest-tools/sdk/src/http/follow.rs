//! Sends a request and follows redirects. Each hop is sent by itself, so that the host's policy
//! decides on each.

use super::error::HttpError;
use super::request::Request;
use super::response::{Followed, Response};

/// The most redirects that are followed.
const MAX_REDIRECTS: usize = 5;

/// Sends one request. Implemented by the host, and by scripts in tests.
pub(super) trait Transport {
    /// Sends the request and reads at most `max_bytes` of the answer's body.
    fn send(&self, request: &Request, max_bytes: usize) -> Result<Response, HttpError>;
}

/// Sends the request and follows its redirects.
pub(super) fn follow(
    transport: &impl Transport,
    mut request: Request,
    max_bytes: usize,
) -> Result<Followed, HttpError> {
    let mut hops = 0;
    loop {
        let response = transport.send(&request, max_bytes)?;
        let Some(location) = response.redirect() else {
            return Ok(Followed {
                response,
                method: request.method,
                address: request.address,
                hops,
            });
        };
        let to = request.address.redirected(&location)?;
        if request.address.is_secure() && !to.is_secure() {
            return Err(HttpError::Downgrade(to.as_str().to_owned()));
        }
        if hops == MAX_REDIRECTS {
            return Err(HttpError::Redirects {
                hops,
                last: to.as_str().to_owned(),
            });
        }
        hops += 1;
        request = request.redirected(response.status, to);
    }
}

#[cfg(test)]
mod tests;
