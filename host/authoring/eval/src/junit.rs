//! The report as JUnit XML: a suite for each model, a test case for each case and run.

#[cfg(test)]
mod tests;

use crate::{
    markup::{escape, escape_attribute},
    report::{Report, RunReport, Status},
};

/// Writes a report as JUnit XML. A run that failed is a failure, even if its case meets its share.
#[must_use]
pub fn junit(report: &Report) -> String {
    let suites: Vec<(&str, Vec<TestCase<'_>>)> = report
        .models()
        .enumerate()
        .map(|(index, model)| (model, cases_of(report, index)))
        .collect();
    let mut page = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let all: Vec<&TestCase<'_>> = suites.iter().flat_map(|(_, cases)| cases).collect();
    page.push_str(&format!(
        "<testsuites name=\"agent-host eval\"{}>\n",
        counts(&all)
    ));
    for (model, cases) in &suites {
        let name = escape_attribute(model);
        let all: Vec<&TestCase<'_>> = cases.iter().collect();
        page.push_str(&format!("  <testsuite name=\"{name}\"{}>\n", counts(&all)));
        cases.iter().for_each(|case| case.write(&mut page));
        page.push_str("  </testsuite>\n");
    }
    page.push_str("</testsuites>\n");
    page
}

/// A run of a case.
struct TestCase<'a> {
    case: &'a str,
    run: &'a RunReport,
}

/// Returns the runs with the model of this index.
fn cases_of(report: &Report, model: usize) -> Vec<TestCase<'_>> {
    let runs = report.cases.iter().flat_map(|case| {
        let runs = case.models.get(model).map(|model| model.runs.as_slice());
        let runs = runs.unwrap_or_default().iter();
        runs.map(|run| TestCase {
            case: &case.name,
            run,
        })
    });
    runs.collect()
}

/// Returns the attributes that count test cases.
fn counts(cases: &[&TestCase<'_>]) -> String {
    let of = |status| {
        cases
            .iter()
            .filter(|case| case.run.status == status)
            .count()
    };
    let ms = cases.iter().map(|case| case.run.figures.duration_ms).sum();
    format!(
        " tests=\"{}\" failures=\"{}\" errors=\"{}\" time=\"{}\"",
        cases.len(),
        of(Status::Failed),
        of(Status::Error),
        seconds(ms)
    )
}

fn seconds(ms: u64) -> String {
    format!("{}.{:03}", ms / 1_000, ms % 1_000)
}

impl TestCase<'_> {
    fn write(&self, page: &mut String) {
        let Self { case, run } = self;
        let case = escape_attribute(case);
        page.push_str(&format!(
            "    <testcase classname=\"{case}\" name=\"{case} run {}\" time=\"{}\"",
            run.run,
            seconds(run.figures.duration_ms)
        ));
        let element = match run.status {
            Status::Passed => {
                page.push_str("/>\n");
                return;
            }
            Status::Failed => "failure",
            Status::Error => "error",
        };
        let first = run.failures.first().map_or("", String::as_str);
        let message = escape_attribute(first);
        let text = escape(&run.failures.join("\n"));
        page.push_str(&format!(
            ">\n      <{element} message=\"{message}\">{text}</{element}>\n    </testcase>\n"
        ));
    }
}
