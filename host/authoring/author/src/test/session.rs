//! The calls of a session as test cases. A case has what a component returned for its input, so a
//! call that depended on anything else becomes none, with the reason: files, requests, artifacts,
//! hooks, approvals, limits, the user's context. Secrets, which the journal has as marks, and paths
//! of this machine are never written.

mod case;
#[cfg(test)]
mod tests;

use super::{
    TestedComponent,
    case::resolve,
    file::{MAX_FILE_BYTES, stays_in},
};
use crate::{AuthorError, inputs::CASES};
use agent_host_app::{Environment, config::parse};
use agent_host_engine::session::SessionState;
use agent_host_types::{
    accounting::AuditEntry,
    audit::AuditRequest,
    event::{CallEnd, CallStart, Event},
    hook::VerdictKind,
    id::CallId,
    output::ToolResultOutput,
    question::{Answer, Question},
};
use case::Draft;
use serde::Serialize;
use serde_json::{Map, Value};
use std::{
    collections::HashMap,
    fs::{self, File},
    io::{self, Write as _},
    path::{Path, PathBuf},
    sync::Arc,
};

/// The maximum of cases of one session.
const MAX_CASES: usize = 100;

/// The maximum size of a case in bytes, so that the file stays below [`MAX_FILE_BYTES`].
const MAX_CASE_BYTES: usize = 128 * 1024;
const _: () = assert!((MAX_CASES * (MAX_CASE_BYTES + 1)) as u64 <= MAX_FILE_BYTES);

/// A reader of a session's events that makes test cases of its calls.
#[derive(Debug)]
pub struct SessionCases {
    component: TestedComponent,
    /// Texts that no case may contain.
    private: Vec<String>,
    state: SessionState,
    /// The calls of the component's tools, in the order in which they began.
    calls: Vec<Recorded>,
    /// The indexes of `calls`.
    index: HashMap<CallId, usize>,
    /// The calls that settled without having begun.
    not_run: Vec<SkippedCall>,
}

/// The calls of a session as a case file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenCases {
    /// The text of the file; empty if there are no cases.
    pub text: String,
    /// The number of cases.
    pub cases: usize,
    /// The calls that became none.
    pub skipped: Vec<SkippedCall>,
}

/// A call that became no case.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SkippedCall {
    /// The call.
    pub call: CallId,
    /// The tool.
    pub tool: String,
    /// The reason, as the end of a sentence.
    pub reason: String,
}

/// A call that began, with what is known of it.
#[derive(Debug)]
struct Recorded {
    call: CallId,
    tool: String,
    input: Arc<Map<String, Value>>,
    /// The shared state when it began.
    state: Arc<Map<String, Value>>,
    /// Whether the session had a custom context.
    has_context: bool,
    questions: Vec<Question>,
    answers: Vec<Answer>,
    merges: Vec<Map<String, Value>>,
    halt: Option<String>,
    /// The first request to the gate.
    request: Option<AuditRequest>,
    /// Whether a hook did not let its result pass.
    is_hooked: bool,
    is_external: bool,
    settled: Option<Settled>,
}

/// The end of a call.
#[derive(Debug)]
struct Settled {
    output: Option<ToolResultOutput>,
    /// Whether `output` is a preview.
    is_preview: bool,
    /// The rule that denied the call.
    rule: Option<String>,
}

impl SessionCases {
    /// Creates a reader for the calls of a component. No case will contain one of the texts
    /// `private`: names of directories of this machine.
    #[must_use]
    pub fn new(component: TestedComponent, private: impl IntoIterator<Item = String>) -> Self {
        Self {
            component,
            private: private.into_iter().filter(|it| is_telling(it)).collect(),
            state: SessionState::default(),
            calls: Vec::new(),
            index: HashMap::new(),
            not_run: Vec::new(),
        }
    }

    /// Adds the session's next event.
    pub fn add(&mut self, event: Event) {
        self.state.apply(&event);
        if let Some(start) = event.call_start() {
            return self.begin(&start);
        }
        if let Some(end) = event.call_end() {
            return self.settle(&end);
        }
        match event {
            Event::SessionStarted {
                directory: Some(directory),
                ..
            } if is_telling(&directory) => self.private.push(directory),
            Event::CallsDispatched { calls, .. } => {
                for call in calls {
                    self.change(&call.call_id, |call| call.is_external = true);
                }
            }
            other => self.add_detail(other),
        }
    }

    /// Adds what happened to a call between its beginning and its end.
    fn add_detail(&mut self, event: Event) {
        match event {
            Event::HookDecided {
                call_id: Some(call),
                verdict,
            } if verdict.verdict != VerdictKind::Pass => {
                self.change(&call, |call| call.is_hooked = true);
            }
            Event::QuestionAsked {
                call_id,
                question,
                audit,
                ..
            } => self.change(&call_id, |call| {
                call.questions.push(question);
                call.used(&audit);
            }),
            Event::AnswerReceived {
                call_id, answer, ..
            } => self.change(&call_id, |call| call.answers.push(answer)),
            Event::StateMerged { call_id, delta, .. } => {
                self.change(&call_id, |call| call.merges.push(delta));
            }
            Event::RunHalted { call_id, message } => {
                self.change(&call_id, |call| call.halt = Some(message));
            }
            _ => {}
        }
    }

