//! Failed requests, with texts that tell the model what to do next.

use std::fmt;

/// A failed request.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the fields are what the sentences name")]
pub enum HttpError {
    /// The address is invalid.
    Address { url: String, why: String },
    /// The scheme is neither http nor https.
    Scheme(String),
    /// A header field that HTTP or the host does not allow; with its name.
    HeaderField(String),
    /// The host's policy denied the request.
    Denied(String),
    /// The name resolves to an address that the host's policy denies.
    Prohibited(String),
    /// No such name.
    Name(String),
    /// Nothing listens at the address.
    Unreachable(String),
    /// The response took too long.
    TimedOut(String),
    /// The TLS connection failed.
    Tls(String),
    /// The response is larger than the host allows.
    TooLarge(String),
    /// The body of the request is larger than the host allows.
    RequestTooLarge,
    /// The connection ended within the response.
    BrokenOff(String),
    /// The server did not answer with valid HTTP.
    Protocol { host: String, detail: String },
    /// Too many redirects.
    Redirects { hops: usize, last: String },
    /// A redirect from https to http.
    Downgrade(String),
    /// No host is available to send it, outside WebAssembly.
    #[cfg(not(target_family = "wasm"))]
    NoHost,
}

impl fmt::Display for HttpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address { url, why } => write!(f, "`{url}` is not a web address: {why}"),
            Self::Scheme(scheme) => write!(
                f,
                "`{scheme}` addresses cannot be fetched; use http or https"
            ),
            Self::HeaderField(name) => {
                write!(f, "the header field `{name}` cannot be sent; leave it out")
            }
            Self::Denied(host) => write!(
                f,
                "the request to {host} was denied: the operator has not granted it; do without it, or say that a grant for {host} is needed"
            ),
            Self::Prohibited(host) => write!(
                f,
                "{host} leads to a private or reserved network address, which the operator has not granted"
            ),
            Self::Name(host) => write!(f, "there is no host named {host}; check the spelling"),
            Self::Unreachable(host) => write!(
                f,
                "{host} cannot be reached: nothing answers there; try again later or use another address"
            ),
            Self::TimedOut(host) => write!(f, "{host} took too long to answer; try again later"),
            Self::Tls(host) => write!(
                f,
                "no secure connection to {host}: its certificate is invalid, or its TLS version is not supported"
            ),
            Self::TooLarge(host) => write!(
                f,
                "the response of {host} is larger than the operator's limits allow"
            ),
            Self::RequestTooLarge => write!(
                f,
                "the body is larger than the operator's limits allow; send less"
            ),
            Self::BrokenOff(host) => write!(f, "the response of {host} broke off; try again"),
            Self::Protocol { host, detail } => {
                write!(f, "the exchange with {host} failed: {detail}")
            }
            Self::Redirects { hops, last } => {
                write!(f, "gave up after {hops} redirects, the last one to {last}")
            }
            Self::Downgrade(to) => write!(
                f,
                "the address redirects from https to {to}, which is not secure; fetch that address itself if it is what you want"
            ),
            #[cfg(not(target_family = "wasm"))]
            Self::NoHost => write!(f, "this tool runs in agent-host only"),
        }
    }
}

impl std::error::Error for HttpError {}
