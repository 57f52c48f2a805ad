//! Our client restores the exact output from our server's results, in both lifecycles.

use super::{Structured, StructuredAs, call_result, file};
use agent_host_mcp_client::output;
use agent_host_types::output::{ContentPart, FileData, ToolResultOutput};
use proptest::prelude::*;
use serde_json::{Value, json};

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>()
            .prop_filter("JSON has no other numbers", |number| number.is_finite())
            .prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(any::<String>(), inner, 0..4)
                .prop_map(|fields| fields.into_iter().collect()),
        ]
    })
}

/// Parts of every kind, with bytes that match their media type where it is checked.
fn any_part() -> impl Strategy<Value = ContentPart> {
    const GIF: &[u8] = b"GIF89a\x01\x00\x01\x00\x00\x00\x00,";
    let bytes = prop::collection::vec(any::<u8>(), 0..16);
    let data = prop_oneof![
        Just(("image/gif", FileData::Bytes(GIF.to_vec()))),
        bytes
            .prop_filter("another type would be seen", |bytes| {
                agent_host_types::media::sniff(bytes).is_none()
            })
            .prop_flat_map(|bytes| {
                let kinds = ["audio/x-raw", "application/x-own", "image/svg+xml"];
                prop::sample::select(kinds.to_vec())
                    .prop_map(move |kind| (kind, FileData::Bytes(bytes.clone())))
            }),
        any::<String>().prop_map(|text| ("text/markdown", FileData::Text(text))),
        any::<String>().prop_map(|url| ("image/png", FileData::Url(url))),
    ];
    prop_oneof![
        any::<String>().prop_map(|text| ContentPart::Text { text }),
        (data, prop::option::of(any::<String>())).prop_map(|((media_type, data), name)| file(
            media_type,
            data,
            name.as_deref()
        )),
    ]
}

fn any_output() -> impl Strategy<Value = ToolResultOutput> {
    prop_oneof![
        any::<String>().prop_map(ToolResultOutput::Text),
        any_json().prop_map(ToolResultOutput::json::<Value>),
        prop::collection::vec(any_part(), 0..4).prop_map(ToolResultOutput::Content),
        any::<String>().prop_map(ToolResultOutput::ErrorText),
        any_json().prop_map(ToolResultOutput::error_json::<Value>),
        prop::option::of(any::<String>()).prop_map(ToolResultOutput::ExecutionDenied),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn output_survives_the_round_trip(given in any_output()) {
        for structured in [Structured::Objects, Structured::Any] {
            let sent = json!(call_result(given.clone(), structured, StructuredAs::Value));
            // Serialized and parsed, as over the wire.
            let read: rmcp::model::CallToolResult = serde_json::from_str(&sent.to_string()).unwrap();
            prop_assert_eq!(output(json!(read)), Ok(given.clone()));
        }
    }
}
