//! Progress of a call, for the waiting user. It has no effect on the result.

/// Shows a message.
pub fn report(message: impl Into<String>) {
    send(&message.into(), None);
}

/// Shows a message and the part that is done, between 0 and 1.
pub fn report_fraction(message: impl Into<String>, fraction: f64) {
    send(&message.into(), Some(fraction));
}

#[cfg(target_family = "wasm")]
fn send(message: &str, fraction: Option<f64>) {
    crate::bindings::progress::report(message, fraction);
}

#[cfg(not(target_family = "wasm"))]
fn send(message: &str, fraction: Option<f64>) {
    crate::testing::record_progress(message.to_owned(), fraction);
}
