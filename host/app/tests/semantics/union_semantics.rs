//! Section U: the typed result union, from a tool through the journal to the model.

use super::{
    components::{Component, act, crash, look, outside, returning, send},
    script::{calls, says},
    world::*,
};
use agent_host_engine::turn::Timing;
use agent_host_test_guests::Body;
use agent_host_types::{
    continuation::Awaiting,
    message::ToolResult,
    output::{ContentPart, FileData, FilePart, ToolResultOutput, old},
    turn::TurnEnd,
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

/// The start of an image, with bytes whose base64 differs between the alphabets.
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\xff\xfb\xef\xff";

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

fn file(media_type: &str, data: FileData) -> ContentPart {
    ContentPart::File(FilePart {
        media_type: media_type.into(),
        data,
        filename: None,
    })
}

fn url(media_type: &str, url: &str) -> ContentPart {
    file(media_type, FileData::Url(url.into()))
}

#[tokio::test]
async fn u01_string_is_text_and_other_values_are_json() {
    let values = [
        json!("x"),
        json!(null),
        json!(1.5),
        json!(true),
        json!([1]),
        json!({"a": 1}),
    ];
    let results: Vec<Value> = values.iter().map(|value| json!({"value": value})).collect();
    let [_, others @ ..] = &values;
    let mut expected = vec![text("x")];
    expected.extend(others.iter().cloned().map(value));
    assert_eq!(submitted(&results).await, expected);
    // A tool that raises an error, and one that returns nothing.
    let run = ToolResultOutput::from_run;
    let error_text = |text: &str| ToolResultOutput::ErrorText(text.into());
    assert_eq!(run(Err("no disk".into())), error_text("no disk"));
    assert_eq!(run(Ok(None)), error_text("The tool returned no result."));
}

#[tokio::test]
async fn u02_union_value_passes_byte_identical() {
    let forms = [
        r#"{"type":"text","value":"a \"b\""}"#,
        r#"{"type":"json","value":{"a":[1.0,1e300,null],"type":"text"}}"#,
        r#"{"type":"content","value":[{"type":"text","text":"t"},{"type":"file","media_type":"image/png","data":{"type":"url","value":"https://example.com/a"},"filename":"a.png"}]}"#,
        r#"{"type":"error-text","value":"no"}"#,
        r#"{"type":"error-json","value":{"code":7}}"#,
        r#"{"type":"execution-denied"}"#,
        r#"{"type":"execution-denied","reason":"not today"}"#,
    ];
    let results: Vec<Value> = forms
        .iter()
        .map(|form| json!({"output": serde_json::from_str::<Value>(form).unwrap()}))
        .collect();
    let written: Vec<String> = submitted(&results)
        .await
        .iter()
        .map(|output| serde_json::to_string(output).unwrap())
        .collect();
    // A number is written as its shortest form.
    assert_eq!(written, forms.map(|form| form.replace("1e300", "1e+300")));
}

#[tokio::test]
async fn u03_json_with_a_type_key_stays_json() {
    let arguments = json!({"type": "text", "value": "x", "n": 1});
    let shown = shown_of(look(), &arguments.to_string()).await;
    assert_eq!(shown, value(arguments));
}

#[tokio::test]
async fn u04_old_result_keeps_its_error_flag() {
    let table = [
        (
            json!({"result": "disk gone", "is_error": true}),
            ToolResultOutput::ErrorText("disk gone".into()),
        ),
        (
            json!({"result": {"code": 7}, "is_error": true}),
            ToolResultOutput::error_json(json!({"code": 7})),
        ),
        (json!({"result": "fine", "is_error": false}), text("fine")),
    ];
    let load = |(stored, expected): &(Value, ToolResultOutput)| {
        let output = old::load(stored.clone()).unwrap().output;
        assert_eq!(output.is_error(), stored["is_error"] == true, "{stored}");
        assert_eq!(output, *expected);
        json!({"output": output})
    };
    let shown = submitted(&table.each_ref().map(load)).await;
    assert_eq!(shown, table.map(|(_, expected)| expected));
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
async fn u11_deprecated_parts_load_as_files_with_a_warning() {
    let png = || file("image/png", FileData::Bytes(PNG.to_vec()));
    let base64 = STANDARD.encode(PNG);
    let address = "https://example.com/a.png";
    let id = url("application/octet-stream", "file-id:f1");
    let table = [
        (
            json!({"type": "file-data", "data": base64, "media_type": "image/png"}),
            png(),
        ),
        (
            json!({"type": "image-data", "data": base64, "mediaType": "image/png"}),
            png(),
        ),
        (
            json!({"type": "file-url", "url": address}),
            url("image/png", address),
        ),
        (
            json!({"type": "image-url", "url": address}),
            url("image/png", address),
        ),
        (json!({"type": "file-id", "file_id": "f1"}), id),
    ];
    let load = |(part, _): &(Value, ContentPart)| {
        let loaded = old::load(json!({"type": "content", "value": [part]})).unwrap();
        let kind = part["type"].as_str().unwrap();
        let warning = format!("part 0 is of the deprecated kind `{kind}`; it was read as a file");
        assert_eq!(loaded.warnings, [warning]);
        json!({"output": loaded.output})
    };
    let shown = submitted(&table.each_ref().map(load)).await;
    let expected = table.map(|(_, part)| ToolResultOutput::Content(vec![part]));
    assert_eq!(shown, expected);
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
    calls[0].input.insert("n".into(), json!(1000));
    let before = world.watcher.events();
    let refused = refusal(world.decide(&wrong, &[approve("a")]).await);
    let expected = format!(
        "the continuation of request {} was altered, or was signed by another host; take it from the session again",
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
            "a result was submitted for call b, which does not wait for one",
        ),
        (
            json!([result("a"), result("c")]),
            "a result was submitted for call c, which does not wait for one",
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
