//! Why a request came to nothing, in words that tell the model what to do next.

use std::fmt;

/// A request that came to nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(
    not(target_family = "wasm"),
    expect(dead_code, reason = "most of these come from wasi:http")
)]
pub(crate) enum Fault {
    /// The address is not one.
    Address { url: String, why: String },
    /// The scheme is neither http nor https.
    Scheme(String),
    /// A header field that HTTP or the host does not allow; with its name.
    HeaderField(String),
    /// The host's policy denied the request.
    Denied(String),
    /// The name leads to an address that the host's policy does not open.
    Prohibited(String),
    /// No such name.
    Name(String),
    /// Nothing answers at the address.
    Unreachable(String),
    /// The answer took too long.
    TimedOut(String),
    /// The secure connection could not be made.
    Tls(String),
    /// The answer is larger than the host lets in.
    TooLarge(String),
    /// The body of the request is larger than the host lets out.
    RequestTooLarge,
    /// The connection ended within the answer.
    BrokenOff(String),
    /// The other end answered with something that is not HTTP as we know it.
    Protocol { host: String, detail: String },
    /// Too many redirects.
    Redirects { hops: usize, last: String },
    /// A redirect from https to http.
    Downgrade(String),
    /// There is no host to send it, outside WebAssembly.
    #[cfg(not(target_family = "wasm"))]
    NoHost,
}

impl fmt::Display for Fault {
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
                "the request to {host} was not let out: the operator has not granted it; do without it, or say that a grant for {host} is needed"
            ),
            Self::Prohibited(host) => write!(
                f,
                "{host} leads to a private or reserved network address, which the operator has not granted"
            ),
            Self::Name(host) => write!(f, "there is no host called {host}; check the spelling"),
            Self::Unreachable(host) => write!(
                f,
                "{host} cannot be reached: nothing answers there; try again later or use another address"
            ),
            Self::TimedOut(host) => write!(f, "{host} took too long to answer; try again later"),
            Self::Tls(host) => write!(
                f,
                "no secure connection to {host}: its certificate is not valid, or it speaks no TLS that we know"
            ),
            Self::TooLarge(host) => write!(
                f,
                "the answer of {host} is larger than the operator's limits let in"
            ),
            Self::RequestTooLarge => write!(
                f,
                "the body is larger than the operator's limits let out; send less"
            ),
            Self::BrokenOff(host) => write!(f, "the answer of {host} broke off; try again"),
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
