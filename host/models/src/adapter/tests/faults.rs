use super::*;
use pretty_assertions::assert_eq;
use raw::{RawServer, Then};

#[tokio::test]
async fn refusals_name_what_to_do_and_quote_the_server() {
    let openai = |message: &str| {
        json!({"error": {"message": message, "type": "x", "code": null}}).to_string()
    };
    let page = "<html><head><title>404 Not\nFound</title></head><body>long</body></html>";
    for (status, key, body, kind, expected) in [
        (
            401,
            Some(KEY),
            openai(&format!("Incorrect API key provided: {KEY}.")),
            ModelErrorKind::Unauthorized,
            "The model server at <url> did not accept the key (401). Check the key in THE_KEY. It says: \"Incorrect API key provided: [the key].\"",
        ),
        (
            401,
            None,
            String::new(),
            ModelErrorKind::Unauthorized,
            "The model server at <url> wants a key (401), and none was sent. Set THE_KEY.",
        ),
        (
            403,
            Some(KEY),
            json!({"detail": "no"}).to_string(),
            ModelErrorKind::Unauthorized,
            "The model server at <url> did not accept the key (403). Check the key in THE_KEY. It says: \"no\"",
        ),
        (
            404,
            None,
            page.to_owned(),
            ModelErrorKind::NotFound,
            "The model server has no model `m1`, or nothing is at <url> (404). Check the model's name and the base URL. It says: \"404 Not Found (a web page)\"",
        ),
        (
            404,
            None,
            "<html>no title".to_owned(),
            ModelErrorKind::NotFound,
            "The model server has no model `m1`, or nothing is at <url> (404). Check the model's name and the base URL.",
        ),
        (
            400,
            None,
            "plain \u{1b}[1m words".to_owned(),
            ModelErrorKind::InvalidRequest,
            "The model server at <url> refused the request for `m1` (400). It says: \"plain \\u{1b}[1m words\"",
        ),
        (
            413,
            None,
            json!({"error": "too large"}).to_string(),
            ModelErrorKind::InvalidRequest,
            "The model server at <url> refused the request for `m1` (413). It says: \"too large\"",
        ),
        (
            400,
            None,
            openai("This model's maximum context length is 8 tokens."),
            ModelErrorKind::ContextWindow,
            "The request is longer than the window of `m1` at <url> (400). It says: \"This model's maximum context length is 8 tokens.\"",
        ),
        (
            500,
            None,
            openai("the request exceeds the available context size"),
            ModelErrorKind::ContextWindow,
            "The request is longer than the window of `m1` at <url> (500). It says: \"the request exceeds the available context size\"",
        ),
        (
            429,
            None,
            openai("slow"),
            ModelErrorKind::RateLimited,
            "The model server at <url> turned the request away for now (429). Wait, or check the account's limits. It says: \"slow\" (tried 3 times)",
        ),
        (
            503,
            None,
            String::new(),
            ModelErrorKind::Server,
            "The model server at <url> failed (503). Try again later, or look at the server's log. (tried 3 times)",
        ),
    ] {
        let server = MockServer::start().await;
        let answer = ResponseTemplate::new(status).set_body_string(body);
        mount(&server, answer, None).await;
        let (answer, shown) = ask(&model(endpoint(&base_url(&server), key)), &request()).await;
        let url = format!("{}/v1/chat/completions", server.uri());
        assert_eq!(
            answer,
            Err(ModelError::new(kind, expected.replace("<url>", &url)))
        );
        assert_eq!(shown, [""; 0]);
    }
}

#[tokio::test]
async fn retry_after_beyond_the_policy_is_reported_at_once() {
    for (status, kind, expected) in [
        (
            429,
            ModelErrorKind::RateLimited,
            "The model server at <url> turned the request away for now (429). Wait, or check the account's limits. It asks for \
             3600 s until the next request, and one reply is waited for 1 s at most: try again after that time, or use another model.",
        ),
        (
            503,
            ModelErrorKind::Server,
            "The model server at <url> failed (503). Try again later, or look at the server's log. It asks for 3600 s until the \
             next request, and one reply is waited for 1 s at most: try again after that time, or use another model.",
        ),
    ] {
        let server = MockServer::start().await;
        let answer = ResponseTemplate::new(status).insert_header("retry-after", "3600");
        mount(&server, answer, None).await;
        let (answer, _) = ask(&model(endpoint(&base_url(&server), None)), &request()).await;
        let url = format!("{}/v1/chat/completions", server.uri());
        let expected = ModelError {
            kind,
            message: expected.replace("<url>", &url),
            retry_after_seconds: Some(3600),
        };
        assert_eq!(answer, Err(expected));
        assert_eq!(bodies(&server).await.len(), 1, "{status}");
    }
}

