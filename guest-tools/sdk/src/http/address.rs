//! Web addresses: parses addresses of models and redirects, and resolves redirects. The host
//! decides which addresses may be reached.

use fluent_uri::pct_enc::EStr;
use fluent_uri::{Uri, UriRef};

use super::error::HttpError;

/// A validated address: `http` or `https`, an ASCII host, no user information, no fragment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address(Uri<String>);

/// The origin of an address: header fields meant for one origin are not sent to another.
#[derive(Debug, PartialEq, Eq)]
struct Origin<'a> {
    secure: bool,
    host: String,
    port: &'a str,
}

impl Address {
    /// Parses an address as models and users write it.
    ///
    /// # Errors
    /// [`HttpError::Address`] or [`HttpError::Scheme`].
    pub fn parse(url: &str) -> Result<Self, HttpError> {
        let invalid = |why: &str| HttpError::Address {
            url: url.to_owned(),
            why: why.to_owned(),
        };
        let parsed = Uri::parse(escape(url))
            .map_err(|_| invalid("it must be absolute, such as https://example.com/page"))?;
        Self::check(parsed.strip_fragment().to_owned(), url)
    }

    /// The address that a redirect from here leads to.
    pub(super) fn redirected(&self, location: &str) -> Result<Self, HttpError> {
        let invalid = || HttpError::Address {
            url: location.to_owned(),
            why: "the redirect that named it leads nowhere".to_owned(),
        };
        let reference = UriRef::parse(escape(location)).map_err(|_| invalid())?;
        let resolved = reference.resolve_against(&self.0).map_err(|_| invalid())?;
        Self::check(resolved.strip_fragment().to_owned(), location)
    }

    fn check(uri: Uri<String>, url: &str) -> Result<Self, HttpError> {
        let invalid = |why: &str| HttpError::Address {
            url: url.to_owned(),
            why: why.to_owned(),
        };
        let scheme = uri.scheme().as_str().to_ascii_lowercase();
        if scheme != "http" && scheme != "https" {
            return Err(HttpError::Scheme(scheme));
        }
        let authority = uri.authority().ok_or_else(|| invalid("it names no host"))?;
        if authority.host().is_empty() {
            return Err(invalid("it names no host"));
        }
        if authority.has_userinfo() {
            return Err(invalid(
                "it has a user name or password in it; send those in a header field",
            ));
        }
        if authority.host().contains('%') {
            return Err(invalid("write the host's name in its ASCII form (xn--...)"));
        }
        Ok(Self(uri))
    }

    /// The address as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// True if the scheme is https.
    #[must_use]
    pub fn is_secure(&self) -> bool {
        self.0.scheme().as_str().eq_ignore_ascii_case("https")
    }

    /// The host and the port, where one is given.
    #[must_use]
    pub fn authority(&self) -> &str {
        self.0
            .authority()
            .map_or("", |authority| authority.as_str())
    }

    /// The path and the query, as in the request line.
    #[cfg(any(target_family = "wasm", test))]
    pub(super) fn path_and_query(&self) -> String {
        let path = self.0.path().as_str();
        let path = if path.is_empty() { "/" } else { path };
        match self.0.query() {
            Some(query) => format!("{path}?{}", query.as_str()),
            None => path.to_owned(),
        }
    }

    /// The last name in the path: the name of a downloaded file.
    #[must_use]
    pub fn file_name(&self) -> Option<&str> {
        self.0
            .path()
            .as_str()
            .rsplit('/')
            .next()
            .filter(|name| !name.is_empty())
    }

    pub(super) fn same_origin(&self, other: &Self) -> bool {
        self.origin() == other.origin()
    }

    fn origin(&self) -> Origin<'_> {
        let secure = self.is_secure();
        let default = if secure { "443" } else { "80" };
        let (host, port) = self
            .0
            .authority()
            .map_or(("", None), |authority| (authority.host(), authority.port()));
        let port = port
            .map(EStr::as_str)
            .filter(|port| !port.is_empty())
            .unwrap_or(default);
        Origin {
            secure,
            host: host.to_ascii_lowercase(),
            port,
        }
    }
}

/// Percent-encodes, as browsers do, characters that users and servers write in addresses but that
/// an address cannot have.
fn escape(url: &str) -> String {
    let mut out = String::with_capacity(url.len());
    for c in url.trim().chars() {
        if c.is_ascii_graphic()
            && !matches!(c, '"' | '<' | '>' | '\\' | '^' | '`' | '{' | '|' | '}')
        {
            out.push(c);
        } else {
            let mut bytes = [0; 4];
            for byte in c.encode_utf8(&mut bytes).bytes() {
                out.push_str(&format!("%{byte:02X}"));
            }
        }
    }
    out
}

#[cfg(test)]
mod tests;
