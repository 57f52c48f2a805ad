//! The items of a conversation on the wires that take it as one flat list.

use super::{
    request::{RequestPart, texts},
    results::TrailingFiles,
};
use agent_host_types::{
    message::{Message, Role, ToolResult},
    output::{ContentPart, ToolResultOutput},
};

/// An item of a conversation.
pub(super) enum ConversationItem<'a> {
    /// A system message.
    System(String),
    /// A user message, or the files of the tool results before it.
    User(Vec<RequestPart<'a>>),
    /// A reply of the model.
    Assistant(&'a Message),
    /// A tool result and its content: one text, unless the wire takes files in results.
    Result(&'a ToolResult, Vec<RequestPart<'a>>),
}

impl ConversationItem<'_> {
    fn image_count(&self) -> usize {
        let (Self::User(parts) | Self::Result(_, parts)) = self else {
            return 0;
        };
        let images = parts
            .iter()
            .filter(|part| matches!(part, RequestPart::Image(_)));
        images.count()
    }
}

/// Returns the items of a conversation and the number of images in them. `convert` converts a part;
/// without `files_in_results`, the files of consecutive results follow them in one user message,
/// since nothing may come between two results.
pub(super) fn items<'a>(
    messages: &'a [Message],
    files_in_results: bool,
    convert: impl Fn(&'a ContentPart) -> RequestPart<'a>,
) -> (Vec<ConversationItem<'a>>, usize) {
    let mut items = Vec::new();
    for message in messages {
        match message.role {
            Role::System => items.push(ConversationItem::System(texts(&message.content))),
            Role::User => items.push(ConversationItem::User(
                message.content.iter().map(&convert).collect(),
            )),
            Role::Assistant => items.push(ConversationItem::Assistant(message)),
            Role::ToolResult => {
                let mut files = TrailingFiles::default();
                for result in &message.tool_results {
                    let parts = match &result.output {
                        ToolResultOutput::Content(parts) if files_in_results => {
                            parts.iter().map(&convert).collect()
                        }
                        _ => vec![RequestPart::Text(files.result_text(result, &convert))],
                    };
                    items.push(ConversationItem::Result(result, parts));
                }
                let files = files.into_parts();
                items.extend((!files.is_empty()).then_some(ConversationItem::User(files)));
            }
        }
    }
    let images = items.iter().map(ConversationItem::image_count).sum();
    (items, images)
}