/// It is asked for again, and is an error if it stays so; one that was cut off is not asked for again.
#[tokio::test]
async fn empty_reply_is_asked_again_and_then_an_error() {
    for text in ["", " \n"] {
        let server = MockServer::start().await;
        mount(&server, event_stream(events(text)), Some(2)).await;
        mount(&server, event_stream(events("a")), None).await;
        let (answer, _) = ask(&model(endpoint(&base_url(&server), None)), &request()).await;
        assert_eq!(answer, Ok(reply("a")), "{text:?}");
    }
    let server = MockServer::start().await;
    mount(&server, event_stream(events("")), None).await;
    let (answer, _) = ask(&model(endpoint(&base_url(&server), None)), &request()).await;
    let expected = format!(
        "The answer of the model server at {}/v1/chat/completions cannot be used: it is empty, with neither text nor a tool \
         call. (tried 3 times)",
        server.uri()
    );
    assert_eq!(
        answer,
        Err(ModelError::new(ModelErrorKind::Protocol, expected))
    );

    let server = MockServer::start().await;
    let cut = events("").replace("\"stop\"", "\"length\"");
    mount(&server, event_stream(cut), None).await;
    let (answer, _) = ask(&model(endpoint(&base_url(&server), None)), &request()).await;
    assert_eq!(answer.unwrap().stop_reason, Some(StopReason::MaxTokens));
    assert_eq!(bodies(&server).await.len(), 1);
}

#[tokio::test]
async fn a_server_that_does_not_run_is_named() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let model = model(endpoint(&format!("http://{address}/v1"), None));
    let (answer, _) = ask(&model, &request()).await;
    let expected = format!(
        "No model server answers at http://{address}/v1/chat/completions: the connection was refused. Is the server running? \
         A local one must be started first, e.g. with `ollama serve`; else check the base URL. (tried 3 times)"
    );
    assert_eq!(
        answer,
        Err(ModelError::new(ModelErrorKind::Unreachable, expected))
    );
}

#[tokio::test]
async fn a_server_that_breaks_every_answer_off() {
    let head = raw::head("200 OK", "text/event-stream");
    let server = RawServer::start(vec![(head, Then::Close)]).await;
    let (answer, _) = ask(&model(endpoint(&server.base_url(), None)), &request()).await;
    let error = answer.unwrap_err();
    assert_eq!(
        (error.kind, server.seen()),
        (ModelErrorKind::Unreachable, 3)
    );
    let begin = format!(
        "The connection to the model server at {}/chat/completions broke: ",
        server.base_url()
    );
    assert!(error.message.starts_with(&begin), "{}", error.message);
    assert!(
        error.message.ends_with("(tried 3 times)"),
        "{}",
        error.message
    );
}

#[tokio::test]
async fn every_wait_has_its_own_limit() {
    let head = raw::head("200 OK", "text/event-stream");
    let part = "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n";
    let begun = format!("{head}{}", raw::chunk(part));
    let short = Duration::from_millis(50);
    let long = Timeouts::default();
    let first = Timeouts {
        first_chunk: short,
        ..long
    };
    let idle = Timeouts {
        idle_chunk: short,
        ..long
    };
    let total = Timeouts {
        total: short,
        ..long
    };
    let connect = Timeouts {
        connect: short,
        ..long
    };
    for (name, scheme, answer, timeouts, kind, expected) in [
        (
            "no head",
            "http",
            String::new(),
            first,
            ModelErrorKind::Timeout,
            "sent no answer within 0.05 s.",
        ),
        (
            "no first piece",
            "http",
            head.clone(),
            first,
            ModelErrorKind::Timeout,
            "sent no answer within 0.05 s.",
        ),
        (
            "no further piece",
            "http",
            begun.clone(),
            idle,
            ModelErrorKind::Timeout,
            "sent nothing more of its answer within 0.05 s.",
        ),
        (
            "no end",
            "http",
            begun.clone(),
            total,
            ModelErrorKind::Timeout,
            "sent no whole answer within 0.05 s.",
        ),
        // A server that never answers the TLS handshake.
        (
            "no connection",
            "https",
            String::new(),
            connect,
            ModelErrorKind::Unreachable,
            "within 0.05 s. Check the base URL and the network. (tried 3 times)",
        ),
    ] {
        let server = RawServer::start(vec![(answer, Then::Silence)]).await;
        let mut endpoint = endpoint(&format!("{scheme}://{}/v1", server.authority), None);
        endpoint.timeouts = timeouts;
        let error = ask(&model(endpoint), &request()).await.0.unwrap_err();
        assert_eq!(error.kind, kind, "{name}");
        assert!(
            error.message.contains(expected),
            "{name}: {}",
            error.message
        );
    }
}

