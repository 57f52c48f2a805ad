//! The size of a result, and the note on one of which a part was left out because it is more than a
//! result may hold.

use crate::{bindings::types as wit, caps::as_count};
use agent_host_types::{limits::Limits, output::ContentPart};

/// The bytes of a result that [`CUT`] may take.
const NOTE_BYTES: usize = 512;

/// The end of a result of which a part was left out.
const CUT: &str =
    "[The tool sent more than a result may hold; the rest was left out. Ask it for less.]";

/// Returns the most bytes that a result may have before a part of it is left out.
pub(crate) fn most_bytes(limits: &Limits) -> usize {
    as_count(limits.output_bytes).saturating_sub(NOTE_BYTES)
}

/// Returns the bytes of a part; an empty one counts as well, so that the number of parts is
/// bounded.
pub(crate) fn part_bytes(part: &wit::ContentPart) -> usize {
    size_of::<ContentPart>()
        + match part {
            wit::ContentPart::Text(text) => text.len(),
            wit::ContentPart::File(file) => {
                let data = match &file.data {
                    wit::FileData::Bytes(bytes) => bytes.len(),
                    wit::FileData::Url(text) | wit::FileData::Text(text) => text.len(),
                };
                file.media_type.len() + data + file.filename.as_ref().map_or(0, String::len)
            }
        }
}

/// Adds to a result that a part of it was left out.
pub(crate) fn mark_cut(output: wit::ToolResultOutput) -> wit::ToolResultOutput {
    use wit::ToolResultOutput as Output;
    let mut parts = match output {
        Output::Text(text) | Output::Json(text) => vec![wit::ContentPart::Text(text)],
        Output::Content(parts) => parts,
        failure => return failure,
    };
    parts.push(wit::ContentPart::Text(CUT.to_owned()));
    Output::Content(parts)
}
