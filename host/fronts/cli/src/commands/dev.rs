//! `agent-host dev`: builds a project and runs its cases, again whenever its files change, and
//! serves its tools if asked to. stdout belongs to the MCP client.

use super::{
    configure, mcp,
    test::{case_lines, project_cases},
};
use crate::{
    args::DevArgs,
    exit::{Exit, Failure},
    self_exec,
    signals::Stop,
    terminal::{DIM, GREEN, RED, Terminal, escape, path_text},
};
use agent_host_app::{Environment, Overrides};
use agent_host_author::{
    Project, ProjectFiles,
    test::{self, TestPlan, TestReport},
};
use agent_host_process::{Child, ChildKind};
use std::{convert::Infallible, path::PathBuf, process::Stdio, time::Duration};
use tokio_util::sync::CancellationToken;

/// How often the files are polled. A change is acted upon when two polls in a row see it, so that
/// files that are saved together are built together.
const POLL: Duration = Duration::from_millis(300);

pub(super) async fn dev(args: DevArgs, terminal: &Terminal) -> Result<Exit, Failure> {
    let stop = Stop::listen(terminal);
    let component = Project::find(&args.dir)?.component();
    let development = Development {
        environment: Environment::from_process()?,
        args: &args,
        component,
        terminal,
    };
    // A signal is the normal end.
    development.run(&stop.token).await?;
    Ok(Exit::Done)
}

/// A project that is worked on.
struct Development<'a> {
    args: &'a DevArgs,
    environment: Environment,
    /// The path of the component of its builds.
    component: PathBuf,
    terminal: &'a Terminal,
}

impl Development<'_> {
    /// Builds and tests until `stop`, or until the client of `--mcp` is gone.
    async fn run(&self, stop: &CancellationToken) -> Result<(), Failure> {
        let built = self.files()?;
        tokio::select! {
            biased;
            () = stop.cancelled() => return Ok(()),
            () = self.round(/*builds*/ true) => {}
        }
        if !self.args.mcp {
            return tokio::select! {
                biased;
                () = stop.cancelled() => Ok(()),
                watched = self.watch(built) => match watched? {},
            };
        }
        if !self.component.exists() {
            return Err(Failure::failed(
                "there is nothing to serve: no build has succeeded yet; correct the project, and start again",
            ));
        }
        let overrides = Overrides {
            tools: vec![self.component.to_string_lossy().into_owned()],
            ..Overrides::default()
        };
        let config = configure(self.args.config.clone(), overrides)?;
        tokio::select! {
            served = mcp::serve_tools(config, self.terminal, stop.clone()) => served,
            watched = self.watch(built) => match watched? {},
        }
    }

    fn files(&self) -> Result<ProjectFiles, Failure> {
        Ok(ProjectFiles::read(&self.args.dir)?)
    }

    /// Polls the files, and builds and tests after each change. `done` is their state before the
    /// last round, so that a change during a round is followed by another.
    async fn watch(&self, mut done: ProjectFiles) -> Result<Infallible, Failure> {
        let mut seen = self.files()?;
        loop {
            tokio::time::sleep(POLL).await;
            let now = self.files()?;
            let is_stable = std::mem::replace(&mut seen, now) == seen;
            if is_stable && seen != done {
                self.round(!seen.has_sources_of(&done)).await;
                done.clone_from(&seen);
            }
        }
    }

    /// Runs the cases, after a build if `builds`.
    async fn round(&self, builds: bool) {
        if builds && !self.build().await {
            let kept = match self.component.exists() {
                true => format!("; {} is unchanged", path_text(&self.component)),
                false => String::new(),
            };
            self.terminal.note(&format!("{RED}not built{RED:#}{kept}"));
            return;
        }
        match self.test().await {
            Ok(Some(report)) => self.terminal.note(&summary(&report)),
            Ok(None) => self.terminal.note("there are no cases in tests/"),
            Err(failure) => {
                failure.report(self.terminal);
            }
        }
    }

    /// Builds in a process of its own, with which its compilers end. Its messages go to stderr.
    async fn build(&self) -> bool {
        let mut command = self_exec::command();
        command.arg("build").arg("--").arg(&self.args.dir);
        if let Some(wasi_sdk) = &self.args.wasi_sdk {
            command.env("WASI_SDK_PATH", wasi_sdk);
        }
        command.stdin(Stdio::null()).stdout(Stdio::null());
        match Child::spawn(command, ChildKind::Worker).await {
            Ok((mut child, _)) => child.wait().await.is_some_and(|status| status.success()),
            Err(error) => {
                self.terminal
                    .error(&format!("cannot start the build: {error}"));
                false
            }
        }
    }

    /// Runs the cases; `None` if there are none.
    async fn test(&self) -> Result<Option<TestReport>, Failure> {
        let trust = self.args.config.trust;
        let dir = &self.args.dir;
        let cases = project_cases(
            dir,
            (/*record*/ false, trust),
            &self.environment,
            self.terminal,
        )?;
        if cases.is_empty() {
            return Ok(None);
        }
        let plan = TestPlan {
            component: self.component.to_string_lossy().into_owned(),
            cases,
            state_dir: self.args.config.state_dir.clone(),
            compiler: Some(self_exec::compiler()),
            ..TestPlan::default()
        };
        Ok(Some(test::test(&plan, &self.environment).await?))
    }
}

/// Formats the failed cases and the numbers.
fn summary(report: &TestReport) -> String {
    let failed = report.failed();
    let passed = report.cases.len() - failed;
    let cases = report.cases.iter();
    let cases = cases.filter(|case| !case.mismatches.is_empty());
    let mut lines: Vec<String> = cases.flat_map(case_lines).collect();
    let style = if failed == 0 { GREEN } else { RED };
    lines.push(format!(
        "{style}{passed} passed, {failed} failed{style:#} {DIM}{}{DIM:#}",
        escape(&report.digest.to_string())
    ));
    lines.join("\n")
}
