//! The programs of a replay: they make the recorded calls and have the recorded end.

use super::tape::Tape;
use crate::{
    BoxFuture,
    program::{NestedCall, ProgramRun, ProgramRunner},
    tool::CallReport,
};
use agent_host_types::{event::Event, id::SessionId, tool::ToolCall};
use std::{future::pending, sync::Arc};

pub(super) struct ReplayPrograms(pub(super) Arc<Tape>);

impl ProgramRunner for ReplayPrograms {
    fn run(&self, run: ProgramRun) -> BoxFuture<'static, CallReport> {
        let (batches, end) = self.recorded(run.session);
        Box::pin(async move {
            for calls in batches {
                let calls = calls.into_iter().map(|call| NestedCall {
                    name: call.name,
                    input: call.raw_arguments,
                });
                if run.tools.call_many(calls.collect()).await.is_none() {
                    break;
                }
            }
            match end {
                Some(report) => report,
                // It was stopped, or the recording ends before it did.
                None => pending().await,
            }
        })
    }
}

impl ReplayPrograms {
    /// Returns the batches of a session's program, and its end.
    fn recorded(&self, session: SessionId) -> (Vec<Vec<ToolCall>>, Option<CallReport>) {
        let records = self.0.track(session, |track| Arc::clone(&track.records));
        let (mut batches, mut end) = (Vec::new(), None);
        for record in records.iter().flat_map(|records| records.iter()) {
            match &record.event {
                Event::ProgramCalled { calls } => batches.push(calls.clone()),
                Event::ProgramEnded {
                    output,
                    whole,
                    accounting,
                    audit,
                } => {
                    end = Some(CallReport {
                        accounting: accounting.clone(),
                        audit: audit.clone(),
                        ..CallReport::of(self.0.restored(output, whole.as_ref()))
                    });
                }
                _ => {}
            }
        }
        (batches, end)
    }
}
