//! The result in a call's report: secrets redacted, refusals of the gate named.

#[cfg(test)]
mod tests;

use crate::gate::Denial;
use agent_host_engine::secrets::Secrets;
use agent_host_types::{
    failure::{MAX_MESSAGE_BYTES, ToolErrorCode, ToolFailure},
    output::ToolResultOutput,
};

/// Redacts a valid result. If redaction makes it invalid, readers see a failure, but the call has
/// succeeded: its state merges must not depend on the values of secrets.
pub(super) fn redact(output: &mut ToolResultOutput, secrets: &Secrets) {
    if secrets.is_empty() {
        return;
    }
    secrets.output(output);
    if let Err(failure) = output.validate() {
        *output = failure.into();
    }
}

/// Adds the gate's first refusal to a failed result, so that the model does not take a missing
/// grant or a limit for a fault of the tool. A tool's own error becomes a denied call or a reached
/// limit; a failure by the host keeps its code and names both. A success in spite of a refusal is
/// unchanged.
pub(super) fn with_denial(
    result: Result<ToolResultOutput, ToolFailure>,
    denial: Option<Denial>,
) -> ToolResultOutput {
    let Some(Denial { sentence, is_limit }) = denial else {
        return result.unwrap_or_else(Into::into);
    };
    let error = match result {
        Ok(ToolResultOutput::ErrorText(text)) => text,
        Ok(ToolResultOutput::ErrorJson(json)) => json.to_string(),
        Ok(output) => return output,
        Err(failure) if failure.code == ToolErrorCode::Trap => failure.message().to_owned(),
        Err(failure) => {
            let message = format!("{} Before that, {sentence}.", failure.message());
            return ToolFailure::new(failure.code, message).into();
        }
    };
    let mut reason = format!("{sentence}. The tool then said: {error}");
    if is_limit {
        ToolFailure::new(ToolErrorCode::ResourceLimit, reason).into()
    } else {
        reason.truncate(reason.floor_char_boundary(MAX_MESSAGE_BYTES));
        ToolResultOutput::ExecutionDenied(Some(reason))
    }
}
