//! The kinds of events.

use super::Event;

impl Event {
    /// Returns the `kind` of the JSON form.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        self.into()
    }

    /// Whether it was made between turns, and belongs to none: the last turn stays the last.
    #[must_use]
    pub fn is_between_turns(&self) -> bool {
        matches!(
            self,
            Self::ApprovalRevoked { .. }
                | Self::FilesRestored { .. }
                | Self::RunPlaced { .. }
                | Self::LoopConfigured { .. }
        )
    }
}
