//! Hooks: components that judge model calls and tool calls. They are independent of WIT; see
//! [`Hook`].

use crate::Output;
use serde_json::{Map, Value};

/// A request to a model.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelRequest {
    /// The system prompt.
    pub system: Option<String>,
    /// The conversation: an array of messages in the form of the journal, without the content of
    /// files.
    pub messages: Value,
    /// The names of the tools that the model is offered.
    pub tools: Vec<String>,
}

/// A reply of a model.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelReply {
    /// The text; may be empty.
    pub text: String,
    /// The calls that it requests: an array of objects with `id`, `name` and `input`.
    pub calls: Value,
}

/// A call that a model requested.
#[derive(Clone, Debug, PartialEq)]
pub struct RequestedCall {
    /// The id of the call, unique in its session.
    pub id: String,
    /// The name of the tool.
    pub tool: String,
    /// The arguments.
    pub input: Map<String, Value>,
    /// A key that is equal for every attempt at this call.
    pub idempotency_key: String,
}

/// The verdict about a request to a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RequestVerdict {
    /// Send it.
    Pass,
    /// Do not send it, for this reason; the turn ends as a refusal.
    Block(String),
    /// Do not send it; this text is the reply.
    Fallback(String),
}

/// The verdict about a reply of a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReplyVerdict {
    /// Show it.
    Pass,
    /// Show this text instead of its own.
    Modify(String),
    /// Discard it and ask the model again, with this feedback; at most twice.
    Retry(String),
    /// Discard it, for this reason; the turn ends as a refusal.
    Block(String),
    /// Discard it; this text is the reply.
    Fallback(String),
}

/// The verdict about a call that the model requested.
#[derive(Clone, Debug, PartialEq)]
pub enum CallVerdict {
    /// Let rules and user decide.
    Pass,
    /// Let rules and user decide about these arguments, which have to fit the tool's schema.
    Modify(Map<String, Value>),
    /// The user is asked, whatever the rules allow.
    Ask,
    /// Deny it, for this reason.
    Block(String),
    /// Do not run it; this is its result, of at most 50 KiB and without files.
    Fallback(Output),
}

/// The verdict about the result of a call.
#[derive(Clone, Debug, PartialEq)]
pub enum ResultVerdict {
    /// Show it.
    Pass,
    /// Show this instead.
    Modify(Output),
    /// Run the call again, at most twice and never an effectful one.
    Retry,
    /// Withhold it, for this reason.
    Block(String),
}

/// A hook. Every default method passes; `points` of the `[[hook]]` in `agent.toml` says which are
/// called. [`crate::export_hook!`] makes the crate a component.
///
/// ```
/// use agent_tool::hook::{CallVerdict, Hook, RequestedCall};
///
/// struct NoSecrets;
///
/// impl Hook for NoSecrets {
///     fn before_tool(call: RequestedCall) -> CallVerdict {
///         match call.input.get("path").and_then(|path| path.as_str()) {
///             Some(path) if path.ends_with(".pem") => CallVerdict::Block("keys stay here".into()),
///             _ => CallVerdict::Pass,
///         }
///     }
/// }
///
/// agent_tool::export_hook!(NoSecrets);
/// # fn main() {}
/// ```
pub trait Hook {
    /// Judges a request before it is sent to a model.
    fn before_model(_request: ModelRequest) -> RequestVerdict {
        RequestVerdict::Pass
    }

    /// Judges a reply of a model before anyone is shown it.
    fn after_model(_reply: ModelReply) -> ReplyVerdict {
        ReplyVerdict::Pass
    }

    /// Judges a call before rules and user decide about it.
    fn before_tool(_call: RequestedCall) -> CallVerdict {
        CallVerdict::Pass
    }

    /// Judges a result before anyone is shown it.
    fn after_tool(_call: RequestedCall, _output: Output) -> ResultVerdict {
        ResultVerdict::Pass
    }
}

/// Makes the crate a component with this [`Hook`]. Use it once, in the crate's root.
#[macro_export]
macro_rules! export_hook {
    ($hook:ty) => {
        const _: () = {
            $crate::__export_hook!($hook);
        };
    };
}

/// Outside WebAssembly, no component is made, and the compiler still checks the type.
#[cfg(not(target_family = "wasm"))]
#[doc(hidden)]
#[macro_export]
macro_rules! __export_hook {
    ($hook:ty) => {
        const fn is_hook<T: $crate::hook::Hook>() {}
        const _: () = is_hook::<$hook>();
    };
}
