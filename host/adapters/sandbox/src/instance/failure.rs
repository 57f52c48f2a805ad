//! Turns the end of a guest into a failure that a model can read: one code and one short text,
//! without a backtrace or a host path.

use crate::{
    caps::unwind::Unwind,
    instance::{
        crash,
        limiter::{LimitExceeded, Limiter},
        store::CallState,
    },
    schedule::guest_runtime::TaskError,
    text,
};
use agent_host_types::{
    failure::{MAX_MESSAGE_BYTES, ToolErrorCode, ToolFailure},
    limits::Limits,
};
use wasmtime::{PoolConcurrencyLimitError, Trap, WasmBacktrace, component::ResourceTableError};
use wasmtime_wasi::I32Exit;
use wasmtime_wasi_http::FieldMapError;

/// The bound on text in a failure that a guest may control, in bytes.
const MAX_DETAIL_BYTES: usize = 300;

/// Explains the error with which a guest ended, and adds the guest's stack to its stderr. Of a
/// crash the model gets the message; a secret in it is redacted as in every failure.
pub(crate) fn of_guest(error: &wasmtime::Error, state: &CallState) -> ToolFailure {
    let failure = explained(error, state);
    if let Some(stack) = stack(error) {
        state.telemetry.stderr.push(stack.as_bytes());
    }
    failure
}

/// Explains the error with which a guest ended.
pub(crate) fn explained(error: &wasmtime::Error, state: &CallState) -> ToolFailure {
    let stderr = state.telemetry.stderr.text();
    explain(
        error,
        crash::message(&stderr),
        &state.limiter,
        &state.limits,
    )
}

/// Explains a task that ended without a result.
pub(crate) fn of_task(error: &TaskError, limits: &Limits) -> ToolFailure {
    match error {
        TaskError::Cancelled => timeout(limits),
        TaskError::Panicked(text) => {
            tracing::error!("the host failed while running a guest: {text}");
            ToolFailure::new(
                ToolErrorCode::ToolUnavailable,
                "The host failed while running this tool; it may or may not have taken effect. Tell the operator.",
            )
        }
    }
}

/// Formats the guest's stack for the tool's author, innermost function first. Absent without
/// function names, as for a component without a name section.
fn stack(error: &wasmtime::Error) -> Option<String> {
    let trace = error.downcast_ref::<WasmBacktrace>()?;
    let mut functions = trace.frames().iter().map(|frame| frame.func_name());
    functions.find(Option::is_some)?;
    let text = trace.to_string();
    // The first line is wasmtime's heading.
    let (_, frames) = text.split_once('\n')?;
    Some(format!("\n[guest stack]\n{frames}\n"))
}

/// The name of each core function that traps in place of one for async functions, by which an error
/// tells them from the guest's own.
pub(crate) const ASYNC_TRAP_NAME: &str = "async-function-of-the-host";

/// Returns whether the guest called a function that its component was compiled without. A guest can
/// give a function of its own that name, and earns the same message.
fn is_async_trap(error: &wasmtime::Error) -> bool {
    let trace = error.downcast_ref::<WasmBacktrace>();
    let innermost = trace.and_then(|trace| trace.frames().first()?.func_name());
    innermost == Some(ASYNC_TRAP_NAME)
}

fn explain(
    error: &wasmtime::Error,
    crash: Option<&str>,
    limiter: &Limiter,
    limits: &Limits,
) -> ToolFailure {
    // Names of the guest's functions appear only in its stderr and in this log.
    tracing::debug!("a guest ended with an error: {error:?}");
    if let Some(unwind) = error.downcast_ref() {
        return of_unwind(unwind, limits);
    }
    if matches!(error.downcast_ref(), Some(Trap::StackOverflow)) {
        return ToolFailure::new(
            ToolErrorCode::StackOverflow,
            "The tool recursed too deeply and was stopped. Try it with a smaller or less deeply nested input.",
        );
    }
    if let Some(exceeded) = limiter.exceeded {
        return limit_failure(exceeded, limits);
    }
    if error.is::<PoolConcurrencyLimitError>() {
        return ToolFailure::new(
            ToolErrorCode::Busy,
            "Too many calls are running; this one was not started. Try again later.",
        );
    }
    if let Some(ResourceTableError::Full) = error.downcast_ref() {
        return limit_reached(&format!(
            "it held more than {} files, streams or requests open at once (limit `open-resources`)",
            limits.open_resources
        ));
    }
    if let Some(FieldMapError::TotalSizeTooBig | FieldMapError::TooManyFields) =
        error.downcast_ref()
    {
        return limit_reached(&format!(
            "it built header fields far larger than the {} bytes that it may send (limit `http-header-bytes`)",
            limits.http_header_bytes
        ));
    }
    if let Some(exit) = error.downcast_ref::<I32Exit>() {
        let said = crash.map_or_else(String::new, |crash| {
            format!(" It said: {}", text::sanitize(crash, MAX_DETAIL_BYTES))
        });
        return ToolFailure::new(
            ToolErrorCode::Trap,
            format!(
                "The tool ended itself with exit code {} and returned no result.{said}",
                exit.0
            ),
        );
    }
    if is_async_trap(error) {
        return ToolFailure::new(
            ToolErrorCode::Trap,
            "The tool used async functions, which need `wasi = \"0.3\"` in `[sandbox]`, and was stopped.",
        );
    }
    if let Some(Trap::AsyncDeadlock) = error.downcast_ref() {
        return stopped("it waits for something that can no longer happen");
    }
    if let Some(trap) = error.downcast_ref::<Trap>() {
        let message = crash.map_or_else(
            || format!("The tool crashed: {trap}."),
            |crash| {
                format!(
                    "The tool crashed: {}",
                    text::sanitize(crash, MAX_MESSAGE_BYTES)
                )
            },
        );
        return ToolFailure::new(ToolErrorCode::Trap, message);
    }
    untyped(error, limits)
}

