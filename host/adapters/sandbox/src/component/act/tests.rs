//! `tests/guests/dist/act.wasm`, made with ACT's SDK from `guest-tools/act`. `tests/interop/act.rs`
//! compares with ACT's own host.

use super::{cbor, request, result};
use crate::{
    LoadFault, Sandbox, SandboxConfig, ToolComponent, WasiVersion,
    bindings::act::act::{
        core::types::{Error, LocalizedString},
        tools::types::{ContentPart as ActPart, ToolEvent},
    },
    bindings::types as wit,
    call::tests::call_as,
};
use agent_host_engine::{policy::Grants, tool::CallReport};
use agent_host_types::{
    failure::FailureFields,
    limits::Limits,
    output::{ContentPart, FileData, FilePart, ToolResultOutput},
    tool::Effect,
};
use ciborium::value::Value as Cbor;
use pretty_assertions::assert_eq;
use proptest::{collection::vec, prelude::*};
use serde_json::{Value, json};
use std::path::PathBuf;

fn guest() -> PathBuf {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../../tests/guests/dist/act.wasm"
    );
    path.into()
}

fn sandbox(wasi: WasiVersion) -> Sandbox {
    Sandbox::new(SandboxConfig {
        concurrent_calls: 4,
        wasi,
        ..SandboxConfig::default()
    })
    .unwrap()
}

async fn tool() -> ToolComponent {
    sandbox(WasiVersion::V0_3).load(guest()).await.unwrap()
}

async fn call(tool: &ToolComponent, name: &str, input: &Value) -> CallReport {
    let (grants, limits) = (Grants::default(), Limits::default());
    call_as(
        Effect::Effectful,
        tool,
        name,
        input.clone(),
        grants,
        &limits,
    )
    .await
}

#[tokio::test]
async fn answers_of_every_shape_become_results() {
    let tool = tool().await;
    let text = |text: &str| ToolResultOutput::Text(text.to_owned());
    let file = |media_type: &str, bytes: &[u8]| {
        ToolResultOutput::Content(vec![ContentPart::File(FilePart {
            media_type: media_type.to_owned(),
            data: FileData::Bytes(bytes.to_vec()),
            filename: None,
        })])
    };
    let echo = json!({"text": "x", "number": 1.5, "list": [1, -2]});
    for (name, input, expected) in [
        ("greet", json!({"name": "Ann"}), text("Hello, Ann!")),
        (
            "add",
            json!({"a": 2, "b": -3}),
            ToolResultOutput::json(json!(-1)),
        ),
        (
            "echo",
            echo,
            ToolResultOutput::json(json!(["x", 1.5, [1, -2], null, {"a": 1, "big": u64::MAX}])),
        ),
        (
            "json",
            json!({}),
            ToolResultOutput::json(json!({"numbers": [1, 2]})),
        ),
        (
            "picture",
            json!({}),
            file("image/png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"),
        ),
        (
            "raw",
            json!({}),
            ToolResultOutput::json(json!({"$bytes": "AP8="})),
        ),
        ("nothing", json!({}), ToolResultOutput::json(Value::Null)),
        (
            "count",
            json!({"n": 2}),
            ToolResultOutput::Content(vec![
                ContentPart::Text {
                    text: "count 1".to_owned(),
                },
                ContentPart::Text {
                    text: "count 2".to_owned(),
                },
            ]),
        ),
        (
            "fail",
            json!({"kind": "std:not-found"}),
            ToolResultOutput::ErrorText("std:not-found: as asked".to_owned()),
        ),
    ] {
        assert_eq!(call(&tool, name, &input).await.output, expected, "{name}");
    }
}

#[tokio::test]
async fn definitions_have_schemas_effects_and_timeouts() {
    let tool = tool().await;
    let found = |name: &str| {
        tool.definitions()
            .iter()
            .find(|tool| tool.name == name)
            .unwrap()
    };
    assert_eq!(tool.definitions().len(), 11);
    let greet = found("greet");
    assert_eq!(greet.description, "Greets someone");
    assert_eq!(greet.input_schema["required"], json!(["name"]));
    let effects = ["greet", "picture", "json"].map(|name| found(name).effect);
    assert_eq!(
        effects,
        [Effect::ReadOnly, Effect::Idempotent, Effect::Effectful]
    );
    assert_eq!(found("spin").input_schema["x-timeout-ms"], json!(300));
}

#[tokio::test]
async fn timeout_of_a_tool_ends_its_call() {
    let report = call(&tool().await, "spin", &json!({})).await;
    let ToolResultOutput::ErrorJson(value) = &report.output else {
        panic!("{:?}", report.output);
    };
    let FailureFields { code, message } = FailureFields::from_json(value).unwrap();
    assert_eq!(code, "timeout");
    assert!(
        message.starts_with("The tool did not end within 300 ms"),
        "{message}"
    );
}

#[tokio::test]
async fn file_without_a_grant_is_an_error_of_the_tool() {
    let report = call(&tool().await, "read", &json!({"path": "/etc/passwd"})).await;
    let ToolResultOutput::ErrorText(text) = &report.output else {
        panic!("{:?}", report.output);
    };
    assert!(text.starts_with("std:internal: "), "{text}");
}

