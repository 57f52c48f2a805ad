//! Messages of JSON-RPC 2.0, one on a line, and the parameters of the protocol's requests.

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Map, Value, json};

/// Bytes of the longest line of a client: a prompt with files.
pub(crate) const MAX_LINE_BYTES: usize = 32 * 1024 * 1024;

/// A message of the client.
#[derive(Debug, PartialEq)]
pub(crate) enum Incoming {
    /// A request, which is answered under its id: a number or a string.
    Request {
        id: Value,
        method: String,
        params: Value,
    },
    /// A notification.
    Notification { method: String, params: Value },
    /// The answer to a request of ours; no id of ours is anything but a number.
    Response {
        id: Option<u64>,
        result: Result<Value, Value>,
    },
}

/// The reason for an error. The kebab-case names are stable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, strum::IntoStaticStr)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ErrorCode {
    /// The line is no JSON.
    ParseError,
    /// The line is no message of JSON-RPC 2.0, or too long.
    InvalidRequest,
    /// The first request is not `initialize`.
    NotInitialized,
    /// There is no such method.
    MethodNotFound,
    /// The parameters do not fit the method.
    InvalidParams,
    /// The client asks for a directory that this process has not been started in.
    DirectoryNotGranted,
    /// The client asks for MCP servers, which are authority.
    McpServersRefused,
    /// There is no such session, or it is not open on this connection.
    NotFound,
    /// The session has a prompt that has not ended.
    SessionRunning,
    /// Another process writes to the session.
    SessionLocked,
    /// Too many sessions are open.
    Busy,
    /// The client gave no valid answer to a request of the session, which waits on.
    Unanswered,
    /// Calls of the session are to run externally, which no client of this protocol can do.
    ExternalCalls,
    /// The turn failed; `cause` says why.
    TurnFailed,
    /// The program is about to end.
    ShuttingDown,
    /// The journal, or the host, failed.
    Internal,
}

impl ErrorCode {
    /// Returns the code of JSON-RPC, or that of the protocol.
    fn number(self) -> i32 {
        match self {
            Self::ParseError => -32700,
            Self::InvalidRequest | Self::NotInitialized | Self::SessionRunning | Self::Busy => {
                -32600
            }
            Self::MethodNotFound => -32601,
            Self::InvalidParams | Self::DirectoryNotGranted | Self::McpServersRefused => -32602,
            Self::NotFound => -32002,
            Self::SessionLocked
            | Self::Unanswered
            | Self::ExternalCalls
            | Self::TurnFailed
            | Self::ShuttingDown
            | Self::Internal => -32603,
        }
    }
}

/// An error response.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RpcError {
    pub(crate) code: ErrorCode,
    /// Says what happened, why, and what to do.
    pub(crate) message: String,
    /// The kebab-case cause of a failed turn.
    pub(crate) cause: Option<String>,
}

impl RpcError {
    pub(crate) fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            cause: None,
        }
    }

    fn to_json(&self) -> Value {
        let mut data = json!({ "code": self.code });
        if let (Some(cause), Some(data)) = (&self.cause, data.as_object_mut()) {
            data.insert("cause".to_owned(), cause.as_str().into());
        }
        json!({"code": self.code.number(), "message": self.message, "data": data})
    }
}

/// A line that is no message, and the error response to it.
#[derive(Debug, PartialEq)]
pub(crate) struct NoMessage {
    /// The id, if it could be read.
    pub(crate) id: Value,
    pub(crate) error: RpcError,
}

pub(crate) fn parse(line: &[u8]) -> Result<Incoming, NoMessage> {
    let no_message = |id, code, message: String| NoMessage {
        id,
        error: RpcError::new(code, message),
    };
    let value = serde_json::from_slice(line).map_err(|error| {
        let message = format!("the line is not JSON: {error}");
        no_message(Value::Null, ErrorCode::ParseError, message)
    })?;
    let Value::Object(mut object) = value else {
        let message = "the line is not a JSON object; send one message per line, without batches";
        return Err(no_message(
            Value::Null,
            ErrorCode::InvalidRequest,
            message.to_owned(),
        ));
    };
    let id = object.remove("id");
    let id_for_answer = match &id {
        Some(id @ (Value::String(_) | Value::Number(_))) => id.clone(),
        _ => Value::Null,
    };
    message(object, id).ok_or_else(|| {
        let message = "the line is not a JSON-RPC 2.0 message: a request has `jsonrpc` \"2.0\", an `id` that is a \
            whole number or a string, and a `method` that is a string";
        no_message(id_for_answer, ErrorCode::InvalidRequest, message.to_owned())
    })
}

fn message(mut object: Map<String, Value>, id: Option<Value>) -> Option<Incoming> {
    object.get("jsonrpc").filter(|version| **version == "2.0")?;
    let params = object.remove("params").unwrap_or(Value::Null);
    let (result, error) = (object.remove("result"), object.remove("error"));
    match (object.remove("method"), id, result, error) {
        (Some(Value::String(method)), None, None, None) => {
            Some(Incoming::Notification { method, params })
        }
        (Some(Value::String(method)), Some(id), None, None)
            if id.is_string() || id.is_i64() || id.is_u64() =>
        {
            Some(Incoming::Request { id, method, params })
        }
        (None, Some(id), Some(result), None) => Some(Incoming::Response {
            id: id.as_u64(),
            result: Ok(result),
        }),
        (None, Some(id), None, Some(error)) => Some(Incoming::Response {
            id: id.as_u64(),
            result: Err(error),
        }),
        _ => None,
    }
}

