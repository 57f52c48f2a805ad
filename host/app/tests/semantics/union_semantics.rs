//! Section U: the typed result union, from a tool through the journal to the model.

use super::{
    components::{Component, act, crash, look, outside, returning, send},
    script::{calls, says},
    tools::Native,
    world::*,
};
use agent_host_engine::{
    tool::{Invocation, RunEnd},
    turn::Timing,
};
use agent_host_test_guests::Body;
use agent_host_types::{
    continuation::Awaiting,
    event::Event,
    message::ToolResult,
    output::{ContentPart, FileData, FilePart, ToolResultOutput},
    turn::TurnEnd,
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::sync::Arc;

/// The start of an image, with bytes whose base64 differs between the alphabets.
pub(super) const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\xff\xfb\xef\xff";

/// Results of external calls: submitted in one batch, kept over a restart, and shown to the model.
async fn submitted(results: &[Value]) -> Vec<ToolResultOutput> {
    let ids: Vec<String> = (0..results.len()).map(|env| env.to_string()).collect();
    let batch: Vec<(&str, &str, &str)> =
        ids.iter().map(|id| (id.as_str(), "outside", "")).collect();
    let replies = vec![calls(&batch), says("ok")];
    let mut world = World::new(&[outside("outside")], replies).await;
    let continuation = waiting(world.say("go").await);
    let results: Vec<Value> = results
        .iter()
        .zip(&ids)
        .map(|(result, id)| {
            let mut result = result.clone();
            result["call_id"] = json!(id);
            result
        })
        .collect();
    let outcome = world.submit(&continuation, &json!(results)).await;
    assert_eq!(kind(&outcome), "needs-more-turns");
    let kept = world.results();
    let mut world = world.restart().await;
    assert_eq!(world.results(), kept);
    assert_eq!(kind(&world.resume().await), "done");
    let (shown_ids, outputs): (Vec<String>, Vec<ToolResultOutput>) =
        world.shown().into_iter().unzip();
    assert_eq!(shown_ids, ids);
    outputs
}

/// The result of a component's only call, as the model sees it after a restart.
async fn shown_of(component: Component, arguments: &str) -> ToolResultOutput {
    let replies = vec![calls(&[("a", component.name, arguments)]), says("ok")];
    let mut world = World::new(&[component], replies).await;
    assert_eq!(kind(&world.say("go").await), "needs-more-turns");
    let mut world = world.restart().await;
    assert_eq!(kind(&world.resume().await), "done");
    let [(id, output)] = world.shown().try_into().unwrap();
    assert_eq!(id, "a");
    output
}

pub(super) fn file(media_type: &str, data: FileData) -> ContentPart {
    ContentPart::File(FilePart {
        media_type: media_type.into(),
        data,
        filename: None,
    })
}

pub(super) fn url(media_type: &str, url: &str) -> ContentPart {
    file(media_type, FileData::Url(url.into()))
}

/// Values of tools outside of the sandbox, and the results that they become.
fn coerced() -> Vec<(Value, ToolResultOutput)> {
    let texts = ["x", "", "null", r#"{"type":"json","value":1}"#];
    let values = [
        json!(null),
        json!(0),
        json!(-1),
        json!(1.5),
        json!(u64::MAX),
        json!(true),
        json!(false),
        json!([]),
        json!([1, "a", null]),
        json!({}),
        json!({"a": {"b": 1}}),
        json!({"type": "error-text", "value": "no"}),
    ];
    let texts = texts.map(|of| (json!(of), text(of)));
    let values = values.map(|of| (of.clone(), value(of)));
    texts.into_iter().chain(values).collect()
}

/// The end of a closure's run: a value of the table, then an error, then nothing.
fn run_closure(invocation: &Invocation) -> RunEnd {
    let (row, table) = (row(invocation), coerced());
    let run = match table.get(row) {
        Some((value, _)) => Ok(Some(value.clone())),
        None if row == table.len() => Err("no disk".into()),
        None => Ok(None),
    };
    ToolResultOutput::from_run(run).into()
}

/// The row that a call's arguments name.
fn row(invocation: &Invocation) -> usize {
    usize::try_from(invocation.input["n"].as_u64().unwrap()).unwrap()
}

/// The results of calls of a native tool, one for each row, as the model sees them after a restart.
async fn of_native(body: fn(&Invocation) -> RunEnd, rows: usize) -> Vec<ToolResultOutput> {
    let rows = (0..rows).map(|row| (row.to_string(), json!({"n": row}).to_string()));
    let rows: Vec<(String, String)> = rows.collect();
    let batch = rows.iter();
    let batch: Vec<_> = batch
        .map(|(id, raw)| (id.as_str(), "native", raw.as_str()))
        .collect();
    let native = vec![Native::new("native", body)];
    let mut world = World::with(&[look()], native, vec![calls(&batch), says("ok")]).await;
    assert_eq!(kind(&world.say("go").await), "needs-more-turns");
    let kept = world.results();
    let mut world = world.restart().await;
    assert_eq!(world.results(), kept);
    assert_eq!(kind(&world.resume().await), "done");
    assert_eq!(world.shown(), kept);
    kept.into_iter().map(|(_, output)| output).collect()
}

/// Calls that run outside, closures of an embedder, and closures that fail or return nothing.
#[tokio::test]
async fn u01_string_is_text_and_other_values_are_json() {
    let (values, mut expected): (Vec<Value>, Vec<ToolResultOutput>) = coerced().into_iter().unzip();
    let results: Vec<Value> = values.iter().map(|value| json!({"value": value})).collect();
    assert_eq!(submitted(&results).await, expected);
    expected.push(ToolResultOutput::ErrorText("no disk".into()));
    let nothing = "The tool returned no result.";
    expected.push(ToolResultOutput::ErrorText(nothing.into()));
    assert_eq!(of_native(run_closure, expected.len()).await, expected);
}

/// The forms of the union, as the host writes them: JSON is compact, with sorted keys and the
/// shortest form of each number. A value in another form is brought to this one when it arrives.
const FORMS: [&str; 13] = [
    r#"{"type":"text","value":"a \"b\" \\ \u0000\n é 🦀"}"#,
    r#"{"type":"text","value":""}"#,
    r#"{"type":"text","value":"{\"type\":\"json\",\"value\":1}"}"#,
    r#"{"type":"json","value":null}"#,
    r#"{"type":"json","value":"x"}"#,
    r#"{"type":"json","value":{"a":[1.0,1e+300,-0.0,18446744073709551615,null],"type":"text","value":{"type":"error-text","value":"x"}}}"#,
    r#"{"type":"content","value":[]}"#,
    r#"{"type":"content","value":[{"type":"text","text":"t"},{"type":"file","media_type":"image/png","data":{"type":"url","value":"https://example.com/a"},"filename":"a.png"},{"type":"file","media_type":"text/csv","data":{"type":"text","value":"a,b"}}]}"#,
    r#"{"type":"error-text","value":"no"}"#,
    r#"{"type":"error-json","value":{"code":7,"type":"text"}}"#,
    r#"{"type":"error-json","value":[{"type":"json"}]}"#,
    r#"{"type":"execution-denied"}"#,
    r#"{"type":"execution-denied","reason":"not today"}"#,
];

fn written(outputs: impl IntoIterator<Item = ToolResultOutput>) -> Vec<String> {
    let outputs = outputs.into_iter();
    let forms = outputs.map(|output| serde_json::to_string(&output).unwrap());
    forms.collect()
}

/// From outside: in the journal, in the session after a restart, and in the request to the model.
#[tokio::test]
async fn u02_union_value_passes_byte_identical() {
    let ids: Vec<String> = (0..FORMS.len()).map(|id| id.to_string()).collect();
    let batch: Vec<_> = ids.iter().map(|id| (id.as_str(), "outside", "")).collect();
    let replies = vec![calls(&batch), says("ok")];
    let mut world = World::new(&[outside("outside")], replies).await;
    let continuation = waiting(world.say("go").await);
    let results = ids.iter().zip(FORMS);
    let results = results.map(|(id, form)| format!(r#"{{"call_id":"{id}","output":{form}}}"#));
    let results = results.collect::<Vec<_>>().join(",");
    world
        .submit_text(&continuation, &format!("[{results}]"))
        .await;
    let journaled = world
        .watcher
        .events()
        .into_iter()
        .filter_map(|event| match event {
            Event::CallSettled { output, .. } => Some(output),
            _ => None,
        });
    assert_eq!(written(journaled), FORMS);
    let outputs = |results: Vec<(String, ToolResultOutput)>| {
        written(results.into_iter().map(|(_, output)| output))
    };
    let mut world = world.restart().await;
    assert_eq!(outputs(world.results()), FORMS);
    assert_eq!(kind(&world.resume().await), "done");
    assert_eq!(outputs(world.shown()), FORMS);
}

/// A closure that returns a union value, and components.
#[tokio::test]
async fn u02_union_value_of_a_tool_passes_byte_identical() {
    fn returns(invocation: &Invocation) -> RunEnd {
        let form: ToolResultOutput = serde_json::from_str(FORMS[row(invocation)]).unwrap();
        form.into()
    }
    assert_eq!(written(of_native(returns, FORMS.len()).await), FORMS);
    let json = r#"{"a":[1.0,1e+300,-0.0,18446744073709551615,null],"type":"text"}"#;
    let table = [
        (
            Body::Text(0, json.as_bytes()),
            format!(r#"{{"type":"text","value":{}}}"#, json!(json)),
        ),
        (
            Body::Text(1, json.as_bytes()),
            format!(r#"{{"type":"json","value":{json}}}"#),
        ),
        (Body::Text(3, b"no"), FORMS[8].to_owned()),
        (
            Body::Text(4, json.as_bytes()),
            format!(r#"{{"type":"error-json","value":{json}}}"#),
        ),
        (Body::Denied(None), FORMS[11].to_owned()),
        (Body::Denied(Some("not today")), FORMS[12].to_owned()),
    ];
    for (body, form) in table {
        let shown = shown_of(returning("returns", body), "").await;
        assert_eq!(written([shown]), [form]);
    }
}

#[tokio::test]
async fn u03_json_with_a_type_key_stays_json() {
    let arguments = json!({"type": "text", "value": "x", "n": 1});
    let shown = shown_of(look(), &arguments.to_string()).await;
    assert_eq!(shown, value(arguments));
}

#[tokio::test]
async fn u05_content_survives_save_and_load() {
    let shown = shown_of(returning("draw", Body::Content("t", "image/png", PNG)), "").await;
    let picture = file("image/png", FileData::Bytes(PNG.to_vec()));
    let words = ContentPart::Text { text: "t".into() };
    assert_eq!(
        shown,
        ToolResultOutput::Content(vec![words, picture.clone()])
    );
    let form = json!(picture);
    let base64 = STANDARD.encode(PNG);
    assert!(base64.contains('+') && base64.contains('/'), "{base64}");
    assert_eq!(form["data"], json!({"type": "bytes", "value": base64}));
    // The URL alphabet is a different one.
    let mut other = form;
    other["data"]["value"] = json!(base64.replace('+', "-").replace('/', "_"));
    serde_json::from_value::<ContentPart>(other).unwrap_err();
}

#[tokio::test]
async fn u10_trap_is_an_error_with_a_message() {
    let message = "The tool crashed: wasm trap: wasm `unreachable` instruction executed.";
    assert_eq!(shown_of(crash(), "").await, failure("trap", message));
}

#[tokio::test]
async fn u12_url_media_type_is_guessed_from_its_path() {
    let table = [
        ("https://example.com/a.png", "image/png"),
        ("https://example.com/a.PDF?x=1.zip", "application/pdf"),
        ("https://example.com/a", "application/octet-stream"),
        ("https://example.com/a.odd", "application/octet-stream"),
    ];
    let results = table.map(|(url, _)| {
        let part = json!({"type": "file", "data": {"type": "url", "value": url}});
        json!({"output": {"type": "content", "value": [part]}})
    });
    let expected =
        table.map(|(address, media)| ToolResultOutput::Content(vec![url(media, address)]));
    assert_eq!(submitted(&results).await, expected);
}

#[tokio::test]
async fn u13_invalid_arguments_ask_for_no_approval() {
    let replies = vec![calls(&[("a", "send", r#"{"n": "one"}"#)]), says("ok")];
    let mut world = World::new(&[send()], replies).await;
    assert_eq!(kind(&world.say("go").await), "needs-more-turns");
    let message = r#"The arguments do not fit the tool's schema; the tool did not run. `/n`: "one" is not of type "integer""#;
    let expected = pairs([("a", failure("invalid-input", message))]);
    assert_eq!(world.results(), expected);
    assert_eq!(kind(&world.resume().await), "done");
    assert_eq!(world.shown(), expected);
    assert_eq!(world.watcher.count("approval-requested"), 0);
    assert_eq!((world.ran(), world.made()), (vec![], vec![]));
}

#[tokio::test]
async fn u14_altered_input_is_refused() {
    let replies = vec![calls(&[("a", "send", r#"{"n": 1}"#)])];
    let mut world = World::new(&[send()], replies).await;
    let right = waiting(world.say("go").await);
    let mut wrong = right.clone();
    let Awaiting::Confirm { calls, .. } = &mut wrong.awaiting else {
        panic!("it waits for confirmation: {wrong:?}");
    };
    Arc::make_mut(&mut calls[0].input).insert("n".into(), json!(1000));
    let before = world.watcher.events();
    let refused = refusal(world.decide(&wrong, &[approve("a")]).await);
    let expected = format!(
        "the continuation of request {} was altered, or signed by another host; get it from the session again",
        right.request
    );
    assert_eq!(refused, expected);
    assert_eq!((world.watcher.events(), world.made()), (before, vec![]));
    // The right result still works.
    world.decide(&right, &[approve("a")]).await;
    assert_eq!(world.results(), pairs([("a", value(json!({"n": 1})))]));
    assert_eq!(world.made(), ["a"]);
}

#[tokio::test]
async fn u15_finished_sibling_does_not_run_again() {
    let replies = vec![calls(&[("a", "act", ""), ("b", "send", "")]), says("ok")];
    let mut world = World::new(&[act(), send()], replies).await;
    world.agent.settings.timing = Timing::InOrder;
    let continuation = waiting(world.say("go").await);
    let finished = ToolResult {
        call_id: id("a"),
        name: "act".into(),
        output: value(json!({})),
        whole: None,
    };
    assert_eq!(continuation.completed, [finished]);
    let mut world = world.restart().await;
    let outcome = world.decide(&continuation, &[approve("b")]).await;
    assert_eq!(kind(&outcome), "needs-more-turns");
    let expected = pairs([("a", value(json!({}))), ("b", value(json!({})))]);
    assert_eq!(world.results(), expected);
    assert_eq!(
        (world.ran(), world.made()),
        (vec!["a".into(), "b".into()], vec!["a".into(), "b".into()])
    );
}

#[tokio::test]
async fn u15_duplicate_and_orphan_results_are_refused() {
    let replies = vec![calls(&[("a", "outside", ""), ("b", "act", "")]), says("ok")];
    let mut world = World::new(&[act(), outside("outside")], replies).await;
    let continuation = waiting(world.say("go").await);
    let result = |id: &str| json!({"call_id": id, "value": 1});
    let table = [
        (
            json!([result("a"), result("a")]),
            "call a was given two results",
        ),
        // The other call has its result already.
        (
            json!([result("a"), result("b")]),
            "a result was submitted for call b, which is not waiting for one",
        ),
        (
            json!([result("a"), result("c")]),
            "a result was submitted for call c, which is not waiting for one",
        ),
    ];
    for (results, expected) in table {
        let outcome = world.submit(&continuation, &results).await;
        assert_eq!(refusal(outcome), expected);
    }
    let outcome = world.submit(&continuation, &json!([result("a")])).await;
    assert!(matches!(outcome.end, TurnEnd::NeedsMoreTurns));
    let expected = pairs([("a", value(json!(1))), ("b", value(json!({})))]);
    assert_eq!(world.results(), expected);
    assert_eq!(
        (world.ran(), world.made()),
        (vec!["b".into()], vec!["b".into()])
    );
}
