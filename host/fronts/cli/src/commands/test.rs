//! `agent-host test`: runs a tool's test cases. The report goes to stdout.

mod from_session;

use super::{build, trust};
use crate::{
    args::TestArgs,
    exit::{Exit, Failure},
    self_exec,
    terminal::{DIM, GREEN, RED, Terminal, YELLOW, bytes, escape, escape_line, micros, section},
};
use agent_host_app::Environment;
use agent_host_author::{
    Project,
    test::{self, CaseReport, Coverage, TestPlan, TestReport},
};
use std::path::{Path, PathBuf};

pub(super) async fn test(args: TestArgs, terminal: &Terminal) -> Result<Exit, Failure> {
    let environment = Environment::from_process()?;
    if let Some(session) = args.from_session.clone() {
        return from_session::write(&session, args, &environment, terminal).await;
    }
    let (strict, json) = (args.strict, args.json);
    let plan = plan(args, &environment, terminal).await?;
    let report = test::test(&plan, &environment).await?;
    terminal.println_as(json, || serde_json::json!(report), || as_text(&report));
    if report.failed() > 0 || (strict && !report.findings.is_empty()) {
        return Ok(Exit::Failed);
    }
    Ok(Exit::Done)
}

/// Builds the plan from the arguments; the project supplies what they leave out.
async fn plan(
    args: TestArgs,
    environment: &Environment,
    terminal: &Terminal,
) -> Result<TestPlan, Failure> {
    // Trust is decided before anything of the project is built.
    let cases = if args.cases.is_empty() {
        project_cases(&args.dir, (args.record, args.trust), environment, terminal)?
    } else {
        args.cases.clone()
    };
    Ok(TestPlan {
        component: component(&args, terminal).await?,
        cases,
        filter: args.filter,
        record: args.record,
        update: args.update,
        state_dir: args.state_dir,
        compiler: Some(self_exec::compiler()),
    })
}

/// Returns the named component, or the project's, built first if that is asked for.
async fn component(args: &TestArgs, terminal: &Terminal) -> Result<String, Failure> {
    if let Some(component) = &args.component {
        return Ok(component.clone());
    }
    let built = if args.build {
        let wasi_sdk = args.wasi_sdk.clone();
        let built = build::build_project(&args.dir, /*strip_names*/ false, wasi_sdk, terminal);
        built.await?.component
    } else {
        test::component(&Project::find(&args.dir)?)?
    };
    Ok(built.to_string_lossy().into_owned())
}

/// Finds the project's cases. They came with the project, so what they ask for needs trust.
pub(super) fn project_cases(
    dir: &Path,
    (record, trust): (bool, bool),
    environment: &Environment,
    terminal: &Terminal,
) -> Result<Vec<PathBuf>, Failure> {
    let cases = test::cases(dir)?;
    if let Some(untrusted) = test::untrusted(dir, &cases, record, environment)?
        && !trust::resolve_trust(&untrusted, trust, environment, terminal)?
    {
        let command = trust::trust_command(dir, &[]);
        return Err(Failure::usage(untrusted.refusal(&command, "--cases FILE")));
    }
    Ok(cases)
}

fn as_text(report: &TestReport) -> String {
    let mut lines: Vec<String> = report.cases.iter().flat_map(case_lines).collect();
    if !report.findings.is_empty() {
        let findings = report.findings.iter().map(|finding| {
            let (tool, text) = (escape_line(&finding.tool), escape_line(&finding.text));
            format!("  {YELLOW}{tool}{YELLOW:#}: {text}")
        });
        section(&mut lines, "Definitions", findings);
    }
    if !report.warnings.is_empty() {
        let warnings = report
            .warnings
            .iter()
            .map(|it| format!("  {}", escape_line(it)));
        section(&mut lines, "Faulty", warnings);
    }
    let coverage: Vec<String> = report.coverage.iter().flat_map(coverage_lines).collect();
    if !coverage.is_empty() {
        section(&mut lines, "Not touched by any case", coverage);
    }
    let failed = report.failed();
    let passed = report.cases.len() - failed;
    section(&mut lines, &format!("{passed} passed, {failed} failed"), []);
    lines.join("\n")
}

/// Formats a case as one line, with its mismatches below.
pub(super) fn case_lines(case: &CaseReport) -> Vec<String> {
    let passed = case.mismatches.is_empty();
    let word = if passed {
        format!("{GREEN}passed{GREEN:#}")
    } else {
        format!("{RED}FAILED{RED:#}")
    };
    let mut lines = vec![format!(
        "{word} {} {DIM}{} in {}, {}, {}{DIM:#}",
        escape_line(&case.name),
        escape_line(&case.tool),
        escape_line(&case.file),
        micros(case.wall_us),
        bytes(case.peak_memory_bytes),
    )];
    for mismatch in &case.mismatches {
        lines.push(format!(
            "    {} {DIM}(- expected, + came){DIM:#}",
            escape_line(&mismatch.what)
        ));
        let diff = mismatch.lines().into_iter();
        lines.extend(diff.map(|line| format!("    {}", escape_line(&line))));
    }
    if !passed && !case.stdio.is_empty() {
        lines.push(format!("    {DIM}it wrote:{DIM:#}"));
        let wrote = escape(&case.stdio);
        lines.extend(wrote.lines().map(|line| format!("      {line}")));
    }
    for file in &case.written {
        lines.push(format!("    wrote {}", escape_line(file)));
    }
    lines
}

/// Lists grants that no case used and tools without a case.
fn coverage_lines(coverage: &Coverage) -> Vec<String> {
    let unused = coverage.grants.iter().filter(|grant| !grant.used);
    let mut lines: Vec<String> = unused
        .map(|unused| {
            let (grant, file) = (escape_line(&unused.grant), escape_line(&unused.file));
            format!("  {grant}, granted in {file}, was not used")
        })
        .collect();
    let uncalled = coverage.uncalled.iter();
    lines.extend(uncalled.map(|tool| format!("  {} has no case", escape_line(tool))));
    lines
}
