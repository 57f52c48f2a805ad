//! `agent-host test`: runs an author's cases in the sandbox as any call and compares the results
//! with the expectations. The same policy judges the grants of the case file, and only `--record`
//! reaches the network.

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
mod session;
mod subject;
#[cfg(test)]
mod tests;
mod value;

pub use coverage::{Coverage, GrantUse};
pub use lint::Finding;
pub use report::{CaseReport, Mismatch, TestReport};
pub use session::{SessionCases, SkippedCall, WrittenCases};
pub use subject::{cases, component};

/// Creates a [`ConfigError`](agent_host_app::ConfigError) without a key of two format strings, the
/// reason and the fix.
macro_rules! case_error {
    ($reason:literal, $fix:literal $(,)?) => {
        agent_host_app::ConfigError::new("", format_args!($reason), format_args!($fix))
    };
}
use case_error;

use crate::{AuthorError, describe::Description};
use agent_host_app::{
    ComponentEntry, Config, Environment, Overrides, Registry,
    config::{GrantsSection, Untrusted},
};
use agent_host_engine::BoxFuture;
use agent_host_sandbox::{CompileWorker, ToolComponent};
use agent_host_types::tool::Effect;
use case::Case;
use coverage::CoverageBuilder;
use exchanges::Exchanges;
use lint::Observed;
use run::{CallSetup, ObservedCall};
use scratch::Scratch;
use std::{
    collections::{BTreeSet, HashMap},
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

/// The options of a test run.
#[derive(Clone, Debug, Default)]
pub struct TestPlan {
    /// The component: a path or `builtin:NAME`.
    pub component: String,
    /// The case files. They are trusted; [`untrusted`] reviews those of a project.
    pub cases: Vec<PathBuf>,
    /// Selects cases by a part of their name or of their tool's. Coverage is then not reported.
    pub filter: Option<String>,
    /// True to make recordings instead of replaying them.
    pub record: bool,
    /// True to write golden files instead of comparing them.
    pub update: bool,
    /// The state directory, which no tool may reach; `None` for the default.
    pub state_dir: Option<PathBuf>,
    /// The program that compiles components in a child process.
    pub compiler: Option<CompileWorker>,
}

/// Runs the cases sequentially, so that none takes another's time. A failed case is no error but
/// part of the report.
///
/// # Errors The component or a case file is invalid, or there are no cases to run.
pub fn test<'a>(
    plan: &'a TestPlan,
    environment: &'a Environment,
) -> BoxFuture<'a, Result<TestReport, AuthorError>> {
    Box::pin(async move {
        let cases = selected(plan, environment)?;
        let registry = open(plan, environment).await?;
        let entry = only_component(&registry, plan)?;
        let mut reports = Vec::new();
        let mut coverage = CoverageBuilder::default();
        let mut observed: HashMap<&str, Observed> = HashMap::new();
        for case in &cases {
            // The call itself fails with `unknown-tool`.
            let tool = registry.tool(&case.tool);
            let effect = tool.map_or(Effect::ReadOnly, |tool| tool.effect);
            let (report, runs) = run_case(plan, &entry.component, effect, case).await?;
            coverage.add(case, &runs);
            for run in &runs {
                let changed = coverage::changed(&run.audit)
                    || !run.merges.is_empty()
                    || run.halt.is_some()
                    || run.changed_artifacts;
                let observed = observed.entry(&case.tool).or_default();
                observed.add(run.output.as_ref(), changed);
            }
            reports.push(report);
        }
        let tools = entry.component.definitions();
        let is_complete = plan.filter.is_none();
        let findings = tools.iter().flat_map(|tool| {
            let observed = observed
                .get(tool.name.as_str())
                .copied()
                .unwrap_or_default();
            lint::findings(tool, observed, is_complete)
        });
        Ok(TestReport {
            component: plan.component.clone(),
            digest: entry.component.digest(),
            cases: reports,
            findings: findings.collect(),
            warnings: warnings(entry).await,
            coverage: is_complete.then(|| coverage.coverage(tools)),
        })
    })
}

/// The facts of a component by which the calls of a session become cases of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TestedComponent {
    /// The names of its tools.
    pub tools: BTreeSet<String>,
    /// Whether its tools can read the session's shared state.
    pub reads_state: bool,
    /// Whether its tools can read the session's custom context.
    pub reads_context: bool,
}

