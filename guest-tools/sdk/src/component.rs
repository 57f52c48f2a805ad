//! The crate's types to those of the contract and back, and the component that `export!` makes of
//! them.

use crate::bindings::{ToolCall, ToolDefinition, ToolResultOutput, types};
use crate::{Call, Data, Effect, Output, Part, Tool, hook::RequestedCall};

/// The component: an implementation of `agent:tool/tool` over a list of tools.
#[cfg(target_family = "wasm")]
#[doc(hidden)]
#[macro_export]
macro_rules! __export_component {
    ($tools:ident) => {
        struct Component;

        impl $crate::__private::generated::exports::agent::tool::tool::Guest for Component {
            fn definitions() -> ::std::vec::Vec<$crate::__private::generated::exports::agent::tool::tool::ToolDefinition> {
                $crate::__private::definitions($tools)
            }

            fn call(
                call: $crate::__private::generated::exports::agent::tool::tool::ToolCall,
            ) -> $crate::__private::generated::exports::agent::tool::tool::ToolResultOutput {
                $crate::__private::call($tools, call)
            }
        }

        $crate::__private::generated::export!(Component with_types_in $crate::__private::generated);
    };
}

/// Implements `definitions` of the contract.
pub fn definitions(tools: &[Tool]) -> Vec<ToolDefinition> {
    tools.iter().map(definition).collect()
}

/// Implements `call` of the contract.
pub fn call(tools: &[Tool], call: ToolCall) -> ToolResultOutput {
    let ToolCall {
        id,
        name,
        input,
        idempotency_key,
    } = call;
    let call = Call {
        id,
        name,
        idempotency_key,
    };
    let output = match tools.iter().find(|tool| tool.name == call.name) {
        Some(tool) => (tool.run)(&call, &input),
        None => Output::error(format!("this component has no tool `{}`", call.name)),
    };
    lower(output)
}

fn definition(tool: &Tool) -> ToolDefinition {
    ToolDefinition {
        name: tool.name.to_owned(),
        title: tool.title.map(str::to_owned),
        description: tool.description(),
        input_schema: (tool.input_schema)().to_string(),
        output_schema: tool.output_schema.map(|schema| schema().to_string()),
        effect: lower_effect(tool.effect),
    }
}

pub(crate) fn lower_effect(effect: Effect) -> types::Effect {
    match effect {
        Effect::ReadOnly => types::Effect::ReadOnly,
        Effect::Idempotent => types::Effect::Idempotent,
        Effect::Effectful => types::Effect::Effectful,
    }
}

pub(crate) fn lower(output: Output) -> ToolResultOutput {
    match output {
        Output::Text(text) => ToolResultOutput::Text(text),
        Output::Json(value) => ToolResultOutput::Json(value.to_string()),
        Output::Content(parts) => {
            ToolResultOutput::Content(parts.into_iter().map(lower_part).collect())
        }
        Output::ErrorText(text) => ToolResultOutput::ErrorText(text),
        Output::ErrorJson(value) => ToolResultOutput::ErrorJson(value.to_string()),
        Output::Denied(reason) => ToolResultOutput::ExecutionDenied(reason),
    }
}

fn lower_part(part: Part) -> types::ContentPart {
    match part {
        Part::Text(text) => types::ContentPart::Text(text),
        Part::File {
            media_type,
            data,
            filename,
        } => types::ContentPart::File(types::FilePart {
            media_type,
            data: match data {
                Data::Bytes(bytes) => types::FileData::Bytes(bytes),
                Data::Url(url) => types::FileData::Url(url),
                Data::Text(text) => types::FileData::Text(text),
            },
            filename,
        }),
    }
}

pub(crate) fn lift_call(call: types::ToolCall) -> serde_json::Result<RequestedCall> {
    Ok(RequestedCall {
        id: call.id,
        tool: call.name,
        input: serde_json::from_str(&call.input)?,
        idempotency_key: call.idempotency_key,
    })
}

pub(crate) fn lift(output: types::ToolResultOutput) -> serde_json::Result<Output> {
    Ok(match output {
        types::ToolResultOutput::Text(text) => Output::Text(text),
        types::ToolResultOutput::Json(text) => Output::Json(serde_json::from_str(&text)?),
        types::ToolResultOutput::Content(parts) => {
            Output::Content(parts.into_iter().map(lift_part).collect())
        }
        types::ToolResultOutput::ErrorText(text) => Output::ErrorText(text),
        types::ToolResultOutput::ErrorJson(text) => Output::ErrorJson(serde_json::from_str(&text)?),
        types::ToolResultOutput::ExecutionDenied(reason) => Output::Denied(reason),
    })
}

pub(crate) fn lift_part(part: types::ContentPart) -> Part {
    match part {
        types::ContentPart::Text(text) => Part::Text(text),
        types::ContentPart::File(file) => Part::File {
            media_type: file.media_type,
            data: match file.data {
                types::FileData::Bytes(bytes) => Data::Bytes(bytes),
                types::FileData::Url(url) => Data::Url(url),
                types::FileData::Text(text) => Data::Text(text),
            },
            filename: file.filename,
        },
    }
}
