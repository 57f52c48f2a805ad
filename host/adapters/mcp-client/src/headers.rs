//! The configured headers of requests to a web server: which names and values are possible.

use agent_host_types::reason::Reason;
use http::{HeaderName, HeaderValue};
use secrecy::{ExposeSecret as _, SecretString};
use std::collections::HashMap;

/// The headers that the transport sets, and those of a single connection
/// (<https://www.rfc-editor.org/rfc/rfc9110#section-7.6.1>).
const RESERVED: [&str; 15] = [
    "accept",
    "accept-encoding",
    "connection",
    "content-length",
    "content-type",
    "expect",
    "host",
    "keep-alive",
    "last-event-id",
    "proxy-authorization",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "user-agent",
];

/// The beginning of the names that the protocol defines.
const PROTOCOL_PREFIX: &str = "mcp-";

/// Checks the name of a configured header.
///
/// # Errors
/// The reason why it cannot be set, as a clause.
pub fn check_header_name(name: &str) -> Result<(), &'static str> {
    let name: HeaderName = name.parse().map_err(|_| "it is not an HTTP header name")?;
    if RESERVED.contains(&name.as_str()) || name.as_str().starts_with(PROTOCOL_PREFIX) {
        return Err("the host sets it itself");
    }
    Ok(())
}

/// Checks the value of a configured header.
///
/// # Errors
/// The reason why it cannot be sent, as a clause.
pub fn check_header_value(value: &str) -> Result<(), &'static str> {
    let sent = HeaderValue::from_str(value);
    sent.map(drop)
        .map_err(|_| "it contains characters that are not allowed in HTTP headers")
}

/// Returns the headers as they are sent; their values are left out of logs.
pub(crate) fn sent(
    headers: &[(String, SecretString)],
) -> Result<HashMap<HeaderName, HeaderValue>, Reason> {
    let sent = headers.iter().map(|(name, value)| {
        let fault = |why: &str| format!("the header `{}`: {why}", name.escape_debug());
        check_header_name(name).map_err(fault)?;
        check_header_value(value.expose_secret()).map_err(fault)?;
        let sent_name = HeaderName::try_from(name).map_err(|error| fault(&error.to_string()))?;
        let mut sent = HeaderValue::from_str(value.expose_secret())
            .map_err(|error| fault(&error.to_string()))?;
        sent.set_sensitive(true);
        Ok((sent_name, sent))
    });
    sent.collect()
}

#[cfg(test)]
mod tests {
    use super::{check_header_name, check_header_value};
    use pretty_assertions::assert_eq;

    #[test]
    fn header_names_of_the_transport_are_refused() {
        let (own, none) = (
            Err("the host sets it itself"),
            Err("it is not an HTTP header name"),
        );
        let cases = [
            ("X-Api-Key", Ok(())),
            ("Authorization", Ok(())),
            ("Cookie", Ok(())),
            ("Host", own),
            ("content-LENGTH", own),
            ("Accept", own),
            ("Mcp-Session-Id", own),
            ("MCP-Protocol-Version", own),
            ("Last-Event-ID", own),
            ("Transfer-Encoding", own),
            ("", none),
            ("X Y", none),
            ("X\r\nY", none),
        ];
        for (name, expected) in cases {
            assert_eq!(check_header_name(name), expected, "{name:?}");
        }
    }

    #[test]
    fn header_value_with_line_break_is_refused() {
        let refused = Err("it contains characters that are not allowed in HTTP headers");
        for (value, expected) in [
            ("a b", Ok(())),
            ("", Ok(())),
            ("a\r\nX: y", refused),
            ("\0", refused),
        ] {
            assert_eq!(check_header_value(value), expected, "{value:?}");
        }
    }
}
