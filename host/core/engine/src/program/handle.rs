//! Files of results as a program sees them: handles, which it can put into its own result. The
//! bytes stay with the host.

use agent_host_types::{
    failure::ToolFailure,
    id::Digest,
    output::{ContentPart, FileData, FilePart, ToolResultOutput},
};
use std::collections::HashMap;

/// The scheme of a handle. A digest follows it.
const SCHEME: &str = "session-file:";

/// The files that a program has been shown, by their digests.
pub(crate) type KnownFiles = HashMap<Digest, FilePart>;

/// Replaces the stored files of a result by handles, and adds them to the known ones.
pub(crate) fn with_handles(
    mut output: ToolResultOutput,
    known: &mut KnownFiles,
) -> ToolResultOutput {
    for file in files(&mut output) {
        if let FileData::Blob(blob) = &file.data {
            let digest = blob.digest;
            known.insert(digest, file.clone());
            file.data = FileData::Url(format!("{SCHEME}{digest}"));
        }
    }
    output
}

/// Replaces the handles in the result of a program by the files. A handle counts for the files of
/// the program's own calls alone: digests of other sessions' files lead nowhere.
///
/// # Errors
/// `invalid-output`: a handle is not of a file that the program has been shown.
pub(crate) fn handles_to_files(
    mut output: ToolResultOutput,
    known: &KnownFiles,
) -> Result<ToolResultOutput, ToolFailure> {
    for file in files(&mut output) {
        let FileData::Url(url) = &file.data else {
            continue;
        };
        let Some(digest) = url.strip_prefix(SCHEME) else {
            continue;
        };
        let shown = digest.parse().ok().and_then(|digest| known.get(&digest));
        let Some(shown) = shown else {
            return Err(ToolFailure::invalid_output(
                "The program returned a file that none of its calls returned. Pass files on as they came in results.",
            ));
        };
        file.data = shown.data.clone();
        file.media_type.clone_from(&shown.media_type);
        file.filename = file.filename.take().or_else(|| shown.filename.clone());
    }
    Ok(output)
}

fn files(output: &mut ToolResultOutput) -> impl Iterator<Item = &mut FilePart> {
    let parts = match output {
        ToolResultOutput::Content(parts) => parts.as_mut_slice(),
        _ => &mut [],
    };
    parts.iter_mut().filter_map(|part| match part {
        ContentPart::File(file) => Some(file),
        ContentPart::Text { .. } => None,
    })
}
