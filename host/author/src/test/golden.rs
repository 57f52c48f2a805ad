//! Golden files: the whole result of a call as a file, so that a long one need not stand in its case.

use super::{compare::shown, file::text_of, report::Mismatch};
use agent_host_types::output::ToolResultOutput;
use std::path::Path;

/// Holds a result against its golden file.
pub(super) fn difference(file: &Path, output: &ToolResultOutput) -> Option<Mismatch> {
    let what = format!("golden {}", file.display());
    match text_of(file) {
        Ok(expected) => {
            let got = text(output);
            (expected != got).then(|| Mismatch::new(&what, expected, got))
        }
        Err(why) => Some(Mismatch::new(
            &what,
            format!("a file that can be read, and this one cannot: {why}; `--update` writes it"),
            shown(output),
        )),
    }
}

/// Writes a result into its golden file. Gives whether that changed it.
///
/// # Errors
/// Why it cannot be written.
pub(super) fn update(file: &Path, output: &ToolResultOutput) -> std::io::Result<bool> {
    let text = text(output);
    if text_of(file).is_ok_and(|there| there == text) {
        return Ok(false);
    }
    if let Some(folder) = file.parent() {
        std::fs::create_dir_all(folder)?;
    }
    std::fs::write(file, text)?;
    Ok(true)
}

/// What a golden file has: a text as it is, and any other result as the JSON form of the union.
fn text(output: &ToolResultOutput) -> String {
    match output {
        ToolResultOutput::Text(text) => text.clone(),
        ToolResultOutput::Json(_)
        | ToolResultOutput::Content(_)
        | ToolResultOutput::ErrorText(_)
        | ToolResultOutput::ErrorJson(_)
        | ToolResultOutput::ExecutionDenied(_) => {
            let json = serde_json::to_string_pretty(output).unwrap_or_default();
            format!("{json}\n")
        }
    }
}
