//! The built-in component `fetch`: `fetch` (GET and HEAD) and `http_post`, through wasi:http.
//!
//! The two tools differ in effect: the host lets a read-only tool send GET and HEAD only, and asks
//! before it runs an effectful one. Every hop of a redirect is a request of its own, so the host's
//! policy sees each. The host decides where a request may go; this component sends it and reports
//! the result.

mod answer;
mod request;

use std::collections::BTreeMap;

use agent_tool::http::{Address, HttpError, Method, Request, fields, send};
use agent_tool::{Call, Output, input, tool};

/// The default limit of a body, in bytes.
const DEFAULT_BODY_BYTES: usize = 1024 * 1024;

/// The largest limit of a body, in bytes. Base64 adds a third to it, and a result holds 8 MiB.
const MAX_BODY_BYTES: usize = 5 * 1024 * 1024;

/// The requests of `fetch`.
#[input]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "UPPERCASE")]
enum ReadMethod {
    #[default]
    Get,
    Head,
}

#[input]
struct Fetch {
    /// The address, with `http://` or `https://`.
    url: String,
    /// GET for the content, HEAD for the status and the header fields only.
    #[serde(default)]
    method: ReadMethod,
    /// Header fields to send.
    #[serde(default)]
    headers: BTreeMap<String, String>,
    /// The most bytes of the body to read.
    #[serde(default = "default_body_bytes")]
    #[schemars(range(min = 1, max = 5_242_880))]
    max_bytes: usize,
}

/// Gets the content of a web address. JSON is returned as JSON, an image as an image, text (HTML
/// too) as text, anything else as a file. Redirects are followed. Only addresses that the operator
/// granted can be reached.
#[tool(effect = "read-only", title = "Fetch from the web")]
fn fetch(input: Fetch) -> Result<Output, HttpError> {
    let Fetch {
        url,
        method,
        headers,
        max_bytes,
    } = input;
    let method = match method {
        ReadMethod::Get => Method::Get,
        ReadMethod::Head => Method::Head,
    };
    let request = Request {
        method,
        address: Address::parse(&url)?,
        headers: fields(headers)?,
        body: None,
    };
    send(request, max_bytes.clamp(1, MAX_BODY_BYTES)).map(answer::output)
}

#[input]
struct HttpPost {
    /// The address, with `http://` or `https://`.
    url: String,
    /// The body. It is sent as `application/json` if it is JSON and as plain text if not, unless
    /// `headers` has a `content-type`.
    #[serde(default)]
    body: String,
    /// Header fields to send.
    #[serde(default)]
    headers: BTreeMap<String, String>,
    /// The most bytes of the response's body to read.
    #[serde(default = "default_body_bytes")]
    #[schemars(range(min = 1, max = 5_242_880))]
    max_bytes: usize,
}

/// Sends a POST request with a body. It may change something on the server. The result has the same
/// form as that of fetch.
#[tool(effect = "effectful", title = "Post to the web")]
fn http_post(input: HttpPost, call: &Call) -> Result<Output, HttpError> {
    let HttpPost {
        url,
        body,
        headers,
        max_bytes,
    } = input;
    let address = Address::parse(&url)?;
    let headers = request::post_fields(headers, &body, &call.idempotency_key)?;
    let request = Request {
        method: Method::Post,
        address,
        headers,
        body: Some(body.into_bytes()),
    };
    send(request, max_bytes.clamp(1, MAX_BODY_BYTES)).map(answer::output)
}

fn default_body_bytes() -> usize {
    DEFAULT_BODY_BYTES
}

agent_tool::export!(fetch, http_post);

#[cfg(test)]
mod tests;
