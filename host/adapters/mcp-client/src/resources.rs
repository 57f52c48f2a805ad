//! Counts and lists resources, their templates and prompts, within bounds, and runs the tools for
//! them.

#[cfg(test)]
mod tests;

use crate::{
    connection::{Connection, RequestError},
    features::{COUNTED, Count, FeatureTool, Features},
    request::ToolRequest,
};
use agent_host_engine::{text, tool::ProgressSink};
use rmcp::model::{
    ClientRequest, JsonObject, ListPromptsRequest, ListResourceTemplatesRequest,
    ListResourcesRequest, PaginatedRequestParams,
};
use serde_json::{Map, Value, json};
use std::time::Duration;
use tokio::time::timeout;

/// The time in which a server should have counted its resources and prompts. One that takes longer
/// is used without the counts.
const COUNT_TIMEOUT: Duration = Duration::from_secs(10);

/// The maximum of pages requested for one call; with a query most entries may be of no use.
const MAX_PAGES: usize = 32;

/// The maximum of entries in a result: a server decides how long its pages are.
const MAX_ENTRIES: usize = 500;

/// The maximum size of a URI, of a name and of a title, and of a description, in bytes.
const MAX_URI_BYTES: usize = 2 * 1024;
const MAX_NAME_BYTES: usize = 200;
const MAX_DESCRIPTION_BYTES: usize = 500;

/// The maximum of arguments of a prompt.
const MAX_ARGUMENTS: usize = 32;

/// A list of a server besides that of its tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FeatureList {
    Resources,
    Templates,
    Prompts,
}

impl FeatureList {
    /// Returns the request for a page.
    pub(crate) fn request(self, cursor: Option<String>) -> ClientRequest {
        let params =
            cursor.map(|cursor| PaginatedRequestParams::default().with_cursor(Some(cursor)));
        match self {
            Self::Resources => ClientRequest::ListResourcesRequest(ListResourcesRequest {
                params,
                ..ListResourcesRequest::default()
            }),
            Self::Templates => {
                ClientRequest::ListResourceTemplatesRequest(ListResourceTemplatesRequest {
                    params,
                    ..ListResourceTemplatesRequest::default()
                })
            }
            Self::Prompts => ClientRequest::ListPromptsRequest(ListPromptsRequest {
                params,
                ..ListPromptsRequest::default()
            }),
        }
    }

    /// Returns the field of a page with its entries.
    pub(crate) fn field(self) -> &'static str {
        match self {
            Self::Resources => "resources",
            Self::Templates => "resourceTemplates",
            Self::Prompts => "prompts",
        }
    }

    /// Returns the field by which an entry is requested, which is useless if it is cut.
    fn key(self) -> &'static str {
        match self {
            Self::Resources => "uri",
            Self::Templates => "uriTemplate",
            Self::Prompts => "name",
        }
    }
}

/// The entries of a list that are shown.
#[derive(Debug, Default, PartialEq)]
struct Entries {
    shown: Vec<Value>,
    /// The bytes of JSON that the entries may still have.
    left: usize,
    /// The entries for which there was no space, or whose key is unusable.
    left_out: usize,
    /// The cursor of the next page.
    next: Option<String>,
}

impl Entries {
    fn within(left: usize) -> Self {
        Self {
            left,
            ..Self::default()
        }
    }

    /// Takes the entries of a page that match.
    fn take(&mut self, list: FeatureList, page: &Value, query: Option<&str>) {
        let entries = page.get(list.field()).and_then(Value::as_array);
        for entry in entries.into_iter().flatten() {
            let Some(shown) = shown(list, entry) else {
                self.left_out += 1;
                continue;
            };
            if query.is_some_and(|query| !matches(&shown, query)) {
                continue;
            }
            let bytes = shown.to_string().len() + 1;
            match self.left.checked_sub(bytes) {
                Some(left) if self.shown.len() < MAX_ENTRIES => {
                    self.left = left;
                    self.shown.push(shown);
                }
                _ => self.left_out += 1,
            }
        }
        let next = page.get("nextCursor").and_then(Value::as_str);
        self.next = next.map(str::to_owned);
    }

    /// Requests pages from a cursor on.
    async fn collect(
        &mut self,
        connection: &Connection,
        list: FeatureList,
        cursor: Option<String>,
        query: Option<&str>,
    ) -> Result<(), RequestError> {
        self.next = cursor;
        for _ in 0..MAX_PAGES {
            let page = connection.page(list.request(self.next.take())).await?;
            self.take(list, &page, query);
            if self.next.is_none() || self.shown.len() >= COUNTED || self.left_out > 0 {
                break;
            }
        }
        Ok(())
    }
}

/// Counts what a connected server declares, on the first page of each list, within this time.
pub(crate) async fn count(connection: &Connection, left: Duration) -> Features {
    let limit = left.min(COUNT_TIMEOUT);
    let count = async |list: FeatureList, declared: bool| {
        if !declared {
            return None;
        }
        let page = timeout(limit, connection.page(list.request(None))).await;
        Some(match page {
            Ok(Ok(page)) => count_of(&page, list),
            // Servers with resources may have no templates, and not know the request.
            Ok(Err(RequestError::Protocol(_))) if list == FeatureList::Templates => Count::All(0),
            Ok(Err(_)) | Err(_) => Count::Unknown,
        })
    };
    let declared = connection.capabilities();
    let (resources, prompts) = (declared.resources.is_some(), declared.prompts.is_some());
    let (resources, templates, prompts) = tokio::join!(
        count(FeatureList::Resources, resources),
        count(FeatureList::Templates, resources),
        count(FeatureList::Prompts, prompts),
    );
    Features {
        resources,
        templates,
        prompts,
    }
}

