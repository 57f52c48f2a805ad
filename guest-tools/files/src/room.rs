//! How much of a result fits. It counts bytes of JSON and knows nothing of what they say.

/// The size of one result, in bytes. The host keeps 50 KiB of a result in the conversation and moves what is longer to a blob;
/// a result stays below that, so that it reaches the model as the JSON or the page that it is.
pub(crate) const MAX_RESULT_BYTES: usize = 44 * 1024;

/// What is left of a result.
pub(crate) struct Room(usize);

impl Room {
    pub(crate) fn new() -> Self {
        Self(MAX_RESULT_BYTES)
    }

    /// Takes an entry with these texts and as many bytes besides; `false` when it does not fit any more.
    pub(crate) fn take(&mut self, texts: &[&str], besides: usize) -> bool {
        let needed: usize = texts.iter().map(|text| escaped_len(text)).sum::<usize>() + besides;
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
