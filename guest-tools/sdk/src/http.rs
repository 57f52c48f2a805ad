//! HTTP requests, with the feature `http`. The host's policy decides on each, and on each hop of a
//! redirect; a header field of a secret holds its placeholder, which the host replaces.
//!
//! ```no_run
//! use agent_tool::http::{Address, HttpError, Method, Request, send};
//!
//! fn forecast(city: &str) -> Result<String, HttpError> {
//!     let address = Address::parse(&format!("https://api.weather.example/{city}"))?;
//!     let response = send(Request::new(Method::Get, address), 64 * 1024)?.response;
//!     Ok(String::from_utf8_lossy(&response.body).into_owned())
//! }
//! ```

mod address;
mod error;
mod follow;
mod request;
mod response;
#[cfg(target_family = "wasm")]
mod wasi;

pub use address::Address;
pub use error::HttpError;
pub use request::{Fields, Method, Request, fields};
pub use response::{Followed, Response};

/// Sends a request, follows at most 5 redirects, never from https to http, and reads at most
/// `max_bytes` of the body of the last response. A field that may hold a key does not go to another
/// origin.
///
/// # Errors
/// See [`HttpError`]. A response with any status is no error.
pub fn send(request: Request, max_bytes: usize) -> Result<Followed, HttpError> {
    follow::follow(&Host, request, max_bytes)
}

/// The HTTP of the host.
struct Host;

/// Outside WebAssembly no host can send requests.
#[cfg(not(target_family = "wasm"))]
impl follow::Transport for Host {
    fn send(&self, _request: &Request, _max_bytes: usize) -> Result<Response, HttpError> {
        Err(HttpError::NoHost)
    }
}
