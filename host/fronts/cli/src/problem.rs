//! Renders configuration problems with the line of the file and a caret.

#[cfg(test)]
mod tests;

use crate::terminal::{RED, escape_line, path_text};
use agent_host_app::{ConfigError, ConfigProblem};
use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};

/// Renders each problem as a block, or as a paragraph if it has no span. The styles are for
/// [`Terminal::note`](crate::terminal::Terminal::note), which strips them where stderr is not a
/// terminal.
pub(crate) fn render(error: &ConfigError) -> String {
    let blocks: Vec<String> = error.problems().iter().map(block).collect();
    blocks.join("\n")
}

fn block(problem: &ConfigProblem) -> String {
    let span = problem.span.as_ref();
    let Some((span, excerpt)) = span.and_then(|span| Some((span, span.excerpt.as_ref()?))) else {
        return format!("{RED}error:{RED:#} {}", escape_line(&problem.to_string()));
    };
    let snippet = Snippet::source(&excerpt.text)
        .path(path_text(&span.file))
        .line_start(excerpt.line)
        .annotation(AnnotationKind::Primary.span(excerpt.mark.clone()));
    let report = [Level::ERROR
        .primary_title(escape_line(&problem.reason))
        .element(snippet)
        .element(Level::HELP.message(escape_line(&problem.fix)))];
    Renderer::styled().render(&report)
}
