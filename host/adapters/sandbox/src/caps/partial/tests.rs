use super::*;
use crate::bindings::partial::Host as _;
use pretty_assertions::assert_eq;

enum Piece {
    Text(&'static str),
    File(&'static str, Option<&'static str>),
    Bytes(&'static [u8]),
}

use Piece::{Bytes, File, Text};

/// Sends pieces; returns the result of a call that returns `returned`, and what each piece was
/// answered.
async fn complete(
    pieces: &[Piece],
    returned: ToolResultOutput,
    output_bytes: u64,
) -> (ToolResultOutput, Vec<bool>) {
    let limits = Limits {
        output_bytes,
        ..Limits::default()
    };
    let mut ctx = PartialCtx::new(Telemetry::new(80, &Arc::default()), &limits);
    let mut fit = Vec::new();
    for piece in pieces {
        fit.push(
            match *piece {
                Text(text) => ctx.text(text.to_owned()).await,
                File(media_type, name) => {
                    let name = name.map(str::to_owned);
                    ctx.file(media_type.to_owned(), name).await
                }
                Bytes(bytes) => ctx.bytes(bytes.to_vec()).await,
            }
            .unwrap(),
        );
    }
    (ctx.complete(returned), fit)
}

fn text(text: &str) -> ToolResultOutput {
    ToolResultOutput::Text(text.to_owned())
}

fn part(text: &str) -> ContentPart {
    ContentPart::Text(text.to_owned())
}

fn file(media_type: &str, filename: Option<&str>, bytes: &[u8]) -> ContentPart {
    ContentPart::File(FilePart {
        media_type: media_type.to_owned(),
        data: FileData::Bytes(bytes.to_vec()),
        filename: filename.map(str::to_owned),
    })
}

#[tokio::test]
async fn pieces_come_before_what_is_returned() {
    let content = ToolResultOutput::Content;
    let csv = || file("text/csv", Some("a.csv"), b"a,b");
    let cases: [(&[Piece], ToolResultOutput, ToolResultOutput); 9] = [
        (&[], text("all"), text("all")),
        (&[Text("a"), Text(""), Text("b")], text("c"), text("abc")),
        (&[Text("a")], text(""), text("a")),
        (
            &[
                Text("a"),
                File("text/csv", Some("a.csv")),
                Bytes(b"a,"),
                Bytes(b"b"),
            ],
            text(""),
            content(vec![part("a"), csv()]),
        ),
        (
            &[File("text/csv", Some("a.csv")), Bytes(b"a,b"), Text("a")],
            content(vec![part("b"), part("c")]),
            content(vec![csv(), part("abc")]),
        ),
        (
            &[Bytes(b"a"), Bytes(b"b"), Text("a"), Bytes(b"c")],
            text("b"),
            content(vec![
                file(UNKNOWN, None, b"ab"),
                part("a"),
                file(UNKNOWN, None, b"c"),
                part("b"),
            ]),
        ),
        (
            &[Text("a")],
            ToolResultOutput::Json("1".to_owned()),
            ToolResultOutput::Json("1".to_owned()),
        ),
        (
            &[Text("a")],
            ToolResultOutput::ErrorText("failed".to_owned()),
            ToolResultOutput::ErrorText("failed".to_owned()),
        ),
        (
            &[Text("a")],
            ToolResultOutput::ExecutionDenied(None),
            ToolResultOutput::ExecutionDenied(None),
        ),
    ];
    for (pieces, returned, expected) in cases {
        let (output, fit) = complete(pieces, returned, 1 << 20).await;
        assert_eq!(format!("{output:?}"), format!("{expected:?}"));
        assert_eq!(fit, vec![true; pieces.len()]);
    }
}

#[tokio::test]
async fn full_result_ends_with_a_note() {
    // A result of 4 KiB may have 3,584 bytes, and the note.
    const LONG: &str = match str::from_utf8(&[b'x'; 3000]) {
        Ok(text) => text,
        Err(_) => "",
    };
    let (output, fit) = complete(
        &[Text("a"), Text(LONG), Text(LONG), Text("b")],
        text("c"),
        4096,
    )
    .await;
    assert_eq!(fit, [true, true, false, false]);
    let expected = mark_cut(text(&format!("a{LONG}")));
    assert_eq!(format!("{output:?}"), format!("{expected:?}"));
    // What is returned is left out as well, where it does not fit.
    let (output, fit) = complete(&[Text(LONG)], text(LONG), 4096).await;
    assert_eq!(fit, [true]);
    assert_eq!(format!("{output:?}"), format!("{:?}", mark_cut(text(LONG))));
    // Files without content are bounded, too.
    let files: Vec<Piece> = (0..100).map(|_| File("a/b", None)).collect();
    let (_, fit) = complete(&files, text(""), 4096).await;
    assert!(fit.contains(&true) && fit.contains(&false), "{fit:?}");
    // A failure is the whole result, however full the pieces are.
    let failure = ToolResultOutput::ErrorText("failed".to_owned());
    let (output, _) = complete(&[Text(LONG), Text(LONG)], failure, 4096).await;
    assert!(matches!(output, ToolResultOutput::ErrorText(text) if text == "failed"));
}
