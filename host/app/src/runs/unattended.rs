//! Runs that no user may know of: a schedule or a webhook started them.

use crate::config::TriggerKind;
use agent_host_engine::{session::Session, turn::Agent};
use agent_host_types::turn::AgentInput;

/// The lifetime of approval requests in a run that a schedule or a webhook started, in milliseconds,
/// where `approval-expires-seconds` gives none: 3 days. What a run asks for on a Friday evening can
/// still be approved on the Monday after; what no one has seen by then is denied, and the run ends.
pub const UNATTENDED_EXPIRY_MS: u64 = 3 * 24 * 60 * 60 * 1_000;

/// Bounds the time for which requests of an unattended run wait, where the configuration does not.
/// `by` is the sender of the input.
pub(super) fn bound(agent: &mut Agent, by: Option<&str>, session: &Session, input: &AgentInput) {
    if is_unattended(by, session, input) {
        let expiry = &mut agent.settings.approval_expiry_ms;
        expiry.get_or_insert(UNATTENDED_EXPIRY_MS);
    }
}

/// Whether a run works on a message that a schedule or a webhook sent.
fn is_unattended(by: Option<&str>, session: &Session, input: &AgentInput) -> bool {
    let sender = match input {
        AgentInput::Text(_) | AgentInput::Message(_) => by,
        AgentInput::Resume { .. }
        | AgentInput::Answer { .. }
        | AgentInput::Children { .. }
        | AgentInput::SubmitToolResults { .. }
        | AgentInput::Continue => session.state().last_sender(),
    };
    sender.is_some_and(TriggerKind::is_sender)
}
