//! Why a host function, or the epoch callback, unwinds a guest.

use crate::caps::{control::MAX_MESSAGE_BYTES, state::MAX_DELTA_BYTES};
use agent_host_types::{question::Question, reason::Reason};

/// The error that unwinds the instance.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unwind {
    #[error("the deadline has passed")]
    Deadline,
    #[error("the call merged more than {MAX_DELTA_BYTES} bytes into the session's state")]
    StateTooLarge,
    #[error("its message at the end of the run has more than {MAX_MESSAGE_BYTES} bytes")]
    HaltTooLong,
    #[error("an artifact of the session cannot be read")]
    ArtifactUnreadable,
    /// The program runs again later, or not at all.
    #[error("the program was stopped while it called a tool")]
    ProgramStopped,
    #[error("the program did not get a permit again after its calls")]
    NoPermit,
    /// The call asks the user, which is not a failure.
    #[error("the call asked a question")]
    Asked(Question),
    /// With the rule that the form breaks.
    #[error("the call asked with an invalid form: {0}")]
    InvalidForm(Reason),
    #[error("the call asked a different question than in its first run")]
    QuestionChanged,
    /// With the parser's message.
    #[error("what the call merged into the session's state is not a JSON object: {0}")]
    StateNotAnObject(String),
}
