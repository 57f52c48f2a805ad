//! Golden files: the whole result of a call, for results too long for a case.

use super::{
    compare::describe,
    file::{text_of, write},
    report::Mismatch,
};
use agent_host_types::output::ToolResultOutput;
use std::path::Path;

/// Compares a result with its golden file.
pub(super) fn difference(file: &Path, output: &ToolResultOutput) -> Option<Mismatch> {
    let (expected, got) = match text_of(file) {
        Ok(expected) => (expected, text(output)),
        Err(why) => {
            let what = "a readable file";
            (
                format!("{what}: {why}; `--update` writes it"),
                describe(output),
            )
        }
    };
    let what = format!("golden {}", file.display());
    (expected != got).then(|| Mismatch::new(&what, expected, got))
}

/// Writes a result to its golden file. Returns whether the file changed.
///
/// # Errors
/// The file cannot be written.
pub(super) fn update(file: &Path, output: &ToolResultOutput) -> std::io::Result<bool> {
    let text = text(output);
    if text_of(file).is_ok_and(|there| there == text) {
        return Ok(false);
    }
    write(file, &text)?;
    Ok(true)
}

/// Returns the content of a golden file: a text unchanged, any other result as the union's JSON.
fn text(output: &ToolResultOutput) -> String {
    match output {
        ToolResultOutput::Text(text) => text.clone(),
        other => {
            let json = serde_json::to_string_pretty(other).unwrap_or_default();
            format!("{json}\n")
        }
    }
}
