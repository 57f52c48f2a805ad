//! The text of a page's bytes.

use agent_tool_bounded::windows_1252;

/// The bytes in which browsers look for a page's encoding.
const SNIFFED_BYTES: usize = 1_024;

/// The text of a page.
///
/// # Errors
/// The name of an encoding that is not read.
pub(crate) fn decode(bytes: Vec<u8>) -> Result<String, String> {
    if bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff") {
        return Err("utf-16".to_owned());
    }
    let bytes = match String::from_utf8(bytes) {
        Ok(text) => {
            return Ok(text
                .strip_prefix('\u{feff}')
                .map_or(text.clone(), ToOwned::to_owned));
        }
        Err(error) => error.into_bytes(),
    };
    match declared(&bytes).as_deref() {
        // The names that the web gives to this encoding; where none is said, it is the default.
        None | Some("windows-1252" | "cp1252" | "iso-8859-1" | "latin1" | "us-ascii" | "ascii") => {
            Ok(windows_1252(&bytes))
        }
        Some("utf-8" | "utf8") => Ok(String::from_utf8_lossy(&bytes).into_owned()),
        Some(other) => Err(other.to_owned()),
    }
}

/// The encoding that `<meta charset>` or its older form names, in lower case.
fn declared(bytes: &[u8]) -> Option<String> {
    let start = bytes.get(..SNIFFED_BYTES.min(bytes.len()))?;
    let start = windows_1252(start).to_ascii_lowercase();
    let (_, after) = start.split_once("charset")?;
    let value = after.trim_start().strip_prefix('=')?.trim_start();
    let value = value.trim_start_matches(['"', '\'']);
    let end = value.find(|letter: char| !(letter.is_ascii_alphanumeric() || "-_".contains(letter)));
    let name = value.get(..end.unwrap_or(value.len()))?;
    (!name.is_empty()).then(|| name.to_owned())
}

#[cfg(test)]
mod tests;
