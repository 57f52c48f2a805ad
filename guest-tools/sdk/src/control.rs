//! The end of the run that a call is a part of.

/// Asks to end the whole run with a message for the user once this call has succeeded. The model is
/// not asked again, and agents that started this one end, too. A call that fails or is denied ends
/// nothing. The last message counts; it has at most 4 KiB.
pub fn halt(message: impl Into<String>) {
    send(message.into());
}

#[cfg(target_family = "wasm")]
#[expect(
    clippy::needless_pass_by_value,
    reason = "the stand-in of native tests keeps it"
)]
fn send(message: String) {
    crate::bindings::control::halt(&message);
}

#[cfg(not(target_family = "wasm"))]
fn send(message: String) {
    crate::testing::record_halt(message);
}
