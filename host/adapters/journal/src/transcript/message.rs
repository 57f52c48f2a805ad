//! Messages of the [AI SDK](https://ai-sdk.dev/docs/reference/ai-sdk-core/model-message), [OpenAI's
//! Chat Completions](https://platform.openai.com/docs/api-reference/chat/create) and
//! [Anthropic](https://platform.claude.com/docs/en/api/messages). They have the same roles, and the
//! kinds of their parts differ, so each part tells its form. Unknown fields are options and
//! annotations; an unknown role or kind is an error.

use super::TranscriptEntry;
use agent_host_types::{
    id::CallId,
    media,
    output::{ContentPart, FileData, FilePart, ToolResultOutput, old},
    reason::Reason,
    tool::ToolCall,
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};

#[derive(Deserialize)]
#[serde(tag = "role", rename_all = "lowercase")]
enum Message {
    #[serde(alias = "developer")]
    System {
        content: Value,
    },
    User {
        content: Value,
    },
    Assistant {
        #[serde(default)]
        content: Value,
        refusal: Option<String>,
        tool_calls: Option<Vec<ChatCall>>,
    },
    Tool {
        content: Value,
        tool_call_id: Option<CallId>,
    },
}

/// A call of Chat Completions.
#[derive(Deserialize)]
struct ChatCall {
    id: CallId,
    function: Function,
}

#[derive(Deserialize)]
struct Function {
    name: String,
    arguments: String,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Part {
    Text {
        text: String,
    },
    Refusal {
        refusal: String,
    },
    /// Of the AI SDK, or of Anthropic with a source.
    Image {
        image: Option<String>,
        source: Option<Source>,
        #[serde(alias = "mediaType", alias = "mimeType")]
        media_type: Option<String>,
    },
    ImageUrl {
        image_url: Link,
    },
    InputAudio {
        input_audio: Audio,
    },
    Document {
        source: Source,
        title: Option<String>,
    },
    /// Of the AI SDK, or of Chat Completions with a file.
    File {
        data: Option<String>,
        file: Option<ChatFile>,
        #[serde(alias = "mediaType", alias = "mimeType")]
        media_type: Option<String>,
        filename: Option<String>,
    },
    #[serde(alias = "tool-call")]
    ToolUse {
        #[serde(alias = "toolCallId")]
        id: CallId,
        #[serde(alias = "toolName")]
        name: String,
        #[serde(alias = "args")]
        input: Value,
    },
    #[serde(alias = "tool-result")]
    ToolResult {
        #[serde(alias = "toolCallId")]
        tool_use_id: CallId,
        /// The union of the AI SDK, since version 5.
        output: Option<Value>,
        /// The value of the AI SDK before.
        #[serde(default, deserialize_with = "present")]
        result: Option<Value>,
        /// The blocks of Anthropic.
        #[serde(default)]
        content: Value,
        #[serde(default, alias = "isError")]
        is_error: bool,
    },
    #[serde(
        alias = "redacted_thinking",
        alias = "reasoning",
        alias = "redacted-reasoning"
    )]
    Thinking {},
    #[serde(rename = "tool-approval-request", alias = "tool-approval-response")]
    ToolApproval {},
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Source {
    Base64 { media_type: String, data: String },
    Url { url: String },
    Text { data: String },
    File { file_id: String },
}

#[derive(Deserialize)]
struct Link {
    url: String,
}

#[derive(Deserialize)]
struct Audio {
    data: String,
    format: String,
}

#[derive(Deserialize)]
struct ChatFile {
    file_data: Option<String>,
    file_id: Option<String>,
    filename: Option<String>,
}

/// Deserializes a present value, including `null`.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

/// Reads a message. The error is a clause after "message 3".
pub(super) fn read(message: Value) -> Result<Vec<TranscriptEntry>, Reason> {
    let mut written = Written::default();
    match serde_json::from_value(message).map_err(unreadable)? {
        Message::System { content } => return system(content),
        Message::Tool {
            content,
            tool_call_id: Some(call_id),
        } => {
            let output = blocks(content)?;
            return Ok(vec![TranscriptEntry::Result { call_id, output }]);
        }
        Message::User { content } => {
            written.add_all(content)?;
            written.end_input()?;
        }
        Message::Assistant {
            content,
            refusal,
            tool_calls,
        } => {
            written.add_all(content)?;
            written
                .parts
                .extend(refusal.map(|text| ContentPart::Text { text }));
            for ChatCall { id, function } in tool_calls.into_iter().flatten() {
                let call = ToolCall::parse(id, function.name, function.arguments);
                written.calls.push(call);
            }
            written.end_reply()?;
        }
        Message::Tool { content, .. } => {
            written.add_all(content)?;
            if !written.parts.is_empty() || !written.calls.is_empty() {
                return Err("contains something other than results".into());
            }
        }
    }
    Ok(written.entries)
}

