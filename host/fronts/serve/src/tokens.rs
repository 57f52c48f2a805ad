//! The tokens that an operator gave out: `serve-tokens.json` in the state directory, with a name, a
//! role, the sessions that it sees and a hash for each.

#[cfg(test)]
mod tests;

use crate::access::AccessRole;
use agent_host_app::{AuthorityEntry, Entries, SignedFile, SignedFileError};
use agent_host_engine::session::now_ms;
use agent_host_http::Token;
use agent_host_journal::AuthorityFile;
use agent_host_types::{event::EXPIRY, words};
use serde::{Deserialize, Serialize};
use std::{fmt, path::Path};

/// The number of hexadecimal digits of a token's hash by which it is told from a later one of its
/// name. The hash is of 256 random bits, so that nothing is found from them.
const OWNER_DIGITS: usize = 16;

/// The most characters of a name.
const MAX_NAME: usize = 64;

/// The name of a token: 1 to 64 characters of `a` to `z`, `0` to `9` and `-`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct TokenName(String);

impl TokenName {
    /// The name under which the server's own token acts.
    pub(crate) const OWN: &str = "operator";

    /// Returns the text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for TokenName {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let is_plain = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-');
        if !(1..=MAX_NAME).contains(&text.len()) || !text.bytes().all(is_plain) {
            return Err("a name must have 1 to 64 characters of a to z, 0 to 9 and `-`");
        }
        if [Self::OWN, EXPIRY].contains(&text.as_str()) {
            return Err(
                "the names `operator` (the server's own token) and `expiry` are reserved; choose another",
            );
        }
        Ok(Self(text))
    }
}

impl std::str::FromStr for TokenName {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.to_owned().try_into()
    }
}

impl fmt::Display for TokenName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

words! {
    /// The sessions of the server's project that a token sees.
    #[derive(strum::Display, strum::EnumString)]
    pub enum TokenSessions {
        /// Those that it started, and those of their agents.
        Own,
        /// All of them.
        Project,
    }
}

impl TokenSessions {
    /// Returns the value for tokens of a role that do not say.
    #[must_use]
    pub const fn default_for(role: AccessRole) -> Self {
        match role {
            AccessRole::User => Self::Own,
            AccessRole::Viewer | AccessRole::Approver | AccessRole::Operator => Self::Project,
        }
    }
}

/// A token that was given out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct TokenEntry {
    /// The name, which no other entry has.
    pub name: TokenName,
    /// The role.
    pub role: AccessRole,
    /// [`Token::hash`].
    pub hash: String,
    /// The time, in milliseconds since 1970 (UTC).
    pub created_at_ms: u64,
    /// The sessions that it sees; absent for the default of its role.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sessions: Option<TokenSessions>,
}

impl TokenEntry {
    /// Returns the sessions that it sees.
    #[must_use]
    pub fn sessions(&self) -> TokenSessions {
        let default = || TokenSessions::default_for(self.role);
        self.sessions.unwrap_or_else(default)
    }

    /// Returns the owner of the sessions that it starts. A later token of its name is another one.
    pub(crate) fn owner(&self) -> String {
        let hash = self.hash.chars().take(OWNER_DIGITS);
        format!("{}/{}", self.name, hash.collect::<String>())
    }
}

impl AuthorityEntry for TokenEntry {
    const FILE: AuthorityFile = AuthorityFile::Tokens;
    const VERSION: u32 = 3;
    const NOUN: &'static str = "the tokens";
    const THEN: &'static str = "create the tokens again";
    const REMOVE: &'static str = "revoke tokens first";

    fn name(&self) -> String {
        self.name.to_string()
    }
}

/// Why the tokens cannot be read or changed.
#[derive(Debug, thiserror::Error)]
pub enum TokenFileError {
    /// The file cannot be read or written.
    #[error(transparent)]
    File(#[from] SignedFileError),
    /// There is a token with the name.
    #[error("a token `{0}` already exists; revoke it first, or choose another name")]
    Exists(TokenName),
    /// There is no token with the name.
    #[error("unknown token `{0}`; `agent-host serve token list` shows all tokens")]
    Unknown(TokenName),
    /// The system has no random bytes.
    #[error("cannot create a token: the system cannot provide random bytes: {0}")]
    Random(String),
}

/// The file with the tokens of a state directory.
#[derive(Clone, Debug)]
pub struct TokenFile {
    file: SignedFile<TokenEntry>,
}

impl TokenFile {
    /// Returns the file of a state directory, which may not exist.
    #[must_use]
    pub fn in_state_dir(state_dir: &Path) -> Self {
        let file = SignedFile::in_dir(state_dir);
        Self { file }
    }

    /// Reads all entries.
    ///
    /// # Errors
    /// Those of [`SignedFile::read`].
    pub fn read(&self) -> Result<Entries<TokenEntry>, TokenFileError> {
        Ok(self.file.read()?)
    }

    /// Creates a token, and returns its text, which is not kept. Without `sessions` it sees those of
    /// the default of its role.
    ///
    /// # Errors
    /// Those of [`Self::read`], that there is one with the name, or that the file cannot be written.
    pub fn create(
        &self,
        name: TokenName,
        role: AccessRole,
        sessions: Option<TokenSessions>,
    ) -> Result<String, TokenFileError> {
        let (token, text) =
            Token::generate().map_err(|error| TokenFileError::Random(error.to_string()))?;
        self.file.change(|entries| {
            if entries.believed.iter().any(|entry| entry.name == name) {
                return Err(TokenFileError::Exists(name));
            }
            let entry = TokenEntry {
                name: name.clone(),
                role,
                hash: token.hash(),
                created_at_ms: now_ms(),
                sessions: Some(sessions.unwrap_or(TokenSessions::default_for(role))),
            };
            entries.put(entry, |known| known.name == name);
            Ok(())
        })?;
        Ok(text)
    }

    /// Revokes a token: a running server refuses it from its next request on. An entry of the name
    /// that is ignored is removed, too.
    ///
    /// # Errors
    /// Those of [`Self::read`], that there is none with the name, or that the file cannot be
    /// written.
    pub fn revoke(&self, name: TokenName) -> Result<(), TokenFileError> {
        self.file.change(
            |entries| match entries.remove(|entry| entry.name == name).is_empty() {
                false => Ok(()),
                true => Err(TokenFileError::Unknown(name)),
            },
        )
    }
}
