//! Addresses of links and images: absolute where a base is known, and of schemes that are harmless
//! to show.

use fluent_uri::{Uri, UriRef};

/// The longest address, in bytes.
const MAX_ADDRESS_BYTES: usize = 2_048;

/// The schemes of addresses that are shown.
const SCHEMES: [&str; 5] = ["http", "https", "mailto", "tel", "ftp"];

/// The address that relative ones start from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Base(Option<Uri<String>>);

impl Base {
    /// Parses a base; `None` if it is no absolute address of the web.
    pub(crate) fn parse(address: &str) -> Option<Self> {
        let base = Uri::parse(encoded(address)).ok()?;
        let is_web = matches!(base.scheme().as_str(), "http" | "https");
        // The part behind `#` cannot be in a base.
        is_web.then(|| Self(Some(base.strip_fragment().to_owned())))
    }

    /// The base that a page sets itself by `<base href>`.
    pub(crate) fn join(&self, href: &str) -> Option<Self> {
        self.resolve(href).and_then(|address| Self::parse(&address))
    }

    /// The address to show; `None` if it is none, or of a scheme that is not shown.
    pub(crate) fn resolve(&self, href: &str) -> Option<String> {
        let address = encoded(href);
        if address.is_empty() || address.len() > MAX_ADDRESS_BYTES {
            return None;
        }
        let reference = UriRef::parse(address).ok()?;
        if let Some(scheme) = reference.scheme() {
            let scheme = scheme.as_str().to_ascii_lowercase();
            if !SCHEMES.contains(&scheme.as_str()) {
                return None;
            }
        }
        let Some(base) = &self.0 else {
            return Some(reference.into_string());
        };
        let absolute = reference.resolve_against(base).ok()?.into_string();
        (absolute.len() <= MAX_ADDRESS_BYTES).then_some(absolute)
    }
}

/// The address as browsers read it, with percent signs for what an address cannot have, and for
/// what would end a link of Markdown.
fn encoded(address: &str) -> String {
    let address = address.trim_matches(|letter: char| letter <= ' ');
    let mut encoded = String::new();
    for letter in address.chars() {
        match letter {
            // Browsers take line ends out of addresses.
            '\t' | '\n' | '\r' => {}
            '%'
            | '!'
            | '#'
            | '$'
            | '&'
            | '\''
            | '*'..=';'
            | '='
            | '?'
            | '@'
            | '['
            | ']'
            | '_'
            | '~' => encoded.push(letter),
            letter if letter.is_ascii_alphanumeric() => encoded.push(letter),
            letter => {
                let mut bytes = [0; 4];
                for byte in letter.encode_utf8(&mut bytes).bytes() {
                    encoded.push('%');
                    encoded.extend(hex(byte >> 4));
                    encoded.extend(hex(byte & 15));
                }
            }
        }
    }
    encoded
}

fn hex(digit: u8) -> Option<char> {
    char::from_digit(digit.into(), 16).map(|digit| digit.to_ascii_uppercase())
}

#[cfg(test)]
mod tests;
