//! Redacts the values of secrets: replaces their encoded forms in bytes, texts and results by
//! `[secret:NAME]`.
//!
//! A mark confirms a guess to its reader, so the reader decides which secrets are redacted. Data
//! that a tool receives or can read back is searched only for the secrets granted to it
//! ([`Secrets::only`]); data for the user, the journal and the model is searched for all.

mod forms;
mod report;
mod stream;
#[cfg(test)]
mod tests;

pub use stream::Redaction;

use agent_host_types::reason::Reason;
use forms::Forms;
use secrecy::{ExposeSecret as _, SecretString};
use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

/// The shortest value, in bytes. A shorter one would match unrelated text. Not a defence against
/// guessing; only randomness is.
pub const MIN_SECRET_BYTES: usize = 8;

/// The longest value, in bytes: few servers accept longer header fields, and the matcher grows with
/// it.
pub const MAX_SECRET_BYTES: usize = 4_096;

/// The values of secrets by name. The default is empty and costs nothing.
///
/// The values are zeroed on drop; the tables of the matcher are not.
#[derive(Default)]
pub struct Secrets {
    values: BTreeMap<String, SecretString>,
    /// Absent if there are no values.
    forms: Option<Forms>,
    /// The results of [`Self::only`], by the selected names.
    selections: Mutex<BTreeMap<BTreeSet<String>, Arc<Secrets>>>,
}

impl fmt::Debug for Secrets {
    /// Prints the names only.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.values.keys()).finish()
    }
}

impl Secrets {
    /// Builds the matcher for the values.
    ///
    /// # Errors
    /// If [`Self::check`] refuses a value, or the values are too many for the matcher.
    pub fn new(values: BTreeMap<String, SecretString>) -> Result<Self, Reason> {
        if values.is_empty() {
            return Ok(Self::default());
        }
        for value in values.values() {
            Self::check(value)?;
        }
        let forms =
            Forms::new(&values).ok_or("there are more secrets than can be redacted at once")?;
        Ok(Self {
            values,
            forms: Some(forms),
            selections: Mutex::default(),
        })
    }

    /// Checks that a value can be a secret.
    ///
    /// # Errors
    /// If it is too short, too long, or cannot be sent in a header field.
    pub fn check(value: &SecretString) -> Result<(), Reason> {
        let value = value.expose_secret();
        if value.len() < MIN_SECRET_BYTES {
            let why = format!(
                "it is shorter than {MIN_SECRET_BYTES} bytes and could not be distinguished from other text in an answer"
            );
            return Err(why.into());
        }
        if value.len() > MAX_SECRET_BYTES {
            let why = format!(
                "it is longer than {MAX_SECRET_BYTES} bytes, which is more than servers accept"
            );
            return Err(why.into());
        }
        if !value.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
            let why =
                "it has characters other than printable ASCII, which a header field cannot carry";
            return Err(why.into());
        }
        Ok(())
    }

    /// Whether there are no secrets.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Returns only the secrets of these names. Selections of the same names share one matcher.
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
            // A subset is never too many if all values are not.
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

    /// Redacts bytes; returns `None` if they contain no form of a value.
    #[must_use]
    pub fn redacted(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        let forms = self.forms.as_ref()?;
        forms.find(bytes, 0)?;
        Some(forms.redact(bytes, bytes.len()).0)
    }

    /// Redacts a text.
    #[must_use]
    pub fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.redacted_text(text)
            .map_or(Cow::Borrowed(text), Cow::Owned)
    }

    /// Redacts a text; returns `None` if it contains no form of a value.
    fn redacted_text(&self, text: &str) -> Option<String> {
        let bytes = self.redacted(text.as_bytes())?;
        // Forms and marks are ASCII, so the result is UTF-8.
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }
}
