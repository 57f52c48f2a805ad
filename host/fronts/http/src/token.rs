//! The bearer token of a server.

use crate::Refusal;
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use http::{HeaderMap, header::AUTHORIZATION};
use std::fmt;

/// Bytes of the shortest token. A shorter one can be guessed.
const MIN_BYTES: usize = 16;

/// Random bytes of a generated token.
const GENERATED_BYTES: usize = 32;

/// A bearer token, kept as its hash.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(blake3::Hash);

impl Token {
    /// Bytes of the longest token, which must fit into a request's head.
    pub const MAX_BYTES: usize = 4096;

    /// Makes a token from its text, without surrounding white space.
    ///
    /// # Errors
    /// Fails when the text is too short, too long, or cannot be sent in a header field.
    pub fn new(text: &str) -> Result<Self, &'static str> {
        let text = text.trim();
        if text.len() < MIN_BYTES {
            return Err("it is shorter than 16 bytes, which can be guessed");
        }
        if text.len() > Self::MAX_BYTES {
            return Err("it is longer than 4096 bytes");
        }
        if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            let why = "it is not one line of ASCII letters, digits and punctuation without spaces";
            return Err(why);
        }
        Ok(Self(blake3::hash(text.as_bytes())))
    }

    /// Generates a token of 32 random bytes; also returns its text, which is not kept.
    ///
    /// # Errors
    /// Fails when the system has no random bytes.
    pub fn generate() -> Result<(Self, String), getrandom::Error> {
        let mut random = [0; GENERATED_BYTES];
        getrandom::fill(&mut random)?;
        let text = URL_SAFE_NO_PAD.encode(random);
        Ok((Self(blake3::hash(text.as_bytes())), text))
    }

    /// Returns the hash of the token in hexadecimal digits. A generated token cannot be found from
    /// it.
    #[must_use]
    pub fn hash(&self) -> String {
        self.0.to_hex().to_string()
    }

    /// Makes a token from its [`Self::hash`]; `None` if that is none.
    #[must_use]
    pub fn from_hash(hex: &str) -> Option<Self> {
        blake3::Hash::from_hex(hex).ok().map(Self)
    }

    /// Returns the bearer token of a request, which has one.
    pub(crate) fn of_request(headers: &HeaderMap) -> Result<Self, Refusal> {
        let mut fields = headers.get_all(AUTHORIZATION).iter();
        let field = fields.next().ok_or(Refusal::no_token())?.as_bytes();
        let space = field.iter().position(|byte| *byte == b' ');
        let (scheme, token) = field.split_at(space.unwrap_or(field.len()));
        let is_one = scheme.eq_ignore_ascii_case(b"bearer") && fields.next().is_none();
        // Hashes compare in constant time, so response times reveal nothing of a token.
        is_one
            .then(|| Self(blake3::hash(token.trim_ascii())))
            .ok_or(Refusal::invalid_token())
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token")
    }
}
