//! Turns the end of a guest into a failure that a model can read: one code, one short text, no backtrace, no path of the host.

use crate::{
    instance::limiter::{LimitExceeded, Limiter},
    text,
};
use agent_host_types::{
    failure::{ToolErrorCode, ToolFailure},
    limits::Limits,
    question::Question,
};
use wasmtime::{PoolConcurrencyLimitError, Trap, WasmBacktrace, component::ResourceTableError};
use wasmtime_wasi::I32Exit;
use wasmtime_wasi_http::FieldMapError;

/// What is shown of a text that a guest may have had a part in, in bytes.
const MAX_DETAIL_BYTES: usize = 300;

/// Why a host function, or the guests' clock, ends a guest.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Stop {
    /// The deadline has passed.
    #[error("the deadline has passed")]
    Deadline,
    /// The call merged more state than it may.
    #[error("the call merged more than {limit} bytes into the session's state")]
    StateTooLarge {
        /// In bytes.
        limit: usize,
    },
    /// The call asks a person. This is no failure.
    #[error("the call asked a person")]
    Asked(Question),
    /// The call asked something else than in its first run.
    #[error("the call asked something else than in its first run")]
    QuestionChanged,
    /// What the call merged is not a JSON object.
    #[error("what the call merged into the session's state is not a JSON object: {0}")]
    StateNotAnObject(String),
}

/// Where the guest was when it ended, innermost function first, as a section of what is kept of its stderr: it is for the tool's
/// author. Where no function has a name, as in a component without a name section, there is nothing to tell.
pub(crate) fn stack(error: &wasmtime::Error) -> Option<String> {
    let trace = error.downcast_ref::<WasmBacktrace>()?;
    let mut functions = trace.frames().iter().map(|frame| frame.func_name());
    functions.find(Option::is_some)?;
    let text = trace.to_string();
    // The first line is a heading of the engine's own.
    let (_, frames) = text.split_once('\n')?;
    Some(format!("\n[guest stack]\n{frames}\n"))
}

/// Explains the error with which a guest ended.
pub(crate) fn explain(error: &wasmtime::Error, limiter: &Limiter, limits: &Limits) -> ToolFailure {
    // The guest's own functions are named in what it left on stderr and here, for the author of the tool, and nowhere else.
    tracing::debug!("a guest ended with an error: {error:?}");
    if let Some(stop) = error.downcast_ref::<Stop>() {
        return match stop {
            Stop::Deadline => timeout(limits),
            Stop::StateTooLarge { .. } => failure(
                ToolErrorCode::ResourceLimit,
                format!("The tool was stopped: {stop}."),
            ),
            Stop::Asked(_) => failure(
                ToolErrorCode::InvalidOutput,
                "The tool asked a person a question where none can be asked.",
            ),
            Stop::QuestionChanged => failure(
                ToolErrorCode::InvalidOutput,
                "The tool was run again with the person's answer, and asked something else than before; a tool that asks must ask the same again.",
            ),
            Stop::StateNotAnObject(_) => failure(
                ToolErrorCode::Trap,
                format!(
                    "The tool was stopped: {}.",
                    text::sanitize(&stop.to_string(), MAX_DETAIL_BYTES)
                ),
            ),
        };
    }
    let stack = matches!(error.downcast_ref::<Trap>(), Some(Trap::StackOverflow));
    if stack {
        return failure(
            ToolErrorCode::StackOverflow,
            "The tool recursed too deep and was stopped. Try it with a smaller or less deeply nested input.",
        );
    }
    if let Some(exceeded) = limiter.exceeded() {
        return limit_failure(exceeded, limits);
    }
    if error.is::<PoolConcurrencyLimitError>() {
        return failure(
            ToolErrorCode::Busy,
            "Too many calls are running; this one was not started. Try it again later.",
        );
    }
    if matches!(
        error.downcast_ref::<ResourceTableError>(),
        Some(ResourceTableError::Full)
    ) {
        return failure(
            ToolErrorCode::ResourceLimit,
            format!(
                "The tool was stopped: it held more than {} files, streams or requests open at once (limit `open-resources`).",
                limits.open_resources
            ),
        );
    }
    if let Some(FieldMapError::TotalSizeTooBig | FieldMapError::TooManyFields) =
        error.downcast_ref()
    {
        return failure(
            ToolErrorCode::ResourceLimit,
            format!(
                "The tool was stopped: it put far more header fields together than the {} bytes that it may send (limit `http-header-bytes`).",
                limits.http_header_bytes
            ),
        );
    }
    if let Some(exit) = error.downcast_ref::<I32Exit>() {
        return failure(
            ToolErrorCode::Trap,
            format!(
                "The tool ended itself with exit code {} and returned no result.",
                exit.0
            ),
        );
    }
    if let Some(trap) = error.downcast_ref::<Trap>() {
        return failure(ToolErrorCode::Trap, format!("The tool crashed: {trap}."));
    }
    untyped(error, limits)
}

