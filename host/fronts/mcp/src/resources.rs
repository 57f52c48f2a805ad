//! Resources: files that the built-in `files` component may read, and artifacts of the connection's
//! session. A request for files is a call of `list_directory` or `read_file`, so a client sees what
//! these tools let it see, by the same policy, and each look is journaled. A call that needs
//! approval is denied.

mod artifacts;
mod uri;

#[cfg(test)]
mod tests;

use crate::{call::CallRunner, connection::Connection};
use agent_host_app::{ComponentSource, Registry};
use agent_host_types::{
    failure::FailureFields,
    output::{ContentPart, DENIED_TEXT, FileData, FilePart, ToolResultOutput},
    reason::Reason,
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use rmcp::{
    ErrorData, RoleServer,
    model::{
        JsonObject, ListResourceTemplatesResult, ListResourcesResult, ReadResourceResult, Resource,
        ResourceContents, ResourceTemplate,
    },
    service::RequestContext,
};
use serde_json::{Value, json};
use uri::ResourceUri;
pub(crate) use uri::{ARTIFACT_TEMPLATE, FILE_TEMPLATE, of_skill};

/// The built-in component whose files are resources, and its tools.
const COMPONENT: &str = "files";
const LIST: &str = "list_directory";
const READ: &str = "read_file";

/// The levels of a directory that are listed; the most that the tool lists.
const DEPTH: u64 = 8;

/// Resources on one page.
const PAGE: usize = 100;

/// An entry of a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DirEntry {
    /// Relative to the directory.
    pub(crate) name: String,
    pub(crate) kind: String,
    pub(crate) size: Option<u64>,
}

/// Returns the guest paths of the directories whose files are resources; none without the built-in
/// component `files`.
pub(crate) fn directories(registry: &Registry) -> Vec<String> {
    let mut components = registry.components();
    let files = components
        .find(|entry| matches!(&entry.source, ComponentSource::Builtin(name) if name == COMPONENT));
    let dirs = files.into_iter().flat_map(|entry| &entry.grants.dirs);
    dirs.map(|dir| dir.guest.clone()).collect()
}

/// Returns whether there can be resources: files, or artifacts of calls.
pub(crate) fn has_resources(registry: &Registry) -> bool {
    registry.tools().len() > 0
}

/// Returns the templates of URIs.
pub(crate) fn templates(registry: &Registry) -> ListResourceTemplatesResult {
    let file = ResourceTemplate::new(FILE_TEMPLATE, "file").with_description(
        "A file in a granted directory. Of a long text, only the first page is returned; it says where to continue.",
    );
    let artifact = ResourceTemplate::new(ARTIFACT_TEMPLATE, "artifact")
        .with_description("A file that a call on this connection returned.");
    let has_files = !directories(registry).is_empty();
    let mut all: Vec<ResourceTemplate> = has_files.then_some(file).into_iter().collect();
    all.extend(has_resources(registry).then_some(artifact));
    ListResourceTemplatesResult::with_all_items(all)
}

impl CallRunner {
    /// Returns a page of the resources, sorted by URI. The cursor is the last URI of the page
    /// before.
    ///
    /// # Errors
    /// Returns `-32602` for a cursor that is no URI of a resource.
    pub(crate) async fn resources(
        &self,
        connection: &Connection,
        cursor: Option<&str>,
        context: &RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        if cursor.is_some_and(|cursor| ResourceUri::parse(cursor).is_none()) {
            let why = "invalid cursor; list the resources from the beginning, without one";
            return Err(ErrorData::invalid_params(why, None));
        }
        let mut all = self.artifact_resources(connection).await?;
        for directory in directories(&self.catalog.get().registry) {
            match self.entries(connection, &directory, DEPTH, context).await? {
                Ok(entries) => {
                    let files = entries.into_iter().filter(|entry| entry.kind == "file");
                    all.extend(files.map(|file| file_resource(&directory, file)));
                }
                // The other directories are still of use.
                Err(why) => tracing::warn!("the files in {directory} are not listed: {why}"),
            }
        }
        Ok(page(all, cursor))
    }

    /// Reads a resource.
    ///
    /// # Errors
    /// Returns `-32002` (`-32602` since 2026-07-28) with the tool's reason if it cannot be read.
    pub(crate) async fn read_resource(
        &self,
        connection: &Connection,
        text: &str,
        context: &RequestContext<RoleServer>,
    ) -> Result<ReadResourceResult, ErrorData> {
        let not_found =
            |why: String| ErrorData::resource_not_found(why, Some(json!({ "uri": text })));
        let contents = match ResourceUri::parse(text) {
            Some(ResourceUri::File(path)) => {
                if directories(&self.catalog.get().registry).is_empty() {
                    return Err(not_found("this server has no files".to_owned()));
                }
                let input = JsonObject::from_iter([("path".to_owned(), path.into())]);
                let output = self.call_tool(connection, READ, input, context).await?;
                contents(output, text).map_err(|why| not_found(why.into()))?
            }
            Some(ResourceUri::Artifact(name)) => {
                let found = self.artifact(connection, &name).await?;
                let why = || not_found("no call on this connection returned this file".to_owned());
                let (media_type, bytes) = found.ok_or_else(why)?;
                vec![content_of_bytes(bytes, media_type, text)]
            }
            None => {
                let why = "unknown resource; `resources/list` lists the resources";
                return Err(not_found(why.to_owned()));
            }
        };
        Ok(ReadResourceResult::new(contents))
    }

