//! The calls of a case: in the sandbox, with the case's grants and limits, and a person who answers what the case says.

use super::{case::Case, file::ReportForm};
use agent_host_core::{
    accounting::{Accounting, AuditEntry},
    id::CallId,
    output::ToolResultOutput,
    policy::Grants,
    question::{Answer, Asked, Exchange},
    tool::{Effect, RunEnd},
};
use agent_host_sandbox::{Call, CallContext, Secrets, ToolComponent};
use futures_util::future::join_all;
use serde_json::{Map, Value};
use std::sync::{Arc, Mutex, PoisonError};

/// What came of one call.
#[derive(Debug, Default)]
pub(super) struct Run {
    /// The result; absent where the call asked what nobody answers.
    pub(super) output: Option<ToolResultOutput>,
    /// The progress that its last run reported.
    pub(super) progress: Vec<ReportForm>,
    /// What it merged into the state.
    pub(super) merges: Vec<Map<String, Value>>,
    /// What it asked.
    pub(super) asked: Vec<String>,
    /// What was wrong with the answers of the case.
    pub(super) fault: Option<String>,
    /// What its last run used.
    pub(super) accounting: Accounting,
    /// What all its runs asked of the gate.
    pub(super) audit: Vec<AuditEntry>,
}

/// What calls are made with.
pub(super) struct Bench<'a> {
    /// The component.
    pub(super) component: &'a ToolComponent,
    /// What they may reach.
    pub(super) grants: Arc<Grants>,
    /// The effect by which the policy judges the tool.
    pub(super) effect: Effect,
    /// The secrets that are put into requests.
    pub(super) secrets: Arc<Secrets>,
}

/// Makes the calls of a case, all at once.
pub(super) async fn run(bench: &Bench<'_>, case: &Case) -> Vec<Run> {
    join_all((1..=case.calls).map(|number| one(bench, case, number))).await
}

/// Makes one call, and makes it again with each answer, as a session does.
async fn one(bench: &Bench<'_>, case: &Case, number: usize) -> Run {
    let mut left = case.answers.as_deref().unwrap_or_default().iter();
    let mut answers = Vec::new();
    let mut audit = Vec::new();
    loop {
        let (end, progress) = attempt(bench, case, number, &answers).await;
        let run = Run {
            progress,
            asked: answers.iter().map(prompt).collect(),
            ..Run::default()
        };
        match end {
            RunEnd::Settled(report) => {
                audit.extend(report.audit);
                let (asked, unused) = (answers.len(), left.len());
                let fault =
                    || format!("it asked {asked} times, and the case has {unused} more answers");
                return Run {
                    output: Some(report.output),
                    merges: report.merges,
                    fault: (unused > 0).then(fault),
                    accounting: report.accounting,
                    audit,
                    ..run
                };
            }
            RunEnd::Asked(Asked {
                question,
                accounting,
                audit: of_run,
                ..
            }) => {
                audit.extend(of_run);
                let given: Result<&Answer, String> = match left.next() {
                    Some(answer) => question.check(answer).map(|()| answer),
                    None => Err("the case has no answer to it; add one to `answers`".to_owned()),
                };
                match given {
                    Ok(answer) => {
                        let answer = answer.clone();
                        answers.push(Exchange { question, answer });
                    }
                    Err(why) => {
                        return Run {
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

/// Makes a call with the answers so far. Gives its end, and what it reported.
async fn attempt(
    bench: &Bench<'_>,
    case: &Case,
    number: usize,
    answers: &[Exchange],
) -> (RunEnd, Vec<ReportForm>) {
    let reports = Mutex::new(Vec::new());
    let call = Call {
        tool: &case.tool,
        call_id: &CallId(format!("call-{number}")),
        input: &case.input,
        idempotency_key: &format!("key-{number}"),
        effect: bench.effect,
        grants: Arc::clone(&bench.grants),
        secrets: Arc::clone(&bench.secrets),
        limits: &case.reach.limits,
        context: CallContext {
            shared: Arc::clone(&case.state),
            answers: answers.to_vec(),
            can_ask: case.answers.is_some(),
        },
        progress: &|message, fraction| {
            let report = ReportForm {
                message: message.to_owned(),
                fraction,
            };
            let mut reports = reports.lock().unwrap_or_else(PoisonError::into_inner);
            reports.push(report);
        },
    };
    let end = bench.component.call(call).await;
    let reports = reports.into_inner();
    (end, reports.unwrap_or_else(PoisonError::into_inner))
}

fn prompt(exchange: &Exchange) -> String {
    exchange.question.prompt.clone()
}
