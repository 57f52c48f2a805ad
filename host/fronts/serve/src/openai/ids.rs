//! The ids of responses and of their calls. They name the session, so that nothing is kept beside
//! the journal.

use agent_host_types::id::{CallId, SessionId};
use std::fmt;

/// The number of hexadecimal digits of a session's id.
const SESSION_DIGITS: usize = 32;

/// The run of a response: its session, and the number of its first event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RunId {
    pub(super) session: SessionId,
    pub(super) seq: u64,
}

impl RunId {
    /// Reads the id of a stored response.
    pub(super) fn parse(id: &str) -> Option<Self> {
        let (session, seq) = split_session(id.strip_prefix("resp_")?)?;
        let digits = seq.bytes().all(|byte| byte.is_ascii_digit());
        let seq = seq.parse().ok().filter(|_| digits)?;
        Some(Self { session, seq })
    }

    /// Returns the id of the response. One that is not stored has an id that names nothing.
    pub(super) fn response(self, is_stored: bool) -> String {
        match is_stored {
            true => format!("resp_{self}"),
            false => format!("resp_{self}_unstored"),
        }
    }

    /// Returns the id that the model's call has for the client.
    pub(super) fn call(self, call: &CallId) -> String {
        call_id(self.session, call)
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}_{}", digits(self.session), self.seq)
    }
}

fn digits(session: SessionId) -> String {
    session.to_string().replace('-', "")
}

fn call_id(session: SessionId, call: &CallId) -> String {
    format!("call_{}_{call}", digits(session))
}

/// Reads the id that a call has for the client.
pub(super) fn parse_call(id: &str) -> Option<(SessionId, CallId)> {
    let (session, call) = split_session(id.strip_prefix("call_")?)?;
    Some((session, CallId(call.to_owned())))
}

fn split_session(text: &str) -> Option<(SessionId, &str)> {
    let (session, rest) = text.split_at_checked(SESSION_DIGITS)?;
    Some((session.parse().ok()?, rest.strip_prefix('_')?))
}
