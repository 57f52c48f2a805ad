//! `--context-json`: what tools may know of the request.

use super::files::read_bounded;
use crate::{args::RunArgs, exit::Failure};
use agent_host_types::custom_context::{CustomContext, MAX_CONTEXT_BYTES};
use std::{fmt::Display, path::Path};

/// Reads the custom context of the arguments; `None` where there is none.
pub(super) fn custom_context(args: &RunArgs) -> Result<Option<CustomContext>, Failure> {
    let fault = |why: &dyn Display| Failure::usage(format!("invalid `--context-json`: {why}"));
    let Some(value) = &args.context_json else {
        return Ok(None);
    };
    let text = match value.strip_prefix('@') {
        None => value.clone(),
        Some(file) => read_bounded(Path::new(file), 4 * MAX_CONTEXT_BYTES as u64)
            .map_err(|error| fault(&format!("{file}: {error}; pass a file with a JSON object")))?,
    };
    text.parse().map(Some).map_err(|error| fault(&error))
}
