//! Reads the events of a session from the journal, and makes spans of those that this process
//! recorded.

use crate::{
    ids::{RemoteParent, call_span, trace_id},
    spans::{SessionSpans, TracePlace},
};
use agent_host_engine::journal::JournalError;
use agent_host_journal::JournalStore;
use agent_host_types::{
    event::{Event, ParentCall},
    id::SessionId,
};
use opentelemetry::trace::SpanId;
use opentelemetry_sdk::trace::SpanData;

/// The maximum number of sessions that started each other, above which a session is treated as one
/// that no call started. More than agents can be deep.
const MAX_DEPTH: usize = 64;

/// A session that is followed.
pub(crate) struct SessionReader {
    session: SessionId,
    spans: SessionSpans,
    /// The number of the next event.
    next: u64,
    /// The number of the first event whose spans are sent: those before were sent by the process
    /// that recorded them.
    first: u64,
}

impl SessionReader {
    pub(crate) async fn open(
        store: &dyn JournalStore,
        session: SessionId,
        first: u64,
        agent: Option<String>,
        remote: Option<RemoteParent>,
        with_content: bool,
    ) -> Result<Self, JournalError> {
        let place = place(store, session, remote).await?;
        Ok(Self {
            session,
            spans: SessionSpans::new(session, place, agent, with_content),
            next: 0,
            first,
        })
    }

    /// Returns the spans that ended since the last call.
    ///
    /// # Errors
    /// The journal cannot be read.
    pub(crate) async fn read(
        &mut self,
        store: &dyn JournalStore,
    ) -> Result<Vec<SpanData>, JournalError> {
        let mut ended = Vec::new();
        loop {
            let page = store.read(self.session, self.next).await?;
            let Some(last) = page.last() else {
                return Ok(ended);
            };
            self.next = last.seq.saturating_add(1);
            for record in &page {
                let spans = self.spans.add(record);
                if record.seq >= self.first {
                    ended.extend(spans);
                }
            }
        }
    }
}

/// Returns the place of a session: below the call that started it, in the trace of the session that
/// no call started, which may be that of another program.
async fn place(
    store: &dyn JournalStore,
    session: SessionId,
    remote: Option<RemoteParent>,
) -> Result<TracePlace, JournalError> {
    let (mut root, mut above) = (session, None);
    for _ in 0..MAX_DEPTH {
        let Some(parent) = parent(store, root).await? else {
            break;
        };
        root = parent.session;
        above.get_or_insert(parent);
    }
    let call = above.map(|parent| call_span(parent.session, &parent.call_id));
    Ok(TracePlace {
        trace: remote.map_or_else(|| trace_id(root), |remote| remote.trace),
        parent: call
            .or(remote.map(|remote| remote.span))
            .unwrap_or(SpanId::INVALID),
        is_remote: call.is_none() && remote.is_some(),
    })
}

async fn parent(
    store: &dyn JournalStore,
    session: SessionId,
) -> Result<Option<ParentCall>, JournalError> {
    let first = match store.read(session, 0).await {
        Ok(page) => page.into_iter().next(),
        // A copy of an agent's session whose starter is elsewhere.
        Err(JournalError::NotFound(_)) => None,
        Err(error) => return Err(error),
    };
    Ok(first.and_then(|record| match record.event {
        Event::SessionStarted { parent, .. } => parent,
        _ => None,
    }))
}
