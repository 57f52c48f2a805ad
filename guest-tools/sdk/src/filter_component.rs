//! The crate's filter types to those of the contract and back, and the component that
//! `export_filter!` makes of them.

#[cfg(test)]
mod tests;

use crate::{
    Effect, Output,
    bindings::{ToolCall, ToolDefinition, ToolResultOutput, types},
    component::{lift, lift_call, lower, lower_effect},
    filter::{Definition, Filter},
    hook::RequestedCall,
};
use serde_json::Value;

/// The component: an implementation of `agent:tool/tool` over a type and the tool behind it.
#[cfg(target_family = "wasm")]
#[doc(hidden)]
#[macro_export]
macro_rules! __export_filter {
    ($filter:ty) => {
        struct Component;

        impl $crate::__private::generated::exports::agent::tool::tool::Guest for Component {
            fn definitions() -> ::std::vec::Vec<$crate::__private::generated::agent::tool::types::ToolDefinition> {
                $crate::__private::filter_definitions::<$filter>(
                    $crate::__private::generated::agent::tool::tool::definitions(),
                )
            }

            fn call(
                call: $crate::__private::generated::agent::tool::types::ToolCall,
            ) -> $crate::__private::generated::agent::tool::types::ToolResultOutput {
                $crate::__private::filter_call::<$filter>(call, |call| {
                    $crate::__private::generated::agent::tool::tool::call(&call)
                })
            }
        }

        $crate::__private::generated::export!(Component with_types_in $crate::__private::generated);
    };
}

/// The result of a call whose arguments nest too deep.
const UNREADABLE_CALL: &str = "the filter cannot read the arguments, which nest too deep";

/// The result of a call that the tool answered with malformed JSON, or JSON that nests too deep. It
/// is not passed on, since the filter has not seen it.
const UNREADABLE_RESULT: &str =
    "the filter cannot read the tool's result, which is malformed JSON or nests too deep";

/// Implements `definitions` of the contract.
pub fn definitions<T: Filter>(tools: Vec<ToolDefinition>) -> Vec<ToolDefinition> {
    let tools = tools.into_iter().map(lift_definition).collect();
    let tools = T::definitions(tools).into_iter();
    tools.map(lower_definition).collect()
}

/// Implements `call` of the contract; `tool` is the one behind.
pub fn call<T: Filter>(
    call: ToolCall,
    tool: impl Fn(ToolCall) -> ToolResultOutput,
) -> ToolResultOutput {
    let Ok(call) = lift_call(call) else {
        return ToolResultOutput::ErrorText(UNREADABLE_CALL.to_owned());
    };
    let run = |call: RequestedCall| {
        let output = tool(ToolCall {
            id: call.id,
            name: call.tool,
            input: Value::Object(call.input).to_string(),
            idempotency_key: call.idempotency_key,
        });
        lift(output).unwrap_or_else(|_| Output::error(UNREADABLE_RESULT))
    };
    lower(T::call(call, run))
}

fn lift_definition(tool: ToolDefinition) -> Definition {
    let schema = |text: &str| serde_json::from_str(text).unwrap_or(Value::Null);
    Definition {
        name: tool.name,
        title: tool.title,
        description: tool.description,
        input_schema: schema(&tool.input_schema),
        output_schema: tool.output_schema.as_deref().map(schema),
        effect: match tool.effect {
            types::Effect::ReadOnly => Effect::ReadOnly,
            types::Effect::Idempotent => Effect::Idempotent,
            types::Effect::Effectful => Effect::Effectful,
        },
    }
}

fn lower_definition(tool: Definition) -> ToolDefinition {
    ToolDefinition {
        name: tool.name,
        title: tool.title,
        description: tool.description,
        input_schema: tool.input_schema.to_string(),
        output_schema: tool.output_schema.map(|schema| schema.to_string()),
        effect: lower_effect(tool.effect),
    }
}
