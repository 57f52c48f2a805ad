//! The token that every request must show: where it comes from, and whether a request has it.

use agent_host_app::read_secret;
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use http::{HeaderMap, header::AUTHORIZATION};
use std::{
    fmt, io,
    path::{Path, PathBuf},
};

/// The variable of the environment that a token is taken from where no file is named.
pub const TOKEN_VARIABLE: &str = "AGENT_HOST_MCP_TOKEN";

/// The shortest token, in bytes. What is shorter can be tried out.
const MIN_BYTES: usize = 16;

/// The longest token, in bytes. It has to fit into a request's head beside all else.
const MAX_BYTES: usize = 4096;

/// The random bytes of a token that is made.
const MADE_BYTES: usize = 32;

/// A token. Its text is not kept.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(blake3::Hash);

/// The token that a server is to use.
#[derive(Debug)]
pub struct FoundToken {
    /// The token.
    pub token: Token,
    /// Its text, where it was made now: nobody has it unless it is shown.
    pub made: Option<String>,
}

/// Why there is no token. The text says what to do.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    /// The file cannot be read, or may be read by others.
    #[error("cannot read the token from {}: {error}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// What is there is no token.
    #[error(
        "{place} has no usable token: {why}; a good one is what `openssl rand -base64 32` prints"
    )]
    Unusable {
        /// Where it is.
        place: String,
        /// What is wrong with it. Never its text.
        why: &'static str,
    },
    /// The system gives no random bytes.
    #[error("cannot make a token: {0}; name a file with one, or set {TOKEN_VARIABLE}")]
    Random(getrandom::Error),
}

impl Token {
    /// Makes a token of its text, without the spaces and the line end around it.
    ///
    /// # Errors
    /// What is wrong with it: it is too short, too long, or could not be sent in a header field.
    pub fn new(text: &str) -> Result<Self, &'static str> {
        let text = text.trim();
        if text.len() < MIN_BYTES {
            return Err("it is shorter than 16 bytes, which can be tried out");
        }
        if text.len() > MAX_BYTES {
            return Err("it is longer than 4096 bytes");
        }
        if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err("it is not one line of ASCII letters, digits and signs without spaces");
        }
        Ok(Self(blake3::hash(text.as_bytes())))
    }

    /// The token in this file, else the one in the variable's value, else a new one. There is no server without.
    ///
    /// # Errors
    /// When the first of these that is there cannot be used.
    pub fn find(file: Option<&Path>, variable: Option<&str>) -> Result<FoundToken, TokenError> {
        let found = match (file, variable) {
            (Some(path), _) => {
                let text =
                    read_secret(path, MAX_BYTES as u64).map_err(|error| TokenError::File {
                        path: path.to_owned(),
                        error,
                    })?;
                Self::at(&text, || format!("the file {}", path.display()))?
            }
            (None, Some(text)) => Self::at(text, || format!("the variable {TOKEN_VARIABLE}"))?,
            (None, None) => return Self::make(),
        };
        Ok(FoundToken {
            token: found,
            made: None,
        })
    }

    fn at(text: &str, place: impl Fn() -> String) -> Result<Self, TokenError> {
        Self::new(text).map_err(|why| TokenError::Unusable {
            place: place(),
            why,
        })
    }

    fn make() -> Result<FoundToken, TokenError> {
        let mut random = [0; MADE_BYTES];
        getrandom::fill(&mut random).map_err(TokenError::Random)?;
        let text = URL_SAFE_NO_PAD.encode(random);
        Ok(FoundToken {
            token: Self(blake3::hash(text.as_bytes())),
            made: Some(text),
        })
    }

    /// Whether a request shows this token.
    pub(super) fn is_shown(&self, headers: &HeaderMap) -> Shown {
        let mut fields = headers.get_all(AUTHORIZATION).iter();
        let Some(field) = fields.next() else {
            return Shown::Nothing;
        };
        let field = field.as_bytes();
        let space = field.iter().position(|byte| *byte == b' ');
        let (scheme, token) = field.split_at(space.unwrap_or(field.len()));
        // Hashes compare in constant time, so that the time of an answer says nothing of the token.
        let is_right = scheme.eq_ignore_ascii_case(b"bearer")
            && Self(blake3::hash(token.trim_ascii())) == *self;
        if is_right && fields.next().is_none() {
            Shown::Right
        } else {
            Shown::Wrong
        }
    }
}

/// What a request shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shown {
    /// The token, and nothing else.
    Right,
    /// Anything else.
    Wrong,
    /// Nothing.
    Nothing,
}

impl fmt::Debug for Token {
    /// Shows nothing of it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token")
    }
}
