//! `agent-host test`: the cases of a tool's author, run in the sandbox as any call is, and what came of them held against what
//! was expected. Nothing here decides what a call may do: a case's grants are those of its file, judged by the same policy, and
//! the network is asked only for a recording.

mod case;
mod compare;
mod coverage;
mod exchanges;
mod expect;
mod file;
mod golden;
mod lint;
mod report;
mod run;
mod scratch;
mod subject;
#[cfg(test)]
mod tests;
mod value;

pub use coverage::{Coverage, GrantUse};
pub use lint::Finding;
pub use report::{CaseReport, Mismatch, TestReport};
pub use subject::{cases, component};

use crate::AuthorError;
use agent_host_app::{
    Config, Environment, Overrides, Registry,
    config::{GrantsSection, Untrusted},
};
use agent_host_engine::tool::ToolRunner as _;
use agent_host_sandbox::{CompileWorker, ToolComponent};
use agent_host_types::tool::Effect;
use case::Case;
use coverage::Touched;
use exchanges::Exchanges;
use lint::Shown;
use run::{Bench, Run};
use scratch::Scratch;
use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

/// What is tested, and how.
#[derive(Clone, Debug, Default)]
pub struct TestPlan {
    /// The component: a file, or `builtin:NAME`.
    pub component: String,
    /// The files with the cases. They are trusted; [`untrusted`] says what those of a project ask
    /// for.
    pub cases: Vec<PathBuf>,
    /// Only the cases with this in their name, or in their tool's. What no case touched is then not told.
    pub filter: Option<String>,
    /// Whether recordings are made and not played.
    pub record: bool,
    /// Whether golden files are written and not compared.
    pub update: bool,
    /// Where state is kept, which no tool may reach; absent for the usual folder.
    pub state_dir: Option<PathBuf>,
    /// The program that compiles components in a child process.
    pub compiler: Option<CompileWorker>,
}

/// Runs the cases of a plan, one after the other, so that one does not take another's time. A case that fails is no error: it is
/// in the report.
///
/// # Errors
/// When the component or a file with cases cannot be used, or there is no case to run.
pub async fn test(plan: &TestPlan, environment: &Environment) -> Result<TestReport, AuthorError> {
    let cases = selected(plan, environment)?;
    let config = config(plan, environment)?;
    let registry = Registry::open_one(&config, &plan.component).await?;
    let Some(entry) = registry.components().first() else {
        return Err(AuthorError::usage(format!(
            "`{}` holds no component",
            plan.component.escape_debug()
        )));
    };
    let mut reports = Vec::new();
    let mut touched = Touched::default();
    let mut shown: HashMap<&str, Shown> = HashMap::new();
    for case in &cases {
        let effect = registry
            .tools()
            .iter()
            .find(|tool| tool.definition.name == case.tool)
            // There is no such tool, which the call itself is told.
            .map_or(Effect::ReadOnly, |tool| tool.effect);
        let (report, runs) = one(plan, &entry.component, effect, case).await?;
        touched.add(case, &runs);
        for run in &runs {
            let changed = coverage::changed(&run.audit) || !run.merges.is_empty();
            let shown = shown.entry(&case.tool).or_default();
            shown.add(run.output.as_ref(), changed);
        }
        reports.push(report);
    }
    let tools = entry.component.definitions();
    let is_complete = plan.filter.is_none();
    let findings = tools.iter().flat_map(|tool| {
        let shown = shown.get(tool.name.as_str()).copied().unwrap_or_default();
        lint::findings(tool, shown, is_complete)
    });
    Ok(TestReport {
        component: plan.component.clone(),
        digest: entry.component.digest(),
        cases: reports,
        findings: findings.collect(),
        coverage: is_complete.then(|| touched.coverage(tools)),
    })
}

/// Reviews the case files that were found in a project and not named; none where they ask for
/// nothing that they would get in this run. `record` is whether exchanges are recorded. What is
/// returned says what they would get in any run.
///
/// # Errors
/// When one of them cannot be read or does not have the form.
pub fn untrusted(
    project: &Path,
    cases: &[PathBuf],
    record: bool,
    environment: &Environment,
) -> Result<Option<Untrusted>, AuthorError> {
    let review = |record| file::review(project, cases, record, environment);
    match review(record)? {
        Some(_) => Ok(review(true)?),
        None => Ok(None),
    }
}

/// The cases that are run.
fn selected(plan: &TestPlan, environment: &Environment) -> Result<Vec<Case>, AuthorError> {
    let mut cases = Vec::new();
    for file in &plan.cases {
        cases.extend(file::read(file, environment)?);
    }
    if let Some(filter) = &plan.filter {
        cases.retain(|case| case.name.contains(filter) || case.tool.contains(filter));
    }
    if plan.record {
        exchanges::check_apart(&cases)?;
    }
    if !cases.is_empty() {
        return Ok(cases);
    }
    Err(AuthorError::usage(match &plan.filter {
        Some(filter) => format!(
            "no case has `{}` in its name or its tool's; change `--filter`",
            filter.escape_debug()
        ),
        None => "there are no cases; write one in tests/NAME.toml, or name a file with `--cases`"
            .to_owned(),
    }))
}

/// Runs a case, with its exchanges recorded or played.
async fn one(
    plan: &TestPlan,
    component: &ToolComponent,
    effect: Effect,
    case: &Case,
) -> Result<(CaseReport, Vec<Run>), AuthorError> {
    let exchanges = Exchanges::open(case, plan.record).await?;
    let ready = exchanges.and_then(|exchanges| Ok((exchanges, Scratch::new(&case.reach.grants)?)));
    let (exchanges, scratch) = match ready {
        Ok(ready) => ready,
        Err(mismatch) => return Ok((CaseReport::unrun(case, mismatch), Vec::new())),
    };
    let component = component
        .clone()
        .with_recording(Arc::clone(&exchanges.recording));
    let bench = Bench {
        component: &component,
        grants: Arc::clone(&scratch.grants),
        effect,
        secrets: Arc::clone(&exchanges.secrets),
    };
    let runs = run::run(&bench, case).await;
    let mut report = CaseReport::new(case, &runs, plan.update);
    report
        .mismatches
        .extend(scratch.differences(&case.expect.files));
    report.add_exchanges(case, exchanges.close(case));
    Ok((report, runs))
}

/// A configuration that grants nothing, and shows every progress report: whatever lies in the folder, a test means the same.
fn config(plan: &TestPlan, environment: &Environment) -> Result<Config, AuthorError> {
    let overrides = Overrides {
        state_dir: plan.state_dir.clone(),
        ..Overrides::default()
    };
    let grants = GrantsSection::default();
    let mut config = Config::of_sections(None, grants, Vec::new(), None, overrides, environment)?;
    config.sandbox.compiler.clone_from(&plan.compiler);
    config.sandbox.progress_interval = Duration::ZERO;
    Ok(config)
}
