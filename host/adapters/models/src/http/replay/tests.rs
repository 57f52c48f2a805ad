use super::*;
use pretty_assertions::assert_eq;
use serde_json::json;

fn model() -> Value {
    json!({
        "type": "model", "provider": "openai", "name": "m", "url": "http://127.0.0.1:1/", "has_key": false, "key_source": "K",
        "vision": true, "documents": true, "files_in_results": true, "parallel_calls": true, "denied_is_error": false, "max_output_tokens": null, "window_tokens": null,
        "retries": 0, "first_wait_ms": 0, "longest_wait_ms": 0, "total_wait_ms": 0,
    })
}

fn begin() -> Value {
    json!({"type": "recording", "version": 1})
}

fn request(model: usize) -> Value {
    json!({"type": "request", "model": model, "body": {"a": 1}})
}

fn answer() -> Value {
    json!({"type": "answer", "status": 200, "headers": {"content-type": "text/plain"}})
}

fn text(lines: &[Value]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// Everything that is left of a recording: for each request to model 0 its status and bytes, or why
/// there is none.
fn played(recording: &ModelRecording, requests: usize) -> Vec<Result<(u16, String), String>> {
    let body = json!({"a": 2});
    let play = || {
        let mut answer = recording.next(0, &body)?;
        let mut bytes = Vec::new();
        while let Some(piece) = answer.next()? {
            bytes.extend_from_slice(&piece);
        }
        Ok((answer.status.as_u16(), String::from_utf8(bytes).unwrap()))
    };
    (0..requests)
        .map(|_| play().map_err(|failed: AttemptError| failed.error.message))
        .collect()
}

#[test]
fn request_gets_recorded_outcome() {
    let fault =
        json!({"type": "fault", "kind": "unreachable", "message": "it broke", "passing": true});
    let recording = text(&[
        begin(),
        model(),
        request(0),
        fault.clone(),
        request(0),
        answer(),
        json!({"type": "piece", "text": "one, "}),
        json!({"type": "piece", "base64": "dHdv"}),
        json!({"type": "end"}),
        request(0),
        answer(),
        json!({"type": "piece", "text": "half"}),
        fault,
        request(0),
        answer(),
        request(0),
    ]);
    let (recording, models) = ModelRecording::parse(&recording).unwrap();
    assert_eq!(models.len(), 1);
    let cannot = |why: &str| Err(format!("Cannot play the recording: {why}."));
    assert_eq!(
        played(&recording, 6),
        [
            Err("it broke".to_owned()),
            Ok((200, "one, two".to_owned())),
            Err("it broke".to_owned()),
            Ok((200, String::new())),
            cannot("the recorded run ended before this answer began"),
            cannot("it ends here, and this run asks for more than the recorded one did"),
        ]
    );
}

#[test]
fn request_of_other_model_is_refused() {
    let recording = text(&[begin(), model(), model(), request(1), answer()]);
    let (recording, _) = ModelRecording::parse(&recording).unwrap();
    let expected = "Cannot play the recording: the recorded run used another model here.";
    assert_eq!(played(&recording, 1), [Err(expected.to_owned())]);
}

#[test]
fn invalid_recording_is_refused_with_line() {
    let misplaced = |line: usize| format!("line {line}: it is out of place");
    let odd_header = json!({"type": "answer", "status": 200, "headers": {"a\nb": ""}});
    let odd_piece = json!({"type": "piece", "base64": "%"});
    let no_begin = "it does not start like a recording; `run --record FILE` writes one".to_owned();
    for (recording, expected) in [
        (String::new(), no_begin.clone()),
        ("[[turn]]\ntext = \"a\"\n".to_owned(), no_begin.clone()),
        (text(&[model()]), no_begin),
        (
            text(&[json!({"type": "recording", "version": 2})]),
            "its format has version 2, and this program reads version 1".to_owned(),
        ),
        (text(&[begin()]), "it names no model".to_owned()),
        (text(&[begin(), begin()]), misplaced(2)),
        (text(&[begin(), model(), request(1)]), misplaced(3)),
        (text(&[begin(), model(), request(0), model()]), misplaced(4)),
        (text(&[begin(), model(), answer()]), misplaced(3)),
        (text(&[begin(), model(), request(0), answer(), answer()]), misplaced(5)),
        (text(&[begin(), model(), request(0), json!({"type": "end"})]), misplaced(4)),
        (
            text(&[begin(), model(), request(0), odd_header]),
            "line 4: invalid HTTP header name".to_owned(),
        ),
        (
            text(&[begin(), model(), request(0), answer(), odd_piece]),
            "line 5: Invalid symbol 37, offset 0.".to_owned(),
        ),
        (
            text(&[begin(), json!({"type": "sparkle"})]),
            "line 2: unknown variant `sparkle`, expected one of `recording`, `model`, `request`, `answer`, `piece`, `end`, \
             `fault` at line 1 column 17"
                .to_owned(),
        ),
    ] {
        let error = ModelRecording::parse(&recording).err().unwrap();
        let message = format!("Cannot play the recording: {expected}.");
        assert_eq!(
            error,
            ModelError::new(ModelErrorKind::Script, message),
            "{recording}"
        );
    }
}

#[test]
fn truncated_last_line_is_ignored() {
    let whole = text(&[begin(), model(), request(0), answer()]);
    let next = request(0).to_string();
    for cut in 0..next.len() {
        let half = next.get(..cut).unwrap();
        let (recording, _) = ModelRecording::parse(&format!("{whole}{half}")).unwrap();
        assert_eq!(played(&recording, 1), [Ok((200, String::new()))], "{cut}");
    }
}

#[test]
fn first_difference_is_found() {
    let body = json!({"a": [1, {"b": "x"}], "c": 2});
    for (other, expected) in [
        (body.clone(), None),
        (json!({"a": [1, {"b": "y"}], "c": 2}), Some("/a/1/b")),
        (json!({"a": [1], "c": 2}), Some("/a/1")),
        (json!({"a": [1, {"b": "x"}]}), Some("/c")),
        (json!({"a": [1, {"b": "x"}], "c": 2, "d": 3}), Some("/d")),
        (json!({"a": {}, "c": 3}), Some("/a")),
        (json!(7), Some("")),
    ] {
        assert_eq!(difference(&body, &other).as_deref(), expected, "{other}");
    }
}
