//! The byte budget of one result, counted as JSON.

/// The largest result, in bytes. The host keeps 50 KiB of a result in the conversation and moves a
/// longer one to a blob; a result stays below that, so that it reaches the model whole.
pub const MAX_RESULT_BYTES: usize = 44 * 1024;

/// The bytes that are left of a result.
pub struct Budget(usize);

impl Budget {
    /// Makes a budget of `bytes`, at most [`MAX_RESULT_BYTES`].
    #[must_use]
    pub fn new(bytes: usize) -> Self {
        Self(bytes.min(MAX_RESULT_BYTES))
    }

    /// Reserves a text as a JSON string, and `overhead` more bytes; false if it does not fit.
    pub fn take(&mut self, text: &str, overhead: usize) -> bool {
        self.take_bytes(json_len(text) + overhead)
    }

    /// Reserves bytes; false if they do not fit.
    pub fn take_bytes(&mut self, bytes: usize) -> bool {
        match self.0.checked_sub(bytes) {
            Some(left) => {
                self.0 = left;
                true
            }
            None => false,
        }
    }
}

/// A control character takes at most six bytes in JSON, quotes and backslashes two.
fn json_len(text: &str) -> usize {
    text.bytes()
        .map(|byte| match byte {
            0..b' ' => 6,
            b'"' | b'\\' => 2,
            _ => 1,
        })
        .sum()
}

#[cfg(test)]
mod tests;
