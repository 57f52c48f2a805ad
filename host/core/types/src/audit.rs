//! The requests of a call to the gate, by kind. Programs decide by the fields; the text is for
//! display.

#[cfg(test)]
mod tests;

use crate::words;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A request of a call to the gate. Two requests can have the same text, since guests and servers
/// choose parts of it: a file may be called `a to /b`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum AuditRequest {
    /// An operation on a file or a directory.
    File {
        /// The operation.
        action: FileAction,
        /// The path as the tool sees it.
        path: String,
        /// The target of a link, or the new path of what is moved; absent where only one path is
        /// checked.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        to: Option<String>,
    },
    /// An operation on the artifacts of the session.
    Artifact {
        /// The operation.
        action: ArtifactOp,
        /// The name of the artifact; empty for a list.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        name: String,
    },
    /// An HTTP request.
    Http {
        /// The method.
        method: String,
        /// The URL.
        url: String,
    },
    /// A secret in an HTTP request.
    Secret {
        /// The name of the secret.
        name: String,
        /// The method of the request.
        method: String,
        /// The URL of the request.
        url: String,
    },
    /// A call of a tool of an MCP server.
    McpCall {
        /// The tool, as the server calls it.
        tool: String,
        /// The server, as `agent.toml` calls it.
        server: String,
        /// The URL of the server; absent for a child process.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        url: Option<String>,
    },
    /// The requests beyond the maximum that are recorded individually.
    Others,
    /// A request of an unknown kind, which was recorded only as text.
    Unrecognized {
        /// The text.
        text: String,
    },
}

words! {
    /// An operation on a file or a directory, as the audit names it.
    #[derive(strum::Display, strum::EnumString)]
    pub enum FileAction {
        /// Read the metadata.
        Stat,
        /// List a directory.
        List,
        /// Read the content.
        Read,
        /// Read the target of a link.
        #[strum(serialize = "read link")]
        ReadLink,
        /// Change, create or remove something.
        Write,
        /// Change a file with an executable bit.
        WriteExecutable,
        /// Rename a directory.
        Move,
        /// Create a symbolic link.
        Link,
    }
}

words! {
    /// An operation of a tool on the artifacts of its session.
    #[derive(strum::Display, strum::EnumString)]
    pub enum ArtifactOp {
        /// List them.
        ListArtifacts,
        /// Read one.
        ReadArtifact,
        /// Store one.
        StoreArtifact,
        /// Delete one.
        DeleteArtifact,
    }
}

impl FileAction {
    /// Whether the operation changes anything.
    #[must_use]
    pub fn changes(self) -> bool {
        match self {
            Self::Stat | Self::List | Self::Read | Self::ReadLink => false,
            Self::Write | Self::WriteExecutable | Self::Move | Self::Link => true,
        }
    }
}

impl ArtifactOp {
    /// Whether the operation changes anything.
    #[must_use]
    pub fn changes(self) -> bool {
        matches!(self, Self::StoreArtifact | Self::DeleteArtifact)
    }
}

/// The text of [`AuditRequest::Others`].
const OTHERS: &str = "others";
/// The place of an MCP server without a URL.
const CHILD_PROCESS: &str = "child process";

impl AuditRequest {
    /// Returns an operation on one path.
    #[must_use]
    pub fn file(action: FileAction, path: String) -> Self {
        let to = None;
        Self::File { action, path, to }
    }

    /// Returns an HTTP request.
    #[must_use]
    pub fn http(method: &str, url: &str) -> Self {
        let (method, url) = (method.to_owned(), url.to_owned());
        Self::Http { method, url }
    }

    /// Changes each text that somebody else chose, to bound or redact it.
    pub fn change_texts(&mut self, mut change: impl FnMut(&mut String)) {
        match self {
            Self::File { path, to, .. } => [path].into_iter().chain(to).for_each(change),
            Self::Artifact { name, .. } => change(name),
            Self::Http { method, url } => [method, url].into_iter().for_each(change),
            Self::Secret { name, method, url } => {
                [name, method, url].into_iter().for_each(change);
            }
            Self::McpCall { tool, server, url } => {
                [tool, server].into_iter().chain(url).for_each(change);
            }
            Self::Others => {}
            Self::Unrecognized { text } => change(text),
        }
    }

