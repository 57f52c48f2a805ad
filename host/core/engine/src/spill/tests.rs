use super::*;
use agent_host_types::message::{Message, Role};
use pretty_assertions::assert_eq;
use serde_json::json;

const FIFTH: usize = INLINE_TEXT_BYTES / 5;

/// Returns what remains of a long text in the result of call `a`.
fn cut(whole: &str, head: &str, tail: &str) -> String {
    noted(
        whole,
        head,
        tail,
        "the whole result is the artifact `results/a`",
    )
}

/// Returns what remains of a long text, with the note between head and tail.
fn noted(whole: &str, head: &str, tail: &str, note: &str) -> String {
    let left_out = whole.len() - head.len() - tail.len();
    format!(
        "{head}\n\n[{left_out} of {} bytes are left out here; {note}]\n\n{tail}",
        whole.len()
    )
}

/// Spills the result of call `a`, and checks that nothing of it is lost.
fn spill(output: ToolResultOutput) -> SpilledOutput {
    let tag = output.tag();
    let spilled = spill_output(output, "results/a");
    if let Some(whole) = &spilled.whole {
        let mut blobs = spilled.blobs.iter();
        let blob = blobs.find(|blob| blob.digest == whole.digest).unwrap();
        let restored = restore_output(&spilled.output, blob.bytes.clone()).unwrap();
        // Its bytes are in blobs of their own.
        assert_eq!(spill_output(restored, "results/a").output, spilled.output);
        assert_eq!(spilled.output.tag(), tag);
    }
    spilled
}

fn kept(output: ToolResultOutput) -> SpilledOutput {
    SpilledOutput {
        output,
        whole: None,
        blobs: Vec::new(),
    }
}

/// The preview, and the blob with this text.
fn moved(output: ToolResultOutput, whole: &str) -> SpilledOutput {
    SpilledOutput {
        output,
        whole: Some(blob(whole).reference()),
        blobs: vec![blob(whole)],
    }
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
        assert_eq!(spill(make(fits.clone())), kept(make(fits.clone())));
        assert_eq!(spill(make(long.clone())), moved(make(short.clone()), &long));
    }
}

/// The length of JSON is that of its text; two bytes of it are the quotes.
#[test]
fn long_json_stays_json() {
    let string = |len: usize| json!("a".repeat(len - 2));
    let fits = ToolResultOutput::json(string(INLINE_TEXT_BYTES));
    assert_eq!(spill(fits.clone()), kept(fits));

    let long = string(INLINE_TEXT_BYTES + 1);
    let written = long.to_string();
    let head = format!("\"{}", "a".repeat(3 * FIFTH - 1));
    let tail = format!("{}\"", "a".repeat(FIFTH - 1));
    let short = cut(&written, &head, &tail);
    let preview = ToolResultOutput::json(short.clone());
    let spilled = spill(ToolResultOutput::json(long.clone()));
    assert_eq!(spilled, moved(preview.clone(), &written));
    let whole = spilled.whole;
    assert_eq!(
        unquoted_preview(&preview, whole.as_ref()),
        Some(ToolResultOutput::Text(short.clone()))
    );
    assert_eq!(unquoted_preview(&preview, None), None);
    let preview = ToolResultOutput::error_json(short.clone());
    let spilled = spill(ToolResultOutput::error_json(long));
    assert_eq!(spilled, moved(preview.clone(), &written));
    assert_eq!(
        unquoted_preview(&preview, whole.as_ref()),
        Some(ToolResultOutput::ErrorText(short))
    );
}

