//! The recorded ends of calls, as their runs returned them.

use super::tape::{Tape, Track};
use crate::{
    artifact::NewArtifact,
    spill::restore_output,
    tool::{CallReport, RunEnd, SessionChange},
    turn::not_run_after_halt,
};
use agent_host_types::{
    accounting::{Accounting, AuditEntry},
    event::{Event, EventRecord},
    failure::{ToolErrorCode, ToolFailure},
    flow::LabelledFile,
    id::{CallId, SessionId},
    output::{BlobRef, ContentPart, FileData, ToolResultOutput},
    question::{AnsweredBy, PendingQuestion, Question},
    tool::Effect,
    workflow::NodeOutput,
};
use std::sync::Arc;

/// The course of a run of a call in a replay.
pub(super) enum ReplayedCall {
    /// It ends.
    Ends(Box<RunEnd>),
    /// It is the node of a workflow, and ends when its session is at a position.
    Lands(usize, Box<RunEnd>),
    /// It runs until it is cancelled, since it took too long.
    TimesOut(Box<RunEnd>),
    /// It ran when the program ended.
    Never,
}

impl Tape {
    /// Returns what the run of a call does that begins now.
    pub(super) fn outcome(&self, session: SessionId, call_id: &CallId) -> ReplayedCall {
        let found = self.track(session, |track| {
            (
                Arc::clone(&track.records),
                track.position,
                is_node(track, call_id),
            )
        });
        let Some((records, position, is_node)) = found else {
            return ReplayedCall::Never;
        };
        match is_node {
            true => self.of_node(&records, position, call_id),
            false => self.of_call(&records, position, call_id),
        }
    }

    /// Returns the denial of a call that no one was asked about, if the call ends next with one.
    pub(super) fn foreseen_denial(
        &self,
        session: SessionId,
        call_id: &CallId,
    ) -> Option<CallReport> {
        let from = |track: &mut Track| (Arc::clone(&track.records), track.position);
        let (records, position) = self.track(session, from)?;
        for record in records.iter().skip(position) {
            if let Event::ApprovalRequested { calls, .. } = &record.event
                && calls.iter().any(|call| call.call_id == *call_id)
            {
                return None;
            }
            if let Some(end) = record.event.call_end()
                && end.call_id == call_id
            {
                let is_foreseen = end.is_denied() && end.rule.is_none() && !end.audit.is_empty();
                let output = end.output.filter(|_| is_foreseen)?.clone();
                return Some(CallReport {
                    audit: end.audit.to_vec(),
                    ..CallReport::of(output)
                });
            }
        }
        None
    }

    /// Returns the files that a call wrote by the records, if its next end is known.
    pub(super) fn labelled(&self, session: SessionId, call_id: &CallId) -> Vec<LabelledFile> {
        let files = self.track(session, |track| {
            let mut rest = track.records.iter().enumerate().skip(track.position);
            let (end, _) = rest.find(|(_, record)| {
                let end = record.event.call_end();
                end.is_some_and(|end| end.call_id == call_id)
            })?;
            Some(labelled(&track.records, end, call_id))
        });
        files.flatten().unwrap_or_default()
    }

    fn of_call(&self, records: &[EventRecord], position: usize, call_id: &CallId) -> ReplayedCall {
        let rest = records.iter().enumerate().skip(position);
        for (at, record) in rest {
            match &record.event {
                // It asked, and another call of its group ended the run.
                Event::CallSettled {
                    call_id: of,
                    output,
                    ..
                } if of == call_id && *output == not_run_after_halt() => {
                    return ReplayedCall::Ends(Box::new(dropped()));
                }
                Event::CallSettled {
                    call_id: of,
                    output,
                    whole,
                    accounting,
                    audit,
                    labels,
                    ..
                } if of == call_id => {
                    let output = self.restored(output, whole.as_ref());
                    let changes = self.changes(records, at + 1, call_id);
                    let files = labelled(records, at, call_id);
                    let end = ended(output, accounting, audit, changes, labels, files);
                    return ReplayedCall::Ends(Box::new(end));
                }
                Event::QuestionAsked { call_id: of, .. } if of == call_id => {
                    return ReplayedCall::Ends(Box::new(asked(&record.event)));
                }
                // Another call of its group asked first, so that its own question was dropped.
                Event::TurnEnded { .. } => {
                    let later = records.iter().skip(at).find(|record| {
                        matches!(&record.event, Event::QuestionAsked { call_id: of, .. } if of == call_id)
                    });
                    let question = later.map_or_else(dropped, |record| asked(&record.event));
                    return ReplayedCall::Ends(Box::new(question));
                }
                _ => {}
            }
        }
        ReplayedCall::Never
    }

    fn of_node(&self, records: &[EventRecord], position: usize, call_id: &CallId) -> ReplayedCall {
        let rest = records.iter().enumerate().skip(position);
        for (at, record) in rest {
            match &record.event {
                Event::NodeSettled {
                    call_id: of,
                    output,
                    whole,
                    accounting,
                    audit,
                    labels,
                    ..
                } if of == call_id => {
                    let whole = whole.as_ref().and_then(|whole| self.blob(&whole.digest));
                    let whole: Option<NodeOutput> =
                        whole.and_then(|whole| serde_json::from_slice(whole).ok());
                    let output = whole.as_ref().unwrap_or(output);
                    let failure = output.error.as_ref();
                    let is_late = output.output.is_none()
                        && failure.is_some_and(|it| it.code == ToolErrorCode::Timeout.as_str());
                    let result = match &output.output {
                        Some(result) => self.restored(result, None),
                        None => ToolFailure::stopped(Effect::ReadOnly).into(),
                    };
                    let changes = self.changes(records, at + 1, call_id);
                    let files = labelled(records, at, call_id);
                    let end = ended(result, accounting, audit, changes, labels, files);
                    let end = Box::new(end);
                    return match is_late {
                        true => ReplayedCall::TimesOut(end),
                        false => ReplayedCall::Lands(at, end),
                    };
                }
                Event::NodeRetried {
                    call_id: of,
                    failure,
                    accounting,
                    audit,
                    ..
                } if of == call_id => {
                    let value = serde_json::json!({
                        "code": failure.code,
                        "message": failure.message,
                    });
                    let result = ToolResultOutput::error_json(value);
                    let files = labelled(records, at, call_id);
                    let end = ended(result, accounting, audit, Vec::new(), &[], files);
                    return ReplayedCall::Lands(at, Box::new(end));
                }
                // It asked, and runs again in a session of its own.
                Event::NodeIntended { call_id: of, .. } if of == call_id => {
                    return ReplayedCall::Lands(at, Box::new(dropped()));
                }
                _ => {}
            }
        }
        ReplayedCall::Never
    }

