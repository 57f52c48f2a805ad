//! Where the server's token comes from.

use agent_host_app::read_secret;
use agent_host_http::Token;
use agent_host_types::reason::Reason;
use std::path::Path;

/// The environment variable that holds the token if no file is named.
pub const TOKEN_VARIABLE: &str = "AGENT_HOST_MCP_TOKEN";

/// The token to serve with.
#[derive(Debug)]
pub struct ConfiguredToken {
    /// The token.
    pub token: Token,
    /// Its text if it was generated, to be shown to the user.
    pub generated: Option<String>,
}

/// Returns the token in `file`, else the one in the value of `variable`, else a generated one.
///
/// # Errors
/// Fails when the first of these that is present cannot be used.
pub fn configured_token(
    file: Option<&Path>,
    variable: &'static str,
    value: Option<&str>,
) -> Result<ConfiguredToken, Reason> {
    let (text, origin) = match (file, value) {
        (Some(path), _) => {
            let text = read_secret(path, Token::MAX_BYTES as u64);
            let text = text.map_err(|error| {
                format!("cannot read the token from {}: {error}", path.display())
            })?;
            (text, format!("the file {}", path.display()))
        }
        (None, Some(text)) => (text.to_owned(), format!("the variable {variable}")),
        (None, None) => {
            let (token, text) = Token::generate().map_err(|error| {
                format!("cannot create a token: {error}; pass a file with one, or set {variable}")
            })?;
            return Ok(ConfiguredToken {
                token,
                generated: Some(text),
            });
        }
    };
    let token = Token::new(&text).map_err(|error| {
        format!("{origin} has no usable token: {error}; create one with `openssl rand -base64 32`")
    })?;
    Ok(ConfiguredToken {
        token,
        generated: None,
    })
}
