use super::*;
use crate::settings::{ModelSettings, Thinking};
use pretty_assertions::assert_eq;

#[tokio::test]
async fn request_matches_wire() {
    let server = serve(event_stream(events("Hello"))).await;
    let model = model(endpoint(&base_url(&server), Some(&format!("{KEY}\n"))));
    assert_eq!(
        model.provenance(),
        Provenance {
            provider: "openai-compat".to_owned(),
            model: "m1".to_owned()
        }
    );
    let answer = ask(&model, &request()).await;
    assert_eq!(answer, (Ok(reply("Hello")), vec!["Hello".to_owned()]));

    let requests = server.received();
    assert_eq!(requests.len(), 1);
    let header = |name: &str| requests[0].header(name).unwrap();
    assert_eq!(
        [
            header("authorization"),
            header("content-type"),
            header("user-agent")
        ],
        [
            format!("Bearer {KEY}").as_str(),
            "application/json",
            concat!("agent-host/", env!("CARGO_PKG_VERSION"))
        ]
    );
    assert_eq!(
        server.bodies(),
        [json!({
            "model": "m1",
            "messages": [{"role": "user", "content": "hi"}],
            "stream": true,
            "stream_options": {"include_usage": true},
        })]
    );
}

#[tokio::test]
async fn lost_settings_are_noted_once_and_reasoning_can_be_hidden() {
    let thought = json!({"choices": [{"index": 0, "delta": {"reasoning_content": "hm"}}]});
    let stream = format!("data: {thought}\n\n{}", events("Hello"));
    for (summary, shown) in [
        (Some(false), "Hello"),
        (Some(true), "(hm)Hello"),
        (None, "(hm)Hello"),
    ] {
        let server = serve(event_stream(stream.clone())).await;
        let settings = ModelSettings {
            reasoning_summary: summary,
            thinking: Some(Thinking::Budget(2048)),
            ..ModelSettings::default()
        };
        let model = model(endpoint(&base_url(&server), None)).with_settings(settings);
        let (_, deltas) = ask(&model, &request()).await;
        let (note, rest) = deltas.split_first().unwrap();
        assert!(
            note.starts_with("<the setting `thinking` is not sent to m1: "),
            "{note}"
        );
        assert_eq!(rest.concat(), shown, "{summary:?}");
        let (_, deltas) = ask(&model, &request()).await;
        assert_eq!(deltas.concat(), shown, "{summary:?}");
    }
}

#[tokio::test]
async fn missing_or_empty_key_is_not_sent() {
    for key in [None, Some(""), Some(" \n")] {
        let server = serve(event_stream(events("a"))).await;
        let (answer, _) = ask(&model(endpoint(&base_url(&server), key)), &request()).await;
        assert_eq!(answer, Ok(reply("a")));
        let requests = server.received();
        assert_eq!(requests[0].header("authorization"), None);
    }
}

#[tokio::test]
async fn unstreamed_response_is_decoded() {
    let body = json!({
        "id": "r1",
        "object": "chat.completion",
        "choices": [{"index": 0, "finish_reason": "stop", "message": {
            "role": "assistant", "content": null, "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "read", "arguments": "{\"a\": 1}"}},
            ],
        }}],
        "usage": {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7},
    });
    let server = serve(Answer::new(200).json(&body)).await;
    let (answer, shown) = ask(&model(endpoint(&base_url(&server), None)), &request()).await;
    let answer = answer.unwrap();
    assert_eq!(answer.stop_reason, Some(StopReason::ToolUse));
    assert_eq!(answer.tool_calls.len(), 1);
    assert_eq!(answer.tool_calls[0].raw_arguments, "{\"a\": 1}");
    assert_eq!(
        answer.usage,
        Usage {
            input_tokens: 5,
            output_tokens: 2,
            cached_input_tokens: 0,
            cache_write_tokens: 0,
            cost_micros: None,
        }
    );
    assert_eq!(answer.raw, Some(body));
    assert_eq!(shown, [""; 0]);
}

