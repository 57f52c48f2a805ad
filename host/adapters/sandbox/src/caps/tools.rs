//! `agent:tool/tools`: calls of other tools by a program. The engine decides on each and runs
//! it; meanwhile the program gives its permit to other calls, and its deadline stands still.

use crate::{
    bindings::{tools, types as wit},
    caps::unwind::Unwind,
    schedule::{admission::RunPermit, deadline::Deadline},
};
use agent_host_engine::program::{NestedCall, ToolCaller};
use agent_host_types::output::{ContentPart, FileData, ToolResultOutput};
use std::sync::Arc;

/// The reason for refusing a call of a component that runs no program.
const NO_PROGRAM: &str = "Only the programs of an agent with `code = true` can call tools, and this call does not come from one.";

/// The tools of one call.
pub(crate) struct ToolsCtx {
    /// Absent for a call that is no program.
    pub(crate) caller: Option<ToolCaller>,
    /// Absent where no permit is held.
    pub(crate) permit: Option<Arc<RunPermit>>,
    pub(crate) deadline: Arc<Deadline>,
}

impl tools::Host for ToolsCtx {
    async fn list(&mut self) -> wasmtime::Result<Vec<String>> {
        let caller = self.caller.as_ref();
        Ok(caller
            .map(|caller| caller.names().to_vec())
            .unwrap_or_default())
    }

    async fn call(
        &mut self,
        name: String,
        input: String,
    ) -> wasmtime::Result<wit::ToolResultOutput> {
        let mut results = self
            .call_many(vec![tools::NestedCall { name, input }])
            .await?;
        results.pop().ok_or_else(|| Unwind::ProgramStopped.into())
    }

    async fn call_many(
        &mut self,
        calls: Vec<tools::NestedCall>,
    ) -> wasmtime::Result<Vec<wit::ToolResultOutput>> {
        let Some(caller) = &self.caller else {
            let refused = wit::ToolResultOutput::ExecutionDenied(Some(NO_PROGRAM.to_owned()));
            return Ok(vec![refused; calls.len()]);
        };
        let calls = calls.into_iter().map(|call| NestedCall {
            name: call.name,
            input: call.input,
        });
        let called = caller.call_many(calls.collect());
        if let Some(permit) = &self.permit {
            permit.release();
        }
        let results = self.deadline.pause(called).await;
        let results = results.ok_or(Unwind::ProgramStopped)?;
        if let Some(permit) = &self.permit {
            let again = permit.acquire(self.deadline.left()).await;
            again.map_err(|_| Unwind::NoPermit)?;
        }
        Ok(results.into_iter().map(to_guest).collect())
    }
}

/// Converts a result for a guest. A reference to stored bytes, which no result of a call has,
/// becomes an empty text.
pub(crate) fn to_guest(output: ToolResultOutput) -> wit::ToolResultOutput {
    let data = |data| match data {
        FileData::Bytes(bytes) => wit::FileData::Bytes(bytes),
        FileData::Url(url) => wit::FileData::Url(url),
        FileData::Text(text) => wit::FileData::Text(text),
        FileData::Blob(_) => wit::FileData::Text(String::new()),
    };
    let part = |part| match part {
        ContentPart::Text { text } => wit::ContentPart::Text(text),
        ContentPart::File(file) => wit::ContentPart::File(wit::FilePart {
            media_type: file.media_type,
            data: data(file.data),
            filename: file.filename,
        }),
    };
    match output {
        ToolResultOutput::Text(text) => wit::ToolResultOutput::Text(text),
        ToolResultOutput::Json(json) => wit::ToolResultOutput::Json(json.as_str().to_owned()),
        ToolResultOutput::Content(parts) => {
            wit::ToolResultOutput::Content(parts.into_iter().map(part).collect())
        }
        ToolResultOutput::ErrorText(text) => wit::ToolResultOutput::ErrorText(text),
        ToolResultOutput::ErrorJson(json) => {
            wit::ToolResultOutput::ErrorJson(json.as_str().to_owned())
        }
        ToolResultOutput::ExecutionDenied(reason) => wit::ToolResultOutput::ExecutionDenied(reason),
    }
}
