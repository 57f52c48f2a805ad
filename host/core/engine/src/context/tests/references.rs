use super::conversation;
use crate::context::reference::choose;
use agent_host_types::{
    id::{CallId, Digest},
    message::{Message, ToolResult},
    output::{Blob, BlobRef, ContentPart, FileData, FilePart, ToolResultOutput},
};
use pretty_assertions::assert_eq;
use serde_json::json;

/// The calls of the chosen results, by their positions in the sketch.
fn chosen(messages: &[Message], keep: usize, tokens: u64) -> Vec<String> {
    let found = choose(messages, keep, tokens, |_| true);
    found
        .into_iter()
        .map(|found| found.result.call_id.0)
        .collect()
}

/// Results are chosen from the oldest, no more than needed, and never the newest.
#[test]
fn oldest_results_are_chosen_until_enough_is_saved() {
    // The conversation, the number of kept results, the tokens to save. 4,000 bytes are 1,000
    // tokens, of which about 900 are saved.
    let table: [(&str, usize, u64, &[&str]); 9] = [
        ("ucccc", 1, 1, &["c1"]),
        ("ucccc", 1, 800, &["c1"]),
        ("ucccc", 1, 950, &["c1", "c2"]),
        ("ucccc", 1, 9_000, &["c1", "c2", "c3"]),
        ("ucccc", 2, 9_000, &["c1", "c2"]),
        ("ucccc", 9, 9_000, &[]),
        // Results that the model has not seen stay, even if none are kept; after its answer all are
        // seen.
        ("ucc", 0, 9_000, &["c1"]),
        ("ucca", 0, 9_000, &["c1", "c2"]),
        ("uaua", 0, 9_000, &[]),
    ];
    for (sketch, keep, tokens, expected) in table {
        let messages = conversation(sketch, 4_000);
        assert_eq!(chosen(&messages, keep, tokens), expected, "{sketch} {keep}");
    }
    assert_eq!(chosen(&conversation("ucccc", 1_000), 1, 9_000), [""; 0]);
}

/// The text and the blob of the reference to each kind of result.
#[test]
fn reference_names_the_result_and_its_blob() {
    let long = "ab".repeat(1_000);
    let picture = Digest::of(b"picture");
    let parts = vec![
        ContentPart::Text { text: long.clone() },
        ContentPart::File(FilePart {
            media_type: "image/png".into(),
            data: FileData::Blob(BlobRef {
                digest: picture,
                size: 7,
            }),
            filename: Some("a.png".into()),
        }),
    ];
    let json = json!({ "k": long });
    let head = format!("\nIt began:\n{} [1800 more bytes]", "ab".repeat(100));
    let json_head = format!(
        "\nIt began:\n{{\"k\":\"{} [1808 more bytes]",
        "ab".repeat(97)
    );
    let text_blob = long.clone().into_bytes();
    let json_blob = json.to_string().into_bytes();
    let parts_blob = serde_json::to_vec(&parts).unwrap();
    let parts_text = format!("2 parts, a.png (image/png, 7 bytes, blob {picture})");
    let table = [
        (
            ToolResultOutput::Text(long.clone()),
            "text",
            &head,
            &text_blob,
        ),
        (ToolResultOutput::ErrorText(long), "text", &head, &text_blob),
        (
            ToolResultOutput::json(json.clone()),
            "JSON",
            &json_head,
            &json_blob,
        ),
        (
            ToolResultOutput::error_json(json),
            "JSON",
            &json_head,
            &json_blob,
        ),
        (
            ToolResultOutput::Content(parts),
            parts_text.as_str(),
            &head,
            &parts_blob,
        ),
    ];
    let advice = [
        (true, "If you need it, make the same call again."),
        (
            false,
            "Do not make the call again only to see it: that may change something.",
        ),
    ];
    for (output, what, head, whole) in table {
        for (is_repeatable, again) in advice {
            let message = Message::results(vec![ToolResult {
                call_id: CallId("c".into()),
                name: "look".into(),
                output: output.clone(),
                whole: None,
            }]);
            let messages = [vec![message], conversation("a", 1)].concat();
            let [found] = choose(&messages, 0, 1, |_| is_repeatable)
                .try_into()
                .unwrap();
            let blob = Blob::new(whole.clone());
            let text = format!(
                "[This result of `look` was taken out of the conversation to make room: {what}, {} bytes. All of it is the \
                 artifact `results/c`. {again}]{head}",
                whole.len()
            );
            let expected = match output.is_error() {
                true => ToolResultOutput::ErrorText(text),
                false => ToolResultOutput::Text(text),
            };
            assert_eq!(found.result.output, expected);
            assert_eq!(found.result.blob, blob.reference());
            assert_eq!(found.blob, Some(blob));
        }
    }
}

/// A denial is short and stays as it is.
#[test]
fn denied_call_is_never_a_reference() {
    let denied = Message::results(vec![ToolResult {
        call_id: CallId("c".into()),
        name: "look".into(),
        output: ToolResultOutput::ExecutionDenied(Some("no".repeat(2_000))),
        whole: None,
    }]);
    let messages = [vec![denied], conversation("a", 1)].concat();
    assert_eq!(choose(&messages, 0, 9_000, |_| true), []);
}

/// A preview is replaced by a reference to the blob that has the whole result already.
#[test]
fn preview_becomes_a_reference_to_its_whole() {
    let whole = Blob::new(b"{}".to_vec()).reference();
    let preview = format!("{{\"a\":{}", "1".repeat(4_000));
    let message = Message::results(vec![ToolResult {
        call_id: CallId("c".into()),
        name: "look".into(),
        output: ToolResultOutput::json(preview.clone()),
        whole: Some(whole.clone()),
    }]);
    let messages = [vec![message], conversation("a", 1)].concat();
    let [found] = choose(&messages, 0, 1, |_| true).try_into().unwrap();
    assert_eq!((found.result.blob, found.blob), (whole, None));
    let ToolResultOutput::Text(text) = found.result.output else {
        panic!("a reference is text");
    };
    let (note, beginning) = text.split_once("\nIt began:\n").unwrap();
    assert!(
        note.contains("JSON, 2 bytes. All of it is the artifact `results/c`."),
        "{note}"
    );
    assert!(beginning.starts_with("{\"a\":111"), "{beginning}");
}