fn count_of(page: &Value, list: FeatureList) -> Count {
    let Some(items) = page.get(list.field()).and_then(Value::as_array) else {
        return Count::Unknown;
    };
    match page.get("nextCursor") {
        Some(Value::String(_)) => Count::AtLeast(items.len()),
        _ => Count::All(items.len()),
    }
}

/// Makes the requests of a call with a validated input, whose list has at most `most` bytes. The
/// answer is in the form of the result of a tool.
pub(crate) async fn run(
    tool: FeatureTool,
    connection: &Connection,
    input: JsonObject,
    progress: ProgressSink<'_>,
    most: u64,
) -> Result<Value, RequestError> {
    let which = match tool {
        FeatureTool::ReadResource => {
            return connection.call(ToolRequest::read(&input), progress).await;
        }
        FeatureTool::GetPrompt => {
            return connection.call(ToolRequest::prompt(input), progress).await;
        }
        FeatureTool::ListResources => FeatureList::Resources,
        FeatureTool::ListPrompts => FeatureList::Prompts,
    };
    list(connection, which, &input, most).await
}

/// Lists resources with their templates, or prompts, as the result of a tool.
///
/// # Errors
/// Those of the first request. Templates that cannot be listed are none, since many servers with
/// resources do not know that request.
async fn list(
    connection: &Connection,
    list: FeatureList,
    input: &Map<String, Value>,
    most: u64,
) -> Result<Value, RequestError> {
    let text = |key: &str| input.get(key).and_then(Value::as_str);
    let (query, cursor) = (text("query").map(str::to_lowercase), text("cursor"));
    let query = query.as_deref();
    // The rest of the result has the other quarter.
    let bytes = usize::try_from(most).unwrap_or(usize::MAX);
    let mut entries = Entries::within(bytes / 2);
    let cursor = cursor.map(str::to_owned);
    let is_first = cursor.is_none();
    entries.collect(connection, list, cursor, query).await?;
    let mut result = Map::new();
    let mut left_out = entries.left_out;
    result.insert(list.field().to_owned(), entries.shown.into());
    if list == FeatureList::Resources && is_first {
        let mut templates = Entries::within(bytes / 4);
        let listed = templates.collect(connection, FeatureList::Templates, None, query);
        if let Err(closed @ RequestError::Closed(_)) = listed.await {
            return Err(closed);
        }
        left_out += templates.left_out;
        result.insert("templates".to_owned(), templates.shown.into());
    }
    if left_out > 0 {
        let note = format!("{left_out} entries are too long or too many; pass a `query`");
        result.insert("left-out".to_owned(), note.into());
    }
    if let Some(next) = entries.next {
        result.insert("next-cursor".to_owned(), next.into());
    }
    Ok(json!({ "structuredContent": result }))
}

/// Returns the fields of an entry that help a model; `None` without a usable key.
fn shown(list: FeatureList, entry: &Value) -> Option<Value> {
    let text = |key: &str| entry.get(key).and_then(Value::as_str);
    let key = text(list.key()).filter(|key| !key.is_empty() && key.len() <= MAX_URI_BYTES)?;
    let mut shown = Map::from_iter([(
        list.key().to_owned(),
        text::sanitize(key, MAX_URI_BYTES).into(),
    )]);
    for (field, max_bytes) in [
        ("name", MAX_NAME_BYTES),
        ("title", MAX_NAME_BYTES),
        ("description", MAX_DESCRIPTION_BYTES),
        ("mimeType", MAX_NAME_BYTES),
    ] {
        if let Some(text) = text(field).filter(|text| !text.is_empty() && field != list.key()) {
            shown.insert(field.to_owned(), text::sanitize(text, max_bytes).into());
        }
    }
    if let Some(size) = entry.get("size").and_then(Value::as_u64) {
        shown.insert("size".to_owned(), size.into());
    }
    let arguments = entry.get("arguments").and_then(Value::as_array);
    if let (FeatureList::Prompts, Some(arguments)) = (list, arguments) {
        let arguments = arguments.iter().take(MAX_ARGUMENTS);
        shown.insert("arguments".to_owned(), arguments.map(argument).collect());
    }
    Some(Value::Object(shown))
}

/// Returns an argument of a prompt.
fn argument(argument: &Value) -> Value {
    let text = |key: &str, max_bytes: usize| {
        let text = argument.get(key).and_then(Value::as_str);
        text.map(|text| text::sanitize(text, max_bytes))
    };
    let required = argument.get("required") == Some(&Value::Bool(true));
    let mut shown = Map::from_iter([
        ("name".to_owned(), json!(text("name", MAX_NAME_BYTES))),
        ("required".to_owned(), required.into()),
    ]);
    if let Some(description) = text("description", MAX_DESCRIPTION_BYTES) {
        shown.insert("description".to_owned(), description.into());
    }
    Value::Object(shown)
}

/// Whether a text of an entry contains the lower-case query.
fn matches(shown: &Value, query: &str) -> bool {
    let fields = shown.as_object().into_iter().flat_map(Map::values);
    let mut texts = fields.filter_map(Value::as_str);
    texts.any(|text| text.to_lowercase().contains(query))
}
