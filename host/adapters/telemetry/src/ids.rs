//! Ids of traces and spans, derived from the session, so that a resumed run continues its trace;
//! and the remote parent of `TRACEPARENT`.

#[cfg(test)]
mod tests;

use agent_host_types::id::{CallId, SessionId};
use opentelemetry::trace::{SpanId, TraceId};
use sha2::{Digest as _, Sha256};

/// The span of another program that the spans of a run belong to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RemoteParent {
    pub(crate) trace: TraceId,
    pub(crate) span: SpanId,
    /// Whether the other program records the trace. If not, nothing is sent.
    pub(crate) is_sampled: bool,
}

impl RemoteParent {
    /// Parses a [traceparent](https://www.w3.org/TR/trace-context/#traceparent-header); `None` for
    /// an invalid one, which is to be ignored.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.trim().split('-');
        let mut hex = |digits: usize| {
            let part = parts.next()?;
            let is_lower = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
            (part.len() == digits && part.bytes().all(is_lower)).then_some(part)
        };
        let (version, trace, span, flags) = (hex(2)?, hex(32)?, hex(16)?, hex(2)?);
        // Later versions may add parts.
        let is_known = match version {
            "ff" => false,
            "00" => parts.next().is_none(),
            _ => true,
        };
        let trace = TraceId::from_hex(trace).ok()?;
        let span = SpanId::from_hex(span).ok()?;
        let flags = u8::from_str_radix(flags, 16).ok()?;
        let is_valid = is_known && trace != TraceId::INVALID && span != SpanId::INVALID;
        is_valid.then_some(Self {
            trace,
            span,
            is_sampled: flags & 1 == 1,
        })
    }
}

/// Returns the id of the trace of a session and those of its agents; `root` is the session that no
/// call started.
pub(crate) fn trace_id(root: SessionId) -> TraceId {
    TraceId::from_bytes(first_bytes(&format!("trace {root}")))
}

pub(crate) fn call_span(session: SessionId, call: &CallId) -> SpanId {
    SpanId::from_bytes(first_bytes(&format!("call {session} {call}")))
}

/// Returns the id of the span that begins with an event.
pub(crate) fn event_span(session: SessionId, seq: u64) -> SpanId {
    SpanId::from_bytes(first_bytes(&format!("event {session} {seq}")))
}

/// Returns the header that names a span as the parent of another program's.
pub(crate) fn traceparent(trace: TraceId, span: SpanId, is_sampled: bool) -> String {
    format!("00-{trace}-{span}-{:02x}", u8::from(is_sampled))
}

fn first_bytes<const N: usize>(text: &str) -> [u8; N] {
    let hash: [u8; 32] = Sha256::digest(text.as_bytes()).into();
    let mut bytes = [0; N];
    bytes.iter_mut().zip(hash).for_each(|(to, from)| *to = from);
    bytes
}
