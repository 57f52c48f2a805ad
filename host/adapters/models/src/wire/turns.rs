//! The turns of a conversation on the wires in which two roles alternate and the user's is first.

use serde_json::Value;

/// The role of everything that the model did not write.
pub(super) const USER: &str = "user";

/// Consecutive parts of one role.
pub(super) struct RoleTurn {
    pub(super) role: &'static str,
    /// Its parts, in the form of the wire.
    pub(super) parts: Vec<Value>,
    /// True if nothing is added to it.
    is_closed: bool,
}

/// The turns so far.
#[derive(Default)]
pub(super) struct RoleTurns(Vec<RoleTurn>);

impl RoleTurns {
    /// Appends parts to the last turn, or to a new one if the role changes.
    pub(super) fn push(&mut self, role: &'static str, parts: Vec<Value>) {
        match self.0.last_mut() {
            _ if parts.is_empty() => {}
            Some(turn) if turn.role == role && !turn.is_closed => turn.parts.extend(parts),
            Some(_) | None => self.push_turn(role, parts, false),
        }
    }

    /// Appends a turn of the user's that no other parts join.
    pub(super) fn push_closed(&mut self, parts: Vec<Value>) {
        self.push_turn(USER, parts, true);
    }

    fn push_turn(&mut self, role: &'static str, parts: Vec<Value>, is_closed: bool) {
        let turn = RoleTurn {
            role,
            parts,
            is_closed,
        };
        self.0.push(turn);
    }

    /// Returns the turns. If the first is not the user's, one with the text of `encode` precedes
    /// it.
    pub(super) fn finish(mut self, encode: impl Fn(&str) -> Option<Value>) -> Vec<RoleTurn> {
        if self.0.first().is_none_or(|turn| turn.role != USER) {
            let parts = encode("[the conversation continues]").into_iter().collect();
            self.push_turn(USER, parts, false);
            self.0.rotate_right(1);
        }
        self.0
    }
}

/// Returns the text of a system message as a user's, for wires without system messages within a
/// conversation.
pub(super) fn from_operator(text: &str) -> String {
    format!("[from the operator]\n{text}")
}