#[tokio::test]
async fn endless_answers_are_cut() {
    let endless = "10000\r\n".to_owned() + &"x".repeat(0x1_0000) + "\r\n";
    let endless: &'static str = endless.leak();
    let comments = "10000\r\n".to_owned() + &":\n".repeat(0x8000) + "\r\n";
    let comments: &'static str = comments.leak();
    for (status, media_type, more, expected) in [
        (
            "200 OK",
            "text/event-stream",
            comments,
            "cannot be used: it is longer than 67108864 bytes.",
        ),
        (
            "200 OK",
            "text/event-stream",
            endless,
            "cannot be used: it sent an event of more than 8388608 bytes.",
        ),
        (
            "200 OK",
            "application/json",
            endless,
            "cannot be used: it is not JSON",
        ),
        ("400 Bad", "text/plain", endless, "xxx [cut]\""),
    ] {
        let server =
            RawServer::start(vec![(raw::head(status, media_type), Then::Repeat(more))]).await;
        let error = ask(&model(endpoint(&server.base_url(), None)), &request())
            .await
            .0
            .unwrap_err();
        assert!(error.message.contains(expected), "{}", error.message);
        assert_eq!(server.seen(), 1);
    }
}

#[tokio::test]
async fn neither_key_nor_conversation_goes_to_another_server() {
    let other = MockServer::start().await;
    mount(&other, event_stream(events("stolen")), None).await;
    let server = MockServer::start().await;
    let url = format!("{}/chat/completions", base_url(&server));
    let here = "/v1/chat/completions".to_owned();
    let there = format!("{}/v1/chat/completions", other.uri());
    // To another server; within the server but as a GET; and round and round.
    for (status, target, times) in [
        (307, &there, 1),
        (308, &there, 1),
        (302, &here, 1),
        (307, &here, 4),
    ] {
        server.reset().await;
        let answer = ResponseTemplate::new(status).insert_header("location", target.as_str());
        mount(&server, answer, None).await;
        let (answer, _) = ask(&model(endpoint(&base_url(&server), Some(KEY))), &request()).await;
        let expected = format!(
            "The server at {url} redirects to \"{target}\" ({status}), which is not followed: the key and the conversation go \
             only where you sent them. If the new place is right, set the base URL to it."
        );
        assert_eq!(
            answer,
            Err(ModelError::new(ModelErrorKind::Protocol, expected))
        );
        assert_eq!(bodies(&server).await.len(), times);
    }
    assert_eq!(bodies(&other).await, [] as [Value; 0]);
}

#[tokio::test]
async fn what_was_not_asked_for_is_no_answer() {
    let page = ResponseTemplate::new(200).set_body_raw("<html>welcome", "text/html");
    let packed = event_stream(events("a"));
    let cases = [
        (
            page,
            "it is a web page; the base URL is probably not that of a model server",
        ),
        (
            packed.clone().insert_header("content-encoding", "gzip"),
            "it is encoded as \"gzip\", for which it was not asked",
        ),
    ];
    for (answer, why) in cases {
        let server = MockServer::start().await;
        mount(&server, answer, None).await;
        let (answer, _) = ask(&model(endpoint(&base_url(&server), None)), &request()).await;
        let expected = format!(
            "The answer of the model server at {}/chat/completions cannot be used: {why}.",
            base_url(&server)
        );
        let expected = ModelError::new(ModelErrorKind::Protocol, expected);
        assert_eq!(answer, Err(expected));
        assert_eq!(bodies(&server).await.len(), 1);
    }
    let server = MockServer::start().await;
    let plain = packed.insert_header("content-encoding", "identity");
    mount(&server, plain, None).await;
    let (answer, _) = ask(&model(endpoint(&base_url(&server), None)), &request()).await;
    assert_eq!(answer, Ok(reply("a")));
}

#[tokio::test]
async fn a_key_never_appears_in_a_text() {
    let echo = format!("you sent {KEY}");
    let stream = format!("data: {}\n\n", json!({"error": {"message": echo}}));
    for answer in [
        ResponseTemplate::new(400).set_body_string(&echo),
        ResponseTemplate::new(401).set_body_json(json!({"error": {"message": echo}})),
        ResponseTemplate::new(404).set_body_string(format!("<html><title>{KEY}</title>")),
        ResponseTemplate::new(500).set_body_json(json!({"error": {"odd": KEY}})),
        ResponseTemplate::new(302).insert_header("location", format!("https://x/{KEY}").as_str()),
        event_stream(stream),
    ] {
        let server = MockServer::start().await;
        mount(&server, answer, None).await;
        let model = model(endpoint(&base_url(&server), Some(KEY)));
        let error = ask(&model, &request()).await.0.unwrap_err();
        assert!(error.message.contains("[the key]"), "{}", error.message);
        assert!(!error.message.contains(KEY), "{}", error.message);
        assert!(!format!("{model:?}{:?}", endpoint(&base_url(&server), Some(KEY))).contains(KEY));
    }
}

#[test]
fn a_key_that_cannot_be_sent_is_refused_at_once() {
    let endpoint = endpoint("http://127.0.0.1/v1", Some("two\nlines"));
    let error = HttpModel::new(
        Provider::OpenAiCompat,
        "m1",
        endpoint,
        Provider::OpenAiCompat.capabilities(),
    )
    .err()
    .unwrap();
    let expected = "The key in THE_KEY contains characters that cannot be sent. Set THE_KEY to the key alone, on one line.";
    assert_eq!(
        error,
        ModelError::new(ModelErrorKind::Unauthorized, expected)
    );
}