/// Loads the component of a plan.
///
/// # Errors
/// It cannot be loaded.
pub fn tested_component<'a>(
    plan: &'a TestPlan,
    environment: &'a Environment,
) -> BoxFuture<'a, Result<TestedComponent, AuthorError>> {
    Box::pin(async move {
        let registry = open(plan, environment).await?;
        let component = &only_component(&registry, plan)?.component;
        let tools = component.definitions().iter();
        let imports = |interface: &str| {
            let mut names = component.imports().iter();
            names.any(|name| name.split('@').next() == Some(interface))
        };
        Ok(TestedComponent {
            tools: tools.map(|tool| tool.name.clone()).collect(),
            reads_state: imports("agent:tool/state"),
            reads_context: imports("agent:tool/context"),
        })
    })
}

async fn open(plan: &TestPlan, environment: &Environment) -> Result<Registry, AuthorError> {
    let config = config(plan, environment)?;
    Ok(Registry::open_one(&config, &plan.component).await?)
}

fn only_component<'a>(
    registry: &'a Registry,
    plan: &TestPlan,
) -> Result<&'a ComponentEntry, AuthorError> {
    let component = registry.components().next().map(Arc::as_ref);
    component.ok_or_else(|| {
        AuthorError::Usage(format!(
            "`{}` is not a component",
            plan.component.escape_debug()
        ))
    })
}

/// Returns the warnings of a component's description. Its parsing libraries may panic on malformed
/// bytes, which ends their task alone.
async fn warnings(entry: &ComponentEntry) -> Vec<String> {
    let Ok(bytes) = entry.bytes() else {
        return Vec::new();
    };
    let described =
        tokio::task::spawn_blocking(move || Description::from_component(bytes.as_ref())).await;
    described.map_or_else(|_| Vec::new(), |described| described.warnings)
}

/// Reviews the case files found in a project. Returns `None` if they request nothing beyond the
/// defaults in this run, and else what they would get in any run. `record` is true if exchanges are
/// recorded.
///
/// # Errors
/// A file is unreadable or malformed.
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

fn selected(plan: &TestPlan, environment: &Environment) -> Result<Vec<Case>, AuthorError> {
    let mut cases = Vec::new();
    for file in &plan.cases {
        cases.extend(file::read(file, environment)?);
    }
    if let Some(filter) = &plan.filter {
        cases.retain(|case| case.name.contains(filter) || case.tool.contains(filter));
    }
    if plan.record {
        exchanges::check_distinct(&cases)?;
    }
    if !cases.is_empty() {
        return Ok(cases);
    }
    Err(AuthorError::Usage(match &plan.filter {
        Some(filter) => format!(
            "no case has `{}` in its name or its tool's name; change `--filter`",
            filter.escape_debug()
        ),
        None => "there are no cases; write one in tests/NAME.toml, or pass a file with `--cases`"
            .to_owned(),
    }))
}

/// Runs a case, recording or replaying its exchanges.
async fn run_case(
    plan: &TestPlan,
    component: &ToolComponent,
    effect: Effect,
    case: &Case,
) -> Result<(CaseReport, Vec<ObservedCall>), AuthorError> {
    let exchanges = Exchanges::open(case, plan.record).await?;
    let ready = exchanges.and_then(|exchanges| Ok((exchanges, Scratch::new(&case.config.grants)?)));
    let (exchanges, scratch) = match ready {
        Ok(ready) => ready,
        Err(mismatch) => return Ok((CaseReport::skipped(case, mismatch), Vec::new())),
    };
    let component = component
        .clone()
        .with_recording(Arc::clone(&exchanges.recording));
    let setup = CallSetup {
        component: &component,
        grants: Arc::clone(&scratch.grants),
        effect,
        secrets: Arc::clone(&exchanges.secrets),
    };
    let runs = run::run(&setup, case).await;
    let mut report = CaseReport::new(case, &runs, plan.update);
    report
        .mismatches
        .extend(scratch.differences(&case.expect.files));
    report.add_exchanges(case, exchanges.close(case));
    Ok((report, runs))
}

/// Returns a configuration that grants nothing and shows every progress report, so that a test does
/// not depend on its directory.
fn config(plan: &TestPlan, environment: &Environment) -> Result<Config, AuthorError> {
    let overrides = Overrides {
        state_dir: plan.state_dir.clone(),
        ..Overrides::default()
    };
    let grants = GrantsSection::default();
    let mut config = Config::of_sections(None, grants, Vec::new(), None, &overrides, environment)?;
    config.sandbox.compiler.clone_from(&plan.compiler);
    config.sandbox.progress_interval = Duration::ZERO;
    Ok(config)
}
