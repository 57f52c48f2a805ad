//! The steps of a conversation on the wires that take it as one flat list.

use super::{
    request::{RequestPart, texts},
    results::TrailingFiles,
};
use agent_host_types::{
    message::{Message, Role, ToolResult},
    output::{ContentPart, ToolResultOutput},
};

/// A step of a conversation.
pub(super) enum Step<'a> {
    /// A system message.
    System(String),
    /// A user message, or the files of the tool results before it.
    User(Vec<RequestPart<'a>>),
    /// A reply of the model.
    Assistant(&'a Message),
    /// A tool result and its content: one text, unless the wire takes files in results.
    Result(&'a ToolResult, Vec<RequestPart<'a>>),
}

impl Step<'_> {
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

/// Returns the steps of a conversation and the number of images in them. `convert` converts a part;
/// without `files_in_results`, the files of consecutive results follow them in one user message,
/// since nothing may come between two results.
pub(super) fn steps<'a>(
    messages: &'a [Message],
    files_in_results: bool,
    convert: impl Fn(&'a ContentPart) -> RequestPart<'a>,
) -> (Vec<Step<'a>>, usize) {
    let mut steps = Vec::new();
    for message in messages {
        match message.role {
            Role::System => steps.push(Step::System(texts(&message.content))),
            Role::User => steps.push(Step::User(message.content.iter().map(&convert).collect())),
            Role::Assistant => steps.push(Step::Assistant(message)),
            Role::ToolResult => {
                let mut files = TrailingFiles::default();
                for result in &message.tool_results {
                    let parts = match &result.output {
                        ToolResultOutput::Content(parts) if files_in_results => {
                            parts.iter().map(&convert).collect()
                        }
                        _ => vec![RequestPart::Text(files.result_text(result, &convert))],
                    };
                    steps.push(Step::Result(result, parts));
                }
                let files = files.into_parts();
                steps.extend((!files.is_empty()).then_some(Step::User(files)));
            }
        }
    }
    let images = steps.iter().map(Step::image_count).sum();
    (steps, images)
}