/// Errors of the engine and of its WASI that have no type of their own. Each text is held by a test that causes the error
/// (`call/tests`), so that another version that says it differently does not go unnoticed.
fn untyped(error: &wasmtime::Error, limits: &Limits) -> ToolFailure {
    let cause = error.root_cause().to_string();
    // Without frames of the guest the error came after its function returned: while its result was read.
    let in_guest = error.is::<WasmBacktrace>();
    if cause.contains("fuel allocated for hostcalls has been exhausted") {
        return if in_guest {
            failure(
                ToolErrorCode::ResourceLimit,
                format!(
                    "The tool was stopped: it passed more than {} bytes to the host at once (limit `max-transfer-bytes`).",
                    limits.max_transfer_bytes
                ),
            )
        } else {
            output_too_large(limits)
        };
    }
    if cause.starts_with("resource limit exceeded") {
        return failure(
            ToolErrorCode::ResourceLimit,
            format!(
                "The tool did not start: it needs more than the {} instances, {} memories or {} tables that it may have (limits `instances`, `memories` and `tables`).",
                limits.instances, limits.memories, limits.tables
            ),
        );
    }
    if cause.contains("store handle limit exceeded") {
        return failure(
            ToolErrorCode::ResourceLimit,
            format!(
                "The tool was stopped: it held more than {} handles at once (limit `open-resources`).",
                limits.open_resources
            ),
        );
    }
    if cause.starts_with("requested len ") && cause.contains(" exceeds limit ") {
        return failure(
            ToolErrorCode::ResourceLimit,
            format!(
                "The tool was stopped: it asked for more than {} random bytes at once (limit `random-bytes`).",
                limits.random_bytes
            ),
        );
    }
    // Where the guest's own allocator answers for its arguments, nothing of the guest is on the stack either.
    let in_guest = in_guest || cause.starts_with("realloc return: ");
    let detail = text::sanitize(&cause, MAX_DETAIL_BYTES);
    // The guest's allocator, which was asked for room for the arguments, has no frame any more when its answer is looked at.
    if in_guest || cause.starts_with("realloc return") {
        failure(
            ToolErrorCode::Trap,
            format!("The tool was stopped: {detail}."),
        )
    } else {
        ToolFailure::invalid_output(format!("The tool's result cannot be read: {detail}."))
    }
}

fn limit_failure(exceeded: LimitExceeded, limits: &Limits) -> ToolFailure {
    match exceeded {
        LimitExceeded::Memory => failure(
            ToolErrorCode::OutOfMemory,
            format!(
                "The tool needed more memory than the {} bytes that one call may use (limit `memory-bytes`). Try it with a smaller input.",
                limits.memory_bytes
            ),
        ),
        LimitExceeded::TableElements => failure(
            ToolErrorCode::ResourceLimit,
            format!(
                "The tool was stopped: one of its tables grew beyond {} elements (limit `table-elements`).",
                limits.table_elements
            ),
        ),
    }
}

/// The call did not end before its deadline.
pub(crate) fn timeout(limits: &Limits) -> ToolFailure {
    failure(
        ToolErrorCode::Timeout,
        format!(
            "The tool did not end within {} ms (limit `deadline-ms`) and was stopped; what it did until then may have taken effect. Try it with a smaller input.",
            limits.deadline_ms
        ),
    )
}

/// The result is larger than it may be.
pub(crate) fn output_too_large(limits: &Limits) -> ToolFailure {
    let (name, most) = if limits.output_bytes <= limits.max_transfer_bytes {
        ("output-bytes", limits.output_bytes)
    } else {
        ("max-transfer-bytes", limits.max_transfer_bytes)
    };
    failure(
        ToolErrorCode::OutputTooLarge,
        format!(
            "The tool returned more than the {most} bytes that a result may have (limit `{name}`). Ask it for less, such as for one part at a time."
        ),
    )
}

fn failure(code: ToolErrorCode, message: impl Into<String>) -> ToolFailure {
    ToolFailure::new(code, message)
}
