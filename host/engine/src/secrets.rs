//! Redacts the values of secrets: finds their forms in bytes, texts and results, and puts `[secret:NAME]` in their place.
//!
//! A mark tells its reader that a guess was right, so it depends on the reader which secrets are looked for. What a tool
//! receives, or can read back, is searched for the secrets that it was granted ([`Secrets::only`]) and for no others; what
//! only people, the journal and the model read is searched for all.

mod forms;
mod report;
mod stream;
#[cfg(test)]
mod tests;

pub use stream::Redaction;

use forms::Forms;
use secrecy::{ExposeSecret as _, SecretString};
use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

/// The shortest value, in bytes. A shorter one would be taken out of text that it is not in. It is no defence against guessing:
/// a value resists that by being random.
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
    /// The selections that were asked for, by their names.
    selections: Mutex<BTreeMap<BTreeSet<String>, Arc<Secrets>>>,
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
            selections: Mutex::default(),
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

    /// Returns the secrets of these names alone. A selection is prepared once; the next one of the same names shares it.
    #[must_use]
    pub fn only<'a>(self: &Arc<Self>, names: impl IntoIterator<Item = &'a str>) -> Arc<Self> {
        let known = |name: &&str| self.values.contains_key(*name);
        let names: BTreeSet<String> = names.into_iter().filter(known).map(str::to_owned).collect();
        if names.len() == self.values.len() {
            return Arc::clone(self);
        }
        let mut selections = self
            .selections
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(selection) = selections.get(&names) {
            return Arc::clone(selection);
        }
        let chosen = self
            .values
            .iter()
            .filter(|(name, _)| names.contains(*name))
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        let selection = match Self::new(chosen) {
            Ok(selection) => Arc::new(selection),
            // Fewer values never are too many where all of them are not.
            Err(_) => Arc::clone(self),
        };
        selections.insert(names, Arc::clone(&selection));
        selection
    }

    /// Returns the value of a secret.
    #[must_use]
    pub fn value(&self, name: &str) -> Option<&SecretString> {
        self.values.get(name)
    }

    /// Redacts bytes; returns nothing where no form of a value is in them.
    #[must_use]
    pub fn redacted(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        let forms = self.forms.as_ref()?;
        forms.find(bytes, 0)?;
        Some(forms.redact(bytes, bytes.len()).0)
    }

    /// Redacts a text.
    #[must_use]
    pub fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        // Every form and every mark is ASCII, so what is left is still UTF-8.
        match self.redacted(text.as_bytes()) {
            Some(bytes) => Cow::Owned(String::from_utf8_lossy(&bytes).into_owned()),
            None => Cow::Borrowed(text),
        }
    }
}
