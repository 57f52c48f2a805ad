//! The byte budget of one result, counted as JSON.

/// The largest result, in bytes. The host keeps 50 KiB of a result in the conversation and moves a
/// longer one to a blob; a result stays below that, so that it reaches the model as complete JSON
/// or a complete page.
pub(crate) const MAX_RESULT_BYTES: usize = 44 * 1024;

/// The bytes that are left of a result.
pub(crate) struct Budget(usize);

impl Budget {
    pub(crate) fn new() -> Self {
        Self(MAX_RESULT_BYTES)
    }

    /// Reserves an entry with these texts and `overhead` more bytes; false if it does not fit.
    pub(crate) fn take(&mut self, texts: &[&str], overhead: usize) -> bool {
        let needed: usize = texts.iter().map(|text| escaped_len(text)).sum::<usize>() + overhead;
        match self.0.checked_sub(needed) {
            Some(left) => {
                self.0 = left;
                true
            }
            None => false,
        }
    }
}

/// A control character takes at most six bytes in JSON, quotes and backslashes two.
fn escaped_len(text: &str) -> usize {
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