    /// Lists a directory with the tool; the inner error is the tool's reason.
    pub(crate) async fn entries(
        &self,
        connection: &Connection,
        path: &str,
        depth: u64,
        context: &RequestContext<RoleServer>,
    ) -> Result<Result<Vec<DirEntry>, Reason>, ErrorData> {
        let input = [("path", json!(path)), ("depth", json!(depth))];
        let input = input.map(|(key, value)| (key.to_owned(), value));
        let input = JsonObject::from_iter(input);
        let output = self.call_tool(connection, LIST, input, context).await?;
        Ok(match output {
            ToolResultOutput::Json(listed) => Ok(dir_entries(&listed.to_value())),
            other => Err(reason(&other)),
        })
    }
}

/// Returns the entries of a result of `list_directory`.
fn dir_entries(listed: &Value) -> Vec<DirEntry> {
    let entries = listed.get("entries").and_then(Value::as_array);
    let entries = entries.into_iter().flatten().filter_map(|entry| {
        let text = |key: &str| Some(entry.get(key)?.as_str()?.to_owned());
        Some(DirEntry {
            name: text("name")?,
            kind: text("kind")?,
            size: entry.get("size_bytes").and_then(Value::as_u64),
        })
    });
    entries.collect()
}

fn file_resource(directory: &str, file: DirEntry) -> Resource {
    let path = format!("{}/{}", directory.trim_end_matches('/'), file.name);
    let mut resource = Resource::new(ResourceUri::File(path).to_string(), file.name);
    resource.size = file.size;
    resource
}

/// Returns the page after the cursor.
fn page(mut all: Vec<Resource>, cursor: Option<&str>) -> ListResourcesResult {
    all.sort_by(|a, b| a.uri.cmp(&b.uri));
    // One directory may be in another one.
    all.dedup_by(|a, b| a.uri == b.uri);
    let from = cursor.map_or(0, |cursor| {
        all.partition_point(|resource| resource.uri.as_str() <= cursor)
    });
    let mut rest = all.split_off(from);
    let is_last = rest.len() <= PAGE;
    rest.truncate(PAGE);
    let next = rest.last().filter(|_| !is_last);
    let next = next.map(|last| last.uri.clone());
    let mut result = ListResourcesResult::with_all_items(rest);
    result.next_cursor = next;
    result
}

/// Returns the result of `read_file` as contents.
///
/// # Errors
/// The reason why there are none.
fn contents(output: ToolResultOutput, uri: &str) -> Result<Vec<ResourceContents>, Reason> {
    let text = |text: String, media_type: &str| {
        ResourceContents::text(text, uri).with_mime_type(media_type)
    };
    match output {
        ToolResultOutput::Text(content) => Ok(vec![text(content, "text/plain")]),
        ToolResultOutput::Json(json) => Ok(vec![text(json.to_string(), "application/json")]),
        ToolResultOutput::Content(parts) => {
            let contents = parts.into_iter().filter_map(|part| match part {
                ContentPart::Text { text: content } => Some(text(content, "text/plain")),
                ContentPart::File(FilePart {
                    media_type, data, ..
                }) => match data {
                    FileData::Bytes(bytes) => Some(content_of_bytes(bytes, media_type, uri)),
                    FileData::Text(content) => Some(text(content, &media_type)),
                    FileData::Url(_) | FileData::Blob(_) => None,
                },
            });
            Ok(contents.collect())
        }
        failed => Err(reason(&failed)),
    }
}

/// Returns text as text, if the media type says that it is text.
fn content_of_bytes(bytes: Vec<u8>, media_type: String, uri: &str) -> ResourceContents {
    let contents = match String::from_utf8(bytes) {
        Ok(text) if media_type.starts_with("text/") || media_type == "application/json" => {
            ResourceContents::text(text, uri)
        }
        Ok(text) => ResourceContents::blob(STANDARD.encode(text), uri),
        Err(error) => ResourceContents::blob(STANDARD.encode(error.into_bytes()), uri),
    };
    contents.with_mime_type(media_type)
}

/// Returns the reason of a call without a result.
fn reason(output: &ToolResultOutput) -> Reason {
    match output {
        ToolResultOutput::ErrorText(why) => why.as_str().into(),
        ToolResultOutput::ErrorJson(json) => FailureFields::from_json(json)
            .map_or_else(|| json.to_string().into(), |failure| failure.message.into()),
        ToolResultOutput::ExecutionDenied(why) => {
            let why = why.as_deref().unwrap_or_default();
            format!("{DENIED_TEXT} {why}").into()
        }
        ToolResultOutput::Text(_) | ToolResultOutput::Json(_) | ToolResultOutput::Content(_) => {
            "the tool returned something else".into()
        }
    }
}