#[tokio::test]
async fn component_needs_wasi_0_3() {
    let error = sandbox(WasiVersion::V0_2).load(guest()).await.unwrap_err();
    assert_eq!(error.fault(), LoadFault::MissingCapability, "{error}");
    assert!(
        error
            .to_string()
            .contains("set `wasi = \"0.3\"` in `[sandbox]`"),
        "{error}"
    );
}

#[test]
fn arguments_are_deterministic_cbor() {
    for (value, expected) in [
        (json!({}), "a0"),
        (
            json!({"bb": 1, "a": -1, "c": null}),
            "a36161206163f662626201",
        ),
        (json!({"n": 1.5}), "a1616ef93e00"),
        (json!({"n": u64::MAX}), "a1616e1bffffffffffffffff"),
        (json!({"b": {"$bytes": "AP8="}}), "a161624200ff"),
        (json!({"l": [true, "ü"]}), "a1616c82f562c3bc"),
    ] {
        let bytes = cbor::encode(value.as_object().unwrap(), &Value::Null);
        assert_eq!(hex::encode(&bytes), expected, "{value}");
        assert_eq!(cbor::decode(&bytes), Ok(value));
    }
}

#[test]
fn whole_number_is_a_float_where_the_schema_has_number() {
    let schema = json!({
        "properties": {
            "n": {"type": "number"},
            "i": {"type": "integer"},
            "o": {"anyOf": [{"type": "number"}, {"type": "null"}]},
            "l": {"items": {"$ref": "#/$defs/point"}},
        },
        "$defs": {"point": {"properties": {"x": {"type": ["number", "null"]}}}},
    });
    let value = json!({"n": 1, "i": 1, "o": 2, "l": [{"x": 3}]});
    let bytes = cbor::encode(value.as_object().unwrap(), &schema);
    let decoded = cbor::decode(&bytes);
    let expected = json!({"n": 1.0, "i": 1, "o": 2.0, "l": [{"x": 3.0}]});
    assert_eq!(decoded, Ok(expected));
}

#[test]
fn cbor_that_is_too_large_is_an_error() {
    let events = vec![part(Some("application/cbor"), &vec![0x80; 400_001])];
    let wit::ToolResultOutput::ErrorText(text) = result::convert(events) else {
        panic!("no error");
    };
    assert_eq!(
        text,
        "The tool's result is not read: it is CBOR, and it has more than 400000 bytes. Ask it for less, or for text."
    );
}

#[test]
fn cbor_that_lies_is_refused() {
    let deep = [[0x81].repeat(200), vec![0x01]].concat();
    for (bytes, why) in [
        (
            vec![0x9b, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff],
            "it is not valid",
        ),
        (vec![0x7f], "it is not valid"),
        (deep, "it is not valid"),
        (vec![0x01, 0x02], "it has more than one value"),
        (vec![0x81; 400_001], "it has more than 400000 bytes"),
        (Vec::new(), "it is not valid"),
    ] {
        assert_eq!(cbor::decode(&bytes), Err(why.to_owned()));
    }
}

fn part(mime_type: Option<&str>, data: &[u8]) -> ToolEvent {
    ToolEvent::Content(ActPart {
        data: data.to_vec(),
        mime_type: mime_type.map(str::to_owned),
        metadata: Vec::new(),
    })
}

#[test]
fn error_ends_an_answer_and_keeps_what_came_before() {
    let message = vec![
        ("ru".to_owned(), "нет".to_owned()),
        ("en-GB".to_owned(), "no".to_owned()),
    ];
    let error = ToolEvent::Error(Error {
        kind: "acme:rate-limited".to_owned(),
        message: LocalizedString::Localized(message),
        metadata: Vec::new(),
    });
    let events = vec![
        part(Some("text/plain; charset=utf-8"), b"so far"),
        part(Some("image/png"), b"x"),
        error,
        part(None, b"ignored"),
    ];
    let wit::ToolResultOutput::ErrorText(text) = result::convert(events) else {
        panic!("no error");
    };
    assert_eq!(
        text,
        "so far\n[a file of type image/png]\nacme:rate-limited: no"
    );
}

#[test]
fn declared_capabilities_are_a_note() {
    let declared = Cbor::Map(vec![(
        Cbor::Text("std".to_owned()),
        Cbor::serialized(&json!({
            "name": "x",
            "capabilities": {
                "wasi:filesystem": {"allow": [{"path": "/data/**", "mode": "ro"}]},
                "wasi:http": {"allow": [{"host": "api.example.com", "methods": ["GET", "POST"]}]},
                "acme:gpu\u{1b}[2J": {},
            },
        }))
        .unwrap(),
    )]);
    let mut bytes = Vec::new();
    ciborium::into_writer(&declared, &mut bytes).unwrap();
    assert_eq!(
        request::requested(&cbor::decode(&bytes).unwrap()).unwrap(),
        "it asks for acme:gpu\u{fffd}[2J, wasi:filesystem (/data/** ro), wasi:http (GET POST api.example.com); it has what its grants allow"
    );
}

proptest! {
    #[test]
    fn cbor_of_any_bytes_is_json_or_refused(bytes in vec(any::<u8>(), 0..300)) {
        if let Ok(value) = cbor::decode(&bytes) {
            prop_assert!(serde_json::to_string(&value).is_ok());
        }
    }
}
