//! The choice of what a compaction replaces, its saving, and the text that it leaves.

mod estimates;
mod property;
mod references;
mod summaries;

use super::*;
use agent_host_types::{
    context::ContextLimits,
    id::CallId,
    message::{Message, Role, ToolResult},
    output::ToolResultOutput,
    tool::ToolCall,
};

/// A window of 10,000 tokens: compacted above 8,000 to 5,000, with a summary of at most 625.
pub(super) const LIMITS: ContextLimits = ContextLimits {
    window_tokens: 10_000,
    is_known: true,
    compact_at: 80,
    compact_to: 50,
    keep_results: 1,
};

/// Builds a conversation from a sketch: `u` is a message of the user, `a` the model's answer, and
/// `c` a call with its result. Each text has `bytes` bytes.
fn conversation(sketch: &str, bytes: usize) -> Vec<Message> {
    let mut messages = Vec::new();
    for (place, kind) in sketch.chars().enumerate() {
        let words = format!("{place:0>bytes$}");
        match kind {
            'u' => messages.push(Message::text(Role::User, words)),
            'a' => messages.push(Message::text(Role::Assistant, words)),
            'c' => {
                let call_id = CallId(format!("c{place}"));
                let mut call = Message::parts(Role::Assistant, Vec::new());
                call.tool_calls =
                    vec![ToolCall::parse(call_id.clone(), "look".into(), "{}".into())];
                messages.push(call);
                messages.push(Message::results(vec![ToolResult {
                    call_id,
                    name: "look".into(),
                    output: ToolResultOutput::Text(words),
                    whole: None,
                }]));
            }
            other => panic!("{other} is nothing that a conversation has"),
        }
    }
    messages
}

#[test]
fn limits_are_percentages_of_the_window() {
    let table = [
        (LIMITS, [8_000, 5_000, 625]),
        (ContextLimits::default(), [102_400, 64_000, 4_096]),
        (
            ContextLimits {
                window_tokens: u64::MAX,
                ..LIMITS
            },
            [u64::MAX / 10 * 8 + 4, u64::MAX / 2, 4_096],
        ),
        (
            ContextLimits {
                window_tokens: 0,
                ..LIMITS
            },
            [0, 0, 0],
        ),
    ];
    for (limits, expected) in table {
        let found = [limits.threshold(), limits.goal(), limits.allowance()];
        assert_eq!(found, expected, "{limits:?}");
    }
}

/// A text is cut between characters.
#[test]
fn long_text_is_cut_with_the_missing_bytes() {
    let table = [
        ("abc", 3, "abc"),
        ("abcd", 3, "abc [1 more bytes]"),
        ("aé", 2, "a [2 more bytes]"),
        ("", 0, ""),
    ];
    for (text, max_bytes, expected) in table {
        assert_eq!(shortened(text, max_bytes), expected);
    }
}