/// The response is kept as received, unless it exceeds the reply limit.
#[tokio::test]
async fn raw_response_is_kept_within_limit() {
    let choice = json!({"finish_reason": "stop", "message": {"content": "a"}});
    let frame = json!({"choices": [choice], "padding": ""})
        .to_string()
        .len();
    for (excess, kept) in [(0, true), (1, false)] {
        let padding = "x".repeat(MAX_REPLY_BYTES - frame + excess);
        let body = json!({"choices": [choice], "padding": padding});
        let server = serve(Answer::new(200).json(&body)).await;
        let (answer, _) = ask(&model(endpoint(&base_url(&server), None)), &request()).await;
        let answer = answer.unwrap();
        assert_eq!((answer.text.as_str(), answer.raw.is_some()), ("a", kept));
    }
}

#[tokio::test]
async fn transient_errors_are_retried() {
    for status in [408, 409, 429, 500, 503, 529] {
        let failure = Answer::new(status).header("retry-after", "0");
        let server =
            TestServer::sequence([failure.clone(), failure, event_stream(events("a"))]).await;
        let answer = ask(&model(endpoint(&base_url(&server), None)), &request()).await;
        assert_eq!(answer, (Ok(reply("a")), vec!["a".to_owned()]), "{status}");
        assert_eq!(server.bodies().len(), 3, "{status}");
    }
}

/// The user learns why nothing arrives, and for how long.
#[tokio::test]
async fn wait_is_told_before_it_begins() {
    let busy = Answer::new(429).text("slow").header("retry-after", "0");
    let server = TestServer::sequence([busy, event_stream(events("a"))]).await;
    let told = Mutex::new(Vec::new());
    let sink = |delta: ModelDelta<'_>| told.lock().unwrap().push(owned(delta));
    let model = model(endpoint(&base_url(&server), None));
    assert_eq!(model.respond(&request(), &sink).await, Ok(reply("a")));
    let url = model.url();
    let waits = format!(
        "<0ns after The model server at {url} is limiting requests (429). Wait, or check the account's limits. It \
         says: \"slow\">"
    );
    assert_eq!(told.into_inner().unwrap(), [waits, "a".to_owned()]);
}

#[tokio::test]
async fn broken_stream_is_retried_as_a_whole() {
    let part = "data: {\"choices\":[{\"delta\":{\"content\":\"Hel\"}}]}\n\n";
    for (first, expected) in [
        (
            Answer::stream(part).then_break(),
            vec!["Hel", "<restarted>", "Hello"],
        ),
        (Answer::stream("").then_break(), vec!["Hello"]),
    ] {
        let server = TestServer::sequence([first, Answer::stream(events("Hello"))]).await;
        let (answer, shown) = ask(&model(endpoint(&base_url(&server), None)), &request()).await;
        assert_eq!(answer, Ok(reply("Hello")));
        assert_eq!(shown, expected);
        assert_eq!(server.received().len(), 2);
    }
}

/// A body that is whole by its length is a reply, although the server does not say why the model
/// stopped.
#[tokio::test]
async fn whole_stream_without_reason_is_a_reply() {
    let part = "data: {\"id\":\"r1\",\"choices\":[{\"delta\":{\"content\":\"Hel\"}}]}\n\n";
    for body in [part.to_owned(), format!("{part}data: [DONE]\n\n")] {
        let server = serve(Answer::stream(body)).await;
        let (answer, shown) = ask(&model(endpoint(&base_url(&server), None)), &request()).await;
        let expected = ModelReply {
            stop_reason: Some(StopReason::Unknown),
            ..reply("Hel")
        };
        assert_eq!((answer, shown), (Ok(expected), vec!["Hel".to_owned()]));
        assert_eq!(server.received().len(), 1);
    }
}

