//! `agent-host eval`: runs the cases of an evaluation, each as a run of this program in a process,
//! a directory and a state of its own, and reports how they did.

mod add;
mod files;
mod plan;
mod process;
mod table;

use super::configure;
use crate::{
    args::{ConfigArgs, EvalArgs},
    exit::{Exit, Failure},
    signals::Stop,
    terminal::{DIM, GREEN, RED, Terminal, YELLOW, escape_line},
};
use agent_host_app::{
    Overrides,
    config::{ConfigError, parse},
    trusted_file,
};
use agent_host_eval::{
    CaseReport, Evaluation, EvaluationForm, KeyError, Report, RunReport, Status, html, junit,
};
use plan::{EvalPlan, EvalRun};
use process::Launcher;
use serde_json::json;
use std::{fs, path::Path, sync::Arc};
use tokio::task::JoinSet;

/// The longest file of an evaluation, in bytes.
const MAX_FILE_BYTES: u64 = 4 * 1024 * 1024;

pub(super) async fn eval(args: EvalArgs, terminal: &Terminal) -> Result<Exit, Failure> {
    if let Some(session) = &args.from_session {
        return add::add(session, &args, terminal).await;
    }
    let evaluation = read(&args.file, terminal)?;
    // The trust in the directory's configuration is decided here; runs get the file by its name.
    let own = ConfigArgs {
        grants: Vec::new(),
        write: false,
        ..args.config.clone()
    };
    let config = configure(own, Overrides::default())?;
    // From now on a signal does not exit at once, so that the directory is removed.
    let stop = Stop::listen(terminal);
    let root = tempfile::Builder::new()
        .prefix("agent-host-eval-")
        .tempdir();
    let root = root.map_err(|error| {
        Failure::failed(format!(
            "cannot create a temporary directory: {error}; set TMPDIR"
        ))
    })?;
    let plan = EvalPlan::new(evaluation, &args, &config)?;
    let launcher = Launcher::new(root.path(), &args, &config)?;
    plan.check(&launcher)?;
    let plan = Arc::new(plan);
    let ran = run_all(&plan, Arc::new(launcher), &args, (&stop, terminal)).await?;
    let Some(reports) = ran else {
        return Ok(stop.exit());
    };
    let report = report(&plan, reports);
    for (file, text) in [(&args.junit, junit as fn(&Report) -> _), (&args.html, html)] {
        if let Some(file) = file {
            write(file, &text(&report).map_err(Failure::failed)?)?;
        }
    }
    terminal.println_as(args.json, || json!(report), || table::table(&report));
    Ok(match report.passed {
        true => Exit::Done,
        false => Exit::Failed,
    })
}

/// Reads and checks the file. All problems but the last are printed, and that one is returned.
fn read(file: &Path, terminal: &Terminal) -> Result<Evaluation, Failure> {
    let text = trusted_file::read(file, MAX_FILE_BYTES).map_err(|error| {
        Failure::usage(format!(
            "cannot read the evaluation {}: {error}",
            file.display()
        ))
    })?;
    let form: EvaluationForm = parse(file, &text)?;
    check(form, file, &text, terminal)
}

fn check(
    form: EvaluationForm,
    file: &Path,
    text: &str,
    terminal: &Terminal,
) -> Result<Evaluation, Failure> {
    form.check().map_err(|errors| {
        let mut failures: Vec<Failure> = errors
            .iter()
            .map(|KeyError { key, reason, fix }| {
                let problem = ConfigError::new(key, format!("`{key}`: {reason}"), fix);
                problem.in_file(file, text).into()
            })
            .collect();
        let last = failures.pop();
        for failure in failures {
            failure.report(terminal);
        }
        last.unwrap_or_else(|| Failure::usage("the evaluation is invalid"))
    })
}

/// Runs all tasks, at most `--jobs` at once, and returns their reports in the order of the tasks;
/// `None` if it was stopped.
async fn run_all(
    plan: &Arc<EvalPlan>,
    launcher: Arc<Launcher>,
    args: &EvalArgs,
    (stop, terminal): (&Stop, &Terminal),
) -> Result<Option<Vec<RunReport>>, Failure> {
    let mut reports: Vec<Option<RunReport>> = plan.tasks.iter().map(|_| None).collect();
    let mut waiting = plan.tasks.iter().enumerate();
    let mut running = JoinSet::new();
    loop {
        while running.len() < args.jobs
            && let Some((index, task)) = waiting.next()
        {
            let (plan, launcher, task) = (Arc::clone(plan), Arc::clone(&launcher), task.clone());
            running.spawn(async move { (index, one(&plan, &launcher, index, &task).await) });
        }
        let ended = tokio::select! {
            biased;
            () = stop.requested() => {
                // Each process ends when its task is dropped.
                running.shutdown().await;
                return Ok(None);
            }
            ended = running.join_next() => ended,
        };
        let Some(ended) = ended else {
            return Ok(Some(reports.into_iter().flatten().collect()));
        };
        let (index, report) = ended.map_err(Failure::failed)?;
        if let Some(task) = plan.tasks.get(index) {
            terminal.note(&progress(plan, task, &report));
        }
        if let Some(place) = reports.get_mut(index) {
            *place = Some(report);
        }
    }
}

async fn one(plan: &EvalPlan, launcher: &Launcher, index: usize, task: &EvalRun) -> RunReport {
    let case = plan.case(task);
    let (observed, duration_ms) = launcher.run(index, case, task).await;
    RunReport::new(case, task.run, &observed, duration_ms)
}

/// Returns the line on stderr about a run that ended.
fn progress(plan: &EvalPlan, task: &EvalRun, report: &RunReport) -> String {
    let word = match report.status {
        Status::Passed => format!("{GREEN}passed{GREEN:#}"),
        Status::Failed => format!("{RED}failed{RED:#}"),
        Status::Error => format!("{YELLOW}error{YELLOW:#} "),
    };
    format!(
        "{word} {} {DIM}{}, run {}{DIM:#}",
        plan.case(task).name,
        escape_line(plan.model(task)),
        task.run
    )
}

/// Sorts the reports of the runs by case and model, whose tasks follow each other.
fn report(plan: &EvalPlan, reports: Vec<RunReport>) -> Report {
    let mut reports = reports.into_iter();
    let cases = plan.cases().iter().map(|case| {
        let models = plan.models().map(|model| {
            let runs = usize::try_from(case.runs).unwrap_or(usize::MAX);
            (model.to_owned(), reports.by_ref().take(runs).collect())
        });
        CaseReport::new(case, models.collect())
    });
    Report::new(cases.collect())
}

fn write(file: &Path, text: &str) -> Result<(), Failure> {
    fs::write(file, text).map_err(|error| {
        Failure::failed(format!(
            "cannot write the report to {}: {error}",
            file.display()
        ))
    })
}
