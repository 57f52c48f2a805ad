//! Filters: components in front of a tool that see its definitions, its calls and its results. They
//! are independent of WIT; see [`Filter`].

use crate::{Effect, Output, hook::RequestedCall};
use serde_json::Value;

/// The definition of a tool, for the model and the host.
#[derive(Clone, Debug, PartialEq)]
pub struct Definition {
    /// The name that the model calls.
    pub name: String,
    /// A short name to show to users.
    pub title: Option<String>,
    /// A description of what the tool does and when to use it, for the model.
    pub description: String,
    /// The JSON Schema of the arguments; `null` if the tool behind wrote malformed JSON.
    pub input_schema: Value,
    /// The JSON Schema of a JSON result, where the tool promises one.
    pub output_schema: Option<Value>,
    /// The effect that a call may have.
    pub effect: Effect,
}

/// A filter. Every default method passes. [`crate::export_filter!`] makes the crate a component, and
/// `agent-host compose TOOL --with FILTER` puts it in front of a tool.
///
/// JSON is read and written anew: duplicate keys are gone, so that a filter sees all of a value, and
/// an integer of more than 64 bits becomes a number with a fraction.
///
/// ```
/// use agent_tool::{Output, filter::Filter, hook::RequestedCall};
///
/// struct ShortQueries;
///
/// impl Filter for ShortQueries {
///     fn call(call: RequestedCall, tool: impl Fn(RequestedCall) -> Output) -> Output {
///         match call.input.get("query").and_then(|query| query.as_str()) {
///             Some(query) if query.len() > 200 => Output::denied("the query is too long"),
///             _ => tool(call),
///         }
///     }
/// }
///
/// agent_tool::export_filter!(ShortQueries);
/// # fn main() {}
/// ```
pub trait Filter {
    /// Returns the tools to offer, of those behind. It may hide, rename, describe and add tools.
    fn definitions(tools: Vec<Definition>) -> Vec<Definition> {
        tools
    }

    /// Runs a call. `tool` calls the tool behind: not at all, once, or several times.
    fn call(call: RequestedCall, tool: impl Fn(RequestedCall) -> Output) -> Output {
        tool(call)
    }
}

/// Makes the crate a component with this [`Filter`]. Use it once, in the crate's root.
#[macro_export]
macro_rules! export_filter {
    ($filter:ty) => {
        const _: () = {
            $crate::__export_filter!($filter);
        };
    };
}

/// Outside WebAssembly, no component is made, and the compiler still checks the type.
#[cfg(not(target_family = "wasm"))]
#[doc(hidden)]
#[macro_export]
macro_rules! __export_filter {
    ($filter:ty) => {
        const fn is_filter<T: $crate::filter::Filter>() {}
        const _: () = is_filter::<$filter>();
    };
}