/// Reads a system prompt, which Anthropic has beside the messages.
pub(super) fn system(content: Value) -> Result<Vec<TranscriptEntry>, Reason> {
    let parts = contents(content)?;
    let texts = texts(&parts).ok_or("has a system prompt that is not text")?;
    Ok(vec![TranscriptEntry::System(texts.join("\n"))])
}

/// The entries of a message so far. Results are apart from what the user says with them, and among
/// the model's parts where the provider runs tools itself.
#[derive(Default)]
struct Written {
    entries: Vec<TranscriptEntry>,
    parts: Vec<ContentPart>,
    calls: Vec<ToolCall>,
}

impl Written {
    fn add_all(&mut self, content: Value) -> Result<(), Reason> {
        parts(content)?
            .into_iter()
            .try_for_each(|part| self.add(part))
    }

    fn add(&mut self, part: Part) -> Result<(), Reason> {
        match part {
            Part::ToolUse { id, name, input } => {
                let raw = match input {
                    Value::String(text) => text,
                    other => other.to_string(),
                };
                self.calls.push(ToolCall::parse(id, name, raw));
            }
            Part::ToolResult {
                tool_use_id,
                output,
                result,
                content,
                is_error,
            } => {
                if !self.calls.is_empty() {
                    self.end_reply()?;
                }
                let output = match (output, result) {
                    (Some(output), _) => self.load(&tool_use_id, without_options(output))?,
                    (None, Some(result)) => self.load(
                        &tool_use_id,
                        json!({"result": result, "is_error": is_error}),
                    )?,
                    (None, None) if is_error => {
                        let result = failed(content)?;
                        self.load(&tool_use_id, json!({"result": result, "is_error": true}))?
                    }
                    (None, None) => blocks(content)?,
                };
                self.entries.push(TranscriptEntry::Result {
                    call_id: tool_use_id,
                    output,
                });
            }
            // It is for the model that wrote it, so another one is not shown it.
            Part::Thinking {} => {
                let warning = "the model's reasoning is omitted";
                self.entries
                    .push(TranscriptEntry::Warning(warning.to_owned()));
            }
            // Nothing that was allowed elsewhere is allowed here.
            Part::ToolApproval {} => {}
            other => self.parts.push(other.content()?),
        }
        Ok(())
    }

    fn load(&mut self, call: &CallId, stored: Value) -> Result<ToolResultOutput, Reason> {
        let loaded = old::load(stored).map_err(unreadable)?;
        let warnings = loaded.warnings.iter();
        let warnings = warnings.map(|why| format!("result of call {}: {why}", call.0));
        self.entries.extend(warnings.map(TranscriptEntry::Warning));
        Ok(loaded.output)
    }

    fn end_input(&mut self) -> Result<(), Reason> {
        if !self.calls.is_empty() {
            return Err("contains a call, which only a model can make".into());
        }
        if !self.parts.is_empty() {
            self.entries
                .push(TranscriptEntry::Input(std::mem::take(&mut self.parts)));
        }
        Ok(())
    }

    fn end_reply(&mut self) -> Result<(), Reason> {
        let (parts, calls) = (
            std::mem::take(&mut self.parts),
            std::mem::take(&mut self.calls),
        );
        let text = texts(&parts)
            .ok_or("contains a file from the model, which no model accepts as input")?;
        let text = text.concat();
        if !text.is_empty() || !calls.is_empty() {
            self.entries.push(TranscriptEntry::Reply { text, calls });
        }
        Ok(())
    }
}

