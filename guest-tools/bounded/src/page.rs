//! Pages of a long text, by byte offsets: no line is too long for them.

use crate::{Failure, MAX_RESULT_BYTES};

/// The text from an offset on that fits a result, with a last line in brackets where that is not
/// the whole text. A page ends after a line where it can, and never in a character.
///
/// # Errors
/// An offset beyond the end.
pub fn page(text: &str, offset: usize) -> Result<String, Failure> {
    let total = text.len();
    if offset > total {
        return Err(Failure::new(format!(
            "the text has {total} bytes, so there is none from offset {offset} on"
        )));
    }
    let start = text.floor_char_boundary(offset);
    let rest = text.get(start..).unwrap_or_default();
    if rest.len() <= MAX_RESULT_BYTES && start == 0 {
        return Ok(text.to_owned());
    }
    let most = rest.get(..rest.floor_char_boundary(MAX_RESULT_BYTES));
    let most = most.unwrap_or_default();
    let shown = match most.rfind('\n') {
        Some(line_end) if most.len() < rest.len() => most.get(..=line_end).unwrap_or(most),
        _ => most,
    };
    let end = start + shown.len();
    let next = if end < total {
        format!("; offset {end} continues")
    } else {
        String::new()
    };
    let separator = if shown.ends_with('\n') { "" } else { "\n" };
    Ok(format!(
        "{shown}{separator}[bytes {start} to {end} of {total}{next}]"
    ))
}

#[cfg(test)]
mod tests;
