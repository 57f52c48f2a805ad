//! `agent-host test`: the cases of a component's author.

use crate::{
    args::TestArgs,
    compiler,
    exit::{Exit, Failure},
    terminal::{BOLD, DIM, GREEN, RED, Terminal, harmless_line, micros},
};
use agent_host_app::{Environment, OpenError};
use agent_host_author::test::{self, CaseReport, TestError, TestPlan, TestReport};

pub(super) async fn test(args: TestArgs, terminal: &Terminal) -> Result<Exit, Failure> {
    let environment = Environment::from_process().map_err(Failure::usage)?;
    let plan = TestPlan {
        component: args.component,
        cases: args.cases,
        filter: args.filter,
        update: args.update,
        state_dir: args.state_dir,
        compiler: Some(compiler::worker()),
    };
    let report = test::test(&plan, &environment).await.map_err(unusable)?;
    if args.json {
        terminal.println(&serde_json::json!(report).to_string());
    } else {
        terminal.println(&as_text(&report));
    }
    Ok(match report.failed() {
        0 => Exit::Done,
        _ => Exit::Failed,
    })
}

fn unusable(error: TestError) -> Failure {
    match error {
        TestError::Open(error @ OpenError::Failed(_)) => Failure::failed(error),
        TestError::Open(OpenError::Usage(_)) | TestError::Cases(_) | TestError::Usage(_) => {
            Failure::usage(error)
        }
    }
}

fn as_text(report: &TestReport) -> String {
    let mut lines = Vec::new();
    for case in &report.cases {
        lines.extend(of_case(case));
    }
    let (failed, all) = (report.failed(), report.cases.len());
    lines.push(String::new());
    lines.push(format!(
        "{BOLD}{} passed, {failed} failed{BOLD:#}",
        all - failed
    ));
    lines.join("\n")
}

/// A case as a line, and what of it is not as expected below that.
fn of_case(case: &CaseReport) -> Vec<String> {
    let word = if case.mismatches.is_empty() {
        format!("{GREEN}passed{GREEN:#}")
    } else {
        format!("{RED}FAILED{RED:#}")
    };
    let mut lines = vec![format!(
        "{word} {} {DIM}{} in {}, {}{DIM:#}",
        harmless_line(&case.name),
        harmless_line(&case.tool),
        harmless_line(&case.file),
        micros(case.wall_us),
    )];
    for mismatch in &case.mismatches {
        lines.push(format!(
            "    {} {DIM}(- expected, + came){DIM:#}",
            harmless_line(&mismatch.what)
        ));
        let diff = mismatch.lines().into_iter();
        lines.extend(diff.map(|line| format!("    {}", harmless_line(&line))));
    }
    if let Some(file) = &case.updated {
        lines.push(format!("    wrote {}", harmless_line(file)));
    }
    lines
}
