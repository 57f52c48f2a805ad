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
use agent_host_sandbox::{Call, Secrets, Talk, ToolComponent};
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

async fn one(bench: &Bench<'_>, case: &Case, number: usize) -> Run {
    let call_id = CallId(format!("call-{number}"));
    let idempotency_key = format!("key-{number}");
    let mut left = case.answers.as_deref().unwrap_or_default().iter();
    let mut answers = Vec::new();
    let mut audit = Vec::new();
    loop {
        let reports = Mutex::new(Vec::new());
        let end = bench
            .component
            .call(Call {
                tool: &case.tool,
                call_id: &call_id,
                input: &case.input,
                idempotency_key: &idempotency_key,
                effect: bench.effect,
                grants: Arc::clone(&bench.grants),
                secrets: Arc::clone(&bench.secrets),
                limits: &case.reach.limits,
                talk: Talk {
                    shared: Arc::clone(&case.state),
                    answers: answers.clone(),
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
            })
            .await;
        let progress = reports.into_inner().unwrap_or_else(PoisonError::into_inner);
        let asked = || answers.iter().map(prompt).collect();
        match end {
            RunEnd::Settled(report) => {
                audit.extend(report.audit);
                let unused = left.len();
                return Run {
                    output: Some(report.output),
                    progress,
                    merges: report.merges,
                    asked: asked(),
                    fault: (unused > 0).then(|| {
                        format!(
                            "it asked {} times, and the case has {unused} more answers",
                            answers.len()
                        )
                    }),
                    accounting: report.accounting,
                    audit,
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
                            output: None,
                            progress,
                            asked: asked(),
                            fault: Some(format!("it asked `{}`: {why}", question.prompt)),
                            accounting,
                            audit,
                            ..Run::default()
                        };
                    }
                }
            }
        }
    }
}

fn prompt(exchange: &Exchange) -> String {
    exchange.question.prompt.clone()
}
