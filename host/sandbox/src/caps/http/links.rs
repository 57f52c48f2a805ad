//! Checks the files that a result names by URL. The model's provider fetches them, so naming one
//! sends a request, and its server reads what the guest put into the URL: the gate is asked as for
//! a request of the guest's own.

#[cfg(test)]
mod tests;

use super::target::RequestTarget;
use crate::gate::Gate;
use agent_host_types::output::{ContentPart, FileData, FilePart, ToolResultOutput};
use std::sync::Arc;

/// Replaces every file whose URL the call may not reach by a note. The other URLs are rewritten as
/// they were judged.
pub(crate) fn replace_denied(output: &mut ToolResultOutput, gate: &Arc<Gate>) {
    let ToolResultOutput::Content(parts) = output else {
        return;
    };
    for part in parts {
        let ContentPart::File(FilePart {
            media_type,
            data: FileData::Url(url),
            ..
        }) = part
        else {
            continue;
        };
        if !is_fetched(url) {
            continue;
        }
        let target = RequestTarget::parse("GET", url, Arc::clone(gate));
        match target.and_then(|target| target.check().map(|()| target)) {
            Ok(target) => target.url.as_str().clone_into(url),
            Err(_) => {
                let text = format!(
                    "[{media_type}, at {url}; it is not fetched, since this tool may not reach that address]"
                );
                *part = ContentPart::Text { text };
            }
        }
    }
}

/// Returns whether the URL would be fetched. A data URL holds its bytes, and other schemes are not
/// fetched; upper case and leading blanks are accepted, as a lenient parser does.
fn is_fetched(url: &str) -> bool {
    let url = url.trim_start_matches(|character: char| character <= ' ');
    let scheme = url.split(':').next().unwrap_or_default();
    // URL parsers drop tabs and newlines anywhere.
    let scheme: String = scheme
        .chars()
        .filter(|character| !"\t\r\n".contains(*character))
        .collect();
    scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https")
}
