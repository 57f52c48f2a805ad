//! `agent:tool/control`: the end of the run that a call is a part of. The message goes into the
//! report, and the loop ends the run if the call succeeds.

use crate::{bindings::control, caps::unwind::Unwind, secrets::Redactors};

/// The longest message, in bytes.
pub(super) const MAX_MESSAGE_BYTES: usize = 4 * 1024;

/// The wish of one call to end the run.
pub(crate) struct ControlCtx {
    secrets: Redactors,
    /// The last message.
    pub(crate) halt: Option<String>,
}

impl ControlCtx {
    pub(crate) fn new(secrets: Redactors) -> Self {
        Self {
            secrets,
            halt: None,
        }
    }
}

impl control::Host for ControlCtx {
    async fn halt(&mut self, message: String) -> wasmtime::Result<()> {
        if message.len() > MAX_MESSAGE_BYTES {
            return Err(Unwind::HaltTooLong.into());
        }
        self.halt = Some(self.secrets.all.text(&message).into_owned());
        Ok(())
    }
}
