//! The report as one HTML page without scripts, images or addresses.

#[cfg(test)]
mod tests;

use crate::{
    markup::{escape, escape_attribute},
    report::{CaseReport, ModelReport, Report, RunReport, Status},
    transcript::Figures,
};

/// The head of the page. Its policy allows nothing but its own styles.
const HEAD: &str = r#"<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Evaluation</title>
<style>
:root { color-scheme: light dark; }
body { font: 15px/1.5 system-ui, sans-serif; margin: 2em auto; max-width: 70em; padding: 0 1em; }
table { border-collapse: collapse; width: 100%; }
th, td { border-bottom: 1px solid #8886; padding: .3em .6em; text-align: left; vertical-align: top; }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; }
.passed { color: #17803d; } .failed, .error { color: #c02626; }
pre { overflow-wrap: anywhere; white-space: pre-wrap; margin: .3em 0; }
summary { cursor: pointer; }
</style>
</head>
<body>
"#;

/// Writes a report as a page. All text of the file, of models and of tools is escaped.
#[must_use]
pub fn html(report: &Report) -> String {
    let mut page = HEAD.to_owned();
    let totals = &report.totals;
    let word = word(report.passed);
    page.push_str(&format!(
        "<h1>Evaluation: <span class=\"{word}\">{word}</span></h1>\n<p>{} of {} cases passed, {} of {} \
         runs. {}</p>\n",
        totals.passed_cases,
        totals.cases,
        totals.passed_runs,
        totals.runs,
        sentence(&totals.figures)
    ));
    page.push_str(
        "<table>\n<thead><tr><th>Case</th><th>Model</th><th class=\"n\">Passed</th>\
         <th class=\"n\">Required</th></tr></thead>\n<tbody>\n",
    );
    for case in &report.cases {
        case.models
            .iter()
            .for_each(|model| row(case, model, &mut page));
    }
    page.push_str("</tbody>\n</table>\n");
    for case in &report.cases {
        page.push_str(&format!("<h2>{}</h2>\n", escape(&case.name)));
        for model in &case.models {
            page.push_str(&format!("<h3>{}</h3>\n", escape(&model.model)));
            model.runs.iter().for_each(|run| details(run, &mut page));
        }
    }
    page.push_str("</body>\n</html>\n");
    page
}

/// Writes the row of a case with a model.
fn row(case: &CaseReport, model: &ModelReport, page: &mut String) {
    page.push_str(&format!(
        "<tr class=\"{}\"><td>{}</td><td>{}</td><td class=\"n\">{} of {}</td><td class=\"n\">{} %</td></tr>\n",
        word(model.passed),
        escape(&case.name),
        escape(&model.model),
        model.passed_runs,
        model.runs.len(),
        case.pass * 100.0
    ));
}

/// Writes a run: its failures, its answer and its calls.
fn details(run: &RunReport, page: &mut String) {
    let (status, open) = match run.status {
        Status::Passed => ("passed", ""),
        Status::Failed => ("failed", " open"),
        Status::Error => ("error", " open"),
    };
    page.push_str(&format!(
        "<details{open}><summary>Run {}: <span class=\"{status}\">{status}</span>. {}</summary>\n",
        run.run,
        sentence(&run.figures)
    ));
    if !run.failures.is_empty() {
        page.push_str("<ul>\n");
        for failure in &run.failures {
            page.push_str(&format!("<li>{}</li>\n", escape(failure)));
        }
        page.push_str("</ul>\n");
    }
    if let Some(answer) = &run.answer {
        page.push_str(&format!("<p>Answer:</p>\n<pre>{}</pre>\n", escape(answer)));
    }
    for call in &run.calls {
        page.push_str(&format!(
            "<p><code title=\"{}\">{}</code></p>\n<pre>{}</pre>\n<pre>{}</pre>\n",
            escape_attribute(call.outcome),
            escape(&call.tool),
            escape(&call.input),
            escape(&call.result)
        ));
    }
    page.push_str("</details>\n");
}

/// Returns figures in words.
fn sentence(figures: &Figures) -> String {
    let cost = match figures.cost_micros {
        Some(micros) => format!("{}.{:06} USD", micros / 1_000_000, micros % 1_000_000),
        None => "cost not known".to_owned(),
    };
    format!(
        "{} turns, {} tool calls, {} tokens, {cost}, {}.{:03} s.",
        figures.turns,
        figures.tool_calls,
        figures.tokens(),
        figures.duration_ms / 1_000,
        figures.duration_ms % 1_000
    )
}

fn word(passed: bool) -> &'static str {
    match passed {
        true => "passed",
        false => "failed",
    }
}
