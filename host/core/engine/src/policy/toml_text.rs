//! TOML strings for the grants that denials suggest. The texts are a guest's and the operator
//! copies the result, so everything but letters, digits and visible ASCII is escaped.

use std::fmt::Write as _;

/// Returns a basic string.
pub(super) fn string(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for character in text.chars() {
        match character {
            '"' | '\\' => out.extend(['\\', character]),
            ' '..='~' => out.push(character),
            _ if character.is_alphanumeric() => out.push(character),
            // Writing to a string does not fail.
            _ => {
                let _ = write!(out, "\\U{:08X}", u32::from(character));
            }
        }
    }
    out.push('"');
    out
}

/// Returns an array of basic strings on one line.
pub(super) fn strings<S: AsRef<str>>(texts: &[S]) -> String {
    let texts: Vec<String> = texts.iter().map(|text| string(text.as_ref())).collect();
    format!("[{}]", texts.join(", "))
}