#[tokio::test]
async fn nothing_is_awaited_after_stop_reason() {
    let end = events("a");
    let without_done = end.strip_suffix("data: [DONE]\n\n").unwrap().to_owned();
    for answer in [
        Answer::stream(without_done.clone()).then_break(),
        Answer::stream(without_done).then_stall(),
        Answer::stream(end).then_stall(),
    ] {
        let server = serve(answer).await;
        let mut endpoint = endpoint(&base_url(&server), None);
        endpoint.timeouts.idle_chunk = Duration::from_millis(50);
        let (answer, _) = ask(&model(endpoint), &request()).await;
        assert_eq!(answer, Ok(reply("a")));
        assert_eq!(server.received().len(), 1);
    }
}

#[tokio::test]
async fn redirect_within_server_is_followed() {
    let server = TestServer::start(|_, request| match request.uri.path() {
        "/old/chat/completions" => Answer::new(307).header("location", "/v1/chat/completions"),
        _ => event_stream(events("a")),
    })
    .await;
    let endpoint = endpoint(&format!("{}/old", server.url), Some(KEY));
    let (answer, _) = ask(&model(endpoint), &request()).await;
    assert_eq!(answer, Ok(reply("a")));
    let bodies = server.bodies();
    assert_eq!((bodies.len(), &bodies[0]), (2, &bodies[1]));
}

fn with_image() -> ModelRequest {
    let image = ContentPart::File(FilePart {
        media_type: "image/png".to_owned(),
        data: FileData::Bytes(vec![1]),
        filename: None,
    });
    ModelRequest {
        messages: vec![Message::parts(Role::User, vec![image])],
        ..request()
    }
}

#[tokio::test]
async fn server_failing_on_images_gets_no_more() {
    for (status, attempts) in [(400, 1), (500, 3)] {
        let server = TestServer::start(move |_, request| {
            if request.body.contains("image_url") {
                Answer::new(status)
            } else {
                event_stream(events("a"))
            }
        })
        .await;
        let model = model(endpoint(&base_url(&server), None));
        for _ in 0..2 {
            assert_eq!(ask(&model, &with_image()).await.0, Ok(reply("a")));
        }
        let received = server.received();
        let shown: Vec<bool> = received
            .iter()
            .map(|request| request.body.contains("image_url"))
            .collect();
        let mut expected = vec![true; attempts];
        expected.extend([false, false]);
        assert_eq!(shown, expected, "{status}");
    }
}

#[tokio::test]
async fn unrelated_errors_are_not_blamed_on_images() {
    for (request, status, kind, attempts) in [
        (request(), 400, ModelErrorKind::InvalidRequest, 1),
        (with_image(), 401, ModelErrorKind::Unauthorized, 1),
        (with_image(), 429, ModelErrorKind::RateLimited, 3),
        // Without the image it fails as well, and the first error is returned.
        (with_image(), 400, ModelErrorKind::InvalidRequest, 2),
    ] {
        let server = serve(Answer::new(status)).await;
        let (answer, _) = ask(&model(endpoint(&base_url(&server), None)), &request).await;
        assert_eq!(answer.unwrap_err().kind, kind);
        assert_eq!(server.bodies().len(), attempts);
    }
}

#[tokio::test]
async fn dropped_future_closes_connection() {
    let part = "data: {\"choices\":[{\"delta\":{\"content\":\"Hel\"}}]}\n\n";
    let mut server = serve(Answer::stream(part).then_stall()).await;
    let model = model(endpoint(&base_url(&server), None));
    let request = request();
    let arrived = tokio::sync::Notify::new();
    let sink = |_: ModelDelta<'_>| arrived.notify_one();
    {
        let answer = model.respond(&request, &sink);
        tokio::select! {
            answer = answer => panic!("the server never answers, but there is {answer:?}"),
            () = arrived.notified() => {}
        }
    }
    server.ended.wait_for(|ended| *ended == 1).await.unwrap();
}
