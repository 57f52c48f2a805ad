use super::*;
use crate::retry::Retry;
use agent_host_types::model::ModelErrorKind;
use pretty_assertions::assert_eq;
use serde_json::json;

const KEY: &str = "sesame";

/// The recorded bytes.
#[derive(Clone, Default)]
struct Written(Arc<Mutex<Vec<u8>>>);

impl Write for Written {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// The lines that an exchange leaves in a recording.
fn lines_of(key: Option<&str>, exchange: impl FnOnce(&ModelRecorder)) -> Vec<Value> {
    let written = Written::default();
    let tap = ModelRecorder {
        recorder: Arc::new(Recorder::new(Box::new(written.clone()))),
        model: 0,
        secrets: key.map(SecretString::from).into_iter().collect(),
    };
    exchange(&tap);
    let bytes = written.0.lock().unwrap();
    let lines = std::str::from_utf8(&bytes).unwrap().lines();
    // The first is the same for all.
    lines
        .skip(1)
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn key_is_redacted_everywhere() {
    let echo = json!({"messages": [{"content": "my key is sesame!", "n": 7}], "sesame": null});
    let lines = lines_of(Some(KEY), |recorder| {
        let mut exchange = recorder.request(&echo);
        let mut headers = HeaderMap::new();
        headers.insert("location", "https://x/sesame".parse().unwrap());
        headers.insert("retry-after", "3".parse().unwrap());
        headers.insert("set-cookie", "a=b".parse().unwrap());
        exchange.head(StatusCode::OK, &headers);
        exchange.error(&AttemptError::new(
            ModelErrorKind::Unreachable,
            "no sesame".to_owned(),
            Retry::Backoff,
        ));
    });
    assert_eq!(
        lines,
        [
            json!({"type": "request", "model": 0,
                   "body": {"messages": [{"content": "my key is [the key]!", "n": 7}], "sesame": null}}),
            json!({"type": "answer", "status": 200,
                   "headers": {"location": "https://x/[the key]", "retry-after": "3"}}),
            json!({"type": "fault", "kind": "unreachable", "message": "no [the key]", "passing": true}),
        ]
    );
}

/// However an answer is cut, the recording has its bytes in their order, and the key never.
#[test]
fn key_is_redacted_across_pieces() {
    let answer = "a sesame, sesses sesamesesame and sesam";
    for size in 1..=answer.len() {
        let lines = lines_of(Some(KEY), |recorder| {
            let mut exchange = recorder.request(&json!(null));
            for piece in answer.as_bytes().chunks(size) {
                exchange.piece(piece);
            }
        });
        let pieces = lines[1..].iter();
        let played: String = pieces.map(|line| line["text"].as_str().unwrap()).collect();
        assert_eq!(
            played, "a [the key], sesses [the key][the key] and sesam",
            "pieces of {size}"
        );
    }
}

#[test]
fn pieces_are_recorded_as_they_arrived() {
    for (key, pieces) in [
        (None, ["one", "two"]),
        (Some(KEY), ["one", "two"]),
        (None, ["a ses", "ame"]),
    ] {
        let lines = lines_of(key, |recorder| {
            let mut exchange = recorder.request(&json!({}));
            for piece in pieces {
                exchange.piece(piece.as_bytes());
            }
            exchange.piece(&[0xff, 0xfe]);
            exchange.end(BodyEnd::Complete);
        });
        let [one, two] = pieces;
        assert_eq!(
            lines[1..],
            [
                json!({"type": "piece", "text": one}),
                json!({"type": "piece", "text": two}),
                json!({"type": "piece", "base64": "//4="}),
                json!({"type": "end"}),
            ]
        );
    }
}

/// A disk that is full.
struct Full;

impl Write for Full {
    fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
        Err(std::io::ErrorKind::StorageFull.into())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn failed_write_ends_recording_not_run() {
    let recorder = Recorder::new(Box::new(Full));
    assert!(recorder.0.lock().unwrap().writer.is_none());
    recorder.write(&RecordingEntry::End);
    assert!(recorder.0.lock().unwrap().writer.is_none());
}