    fn begin(&mut self, start: &CallStart<'_>) {
        let Some(input) = start.input else { return };
        // After an answer or a crash a call begins again.
        if !self.component.tools.contains(start.tool) || self.index.contains_key(start.call_id) {
            return;
        }
        self.index.insert(start.call_id.clone(), self.calls.len());
        self.calls.push(Recorded {
            call: start.call_id.clone(),
            tool: start.tool.to_owned(),
            input: Arc::clone(input),
            state: Arc::clone(self.state.shared()),
            has_context: !self.state.context().is_empty(),
            questions: Vec::new(),
            answers: Vec::new(),
            merges: Vec::new(),
            halt: None,
            request: None,
            is_hooked: false,
            is_external: false,
            settled: None,
        });
    }

    fn change(&mut self, call: &CallId, change: impl FnOnce(&mut Recorded)) {
        let index = self.index.get(call);
        if let Some(call) = index.and_then(|index| self.calls.get_mut(*index)) {
            change(call);
        }
    }

    fn settle(&mut self, end: &CallEnd<'_>) {
        // After an attempt that another one follows, the call continues.
        let Some(tool) = end.tool else { return };
        if self.index.contains_key(end.call_id) {
            self.change(end.call_id, |call| {
                call.settled = Some(Settled {
                    output: end.output.cloned(),
                    is_preview: end.whole.is_some(),
                    rule: end.rule.map(str::to_owned),
                });
                call.used(end.audit);
            });
        } else if self.component.tools.contains(tool) {
            let reason = match end.rule {
                Some(rule) => format!("it was denied by {rule}"),
                None => "it did not run".to_owned(),
            };
            self.not_run.push(SkippedCall {
                call: end.call_id.clone(),
                tool: tool.to_owned(),
                reason,
            });
        }
    }

    /// Returns the cases, after the last event. `session` is what the file calls the session.
    #[must_use]
    pub fn finish(self, session: &str) -> WrittenCases {
        let mut drafts: Vec<(Draft, String)> = Vec::new();
        let mut skipped = self.not_run;
        for recorded in &self.calls {
            let draft = Draft::from_recorded(recorded, &self.component).and_then(|draft| {
                draft.check_private(&self.private)?;
                draft.check_new(drafts.iter().map(|(draft, _)| draft))?;
                if drafts.len() == MAX_CASES {
                    return Err(format!("the maximum of {MAX_CASES} cases is reached").into());
                }
                let text = draft.text(&format!("call {} of {session}", drafts.len() + 1));
                if text.len() > MAX_CASE_BYTES {
                    return Err(
                        format!("its case would be larger than {MAX_CASE_BYTES} bytes").into(),
                    );
                }
                Ok((draft, text))
            });
            match draft {
                Ok(draft) => drafts.push(draft),
                Err(reason) => skipped.push(SkippedCall {
                    call: recorded.call.clone(),
                    tool: recorded.tool.clone(),
                    reason: reason.into(),
                }),
            }
        }
        let texts: Vec<&str> = drafts.iter().map(|(_, text)| text.as_str()).collect();
        WrittenCases {
            text: texts.join("\n"),
            cases: drafts.len(),
            skipped,
        }
    }
}

impl WrittenCases {
    /// Writes the cases to a new file `name` in the directory of a project's cases, and returns its
    /// path.
    ///
    /// # Errors
    /// There is such a file, the directory is a link out of the project, or the disk fails.
    pub fn write(
        &self,
        project: &Path,
        name: &str,
        environment: &Environment,
    ) -> Result<PathBuf, AuthorError> {
        let dir = project.join(CASES);
        let path = dir.join(name);
        // No file is written that a test run would refuse.
        parse(&path, &self.text)
            .and_then(|raw| resolve(raw, &path, environment))
            .map_err(|error| AuthorError::internal("write the calls as cases", error))?;
        fs::create_dir_all(&dir).map_err(|error| AuthorError::disk("make", &dir, &error))?;
        if !stays_in(project, &dir) {
            return Err(AuthorError::Usage(format!(
                "{} is a link out of the project, so nothing is written there; replace it with a directory",
                dir.display()
            )));
        }
        let created = File::create_new(&path);
        let written = created.and_then(|mut file| file.write_all(self.text.as_bytes()));
        written.map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => AuthorError::Usage(format!(
                "{} already exists, and is not overwritten; remove it, or move it",
                path.display()
            )),
            _ => AuthorError::disk("write", &path, &error),
        })?;
        Ok(path)
    }
}

impl Recorded {
    /// Records its requests to the gate.
    fn used(&mut self, audit: &[AuditEntry]) {
        let first = audit.first().map(|entry| entry.request.clone());
        self.request = self.request.take().or(first);
    }
}

/// Returns whether the name of a directory is one that a text has for no other reason.
fn is_telling(directory: &str) -> bool {
    directory.len() > 1
}
