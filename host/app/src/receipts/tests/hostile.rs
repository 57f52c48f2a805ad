//! Contents that were removed or changed, and lines that are anything.

use super::super::{FaultKind, VerifiedReceipts, verify_receipts};
use super::{Judgement, KEY, calls, export, fault, key, session, verify};
use FaultKind::{Changed, Contents, NoEnd, UnknownVersion, WrongKey};
use agent_host_types::id::Digest;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::io::{self, BufReader};

/// Changes a line as JSON.
fn edit(line: &mut String, change: impl Fn(&mut Value)) {
    let mut value = serde_json::from_str(line).unwrap();
    change(&mut value);
    *line = value.to_string();
}

fn head(lines: &[String]) -> Digest {
    let end: Value = serde_json::from_str(lines.last().unwrap()).unwrap();
    end["receipt"]["previous"]
        .as_str()
        .unwrap()
        .parse()
        .unwrap()
}

#[tokio::test]
async fn redacted_file_verifies_and_has_no_contents() {
    let stored = calls(3).await;
    for redact in [false, true] {
        let lines = export(&stored, &key(KEY), redact).await;
        let has_result = lines.iter().any(|line| line.contains("result 1"));
        assert_eq!(
            (has_result, lines.iter().any(|line| line.contains("salt"))),
            (!redact, !redact)
        );
        let (contents, redacted) = if redact { (0, 6) } else { (6, 0) };
        let expected = VerifiedReceipts {
            session: session(),
            calls: 3,
            decisions: 0,
            contents,
            redacted,
            head: head(&lines),
            key: key(KEY).public().fingerprint(),
        };
        assert_eq!(verify(&lines), Ok(expected));
    }
}

#[tokio::test]
async fn contents_may_be_removed_and_not_changed() {
    let lines = export(&calls(3).await, &key(KEY), false).await;
    type Edit<'a> = (&'a str, &'a dyn Fn(&mut Value), Judgement);
    let edits: [Edit<'_>; 10] = [
        (
            "all",
            &|line| drop(line.as_object_mut().unwrap().remove("contents")),
            Ok(3),
        ),
        ("each", &|line| line["contents"] = json!({}), Ok(3)),
        (
            "one",
            &|line| drop(line["contents"].as_object_mut().unwrap().remove("result")),
            Ok(3),
        ),
        (
            "text",
            &|line| line["contents"]["result"]["text"] = json!("x"),
            Err((Contents, 2)),
        ),
        (
            "salt",
            &|line| line["contents"]["result"]["salt"] = json!("x"),
            Err((Contents, 2)),
        ),
        // The text is moved into the salt, before which it was.
        (
            "boundary",
            &|line| {
                let content = &mut line["contents"]["result"];
                let [salt, text] = ["salt", "text"].map(|part| content[part].as_str().unwrap());
                *content = json!({ "salt": format!("{salt}{text}"), "text": "" });
            },
            Err((Contents, 2)),
        ),
        (
            "no salt",
            &|line| line["contents"]["result"] = json!({ "text": "x" }),
            Err((Contents, 2)),
        ),
        (
            "not text",
            &|line| line["contents"]["result"] = json!(7),
            Err((Contents, 2)),
        ),
        (
            "exchanged",
            &|line| line["contents"]["result"] = line["contents"]["arguments"].clone(),
            Err((Contents, 2)),
        ),
        (
            "added",
            &|line| line["contents"]["note"] = json!({ "salt": "", "text": "" }),
            Err((Contents, 2)),
        ),
    ];
    for (name, change, expected) in edits {
        let mut file = lines.clone();
        edit(&mut file[1], change);
        assert_eq!(fault(&file), expected, "{name}");
    }
}

#[tokio::test]
async fn line_that_is_anything_is_a_fault() {
    let lines = export(&calls(2).await, &key(KEY), false).await;
    let deep = "[".repeat(100_000);
    let twice = lines[0].replacen(r#"{"contents""#, r#"{"contents":{},"contents""#, 1);
    let spaced = lines[0].replacen(':', ": ", 1);
    let with_return = format!("{}\r", lines[0]);
    let escaped = lines[0].replacen("result", r"\u0072esult", 1);
    let padded = lines[0].replacen("==\"", "=\"", 1);
    let cases: [&[u8]; 14] = [
        b"",
        b"null",
        b"{}",
        b"\xff\xfe",
        b"\0",
        b"{\"receipt\":{},\"signature\":\"\"}",
        b"{\"receipt\":{\"version\":1e0},\"signature\":\"\"}",
        br#"{"receipt":"\ud800","signature":""}"#,
        deep.as_bytes(),
        twice.as_bytes(),
        spaced.as_bytes(),
        with_return.as_bytes(),
        escaped.as_bytes(),
        padded.as_bytes(),
    ];
    for line in cases {
        let file = [line, lines[1].as_bytes(), lines[2].as_bytes()];
        let (kind, at) = fault(&file).unwrap_err();
        let known = matches!(kind, Changed | UnknownVersion);
        assert!(
            known && at == 1,
            "{kind:?} {at} {}",
            String::from_utf8_lossy(line)
        );
        let file = [
            lines[0].as_bytes(),
            line,
            lines[1].as_bytes(),
            lines[2].as_bytes(),
        ];
        assert_eq!(fault(&file), Err((FaultKind::Inserted, 2)));
    }
    let fields: [(&str, Value, FaultKind); 5] = [
        ("version", json!(2), UnknownVersion),
        ("key", json!("\u{202e}\u{1b}[2J"), WrongKey),
        ("number", json!(-1), Changed),
        ("previous", json!(null), Changed),
        ("extra", json!(1), Changed),
    ];
    for (name, value, kind) in fields {
        let mut file = lines.clone();
        edit(&mut file[0], |line| line["receipt"][name] = value.clone());
        let fault = verify(&file).unwrap_err();
        assert_eq!((fault.kind, fault.line), (kind, 1), "{name}");
        assert!(
            fault.message.chars().all(|c| (' '..='~').contains(&c)),
            "{fault:?}"
        );
    }
    assert_eq!(fault(&[""; 0]), Err((NoEnd, 1)));
}

#[test]
fn line_without_end_is_refused() {
    let endless = BufReader::new(io::repeat(b'a'));
    let refused = verify_receipts(endless, &key(KEY).public()).unwrap_err();
    assert_eq!(refused.to_string(), "line 1 has more than 33554432 bytes");
}

/// A file whose last line has no end of line, as editors may leave it, is the same file.
#[tokio::test]
async fn file_without_last_line_break_verifies() {
    let lines = export(&calls(2).await, &key(KEY), false).await;
    let verified = verify_receipts(lines.join("\n").as_bytes(), &key(KEY).public());
    assert_eq!(verified.unwrap().map(|verified| verified.calls), Ok(2));
}