    /// Waits until the node of a call ended in the recording; at once for a call of a model.
    pub(super) async fn landing(&self, session: SessionId, call_id: &CallId) {
        let at = self.track(session, |track| {
            if !is_node(track, call_id) {
                return Some(0);
            }
            let rest = track.records.iter().enumerate().skip(track.position);
            let mut ends = rest.filter(|(_, record)| {
                let end = record.event.call_end();
                end.is_some_and(|end| end.call_id == call_id)
            });
            ends.next().map(|(at, _)| at)
        });
        match at.flatten() {
            Some(at) => self.reached(session, at).await,
            None => std::future::pending().await,
        }
    }

    /// Returns the changes of the session by a call, which follow its end.
    fn changes(
        &self,
        records: &[EventRecord],
        from: usize,
        call_id: &CallId,
    ) -> Vec<SessionChange> {
        let following = records.iter().skip(from).map(|record| &record.event);
        let changes = following.map_while(|event| match event {
            Event::StateMerged {
                call_id: of, delta, ..
            } if of == call_id => Some(SessionChange::Merge(delta.clone())),
            Event::RunHalted {
                call_id: of,
                message,
            } if of == call_id => Some(SessionChange::Halt(message.clone())),
            Event::ArtifactStored {
                call_id: Some(of),
                name,
                media_type,
                blob,
                ..
            } if of == call_id => {
                let bytes = self.blob(&blob.digest)?.clone();
                let new = NewArtifact::new(name.as_str(), media_type.clone(), bytes).ok()?;
                Some(SessionChange::Store(new))
            }
            Event::ArtifactDeleted {
                call_id: Some(of),
                name,
            } if of == call_id => Some(SessionChange::Delete(name.clone())),
            _ => None,
        });
        changes.collect()
    }

    /// Returns a result as the run returned it: whole, and with the bytes of its files.
    pub(super) fn restored(
        &self,
        output: &ToolResultOutput,
        whole: Option<&BlobRef>,
    ) -> ToolResultOutput {
        let whole = whole.and_then(|whole| self.blob(&whole.digest));
        let whole = whole.and_then(|whole| restore_output(output, whole.clone()));
        let mut output = whole.unwrap_or_else(|| output.clone());
        if let ToolResultOutput::Content(parts) = &mut output {
            parts.iter_mut().for_each(|part| self.restore_part(part));
        }
        output
    }

    /// Puts the bytes of a file into the place of the reference to its blob.
    pub(super) fn restore_part(&self, part: &mut ContentPart) {
        if let ContentPart::File(file) = part
            && let FileData::Blob(blob) = &file.data
            && let Some(bytes) = self.blob(&blob.digest)
        {
            file.data = FileData::Bytes(bytes.clone());
        }
    }
}

/// Returns the files that a call wrote by the record behind its end.
fn labelled(records: &[EventRecord], end: usize, call_id: &CallId) -> Vec<LabelledFile> {
    match records.get(end + 1).map(|record| &record.event) {
        Some(Event::FilesLabelled { call_id: of, files }) if of == call_id => files.clone(),
        _ => Vec::new(),
    }
}

/// Whether a call is that of a node of the workflow that runs.
fn is_node(track: &Track, call_id: &CallId) -> bool {
    let replayed = track.records.get(..track.position).unwrap_or_default();
    let run = replayed.iter().rev();
    run.take_while(|record| !matches!(record.event, Event::WorkflowStarted { .. }))
        .any(|record| {
            matches!(&record.event, Event::NodeIntended { call_id: of, .. } if of == call_id)
        })
}

fn ended(
    output: ToolResultOutput,
    accounting: &Accounting,
    audit: &[AuditEntry],
    changes: Vec<SessionChange>,
    sources: &[String],
    files: Vec<LabelledFile>,
) -> RunEnd {
    CallReport {
        files,
        accounting: accounting.clone(),
        audit: audit.to_vec(),
        changes,
        sources: sources.to_vec(),
        ..CallReport::of(output)
    }
    .into()
}

/// Returns the end of a run with a recorded question.
fn asked(event: &Event) -> RunEnd {
    let Event::QuestionAsked {
        question,
        answered_by,
        accounting,
        audit,
        ..
    } = event
    else {
        return dropped();
    };
    RunEnd::Asked(PendingQuestion {
        question: question.clone(),
        answered_by: *answered_by,
        accounting: accounting.clone(),
        audit: audit.clone(),
    })
}

/// Returns the end of a run with a question that no event has.
fn dropped() -> RunEnd {
    RunEnd::Asked(PendingQuestion {
        question: Question {
            prompt: "A question that was not recorded.".to_owned(),
            ..Question::default()
        },
        answered_by: AnsweredBy::Rerun,
        accounting: Accounting::default(),
        audit: Vec::new(),
    })
}
