//! Responses.

use super::address::Address;
use super::request::Method;

/// A response to one request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    /// The status code.
    pub status: u16,
    /// Lower-case names, in the order of arrival; a name may come more than once.
    pub headers: Vec<(String, String)>,
    /// The body, or the beginning of it.
    pub body: Vec<u8>,
    /// True if `body` is complete.
    pub whole: bool,
}

impl Response {
    /// Returns the first field of this name, which is in lower case.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
    }

    /// The location of a redirect, if the response is one and has one.
    pub(super) fn redirect(&self) -> Option<String> {
        let redirects = matches!(self.status, 301 | 302 | 303 | 307 | 308);
        self.header("location")
            .filter(|_| redirects)
            .map(str::to_owned)
    }
}

/// The response at the end of the redirects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Followed {
    /// The response.
    pub response: Response,
    /// The method of the last request.
    pub method: Method,
    /// The address of the last request.
    pub address: Address,
    /// The number of redirects followed.
    pub hops: usize,
}
