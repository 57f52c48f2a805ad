//! After any compaction, the conversation is one that every provider accepts.

use super::{LIMITS, conversation};
use crate::{
    context::{reference, summary},
    session::SessionState,
};
use agent_host_types::{
    accounting::Accounting,
    context::{CompactionStats, ContextLimits},
    event::Event,
    message::{Message, Role},
    model::{ModelReply, Provenance, Usage},
    output::ContentPart,
};
use proptest::prelude::*;

/// Adds messages to a session by their events.
fn follow(state: &mut SessionState, messages: &[Message]) {
    for message in messages {
        let text = message.content.iter().map(|part| match part {
            ContentPart::Text { text } => text.as_str(),
            ContentPart::File(_) => "",
        });
        match message.role {
            Role::User | Role::System => state.apply(&Event::InputReceived {
                message: message.clone(),
                labels: Vec::new(),
                by: None,
            }),
            Role::Assistant => state.apply(&Event::ModelReplied {
                turn: 1,
                reply: ModelReply {
                    text: text.collect(),
                    tool_calls: message.tool_calls.clone(),
                    ..ModelReply::default()
                },
                discarded: Usage::default(),
                duration_ms: 0,
                tape: None,
            }),
            Role::ToolResult => {
                for result in message.tool_results.clone() {
                    state.apply(&Event::CallSettled {
                        call_id: result.call_id,
                        tool: result.name,
                        output: result.output,
                        accounting: Accounting::default(),
                        audit: Vec::new(),
                        rule: None,
                        path: Vec::new(),
                        child: None,
                        labels: Vec::new(),
                        reference: None,
                        tape: None,
                        whole: None,
                    });
                }
            }
        }
    }
}

/// Replaces old results by references, and then older messages by a summary.
fn shorten(state: &mut SessionState, limits: ContextLimits, tokens: u64) {
    let messages = state.all_messages().unwrap();
    let found = reference::choose(&messages, limits.keep_results, tokens, |_| false);
    state.apply(&Event::ResultsReferenced {
        results: found.into_iter().map(|found| found.result).collect(),
        size: CompactionStats::default(),
    });
    let messages = state.all_messages().unwrap();
    let before = state.context_tokens(0, || 0);
    let Some(plan) = summary::plan(&messages, state.inputs(), tokens, limits) else {
        return;
    };
    state.apply(&Event::HistorySummarised {
        messages: plan.messages,
        message: plan.message(&summary::bounded(&"long ".repeat(5_000), limits)),
        provenance: Provenance {
            provider: "p".into(),
            model: "m".into(),
        },
        usage: Usage::default(),
        duration_ms: 0,
        size: CompactionStats::default(),
    });
    let after = state.context_tokens(0, || 0);
    assert!(after + limits.allowance() <= before, "{before} to {after}");
}

/// Every call is answered once, by the next message, and no two messages of the model are adjacent.
fn check(messages: &[Message]) {
    assert_eq!(messages[0].role, Role::User);
    for (place, message) in messages.iter().enumerate() {
        let next = messages.get(place + 1);
        if message.role == Role::Assistant {
            assert_ne!(next.map(|next| next.role), Some(Role::Assistant));
        }
        let answers = next.map_or(&[][..], |next| &next.tool_results);
        let answered: Vec<_> = answers.iter().map(|result| &result.call_id).collect();
        let called: Vec<_> = message.tool_calls.iter().map(|call| &call.id).collect();
        assert_eq!(answered, called);
    }
}

/// The conversation of a sketch, with unique call ids.
fn round(number: usize, sketch: &str, bytes: usize) -> Vec<Message> {
    let mut messages = conversation(sketch, bytes);
    for message in &mut messages {
        let calls = message.tool_calls.iter_mut().map(|call| &mut call.id);
        let results = message.tool_results.iter_mut();
        for id in calls.chain(results.map(|result| &mut result.call_id)) {
            id.0 = format!("{number}-{id}");
        }
    }
    messages
}

proptest! {
    #[test]
    fn compacted_conversation_is_valid(
        sketches in proptest::collection::vec("(u{1,2}c{0,4}a){0,4}uc{0,6}", 1..4),
        bytes in 100..12_000_usize,
        tokens in 0..6_000_u64,
        keep_results in 0..4_usize,
    ) {
        let limits = ContextLimits { keep_results, ..LIMITS };
        let mut state = SessionState::default();
        for (number, sketch) in sketches.iter().enumerate() {
            let said = round(number, sketch, bytes);
            follow(&mut state, &said);
            shorten(&mut state, limits, tokens);
            let left = state.all_messages().unwrap();
            check(&left);
            // Results that the model has not seen are unchanged, and so is the user's newest
            // message: after the summary if it is not the first, which is quoted if it is long.
            if sketch.ends_with('c') {
                prop_assert_eq!(left.last(), said.last());
            }
            let words = said.iter().rfind(|message| message.role == Role::User).unwrap();
            let is_there = |message: &Message| {
                message.content.ends_with(&words.content) || message.content.starts_with(&words.content)
            };
            let is_first = number == 0 && sketch.matches('u').count() == 1;
            prop_assert!(left.iter().any(is_there) || (is_first && bytes > 5_000));
        }
    }
}
