//! `agent-host test`: the cases of a tool's author, run in the sandbox as any call is, and what came of them held against what
//! was expected. Nothing here decides what a call may do: a case's grants are those of its file, judged by the same policy.

mod case;
mod compare;
mod expect;
mod file;
mod golden;
mod report;
mod run;
mod value;

pub use report::{CaseReport, Mismatch, TestReport};

use agent_host_app::{
    Config, Environment, OpenError, Overrides, Registry,
    config::{ConfigError, RawConfig, RawGrants},
};
use agent_host_core::tool::{Effect, ToolRunner as _};
use agent_host_sandbox::CompileWorker;
use case::Case;
use std::{path::PathBuf, time::Duration};

/// What is tested, and how.
#[derive(Clone, Debug, Default)]
pub struct TestPlan {
    /// The component: a file, or `builtin:NAME`.
    pub component: String,
    /// The files with the cases.
    pub cases: Vec<PathBuf>,
    /// Only the cases with this in their name, or in their tool's.
    pub filter: Option<String>,
    /// Whether golden files are written and not compared.
    pub update: bool,
    /// Where state is kept, which no tool may reach; absent for the usual folder.
    pub state_dir: Option<PathBuf>,
    /// The program that compiles components in a child process.
    pub compiler: Option<CompileWorker>,
}

/// Why nothing could be tested. A case that fails is no error: it is in the report.
#[derive(Debug, thiserror::Error)]
pub enum TestError {
    /// A file with cases cannot be used.
    #[error(transparent)]
    Cases(#[from] ConfigError),
    /// The component cannot be loaded.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// What was asked for cannot be done as it is.
    #[error("{0}")]
    Usage(String),
}

/// Runs the cases of a plan, one after the other, so that one does not take another's time.
///
/// # Errors
/// When the component or a file with cases cannot be used, or the filter leaves no case.
pub async fn test(plan: &TestPlan, environment: &Environment) -> Result<TestReport, TestError> {
    let mut cases = Vec::new();
    for file in &plan.cases {
        cases.extend(file::read(file, environment)?);
    }
    if let Some(filter) = &plan.filter {
        cases.retain(|case: &Case| case.name.contains(filter) || case.tool.contains(filter));
    }
    if cases.is_empty() {
        return Err(TestError::Usage(match &plan.filter {
            Some(filter) => format!(
                "no case has `{}` in its name or its tool's; change `--filter`",
                filter.escape_debug()
            ),
            None => {
                "there are no cases; write one in tests/NAME.toml, or name a file with `--cases`"
                    .to_owned()
            }
        }));
    }
    let registry = Registry::open_one(&config(plan, environment)?, &plan.component).await?;
    let Some(entry) = registry.components().first() else {
        return Err(TestError::Usage(format!(
            "`{}` holds no component",
            plan.component.escape_debug()
        )));
    };
    let mut reports = Vec::new();
    for case in &cases {
        let effect = registry
            .tools()
            .iter()
            .find(|tool| tool.definition.name == case.tool)
            // There is no such tool, which the call itself is told.
            .map_or(Effect::ReadOnly, |tool| tool.effect);
        let runs = run::run(&entry.component, effect, case).await;
        reports.push(CaseReport::new(case, &runs, plan.update));
    }
    Ok(TestReport {
        component: plan.component.clone(),
        digest: entry.component.digest(),
        cases: reports,
    })
}

/// A configuration that grants nothing, and shows every progress report: whatever lies in the folder, a test means the same.
fn config(plan: &TestPlan, environment: &Environment) -> Result<Config, ConfigError> {
    let raw = RawConfig {
        grants: Some(RawGrants::default()),
        tool: Some(Vec::new()),
        ..RawConfig::default()
    };
    let overrides = Overrides {
        state_dir: plan.state_dir.clone(),
        ..Overrides::default()
    };
    let mut config = Config::resolve(raw, None, overrides, environment)?;
    config.sandbox.compiler.clone_from(&plan.compiler);
    config.sandbox.progress_interval = Duration::ZERO;
    Ok(config)
}
