//! Sends a request and follows redirects. Each hop is sent by itself, so that the host's policy
//! decides on each.

use crate::answer::{Answer, Arrived};
use crate::error::FetchError;
use crate::request::Request;

/// The most redirects that are followed.
const MAX_REDIRECTS: usize = 5;

/// Sends one request. Implemented by `WasiHttp`, and by scripts in tests.
pub(crate) trait Transport {
    /// Sends the request and reads at most `max_bytes` of the answer's body.
    fn send(&self, request: &Request, max_bytes: usize) -> Result<Answer, FetchError>;
}

/// Sends the request and follows its redirects.
pub(crate) fn follow(
    transport: &impl Transport,
    mut request: Request,
    max_bytes: usize,
) -> Result<Arrived, FetchError> {
    let mut hops = 0;
    loop {
        let answer = transport.send(&request, max_bytes)?;
        let Some(location) = answer.redirect() else {
            return Ok(Arrived {
                answer,
                method: request.method,
                address: request.address,
                hops,
            });
        };
        let to = request.address.redirected(&location)?;
        if request.address.is_secure() && !to.is_secure() {
            return Err(FetchError::Downgrade(to.as_str().to_owned()));
        }
        if hops == MAX_REDIRECTS {
            return Err(FetchError::Redirects {
                hops,
                last: to.as_str().to_owned(),
            });
        }
        hops += 1;
        request = request.redirected(answer.status, to);
    }
}

#[cfg(test)]
mod tests;