impl Part {
    /// Reads text or a file.
    fn content(self) -> Result<ContentPart, Reason> {
        match self {
            Self::Text { text } | Self::Refusal { refusal: text } => Ok(ContentPart::Text { text }),
            Self::Image {
                image: Some(data),
                media_type,
                ..
            } => file(data, media_type, None),
            Self::Image {
                source: Some(source),
                ..
            } => source.content(None),
            Self::ImageUrl { image_url } => file(image_url.url, None, None),
            Self::InputAudio { input_audio } => {
                let media_type = format!("audio/{}", input_audio.format);
                file(input_audio.data, Some(media_type), None)
            }
            Self::Document { source, title } => source.content(title),
            Self::File {
                data: Some(data),
                media_type,
                filename,
                ..
            } => file(data, media_type, filename),
            Self::File {
                file: Some(chat), ..
            } => match (chat.file_data, chat.file_id) {
                (Some(data), _) => file(data, None, chat.filename),
                (None, Some(id)) => file(format!("file-id:{id}"), None, chat.filename),
                (None, None) => Err("contains a file without content".into()),
            },
            Self::Image { .. } | Self::File { .. } => Err("contains a file without content".into()),
            Self::ToolUse { .. }
            | Self::ToolResult { .. }
            | Self::Thinking {}
            | Self::ToolApproval {} => Err("contains a part other than text and files".into()),
        }
    }
}

impl Source {
    fn content(self, title: Option<String>) -> Result<ContentPart, Reason> {
        match self {
            Self::Base64 { media_type, data } => file(data, Some(media_type), title),
            Self::Url { url } => file(url, None, title),
            Self::Text { data } => Ok(ContentPart::Text { text: data }),
            Self::File { file_id } => file(format!("file-id:{file_id}"), None, title),
        }
    }
}

/// Reads a list of parts; text alone is one part, and `null` is none.
fn parts(content: Value) -> Result<Vec<Part>, Reason> {
    let list = match content {
        Value::Null => return Ok(Vec::new()),
        Value::String(text) => return Ok(vec![Part::Text { text }]),
        other => other,
    };
    serde_json::from_value(list).map_err(unreadable)
}

fn contents(content: Value) -> Result<Vec<ContentPart>, Reason> {
    parts(content)?.into_iter().map(Part::content).collect()
}

/// Returns the texts of parts that are nothing else.
fn texts(parts: &[ContentPart]) -> Option<Vec<&str>> {
    parts.iter().map(ContentPart::text).collect()
}

/// Reads the parts of a result without an error flag; one text is text.
fn blocks(content: Value) -> Result<ToolResultOutput, Reason> {
    let parts = contents(content)?;
    Ok(match texts(&parts).as_deref() {
        Some([]) => ToolResultOutput::Text(String::new()),
        Some([text]) => ToolResultOutput::Text((*text).to_owned()),
        _ => ToolResultOutput::Content(parts),
    })
}

/// Reads the parts of a failed result: text, or their JSON, since the union has no such failure.
fn failed(content: Value) -> Result<Value, Reason> {
    let parts = contents(content.clone())?;
    let text = texts(&parts).map(|texts| Value::String(texts.join("\n")));
    Ok(text.unwrap_or(content))
}

/// Makes a file of base64, or of a URL, which may be a `data:` URL.
fn file(
    data: String,
    media_type: Option<String>,
    filename: Option<String>,
) -> Result<ContentPart, Reason> {
    let found = media::of_url(&data);
    let base64 = match data.split_once("base64,") {
        Some((head, base64)) if head.starts_with("data:") => Some(base64),
        _ if data.contains(':') => None,
        _ => Some(data.as_str()),
    };
    let data = match base64.map(|base64| STANDARD.decode(base64)) {
        Some(Ok(bytes)) => FileData::Bytes(bytes),
        Some(Err(error)) => {
            return Err(format!("contains a file that is not base64 ({error})").into());
        }
        None => FileData::Url(data),
    };
    Ok(ContentPart::File(FilePart {
        media_type: media_type.unwrap_or(found),
        data,
        filename,
    }))
}

/// Removes options for providers from a result and its parts; they change nothing of it.
fn without_options(mut output: Value) -> Value {
    let remove = |object: &mut Value| {
        if let Some(fields) = object.as_object_mut() {
            fields.remove("providerOptions");
        }
    };
    remove(&mut output);
    let is_content = output.get("type").is_some_and(|kind| kind == "content");
    let value = output.get_mut("value").filter(|_| is_content);
    if let Some(parts) = value.and_then(Value::as_array_mut) {
        parts.iter_mut().for_each(remove);
    }
    output
}

fn unreadable(error: impl std::fmt::Display) -> Reason {
    format!("cannot be read ({error})").into()
}
