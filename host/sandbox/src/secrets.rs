//! The values of secrets. The sandbox puts them into requests for guests that only name them, and takes them out of whatever
//! comes back: a guest, a result, the journal and a person's screen see `[secret:NAME]` in their place.

mod forms;
mod report;
mod stream;
#[cfg(test)]
pub(crate) mod tests;

pub(crate) use forms::UNRESERVED;
pub(crate) use stream::Redaction;

use forms::Forms;
use secrecy::{ExposeSecret as _, SecretString};
use std::{borrow::Cow, collections::BTreeMap, fmt};

/// The shortest value, in bytes. A shorter one could be guessed, and would be taken out of text that it is not in.
pub const MIN_SECRET_BYTES: usize = 8;

/// The longest value, in bytes: few servers take longer header fields, and the forms of it have to be looked for.
pub const MAX_SECRET_BYTES: usize = 4_096;

/// Why a value cannot be a secret. The value is not in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SecretError {
    /// It is too short to be told from other text.
    #[error(
        "it is shorter than {MIN_SECRET_BYTES} bytes and could not be told from other text in an answer"
    )]
    TooShort,
    /// It does not fit a header field.
    #[error("it is longer than {MAX_SECRET_BYTES} bytes, which is more than servers take")]
    TooLong,
    /// It could not be sent in a header field as it is.
    #[error("it has characters other than printable ASCII, which a header field cannot carry")]
    NotPrintable,
    /// All values together are more than can be looked for.
    #[error("there are more secrets than can be looked for at once")]
    TooMany,
}

/// The values of secrets by their names. The default has none and costs nothing.
///
/// The values themselves are zeroed when this is dropped; the tables that find their forms in answers are not.
#[derive(Default)]
pub struct Secrets {
    values: BTreeMap<String, SecretString>,
    /// Absent where there are no values.
    forms: Option<Forms>,
}

impl fmt::Debug for Secrets {
    /// Names, and no values.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.values.keys()).finish()
    }
}

impl Secrets {
    /// Takes values by their names, and prepares to find them again.
    ///
    /// # Errors
    /// The values are more than can be looked for, or one of them cannot be a secret (see [`Self::check`]).
    pub fn new(values: BTreeMap<String, SecretString>) -> Result<Self, SecretError> {
        if values.is_empty() {
            return Ok(Self::default());
        }
        for value in values.values() {
            Self::check(value)?;
        }
        let forms = Forms::new(&values).ok_or(SecretError::TooMany)?;
        Ok(Self {
            values,
            forms: Some(forms),
        })
    }

    /// Whether a value can be a secret.
    ///
    /// # Errors
    /// It is too short or too long, or cannot be sent in a header field.
    pub fn check(value: &SecretString) -> Result<(), SecretError> {
        let value = value.expose_secret();
        if value.len() < MIN_SECRET_BYTES {
            return Err(SecretError::TooShort);
        }
        if value.len() > MAX_SECRET_BYTES {
            return Err(SecretError::TooLong);
        }
        if !value.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
            return Err(SecretError::NotPrintable);
        }
        Ok(())
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// The value of a secret.
    pub(crate) fn value(&self, name: &str) -> Option<&SecretString> {
        self.values.get(name)
    }

    /// Bytes without any form of a value; absent where there is none in them.
    pub(crate) fn redacted(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        let forms = self.forms.as_ref()?;
        let mut found = forms.find(bytes, 0)?;
        let mut out = Vec::with_capacity(bytes.len());
        let mut rest = 0;
        loop {
            out.extend_from_slice(bytes.get(rest..found.start).unwrap_or_default());
            out.extend_from_slice(found.mark.as_bytes());
            rest = found.end;
            match forms.find(bytes, rest) {
                Some(next) => found = next,
                None => break,
            }
        }
        out.extend_from_slice(bytes.get(rest..).unwrap_or_default());
        Some(out)
    }

    /// Text without any form of a value.
    pub(crate) fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        // Every form and every mark is ASCII, so what is left is still UTF-8.
        match self.redacted(text.as_bytes()) {
            Some(bytes) => Cow::Owned(String::from_utf8_lossy(&bytes).into_owned()),
            None => Cow::Borrowed(text),
        }
    }
}
