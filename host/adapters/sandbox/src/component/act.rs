//! Components of ACT (<https://actcore.dev>): `list-tools` gives the definitions, and `call-tool`
//! takes arguments in CBOR and answers with a list or a stream of parts. Each call has a fresh
//! instance, as everywhere, so the sessions of such a component are not offered. What it declares
//! that it needs is a request: grants alone decide.

mod cbor;
mod definition;
mod request;
mod result;
#[cfg(test)]
mod tests;

pub(crate) use definition::TIMEOUT_KEYWORD;

use crate::{
    bindings::{
        act::{
            ActComponentPre, act::tools::types::ToolEvent,
            exports::act::tools::tool_provider::ToolResult,
        },
        types as wit,
    },
    caps::result_size::{mark_cut, most_bytes},
    component::collect::{Collected, StreamedItem, collect},
    instance::store::CallState,
};
use agent_host_engine::definitions::RawDefinition;
use serde_json::{Map, Value};
use wasmtime::{Engine, Store, component::InstancePre};

/// The package of the contract, as users see it.
pub(super) const PACKAGE: &str = "act:tools@0.2.0";

/// The export that makes a component one of ACT.
pub(super) const EXPORT: &str = "act:tools/tool-provider@0.2.0";

/// The export of a component that keeps sessions.
const SESSIONS: &str = "act:sessions/session-provider@";

/// The bytes that a part counts for beside its data.
const PART_BYTES: usize = 64;

/// Returns whether an export is that of another version of ACT.
pub(super) fn is_other_version(export: &str) -> bool {
    export.starts_with("act:tools/tool-provider@")
        && !export.starts_with("act:tools/tool-provider@0.2.")
}

/// A linked component of ACT.
#[derive(Clone)]
pub(crate) struct ActComponent {
    pre: ActComponentPre<CallState>,
}

/// A call with its arguments.
pub(crate) struct ActCall {
    component: ActComponent,
    tool: String,
    arguments: Vec<u8>,
}

impl ActComponent {
    pub(crate) fn new(pre: InstancePre<CallState>) -> wasmtime::Result<Self> {
        Ok(Self {
            pre: ActComponentPre::new(pre)?,
        })
    }

    pub(crate) fn engine(&self) -> &Engine {
        self.pre.engine()
    }

    /// Queries the definitions; the guest's own failure is text.
    pub(crate) async fn definitions(
        &self,
        store: &mut Store<CallState>,
    ) -> wasmtime::Result<Result<Vec<RawDefinition>, String>> {
        let instance = self.pre.instantiate_async(&mut *store).await?;
        let provider = instance.act_tools_tool_provider();
        let answer = store
            .run_concurrent(async |store| provider.call_list_tools(store, Vec::new()).await)
            .await??;
        Ok(match answer {
            Ok(list) => Ok(list.tools.into_iter().map(definition::convert).collect()),
            Err(error) => Err(result::error_text(&error)),
        })
    }

    /// Returns notes for the operator on the component with these bytes.
    pub(crate) fn notes(&self, bytes: &[u8]) -> Vec<String> {
        request::notes(bytes, self.pre.instance_pre().component())
    }

    pub(crate) fn bind(
        &self,
        tool: &str,
        input: &Map<String, Value>,
        schema: Option<&Value>,
    ) -> ActCall {
        ActCall {
            component: self.clone(),
            tool: tool.to_owned(),
            arguments: cbor::encode(input, schema.unwrap_or(&Value::Null)),
        }
    }
}

impl ActCall {
    pub(crate) fn engine(&self) -> &Engine {
        self.component.engine()
    }

    /// Calls the tool in a fresh instance, and converts what it answers.
    pub(crate) async fn call(
        &self,
        store: &mut Store<CallState>,
    ) -> wasmtime::Result<wit::ToolResultOutput> {
        let instance = self.component.pre.instantiate_async(&mut *store).await?;
        let provider = instance.act_tools_tool_provider();
        let (tool, arguments) = (self.tool.clone(), self.arguments.clone());
        let answer = store
            .run_concurrent(async |store| {
                provider
                    .call_call_tool(store, tool, arguments, Vec::new())
                    .await
            })
            .await??;
        let events = match answer {
            ToolResult::Immediate(items) => Collected {
                items,
                is_cut: false,
            },
            ToolResult::Streaming(stream) => {
                let left = most_bytes(&store.data().limits);
                let events = collect(store, stream, left)?;
                let events = store.run_concurrent(async |_| events.await).await?;
                events.map_err(|_| wasmtime::format_err!("the stream of its answer was lost"))?
            }
        };
        let output = result::convert(events.items);
        Ok(if events.is_cut {
            mark_cut(output)
        } else {
            output
        })
    }
}

impl StreamedItem for ToolEvent {
    fn weight(&self) -> usize {
        let data = match self {
            Self::Content(part) => part.data.len(),
            Self::Error(error) => error.kind.len(),
        };
        PART_BYTES + data
    }

    fn lines(events: &[Self]) -> Vec<u8> {
        events.iter().fold(Vec::new(), |mut lines, event| {
            if let Self::Content(part) = event
                && part
                    .mime_type
                    .as_ref()
                    .is_some_and(|it| it.starts_with("text/"))
            {
                lines.extend(&part.data);
                lines.push(b'\n');
            }
            lines
        })
    }
}
