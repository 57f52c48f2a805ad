//! The crate's hook types to those of the contract and back, and the component that `export_hook!`
//! makes of them.

#[cfg(test)]
mod tests;

use crate::{
    bindings::{
        generated_hook::agent::tool::hook_types::{
            CallVerdict as WitCallVerdict, ModelReply as WitReply, ModelRequest as WitRequest,
            ReplyVerdict as WitReplyVerdict, RequestVerdict as WitRequestVerdict,
            ResultVerdict as WitResultVerdict,
        },
        types,
    },
    component::{lift, lift_call, lower},
    hook::{
        CallVerdict, Hook, ModelReply, ModelRequest, ReplyVerdict, RequestVerdict, ResultVerdict,
    },
};

/// The component: an implementation of `agent:tool/hook` over a type.
#[cfg(target_family = "wasm")]
#[doc(hidden)]
#[macro_export]
macro_rules! __export_hook {
    ($hook:ty) => {
        struct Component;

        impl $crate::__private::generated_hook::exports::agent::tool::hook::Guest for Component {
            fn before_model(
                request: $crate::__private::generated_hook::agent::tool::hook_types::ModelRequest,
            ) -> $crate::__private::generated_hook::agent::tool::hook_types::RequestVerdict {
                $crate::__private::before_model::<$hook>(request)
            }

            fn after_model(
                reply: $crate::__private::generated_hook::agent::tool::hook_types::ModelReply,
            ) -> $crate::__private::generated_hook::agent::tool::hook_types::ReplyVerdict {
                $crate::__private::after_model::<$hook>(reply)
            }

            fn before_tool(
                call: $crate::__private::generated::agent::tool::types::ToolCall,
            ) -> $crate::__private::generated_hook::agent::tool::hook_types::CallVerdict {
                $crate::__private::before_tool::<$hook>(call)
            }

            fn after_tool(
                call: $crate::__private::generated::agent::tool::types::ToolCall,
                output: $crate::__private::generated::agent::tool::types::ToolResultOutput,
            ) -> $crate::__private::generated_hook::agent::tool::hook_types::ResultVerdict {
                $crate::__private::after_tool::<$hook>(call, output)
            }
        }

        $crate::__private::generated_hook::export!(Component with_types_in $crate::__private::generated_hook);
    };
}

/// The reason of a verdict about a value that is no JSON, or nests too deep.
const UNREADABLE: &str = "the hook cannot read the value that it was given";

/// Implements `before-model` of the contract.
pub fn before_model<T: Hook>(request: WitRequest) -> WitRequestVerdict {
    let Ok(messages) = serde_json::from_str(&request.messages) else {
        return WitRequestVerdict::Block(UNREADABLE.to_owned());
    };
    let verdict = T::before_model(ModelRequest {
        system: request.system,
        messages,
        tools: request.tools,
    });
    match verdict {
        RequestVerdict::Pass => WitRequestVerdict::Pass,
        RequestVerdict::Block(reason) => WitRequestVerdict::Block(reason),
        RequestVerdict::Fallback(text) => WitRequestVerdict::Fallback(text),
    }
}

/// Implements `after-model` of the contract.
pub fn after_model<T: Hook>(reply: WitReply) -> WitReplyVerdict {
    let Ok(calls) = serde_json::from_str(&reply.calls) else {
        return WitReplyVerdict::Block(UNREADABLE.to_owned());
    };
    let verdict = T::after_model(ModelReply {
        text: reply.text,
        calls,
    });
    match verdict {
        ReplyVerdict::Pass => WitReplyVerdict::Pass,
        ReplyVerdict::Modify(text) => WitReplyVerdict::Modify(text),
        ReplyVerdict::Retry(feedback) => WitReplyVerdict::Retry(feedback),
        ReplyVerdict::Block(reason) => WitReplyVerdict::Block(reason),
        ReplyVerdict::Fallback(text) => WitReplyVerdict::Fallback(text),
    }
}

/// Implements `before-tool` of the contract.
pub fn before_tool<T: Hook>(call: types::ToolCall) -> WitCallVerdict {
    let Ok(call) = lift_call(call) else {
        return WitCallVerdict::Block(UNREADABLE.to_owned());
    };
    match T::before_tool(call) {
        CallVerdict::Pass => WitCallVerdict::Pass,
        CallVerdict::Modify(input) => {
            WitCallVerdict::Modify(serde_json::Value::Object(input).to_string())
        }
        CallVerdict::Ask => WitCallVerdict::Ask,
        CallVerdict::Block(reason) => WitCallVerdict::Block(reason),
        CallVerdict::Fallback(output) => WitCallVerdict::Fallback(lower(output)),
    }
}

/// Implements `after-tool` of the contract.
pub fn after_tool<T: Hook>(
    call: types::ToolCall,
    output: types::ToolResultOutput,
) -> WitResultVerdict {
    let (Ok(call), Ok(output)) = (lift_call(call), lift(output)) else {
        return WitResultVerdict::Block(UNREADABLE.to_owned());
    };
    match T::after_tool(call, output) {
        ResultVerdict::Pass => WitResultVerdict::Pass,
        ResultVerdict::Modify(output) => WitResultVerdict::Modify(lower(output)),
        ResultVerdict::Retry => WitResultVerdict::Retry,
        ResultVerdict::Block(reason) => WitResultVerdict::Block(reason),
    }
}
