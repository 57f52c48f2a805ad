//! The report as a table for a terminal, with the failures below it.

use crate::terminal::{BOLD, DIM, GREEN, RED, count, dollars, duration, escape_line, one_line};
use agent_host_eval::{CaseReport, Figures, ModelReport, Report, Status};
use unicode_width::UnicodeWidthStr as _;

/// The longest name of a model in the table, in characters.
const MAX_MODEL: usize = 48;

/// The most failures of a run that are printed.
const MAX_FAILURES: usize = 10;

const HEADINGS: [&str; 7] = [
    "CASE", "MODEL", "PASSED", "TURNS", "CALLS", "TOKENS", "COST",
];

type TableRow = [String; 7];

/// Lays out the report.
pub(super) fn table(report: &Report) -> String {
    let mut rows: Vec<(bool, TableRow)> = Vec::new();
    for case in &report.cases {
        let models = case.models.iter();
        rows.extend(models.map(|model| (model.passed, row(case, model))));
    }
    let headings = HEADINGS.map(str::to_owned);
    let widths: [usize; 7] = std::array::from_fn(|column| {
        let rows = rows.iter().map(|(_, row)| row).chain([&headings]);
        let cells = rows.filter_map(|row| row.get(column));
        cells.map(|cell| cell.width()).max().unwrap_or(0)
    });
    let mut lines = vec![format!("{BOLD}{}{BOLD:#}", line(&headings, &widths))];
    for (passed, row) in &rows {
        let style = if *passed { GREEN } else { RED };
        lines.push(format!("{style}{}{style:#}", line(row, &widths)));
    }
    lines.extend(failures(report));
    let totals = &report.totals;
    let Figures {
        cost_micros,
        duration_ms,
        ..
    } = totals.figures;
    lines.push(format!(
        "{} of {} cases passed, {} of {} runs; {}, {}",
        totals.passed_cases,
        totals.cases,
        totals.passed_runs,
        totals.runs,
        cost(cost_micros),
        duration(duration_ms)
    ));
    lines.join("\n")
}

fn row(case: &CaseReport, model: &ModelReport) -> TableRow {
    let mut sum = Figures::default();
    model.runs.iter().for_each(|run| sum += run.figures);
    [
        escape_line(&case.name),
        one_line(&model.model, MAX_MODEL),
        format!("{} of {}", model.passed_runs, model.runs.len()),
        count(sum.turns),
        count(sum.tool_calls),
        count(sum.tokens()),
        cost(sum.cost_micros),
    ]
}

/// Lays out a row: names at the left, figures at the right of their columns.
fn line(row: &TableRow, widths: &[usize; 7]) -> String {
    let cells = row
        .iter()
        .zip(widths)
        .enumerate()
        .map(|(column, (cell, width))| {
            let space = " ".repeat(width.saturating_sub(cell.width()));
            match column {
                0 | 1 => format!("{cell}{space}"),
                _ => format!("{space}{cell}"),
            }
        });
    cells.collect::<Vec<_>>().join("  ")
}

fn cost(micros: Option<u64>) -> String {
    micros.map_or_else(|| "not known".to_owned(), dollars)
}

/// Lists the expectations that runs did not meet.
fn failures(report: &Report) -> Vec<String> {
    let mut lines = Vec::new();
    for case in &report.cases {
        for model in &case.models {
            let failed = model.runs.iter().filter(|run| run.status != Status::Passed);
            for run in failed {
                lines.push(format!(
                    "{BOLD}{}{BOLD:#} {DIM}{}, run {}{DIM:#}",
                    escape_line(&case.name),
                    one_line(&model.model, MAX_MODEL),
                    run.run
                ));
                let shown = run.failures.iter().take(MAX_FAILURES);
                lines.extend(shown.map(|failure| format!("    {}", escape_line(failure))));
                let more = run.failures.len().saturating_sub(MAX_FAILURES);
                if more > 0 {
                    lines.push(format!("    and {more} more"));
                }
            }
        }
    }
    lines
}
