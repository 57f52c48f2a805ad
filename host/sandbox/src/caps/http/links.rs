//! Files that a result names by their address. The model's provider fetches them, so naming one sends a request, and whoever is
//! asked reads what the guest put into the address: the gate is asked as for a request of the guest's own.

#[cfg(test)]
mod tests;

use super::target::RequestTarget;
use crate::gate::Gate;
use agent_host_core::output::{ContentPart, FileData, FilePart, ToolResultOutput};
use std::sync::Arc;

/// Puts a note in the place of every file whose address the call may not reach. What stays is the address as it was judged.
pub(crate) fn judge(output: &mut ToolResultOutput, gate: &Arc<Gate>) {
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
            Ok(target) => target.url().as_str().clone_into(url),
            Err(_) => {
                let text = format!(
                    "[{media_type}, at {url}; it is not fetched, since this tool may not reach that address]"
                );
                *part = ContentPart::Text { text };
            }
        }
    }
}

/// Whether anybody would send a request for it. A data URL holds its bytes, and other schemes are no one's to fetch; letters of any
/// case and blanks before them are taken as a lenient parser takes them.
fn is_fetched(url: &str) -> bool {
    let url = url.trim_start_matches(|character: char| character <= ' ');
    let scheme = url.split(':').next().unwrap_or_default();
    // URL parsers drop tabs and newlines wherever they are.
    let scheme: String = scheme
        .chars()
        .filter(|character| !"\t\r\n".contains(*character))
        .collect();
    scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https")
}
