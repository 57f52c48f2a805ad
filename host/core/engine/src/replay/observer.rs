//! The observer of a replay: it knows whose model is asked, and shows nothing.

use super::tape::Tape;
use crate::observer::{Live, Observer};
use agent_host_types::{
    event::EventRecord,
    id::{CallId, SessionId},
};
use std::sync::Arc;

pub(super) struct ReplayObserver<'t> {
    pub(super) tape: &'t Tape,
    pub(super) session: SessionId,
}

impl Observer for ReplayObserver<'_> {
    fn recorded(&self, _record: &Arc<EventRecord>) {}

    /// The model is asked right after this, before anything else of the replay runs.
    fn live(&self, live: Live<'_>) {
        if let Live::ModelAsked = live {
            self.tape.set_asking(self.session);
        }
    }

    fn child<'a>(&'a self, call_id: &'a CallId, _agent: &'a str) -> Option<Box<dyn Observer + 'a>> {
        let session = self.tape.child(self.session, call_id)?;
        Some(Box::new(ReplayObserver {
            tape: self.tape,
            session,
        }))
    }
}
