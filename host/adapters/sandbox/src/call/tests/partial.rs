//! Results that a guest gives piece by piece.

use super::{sharing::FOREVER, *};
use crate::guests::{PARTIAL_BYTES, PARTIAL_TEXT};
use pretty_assertions::assert_eq;
use tokio_util::sync::CancellationToken;

/// Code that returns an empty text.
const END: &str =
    "(i64.store (i32.const 16) (i64.const 0)) (i32.store (i32.const 24) (i32.const 0))
    (i32.const 16)";

/// Code that gives `2 lines\n` twice as text, as two pieces that end within a line.
const LINES: &str = "(i64.store (i32.const 64) (i64.const 0x0a73656e696c2032))
    (i64.store (i32.const 72) (i64.const 0x0a73656e696c2032))
    (drop (call $text (i32.const 64) (i32.const 12)))
    (drop (call $text (i32.const 76) (i32.const 4)))";

async fn load(code: &str) -> ToolComponent {
    let guest = Guest {
        imports: &[PARTIAL_TEXT, PARTIAL_BYTES],
        ..Guest::running(code)
    };
    sandbox().load(&guest.bytes()).await.unwrap()
}

#[tokio::test]
async fn text_is_seen_while_the_call_runs() {
    let tool = load(&format!("{LINES} {FOREVER}")).await;
    let (seen, cancel) = (Mutex::new(String::new()), CancellationToken::new());
    let call = Call {
        tool: "echo",
        call_id: &CallId("call-1".to_owned()),
        input: &input(&json!({})).into(),
        idempotency_key: "key-1",
        effect: Effect::ReadOnly,
        grants: Arc::default(),
        secrets: Arc::default(),
        limits: &Limits::default(),
        context: CallContext::default(),
        progress: &|update| {
            let mut seen = seen.lock().unwrap();
            if let CallUpdate::Output(lines) = update {
                seen.push_str(lines);
            }
            if seen.len() == 16 {
                cancel.cancel();
            }
        },
    };
    let report = tool.call_until(call, &cancel).await.settled().unwrap();
    assert_eq!(*seen.lock().unwrap(), "2 lines\n2 lines\n");
    assert_eq!(code(&report).0, "cancelled");
    // It is not among the lines that the guest printed.
    assert_eq!(report.accounting.stdio, "");
}

#[tokio::test]
async fn file_may_be_larger_than_the_memory_of_its_guest() {
    let tool = load(&format!(
        "(local $i i32)
        (loop $again
            (drop (call $more (i32.const 0) (i32.const 65536)))
            (local.set $i (i32.add (local.get $i) (i32.const 1)))
            (br_if $again (i32.lt_u (local.get $i) (i32.const 1024))))
        {END}"
    ))
    .await;
    let limits = Limits {
        memory_bytes: 16 << 20,
        output_bytes: 65 << 20,
        ..Limits::default()
    };
    let report = call(&tool, &limits).await;
    let ToolResultOutput::Content(parts) = &report.output else {
        panic!("{report:?}");
    };
    let [
        ContentPart::File(FilePart {
            media_type,
            data: FileData::Bytes(bytes),
            ..
        }),
    ] = &parts[..]
    else {
        panic!("not one file of bytes");
    };
    assert_eq!(
        (media_type.as_str(), bytes.len()),
        ("application/octet-stream", 64 << 20)
    );
}

#[tokio::test]
async fn guest_is_told_that_its_result_is_full() {
    let tool = load(&format!(
        "{LINES} (loop $again (br_if $again (call $text (i32.const 64) (i32.const 8)))) {END}"
    ))
    .await;
    let limits = Limits {
        output_bytes: 1024,
        ..Limits::default()
    };
    let report = call(&tool, &limits).await;
    let ToolResultOutput::Content(parts) = &report.output else {
        panic!("{report:?}");
    };
    let [ContentPart::Text { text }, ContentPart::Text { text: note }] = &parts[..] else {
        panic!("{parts:?}");
    };
    assert!(
        text.lines().all(|line| line == "2 lines") && text.len() > 400,
        "{text}"
    );
    assert!(
        note.starts_with("[The tool sent more than a result may hold"),
        "{note}"
    );
}
