use super::*;
use crate::Recorder;
use pretty_assertions::assert_eq;
use serde_json::Value;
use std::{io::Write, sync::Arc};

/// A recording in memory.
#[derive(Clone, Default)]
pub(super) struct Written(Arc<Mutex<Vec<u8>>>);

impl Written {
    pub(super) fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

impl Write for Written {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// A model whose requests are recorded.
fn recorded(endpoint: Endpoint) -> (HttpModel, Written) {
    let written = Written::default();
    let recorder = Arc::new(Recorder::new(Box::new(written.clone())));
    (model(endpoint).recorded(&recorder), written)
}

/// Another request than the recorded one gets the recorded answer, too.
fn another() -> ModelRequest {
    ModelRequest {
        messages: vec![Message::text(Role::User, "hi again")],
        ..request()
    }
}

#[tokio::test]
async fn recording_replays_without_server() {
    let part = Answer::stream("data: {\"choices\":[{\"delta\":{\"content\":\"Hel\"}}]}\n\n");
    let whole = Answer::stream(events("Hello"));
    let busy = Answer::new(429).text("slow").header("retry-after", "0");
    let busy_for_long = Answer::new(429).text("slow").header("retry-after", "3600");
    let page = Answer::new(200).body("<html>", "text/html");
    let key = Answer::new(401).text(format!("not {KEY}"));
    for (name, answers) in [
        ("an answer", vec![whole.clone()]),
        (
            "cut, then whole",
            vec![part.clone().then_break(), whole.clone()],
        ),
        ("ended early, then whole", vec![part, whole.clone()]),
        (
            "no answer, then busy, then whole",
            vec![Answer::none(), busy.clone(), whole],
        ),
        ("never anything but busy", vec![busy]),
        ("busy for long", vec![busy_for_long]),
        ("always cut", vec![Answer::stream("").then_break()]),
        ("a web page", vec![page]),
        ("a wrong key", vec![key]),
    ] {
        let server = TestServer::sequence(answers).await;
        let (model, written) = recorded(endpoint(&base_url(&server), Some(KEY)));
        let expected = ask(&model, &request()).await;
        let seen = server.received().len();
        assert!(!written.text().contains(KEY), "{name}");

        let replayed = HttpModel::replayed(&written.text()).unwrap();
        assert_eq!(replayed.provenance(), model.provenance(), "{name}");
        assert_eq!(ask(replayed.as_ref(), &another()).await, expected, "{name}");
        assert_eq!(server.received().len(), seen, "{name}");
        let (more, shown) = ask(replayed.as_ref(), &request()).await;
        let ended = "Cannot play the recording: it ends here, and this run asks for more than the recorded one did.";
        let error = ModelError::new(ModelErrorKind::Script, ended);
        assert_eq!((more, shown), (Err(error), vec![]), "{name}");
    }
}

#[tokio::test]
async fn recording_has_documented_lines() {
    let answer = event_stream(events("Hello")).header("set-cookie", "a=b");
    let server = serve(answer).await;
    let (model, written) = recorded(endpoint(&base_url(&server), Some(KEY)));
    ask(&model, &request()).await.0.unwrap();
    let lines: Vec<Value> = written
        .text()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let url = format!("{}/chat/completions", base_url(&server));
    assert_eq!(
        lines,
        [
            json!({"type": "recording", "version": 1}),
            json!({
                "type": "model", "provider": "openai-compat", "name": "m1", "url": url, "has_key": true, "key_source": "THE_KEY",
                "vision": true, "audio": false, "documents": false, "files_in_results": false, "parallel_calls": true,
                "denied_is_error": false, "max_output_tokens": null, "window_tokens": null, "retries": 2, "first_wait_ms": 0, "longest_wait_ms": 0, "total_wait_ms": 1000,
            }),
            json!({"type": "request", "model": 0, "body": {
                "model": "m1",
                "messages": [{"role": "user", "content": "hi"}],
                "stream": true,
                "stream_options": {"include_usage": true},
            }}),
            json!({"type": "answer", "status": 200, "headers": {"content-type": "text/event-stream; charset=utf-8"}}),
            json!({"type": "piece", "text": events("Hello")}),
        ]
    );
}

/// The second model answers where the first is down, in the recording as in the run.
#[tokio::test]
async fn fallback_models_are_replayed() {
    let down = serve(Answer::new(503)).await;
    let up = serve(event_stream(events("Hello"))).await;
    let written = Written::default();
    let recorder = Arc::new(Recorder::new(Box::new(written.clone())));
    let served = |server: &TestServer| -> Arc<dyn Model> {
        Arc::new(model(endpoint(&base_url(server), None)).recorded(&recorder))
    };
    let run = crate::Fallback::new(served(&down), vec![served(&up)]);
    let expected = ask(&run, &request()).await;
    assert_eq!(expected.0.as_ref().unwrap().text, "Hello");
    let replayed = HttpModel::replayed(&written.text()).unwrap();
    assert_eq!(ask(replayed.as_ref(), &request()).await, expected);
    assert_eq!(up.received().len(), 1);
}

#[test]
fn recording_of_unknown_provider_is_refused() {
    let line = |provider: &str, url: &str| {
        let model = json!({
            "type": "model", "provider": provider, "name": "m", "url": url, "has_key": false, "key_source": "K",
            "vision": true, "documents": true, "files_in_results": true, "parallel_calls": true, "denied_is_error": false, "max_output_tokens": null, "window_tokens": null,
            "retries": 0, "first_wait_ms": 0, "longest_wait_ms": 0, "total_wait_ms": 0,
        });
        format!("{}\n{model}\n", json!({"type": "recording", "version": 1}))
    };
    for (recording, expected) in [
        (
            line("unknown", "http://127.0.0.1:1/"),
            "no provider is named `unknown`",
        ),
        (
            line("openai", "oops"),
            "its URL is invalid (relative URL without a base)",
        ),
    ] {
        let error = HttpModel::replayed(&recording).err().unwrap();
        let message = format!("Cannot play the recording: {expected}.");
        assert_eq!(error, ModelError::new(ModelErrorKind::Script, message));
    }
}
