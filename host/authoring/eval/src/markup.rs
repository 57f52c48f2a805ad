//! The report as HTML and as JUnit XML. Text in it is of models, tools and files, so hostile.

#[cfg(test)]
mod tests;

use crate::report::{Report, RunReport};
use agent_host_engine::text;
use minijinja::{
    Environment, Error, UndefinedBehavior, context, syntax::SyntaxConfig, value::Serde,
};
use serde::Serialize;

/// Writes a report as one HTML page without scripts, images or addresses; its policy allows nothing
/// but its own styles.
///
/// # Errors
/// Those of the template engine.
pub fn html(report: &Report) -> Result<String, Error> {
    render(include_str!("markup/report.html"), Serde(report))
}

/// Writes a report as JUnit XML: a suite for each model, a test case for each case and run. A run
/// that failed is a failure, even if its case meets its share.
///
/// # Errors
/// Those of the template engine.
pub fn junit(report: &Report) -> Result<String, Error> {
    let suites = report.models().enumerate().map(|(index, model)| {
        let runs = report.cases.iter().flat_map(|case| {
            let runs = case.models.get(index).map(|model| model.runs.as_slice());
            let runs = runs.unwrap_or_default().iter();
            runs.map(|run| (case.name.as_str(), run))
        });
        let runs = runs.collect();
        Suite { model, runs }
    });
    let suites: Vec<_> = suites.collect();
    let template = include_str!("markup/junit.xml");
    render(
        template,
        context! { totals => Serde(report.totals), suites => Serde(suites) },
    )
}

/// The runs with a model, each after the name of its case.
#[derive(Serialize)]
struct Suite<'a> {
    model: &'a str,
    runs: Vec<(&'a str, &'a RunReport)>,
}

/// Renders a template, in which every value is escaped.
fn render(template: &str, report: impl Into<minijinja::Value>) -> Result<String, Error> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    let mut syntax = SyntaxConfig::builder();
    syntax.keep_trailing_newline(true).trim_blocks(true);
    environment.set_syntax(syntax.build()?);
    environment.set_formatter(|out, _, value| Ok(out.write_str(&escape(&value.to_string()))?));
    environment.render_str(template, report)
}

/// Escapes text for an element or a quoted attribute. Characters that XML does not allow, and those
/// that hide or reorder text, become visible as `\u{...}`.
fn escape(text: &str) -> String {
    let visible = text::escape(text);
    let mut out = String::with_capacity(visible.len());
    for character in visible.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            // XML 1.0 excludes them (https://www.w3.org/TR/xml/#charsets).
            '\u{fffe}' | '\u{ffff}' => out.extend(character.escape_unicode()),
            _ => out.push(character),
        }
    }
    out
}