/// Returns the line of a notification.
pub(crate) fn notification(method: &str, params: &Value) -> String {
    json!({"jsonrpc": "2.0", "method": method, "params": params}).to_string()
}

/// Returns the line of a request.
pub(crate) fn request(id: u64, method: &str, params: &Value) -> String {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string()
}

/// Returns the line of a response.
pub(crate) fn response(id: &Value, result: &Result<Value, RpcError>) -> String {
    match result {
        Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
        Err(error) => json!({"jsonrpc": "2.0", "id": id, "error": error.to_json()}),
    }
    .to_string()
}

/// Reads the parameters of a method.
pub(crate) fn read<T: DeserializeOwned>(method: &str, params: Value) -> Result<T, RpcError> {
    serde_json::from_value(params).map_err(|error| {
        let message = format!("invalid parameters for {method}: {error}");
        RpcError::new(ErrorCode::InvalidParams, message)
    })
}

/// `initialize`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Initialize {
    /// The newest version that the client knows. There is one that is served, so it is only checked
    /// to be a version.
    #[serde(rename = "protocolVersion")]
    pub(crate) _protocol_version: u16,
    #[serde(default)]
    pub(crate) client_capabilities: ClientCapabilities,
    pub(crate) client_info: Option<ClientInfo>,
}

/// The name and the version of a client.
#[derive(Debug, Deserialize)]
pub(crate) struct ClientInfo {
    pub(crate) name: String,
    pub(crate) version: String,
}

/// The capabilities of a client that are used.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ClientCapabilities {
    /// Whether its user can fill in forms.
    pub(crate) forms: bool,
}

impl<'de> Deserialize<'de> for ClientCapabilities {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // A capability in another form than the protocol's is one that the client does not have.
        let known = Value::deserialize(deserializer)?;
        let forms = known.pointer("/elicitation/form");
        Ok(Self {
            forms: forms.is_some_and(Value::is_object),
        })
    }
}

/// `session/new`, `session/load` and `session/resume`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct OpenSession {
    pub(crate) cwd: String,
    #[serde(default)]
    pub(crate) mcp_servers: Vec<OfferedServer>,
    #[serde(default)]
    pub(crate) additional_directories: Vec<String>,
    /// Absent for a new one.
    #[serde(default)]
    pub(crate) session_id: String,
}

/// An MCP server that a client wants to be used: a command, or an address. The name, the
/// environment and the header fields that the client gives it are not read: the configuration has
/// them.
#[derive(Debug, Deserialize)]
pub(crate) struct OfferedServer {
    pub(crate) name: String,
    command: Option<String>,
    #[serde(default)]
    args: Vec<String>,
    url: Option<String>,
}

impl OfferedServer {
    /// Returns the identity by which `agent.lock` pins such a server: the address, or the command
    /// line as a JSON array. None for a server of a transport that is not known.
    pub(crate) fn identity(&self) -> Option<String> {
        match (&self.command, &self.url) {
            (Some(command), None) => {
                let line = std::iter::once(command).chain(&self.args);
                Some(Value::from_iter(line.map(String::as_str)).to_string())
            }
            (None, Some(url)) => Some(url.clone()),
            _ => None,
        }
    }
}

/// `session/list`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct ListSessions {
    pub(crate) cwd: Option<String>,
    pub(crate) cursor: Option<String>,
}

/// `session/cancel`, `session/close` and `session/delete`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct OfSession {
    pub(crate) session_id: String,
}

/// `session/prompt`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Prompt {
    pub(crate) session_id: String,
    pub(crate) prompt: Vec<ContentBlock>,
}

/// `$/cancel_request`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CancelRequest {
    pub(crate) request_id: Value,
}

/// A part of a prompt.
#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum ContentBlock {
    Text {
        text: String,
    },
    #[serde(rename_all = "camelCase")]
    Image {
        data: String,
        mime_type: String,
    },
    Audio {},
    #[serde(rename_all = "camelCase")]
    ResourceLink {
        uri: String,
        name: String,
    },
    Resource {
        resource: Resource,
    },
}

/// An embedded resource: `text`, or `blob` in base64.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Resource {
    pub(crate) uri: String,
    pub(crate) mime_type: Option<String>,
    pub(crate) text: Option<String>,
    pub(crate) blob: Option<String>,
}

/// The answer to `session/request_permission`.
#[derive(Debug, Deserialize)]
pub(crate) struct PermissionAnswer {
    pub(crate) outcome: PermissionOutcome,
}

/// The outcome of a permission request.
#[derive(Debug, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub(crate) enum PermissionOutcome {
    /// The turn is cancelled, which is no decision about the call.
    Cancelled,
    #[serde(rename_all = "camelCase")]
    Selected { option_id: String },
}