/// The bytes come from a disk.
#[test]
fn bytes_that_are_no_whole_result_are_refused() {
    let json = ToolResultOutput::json(json!("preview"));
    let parts = ToolResultOutput::Content(Vec::new());
    let text = ToolResultOutput::Text(String::new());
    for (preview, bytes) in [(&json, b"[1".as_slice()), (&parts, b"{}"), (&text, b"\xff")] {
        assert_eq!(restore_output(preview, bytes.to_vec()), None);
    }
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
        let ToolResultOutput::Text(short) = spill(ToolResultOutput::Text(whole.clone())).output
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
        blobs: vec![stored],
        ..kept(ToolResultOutput::Content(expected))
    };
    assert_eq!(spill(ToolResultOutput::Content(parts)), expected);
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
    let preview = ToolResultOutput::Content(vec![
        text(&first),
        text(cut(&second, &"b".repeat(600), &"b".repeat(200))),
        file("text/plain", FileData::Text(cut(&third, "", ""))),
        text("a last word"),
    ]);
    let written = serde_json::to_string(&parts).unwrap();
    let spilled = spill(ToolResultOutput::Content(parts));
    assert_eq!(spilled, moved(preview, &written));
}

#[test]
fn user_message_keeps_its_text_and_moves_its_files() {
    let long = "w".repeat(2 * INLINE_TEXT_BYTES);
    let whole = blob(&long);
    let name = artifact_of_file(Some("f"), whole.digest);
    let fifth = INLINE_TEXT_BYTES / 5;
    let note = format!("the whole text is the artifact `{name}`");
    let short = noted(&long, &"w".repeat(3 * fifth), &"w".repeat(fifth), &note);
    let image = Blob::new(vec![7]);
    // A text file comes as text or as bytes.
    for data in [
        FileData::Text(long.clone()),
        FileData::Bytes(long.clone().into_bytes()),
    ] {
        let message = Message::parts(
            Role::User,
            vec![
                text(&long),
                file("image/png", FileData::Bytes(vec![7])),
                file("text/plain", data),
            ],
        );
        let expected = Message::parts(
            Role::User,
            vec![
                text(&long),
                file("image/png", FileData::Blob(image.reference())),
                file("text/plain", FileData::Text(short.clone())),
            ],
        );
        let artifact = Event::ArtifactStored {
            call_id: None,
            tool: None,
            name: name.clone(),
            media_type: "text/plain".into(),
            blob: whole.reference(),
        };
        let spilled = SpilledMessage {
            message: expected,
            stored: vec![artifact],
            blobs: vec![image.clone(), whole.clone()],
        };
        assert_eq!(spill_message(message), spilled);
    }
}

/// Short text files, and long files that are no text, stay blobs.
#[test]
fn other_files_of_a_user_message_are_blobs() {
    let short = b"short".to_vec();
    let not_text = vec![0xff; 2 * INLINE_TEXT_BYTES];
    let pdf = b"%PDF-".repeat(INLINE_TEXT_BYTES);
    for (media_type, bytes) in [
        ("text/plain", short),
        ("text/plain", not_text),
        ("application/pdf", pdf),
    ] {
        let whole = Blob::new(bytes.clone());
        let part = file(media_type, FileData::Bytes(bytes));
        let spilled = spill_message(Message::parts(Role::User, vec![part]));
        let expected = file(media_type, FileData::Blob(whole.reference()));
        assert_eq!(spilled.message, Message::parts(Role::User, vec![expected]));
        assert_eq!((spilled.stored, spilled.blobs), (vec![], vec![whole]));
    }
}

/// A client chooses the name of its file.
#[test]
fn artifact_of_a_file_has_its_name_or_its_digest() {
    let digest = Digest::of(b"text");
    let hex = digest.hex();
    let short: String = hex.chars().take(8).collect();
    let cases = [
        (Some("app.log"), format!("files/{short}/app.log")),
        (Some("logs/app.log"), format!("files/{short}/logs/app.log")),
        (Some("../../etc/passwd"), format!("files/{hex}.txt")),
        (Some("/etc/passwd"), format!("files/{hex}.txt")),
        (Some("a\u{1b}[2J"), format!("files/{hex}.txt")),
        (Some(""), format!("files/{hex}.txt")),
        (None, format!("files/{hex}.txt")),
    ];
    for (filename, expected) in cases {
        assert_eq!(artifact_of_file(filename, digest).as_str(), expected);
    }
}
