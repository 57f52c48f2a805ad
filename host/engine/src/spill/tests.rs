use super::*;
use agent_host_types::message::{Message, Role};
use pretty_assertions::assert_eq;
use serde_json::json;

const FIFTH: usize = INLINE_TEXT_BYTES / 5;

/// Returns what remains of a long text, with the note between head and tail.
fn cut(whole: &str, head: &str, tail: &str) -> String {
    let left_out = whole.len() - head.len() - tail.len();
    let digest = Blob::new(whole.as_bytes().to_vec()).digest;
    format!(
        "{head}\n\n[{left_out} of {} bytes are left out here; the whole text is kept as blob {digest}]\n\n{tail}",
        whole.len()
    )
}

fn blob(text: &str) -> Blob {
    Blob::new(text.as_bytes().to_vec())
}

fn text(text: impl Into<String>) -> ContentPart {
    ContentPart::Text { text: text.into() }
}

fn file(media_type: &str, data: FileData) -> ContentPart {
    ContentPart::File(FilePart {
        media_type: media_type.into(),
        data,
        filename: Some("f".into()),
    })
}

/// T14, at the bound and one above it, for every variant that holds text.
#[test]
fn long_text_keeps_head_and_tail_and_moves_to_a_blob() {
    let (fits, long) = (
        "a".repeat(INLINE_TEXT_BYTES),
        "a".repeat(INLINE_TEXT_BYTES + 1),
    );
    let short = cut(&long, &"a".repeat(3 * FIFTH), &"a".repeat(FIFTH));
    assert!(short.len() <= INLINE_TEXT_BYTES);
    let variants: [fn(String) -> ToolResultOutput; 3] = [
        ToolResultOutput::Text,
        ToolResultOutput::ErrorText,
        |text| ToolResultOutput::ExecutionDenied(Some(text)),
    ];
    for make in variants {
        let (output, blobs) = (make(fits.clone()), Vec::new());
        assert_eq!(
            spill_output(output.clone()),
            SpilledOutput { output, blobs }
        );
        let (output, blobs) = (make(short.clone()), vec![blob(&long)]);
        assert_eq!(
            spill_output(make(long.clone())),
            SpilledOutput { output, blobs }
        );
    }
}

/// The length of JSON is that of its text; two bytes of it are the quotes.
#[test]
fn long_json_becomes_text_and_stays_success_or_error() {
    let string = |len: usize| json!("a".repeat(len - 2));
    let fits = ToolResultOutput::json(string(INLINE_TEXT_BYTES));
    let expected = SpilledOutput {
        output: fits.clone(),
        blobs: Vec::new(),
    };
    assert_eq!(spill_output(fits), expected);

    let long = string(INLINE_TEXT_BYTES + 1);
    let written = long.to_string();
    let head = format!("\"{}", "a".repeat(3 * FIFTH - 1));
    let tail = format!("{}\"", "a".repeat(FIFTH - 1));
    let short = cut(&written, &head, &tail);
    let settled = spill_output(ToolResultOutput::json(long.clone()));
    let expected = SpilledOutput {
        output: ToolResultOutput::Text(short.clone()),
        blobs: vec![blob(&written)],
    };
    assert_eq!(settled, expected);
    let settled = spill_output(ToolResultOutput::error_json(long));
    let expected = SpilledOutput {
        output: ToolResultOutput::ErrorText(short),
        blobs: vec![blob(&written)],
    };
    assert_eq!(settled, expected);
}

/// At every alignment of the characters.
#[test]
fn long_text_is_cut_at_character_boundaries() {
    for (shift, symbol) in [
        (0, "é"),
        (1, "é"),
        (0, "€"),
        (1, "€"),
        (2, "€"),
        (0, "🦀"),
        (1, "🦀"),
        (3, "🦀"),
    ] {
        let whole = format!("{}{}", "x".repeat(shift), symbol.repeat(INLINE_TEXT_BYTES));
        let ToolResultOutput::Text(short) =
            spill_output(ToolResultOutput::Text(whole.clone())).output
        else {
            panic!("text stays text");
        };
        let (head, rest) = short.split_once("\n\n[").unwrap();
        let (_, tail) = rest.split_once("]\n\n").unwrap();
        assert!(whole.starts_with(head) && whole.ends_with(tail));
        assert!(
            (3 * FIFTH - 3..=3 * FIFTH).contains(&head.len()),
            "{}",
            head.len()
        );
        assert!((FIFTH - 3..=FIFTH).contains(&tail.len()), "{}", tail.len());
    }
}

#[test]
fn bytes_move_to_blobs_and_other_parts_stay() {
    let parts = vec![
        text("see"),
        file("image/png", FileData::Bytes(vec![1, 2])),
        file("text/csv", FileData::Text("a,b".into())),
        file("image/png", FileData::Url("https://example.com/x".into())),
    ];
    let stored = Blob::new(vec![1, 2]);
    let mut expected = parts.clone();
    expected[1] = file("image/png", FileData::Blob(stored.reference()));
    let expected = SpilledOutput {
        output: ToolResultOutput::Content(expected),
        blobs: vec![stored],
    };
    assert_eq!(spill_output(ToolResultOutput::Content(parts)), expected);
}

/// The first parts use up the budget of the later ones.
#[test]
fn parts_share_one_budget_of_inline_text() {
    let (first, second, third) = (
        "a".repeat(INLINE_TEXT_BYTES - 1000),
        "b".repeat(2000),
        "c".repeat(NOTE_BYTES + 1),
    );
    let parts = vec![
        text(&first),
        text(&second),
        file("text/plain", FileData::Text(third.clone())),
        text("a last word"),
    ];
    let expected = SpilledOutput {
        output: ToolResultOutput::Content(vec![
            text(&first),
            text(cut(&second, &"b".repeat(600), &"b".repeat(200))),
            file("text/plain", FileData::Text(cut(&third, "", ""))),
            text("a last word"),
        ]),
        blobs: vec![blob(&second), blob(&third)],
    };
    assert_eq!(spill_output(ToolResultOutput::Content(parts)), expected);
}

#[test]
fn user_message_keeps_its_text_and_moves_its_files() {
    let long = "w".repeat(2 * INLINE_TEXT_BYTES);
    let message = Message::parts(
        Role::User,
        vec![
            text(&long),
            file("image/png", FileData::Bytes(vec![7])),
            file("text/plain", FileData::Text(long.clone())),
        ],
    );
    let stored = Blob::new(vec![7]);
    let short = cut(&long, &"w".repeat(3 * FIFTH), &"w".repeat(FIFTH));
    let expected = Message::parts(
        Role::User,
        vec![
            text(&long),
            file("image/png", FileData::Blob(stored.reference())),
            file("text/plain", FileData::Text(short)),
        ],
    );
    assert_eq!(
        spill_message(message),
        (expected, vec![stored, blob(&long)])
    );
}
