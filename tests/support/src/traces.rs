//! Searches for the encoded forms of a secret's value that must not appear.

use base64::{
    Engine as _,
    engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD},
};
use std::{fmt::Write as _, path::Path};

/// The encoded forms of a text, besides itself.
pub fn encoded(text: &str) -> Vec<String> {
    let hex = |upper: bool| {
        text.bytes().fold(String::new(), |mut out, byte| {
            if upper {
                write!(out, "{byte:02X}").unwrap();
            } else {
                write!(out, "{byte:02x}").unwrap();
            }
            out
        })
    };
    let url = text
        .replace('/', "%2F")
        .replace('+', "%2B")
        .replace('=', "%3D")
        .replace(' ', "%20");
    vec![
        STANDARD.encode(text),
        STANDARD.encode(format!("u:{text}")),
        URL_SAFE_NO_PAD.encode(format!("us:{text}")),
        hex(false),
        hex(true),
        url.to_lowercase(),
        url,
    ]
}

/// The forbidden bytes: the value and its forms. Of base64, the middle, which adjacent bytes do not
/// change.
fn forbidden(value: &str) -> Vec<String> {
    let mut forms = encoded(value);
    for form in &mut forms[..3] {
        *form = form[6..form.len() - 6].to_owned();
    }
    forms.push(value.to_owned());
    forms
}

/// Asserts that no form of the value is in these bytes.
pub fn assert_none(value: &str, what: &str, bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes).to_lowercase();
    for form in forbidden(value) {
        assert!(
            !text.contains(&form.to_lowercase()),
            "{form} is in {what}:\n{text}"
        );
    }
}

/// Asserts that no form of the value is in a file below this directory. Returns the number of
/// files.
pub fn assert_none_below(value: &str, directory: &Path) -> usize {
    let mut files = 0;
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files += assert_none_below(value, &path);
        } else {
            let bytes = std::fs::read(&path).unwrap();
            assert_none(value, &path.display().to_string(), &bytes);
            files += 1;
        }
    }
    files
}
