//! A value and its forms, for the tests of this crate and of the sandbox.

use base64::{
    Engine as _,
    engine::general_purpose::{STANDARD, URL_SAFE},
};

/// A value with characters that each encoding treats in its own way.
pub(crate) const VALUE: &str = "gh?p~/To+k>e\"n 7*x";

/// Each form of [`VALUE`], written out by hand or by another road than the code takes.
pub(crate) fn forms() -> Vec<String> {
    let mut forms: Vec<String> = [
        VALUE,
        // Hexadecimal.
        "67683f707e2f546f2b6b3e65226e20372a78",
        "67683F707E2F546F2B6B3E65226E20372A78",
        // URL-encoded: RFC 3986, JavaScript, forms, what a parser does, every byte.
        "gh%3Fp~%2FTo%2Bk%3Ee%22n%207%2Ax",
        "gh%3fp~%2fTo%2bk%3ee%22n%207%2ax",
        "gh%3Fp~%2FTo%2Bk%3Ee%22n%207*x",
        "gh%3Fp%7E%2FTo%2Bk%3Ee%22n+7*x",
        "gh?p~/To+k%3Ee%22n%207*x",
        "%67%68%3F%70%7E%2F%54%6F%2B%6B%3E%65%22%6E%20%37%2A%78",
        "%67%68%3f%70%7e%2f%54%6f%2b%6b%3e%65%22%6e%20%37%2a%78",
        // JSON.
        "gh?p~/To+k>e\\\"n 7*x",
        "gh?p~\\/To+k>e\\\"n 7*x",
        // Lower-cased, as a server may do to a field.
        "gh?p~/to+k>e\"n 7*x",
    ]
    .map(str::to_owned)
    .into();
    // The parts of base64 that any neighbours leave alone: what is common to all of them.
    for before in 0..3 {
        for engine in [&STANDARD, &URL_SAFE] {
            let around = |byte: u8| {
                let bytes = [&vec![byte; before], VALUE.as_bytes(), &[byte; 3]].concat();
                engine.encode(bytes)
            };
            let (a, b) = (around(0), around(0xff));
            let common: String = a
                .chars()
                .zip(b.chars())
                // Both end in padding, which says nothing.
                .filter(|(a, b)| a == b && *a != '=')
                .map(|(a, _)| a)
                .collect();
            forms.push(common);
        }
    }
    forms
}