    /// Reads a request from its text, which is all that events before version 8 have. One that no
    /// kind has is kept as text.
    #[must_use]
    pub fn from_text(text: &str) -> Self {
        let parsed = Self::parsed(text).filter(|parsed| parsed.to_string() == text);
        parsed.unwrap_or_else(|| Self::Unrecognized {
            text: text.to_owned(),
        })
    }

    /// Returns a request that may have this text.
    fn parsed(text: &str) -> Option<Self> {
        if text == OTHERS {
            return Some(Self::Others);
        }
        if let Some(rest) = text.strip_prefix("secret://") {
            let (name, request) = rest.split_once(" in ")?;
            let (method, url) = request.split_once(' ')?;
            return Some(Self::Secret {
                name: name.to_owned(),
                method: method.to_owned(),
                url: url.to_owned(),
            });
        }
        if let Some(rest) = text.strip_prefix("call `") {
            let (tool, rest) = rest.split_once("` of the MCP server `")?;
            let (server, place) = rest.strip_suffix(')')?.split_once("` (")?;
            return Some(Self::McpCall {
                tool: tool.to_owned(),
                server: server.to_owned(),
                url: (place != CHILD_PROCESS).then(|| place.to_owned()),
            });
        }
        if let Some((action, below_root)) = text.split_once(" /")
            && let Ok(action) = action.parse()
        {
            return Some(Self::parsed_file(action, format!("/{below_root}")));
        }
        let (word, rest) = text.split_once(' ').unwrap_or((text, ""));
        if rest.contains("://") {
            return Some(Self::http(word, rest));
        }
        let (action, name) = (word.parse().ok()?, rest.to_owned());
        Some(Self::Artifact { action, name })
    }

    fn parsed_file(action: FileAction, paths: String) -> Self {
        let has_second = |to: &str| match action {
            FileAction::Link => true,
            FileAction::Move => to.starts_with('/'),
            _ => false,
        };
        match paths.split_once(" to ") {
            Some((path, to)) if has_second(to) => Self::File {
                action,
                path: path.to_owned(),
                to: Some(to.to_owned()),
            },
            _ => Self::file(action, paths),
        }
    }
}

impl fmt::Display for AuditRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { action, path, to } => {
                write!(f, "{action} {path}")?;
                to.iter().try_for_each(|to| write!(f, " to {to}"))
            }
            Self::Artifact { action, name } if name.is_empty() => action.fmt(f),
            Self::Artifact { action, name } => write!(f, "{action} {name}"),
            Self::Http { method, url } => write!(f, "{method} {url}"),
            Self::Secret { name, method, url } => write!(f, "secret://{name} in {method} {url}"),
            Self::McpCall { tool, server, url } => {
                let place = url.as_deref().unwrap_or(CHILD_PROCESS);
                write!(f, "call `{tool}` of the MCP server `{server}` ({place})")
            }
            Self::Others => f.write_str(OTHERS),
            Self::Unrecognized { text } => f.write_str(text),
        }
    }
}

/// The JSON form of the request in an entry: its text, which clients show, and its fields.
pub(crate) mod form {
    use super::AuditRequest;
    use schemars::JsonSchema;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use std::borrow::Cow;

    /// The keys of a request.
    #[derive(Serialize, Deserialize, JsonSchema)]
    pub(crate) struct RequestForm<'a> {
        /// The request as text, such as `read /workspace/notes.txt` or `GET https://example.com/`.
        request: String,
        /// The request by kind; absent in events before version 8.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        operation: Option<Cow<'a, AuditRequest>>,
    }

    pub(crate) fn serialize<S: Serializer>(
        request: &AuditRequest,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let form = RequestForm {
            request: request.to_string(),
            operation: Some(Cow::Borrowed(request)),
        };
        form.serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<AuditRequest, D::Error> {
        let RequestForm { request, operation } = RequestForm::deserialize(deserializer)?;
        Ok(match operation {
            Some(operation) => operation.into_owned(),
            None => AuditRequest::from_text(&request),
        })
    }
}
