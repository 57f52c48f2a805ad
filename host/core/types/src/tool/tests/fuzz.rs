//! Arbitrary text as the arguments of a call: the model writes it, under the influence of untrusted
//! text.

use super::*;
use crate::{event::Event, id::object_digest, json::is_object_too_deep};
use proptest::prelude::*;

/// JSON, near misses of JSON, and anything else.
fn text() -> impl Strategy<Value = String> {
    let token = prop::sample::select(vec![
        "{",
        "}",
        "[",
        "]",
        ":",
        ",",
        "\"a\"",
        "\"b\":",
        "\"\\ud800\"",
        "\"\\u0000\"",
        "1",
        "-0",
        "1e999",
        "1e-999",
        "0.1",
        "18446744073709551616",
        "NaN",
        "null",
        "true",
        " ",
        "\u{feff}",
    ]);
    prop_oneof![
        3 => prop::collection::vec(token, 0..24).prop_map(|tokens| tokens.concat()),
        2 => prop::collection::btree_map(".{0,4}", any::<f64>(), 0..6)
            .prop_map(|map| serde_json::to_string(&map).unwrap()),
        1 => (0..300_usize).prop_map(|depth| format!("{{\"a\":{}{}}}", "[".repeat(depth), "]".repeat(depth))),
        1 => ".*",
    ]
}

proptest! {
    /// Text accepted as arguments is an object that the journal can store and return unchanged.
    #[test]
    fn json_text_to_arguments(text in text()) {
        let call = ToolCall::parse(CallId("1".to_owned()), "t".to_owned(), text.clone());
        prop_assert_eq!(&call.raw_arguments, &text);
        let Some(input) = call.input else {
            return Ok(());
        };
        if text.trim().is_empty() {
            prop_assert!(input.is_empty());
        }
        if is_object_too_deep(&input) {
            return Ok(());
        }
        let event = Event::CallIntended {
            call_id: call.id,
            tool: call.name,
            input_digest: object_digest(&input),
            input,
            effect: Effect::Effectful,
            idempotency_key: String::new(), rule: None, path: Vec::new() };
        let kept = serde_json::to_string(&event).unwrap();
        prop_assert_eq!(serde_json::from_str::<Event>(&kept).unwrap(), event);
    }
}