fn of_unwind(unwind: &Unwind, limits: &Limits) -> ToolFailure {
    match unwind {
        Unwind::Deadline => timeout(limits),
        Unwind::StateTooLarge | Unwind::HaltTooLong => limit_reached(&unwind.to_string()),
        Unwind::ArtifactUnreadable => ToolFailure::new(
            ToolErrorCode::ToolUnavailable,
            "An artifact of the session cannot be read now; the log has the reason.",
        ),
        Unwind::ProgramStopped => stopped(&unwind.to_string()),
        Unwind::NoPermit => ToolFailure::new(
            ToolErrorCode::Busy,
            "Too many calls are running, so the program could not continue after its last calls, which took effect. \
             Try the rest again later.",
        ),
        Unwind::Asked(_) => ToolFailure::invalid_output(
            "The tool asked the user a question, but no one can be asked here.",
        ),
        Unwind::InvalidForm(why) => ToolFailure::invalid_output(format!(
            "The tool asked with an invalid form: {why}; a form is a JSON Schema of one object with flat fields."
        )),
        Unwind::QuestionChanged => ToolFailure::invalid_output(
            "The tool was run again with the user's answer and asked a different question than before; a tool that \
             asks must ask the same question again.",
        ),
        Unwind::StateNotAnObject(_) => stopped(&unwind.to_string()),
    }
}

/// Explains errors of wasmtime and wasmtime-wasi that have no type. A test in `call/tests` causes
/// each of them, so that a changed text in a new version is noticed.
fn untyped(error: &wasmtime::Error, limits: &Limits) -> ToolFailure {
    let cause = error.root_cause().to_string();
    // Without guest frames the error came after the function had returned, while its result was
    // read.
    let in_guest = error.is::<WasmBacktrace>();
    if cause.contains("fuel allocated for hostcalls has been exhausted") {
        return if in_guest {
            limit_reached(&format!(
                "it passed more than {} bytes to the host at once (limit `max-transfer-bytes`)",
                limits.max_transfer_bytes
            ))
        } else {
            output_too_large(limits)
        };
    }
    if cause.starts_with("resource limit exceeded") {
        return ToolFailure::new(
            ToolErrorCode::ResourceLimit,
            format!(
                "The tool did not start: it needs more than the allowed {} instances, {} memories or {} tables \
                 (limits `instances`, `memories` and `tables`).",
                limits.instances, limits.memories, limits.tables
            ),
        );
    }
    if cause.contains("store handle limit exceeded") {
        return limit_reached(&format!(
            "it held more than {} handles at once (limit `open-resources`)",
            limits.open_resources
        ));
    }
    if cause.starts_with("requested len ") && cause.contains(" exceeds limit ") {
        return limit_reached(&format!(
            "it asked for more than {} random bytes at once (limit `random-bytes`)",
            limits.random_bytes
        ));
    }
    // The guest's allocator has returned when the memory that it gives for the arguments is
    // checked.
    if in_guest || cause.starts_with("realloc return") {
        stopped(&cause)
    } else {
        let detail = text::sanitize(&cause, MAX_DETAIL_BYTES);
        ToolFailure::invalid_output(format!("The tool's result cannot be read: {detail}."))
    }
}

fn limit_failure(exceeded: LimitExceeded, limits: &Limits) -> ToolFailure {
    match exceeded {
        LimitExceeded::Memory => ToolFailure::new(
            ToolErrorCode::OutOfMemory,
            format!(
                "The tool needed more memory than the {} bytes allowed for one call (limit `memory-bytes`). Try it \
                 with a smaller input.",
                limits.memory_bytes
            ),
        ),
        LimitExceeded::TableElements => limit_reached(&format!(
            "one of its tables grew beyond {} elements (limit `table-elements`)",
            limits.table_elements
        )),
    }
}

pub(crate) fn timeout(limits: &Limits) -> ToolFailure {
    ToolFailure::new(
        ToolErrorCode::Timeout,
        format!(
            "The tool did not end within {} ms (limit `deadline-ms`) and was stopped; what it did until then may have taken effect. Try it with a smaller input.",
            limits.deadline_ms
        ),
    )
}

pub(crate) fn output_too_large(limits: &Limits) -> ToolFailure {
    let (name, most) = if limits.output_bytes <= limits.max_transfer_bytes {
        ("output-bytes", limits.output_bytes)
    } else {
        ("max-transfer-bytes", limits.max_transfer_bytes)
    };
    ToolFailure::new(
        ToolErrorCode::OutputTooLarge,
        format!(
            "The tool returned more than the {most} bytes allowed for a result (limit `{name}`). Ask it for less, \
             such as one part at a time."
        ),
    )
}

fn limit_reached(reason: &str) -> ToolFailure {
    let message = format!("The tool was stopped: {reason}.");
    ToolFailure::new(ToolErrorCode::ResourceLimit, message)
}

fn stopped(reason: &str) -> ToolFailure {
    let reason = text::sanitize(reason, MAX_DETAIL_BYTES);
    let message = format!("The tool was stopped: {reason}.");
    ToolFailure::new(ToolErrorCode::Trap, message)
}
