//! Runs the calls of a case in the sandbox with its grants and limits, and a simulated user.

use super::{
    case::Case,
    file::{ArtifactForm, ReportForm},
};
use agent_host_engine::{
    artifact::SessionArtifacts,
    flow::CallFlow,
    journal::MemoryJournal,
    policy::Grants,
    session::{Session, SessionStart},
    tool::{CallUpdate, RunEnd, SessionChange},
};
use agent_host_sandbox::{Call, CallContext, Secrets, ToolComponent};
use agent_host_types::{
    accounting::{Accounting, AuditEntry},
    id::{CallId, SessionId},
    output::ToolResultOutput,
    question::{AnsweredQuestion, PendingQuestion},
    tool::Effect,
};
use futures_util::future::join_all;
use serde_json::{Map, Value};
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

/// The observations of a call.
#[derive(Debug, Default)]
pub(super) struct ObservedCall {
    /// The result; `None` if a question had no answer.
    pub(super) output: Option<ToolResultOutput>,
    /// The progress reports of its last run.
    pub(super) progress: Vec<ReportForm>,
    pub(super) merges: Vec<Map<String, Value>>,
    /// The message that ends the run.
    pub(super) halt: Option<String>,
    /// The artifacts of the session afterwards, by name.
    pub(super) artifacts: BTreeMap<String, ArtifactForm>,
    /// Whether it stored or deleted any.
    pub(super) changed_artifacts: bool,
    pub(super) asked: Vec<String>,
    /// The mismatch between questions and answers.
    pub(super) fault: Option<String>,
    /// The accounting of its last run.
    pub(super) accounting: Accounting,
    /// The audit of all its runs.
    pub(super) audit: Vec<AuditEntry>,
}

impl ObservedCall {
    /// Keeps the changes as a session does.
    fn change(&mut self, changes: Vec<SessionChange>) {
        self.changed_artifacts = changes
            .iter()
            .any(|change| matches!(change, SessionChange::Store(_) | SessionChange::Delete(_)));
        for change in changes {
            match change {
                SessionChange::Merge(delta) => self.merges.push(delta),
                SessionChange::Halt(message) => self.halt = Some(message),
                SessionChange::Store(new) => {
                    self.artifacts
                        .insert(new.name().to_string(), ArtifactForm::from_artifact(&new));
                }
                SessionChange::Delete(name) => drop(self.artifacts.remove(name.as_str())),
            }
        }
    }
}

/// The inputs that the calls of a case share.
pub(super) struct CallSetup<'a> {
    pub(super) component: &'a ToolComponent,
    pub(super) grants: Arc<Grants>,
    pub(super) effect: Effect,
    pub(super) secrets: Arc<Secrets>,
}

/// Runs the calls of a case concurrently.
pub(super) async fn run(setup: &CallSetup<'_>, case: &Case) -> Vec<ObservedCall> {
    join_all((1..=case.calls).map(|number| run_call(setup, case, number))).await
}

/// Runs a call, and again with each answer, as a session does.
async fn run_call(setup: &CallSetup<'_>, case: &Case, number: usize) -> ObservedCall {
    let mut left = case.answers.as_deref().unwrap_or_default().iter();
    let mut answers = Vec::new();
    let mut audit = Vec::new();
    loop {
        let (end, progress) = run_once(setup, case, number, &answers).await;
        let run = ObservedCall {
            progress,
            artifacts: case.artifacts.clone(),
            asked: answers.iter().map(prompt).collect(),
            ..ObservedCall::default()
        };
        match end {
            RunEnd::Settled(report) => {
                audit.extend(report.audit);
                let (asked, unused) = (answers.len(), left.len());
                let fault =
                    || format!("it asked {asked} times, but the case has {unused} more answers");
                let mut run = run;
                if report.output.is_success() {
                    run.change(report.changes);
                }
                return ObservedCall {
                    output: Some(report.output),
                    fault: (unused > 0).then(fault),
                    accounting: report.accounting,
                    audit,
                    ..run
                };
            }
            RunEnd::Asked(PendingQuestion {
                question,
                accounting,
                audit: of_run,
                ..
            }) => {
                audit.extend(of_run);
                let given = match left.next() {
                    Some(answer) => {
                        let checked = question.check(answer).map(|()| answer.clone());
                        checked.map_err(|error| error.to_string())
                    }
                    None => Err("the case has no answer to it; add one to `answers`".to_owned()),
                };
                match given {
                    Ok(answer) => answers.push(AnsweredQuestion { question, answer }),
                    Err(why) => {
                        return ObservedCall {
                            fault: Some(format!("it asked `{}`: {why}", question.prompt)),
                            accounting,
                            audit,
                            ..run
                        };
                    }
                }
            }
        }
    }
}

/// Runs a call with the answers so far. Returns its end and progress.
async fn run_once(
    setup: &CallSetup<'_>,
    case: &Case,
    number: usize,
    answers: &[AnsweredQuestion],
) -> (RunEnd, Vec<ReportForm>) {
    let reports = Mutex::new(Vec::new());
    let call = Call {
        tool: &case.tool,
        call_id: &CallId(format!("call-{number}")),
        input: &case.input.clone().into(),
        idempotency_key: &format!("key-{number}"),
        effect: setup.effect,
        grants: Arc::clone(&setup.grants),
        secrets: Arc::clone(&setup.secrets),
        limits: &case.config.limits,
        context: CallContext {
            shared: Arc::clone(&case.state),
            custom: Arc::clone(&case.context),
            artifacts: Some(artifacts(case)),
            answers: answers.to_vec(),
            can_ask: case.answers.is_some(),
            program: None,
            undo: None,
            flow: CallFlow::default(),
        },
        progress: &|update| {
            let CallUpdate::Progress { message, fraction } = update else {
                return;
            };
            let report = ReportForm {
                message: message.to_owned(),
                fraction,
            };
            let mut reports = reports.lock().unwrap_or_else(PoisonError::into_inner);
            reports.push(report);
        },
    };
    let end = setup.component.call(call).await;
    let reports = reports.into_inner();
    (end, reports.unwrap_or_else(PoisonError::into_inner))
}

/// Returns the artifacts of a session that has those of the case.
fn artifacts(case: &Case) -> SessionArtifacts {
    let journal = Arc::new(MemoryJournal::new(SessionId::new()));
    let mut session = Session::start(journal, SessionStart::default());
    for (name, artifact) in &case.artifacts {
        let bytes = artifact.text.clone().into_bytes();
        // Each was stored once when the case was read.
        let _ = session.store_artifact(name, &artifact.media_type, bytes);
    }
    session.artifacts()
}

fn prompt(exchange: &AnsweredQuestion) -> String {
    exchange.question.prompt.clone()
}
