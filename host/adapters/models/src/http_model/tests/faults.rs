use super::*;
use pretty_assertions::assert_eq;

#[tokio::test]
async fn refusal_says_what_to_do_and_quotes_server() {
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
            "The model server at <url> requires a key (401), and none was sent. Set THE_KEY.",
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
            "The model server has no model `m1`, or there is nothing at <url> (404). Check the model's name and the \
             base URL. It says: \"404 Not Found (a web page)\"",
        ),
        (
            404,
            None,
            "<html>no title".to_owned(),
            ModelErrorKind::NotFound,
            "The model server has no model `m1`, or there is nothing at <url> (404). Check the model's name and the \
             base URL.",
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
            ModelErrorKind::ContextWindow,
            "The request is larger than the model server at <url> accepts (413). It says: \"too large\"",
        ),
        (
            400,
            None,
            openai("This model's maximum context length is 8 tokens."),
            ModelErrorKind::ContextWindow,
            "The request exceeds the context window of `m1` at <url> (400). It says: \"This model's maximum context \
             length is 8 tokens.\"",
        ),
        (
            500,
            None,
            openai("the request exceeds the available context size"),
            ModelErrorKind::ContextWindow,
            "The request exceeds the context window of `m1` at <url> (500). It says: \"the request exceeds the \
             available context size\"",
        ),
        (
            429,
            None,
            openai("slow"),
            ModelErrorKind::RateLimited,
            "The model server at <url> is limiting requests (429). Wait, or check the account's limits. It says: \
             \"slow\" (tried 3 times)",
        ),
        (
            503,
            None,
            String::new(),
            ModelErrorKind::Server,
            "The model server at <url> failed (503). Try again later, or check the server's log. (tried 3 times)",
        ),
    ] {
        let answer = Answer::new(status).text(body);
        let server = serve(answer).await;
        let (answer, shown) = ask(&model(endpoint(&base_url(&server), key)), &request()).await;
        let url = format!("{}/v1/chat/completions", server.url);
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
            "The model server at <url> is limiting requests (429). Wait, or check the account's limits. It asks to \
             wait 3600 s before the next request, and the limit for one reply is 1 s: try again after that time, or \
             use another model.",
        ),
        (
            503,
            ModelErrorKind::Server,
            "The model server at <url> failed (503). Try again later, or check the server's log. It asks to wait \
             3600 s before the next request, and the limit for one reply is 1 s: try again after that time, or use \
             another model.",
        ),
    ] {
        let answer = Answer::new(status).header("retry-after", "3600");
        let server = serve(answer).await;
        let (answer, _) = ask(&model(endpoint(&base_url(&server), None)), &request()).await;
        let url = format!("{}/v1/chat/completions", server.url);
        let expected = ModelError {
            kind,
            message: expected.replace("<url>", &url),
            retry_after_seconds: Some(3600),
        };
        assert_eq!(answer, Err(expected));
        assert_eq!(server.bodies().len(), 1, "{status}");
    }
}

/// The same request would get the same reply.
#[tokio::test]
async fn empty_reply_is_not_retried() {
    for text in ["", " \n"] {
        let server = serve(event_stream(events(text))).await;
        let (answer, _) = ask(&model(endpoint(&base_url(&server), None)), &request()).await;
        assert_eq!(answer, Ok(reply(text)), "{text:?}");
        assert_eq!(server.bodies().len(), 1);
    }
    let cut = events("").replace("\"stop\"", "\"length\"");
    let server = serve(event_stream(cut)).await;
    let (answer, _) = ask(&model(endpoint(&base_url(&server), None)), &request()).await;
    assert_eq!(answer.unwrap().stop_reason, Some(StopReason::MaxTokens));
    assert_eq!(server.bodies().len(), 1);
}

#[tokio::test]
async fn refused_connection_names_server() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let model = model(endpoint(&format!("http://{address}/v1"), None));
    let (answer, _) = ask(&model, &request()).await;
    let expected = format!(
        "No model server answers at http://{address}/v1/chat/completions: the connection was refused. Is the server \
         running? Start a local one first, e.g. with `ollama serve`; otherwise check the base URL. (tried 3 times)"
    );
    assert_eq!(
        answer,
        Err(ModelError::new(ModelErrorKind::Unreachable, expected))
    );
}

#[tokio::test]
async fn server_that_always_breaks_off_is_an_error() {
    let server = serve(Answer::stream("").then_break()).await;
    let (answer, _) = ask(&model(endpoint(&base_url(&server), None)), &request()).await;
    let error = answer.unwrap_err();
    assert_eq!(
        (error.kind, server.received().len()),
        (ModelErrorKind::Unreachable, 3)
    );
    let begin = format!(
        "The connection to the model server at {}/chat/completions was lost: ",
        base_url(&server)
    );
    assert!(error.message.starts_with(&begin), "{}", error.message);
    assert!(
        error.message.ends_with("(tried 3 times)"),
        "{}",
        error.message
    );
}

#[tokio::test]
async fn each_wait_has_its_own_timeout() {
    let part = "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n";
    let begun = Answer::stream(part).then_stall();
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
    for (name, answer, timeouts, expected) in [
        (
            "no head",
            Answer::none().then_stall(),
            first,
            "sent no answer within 0.05 s.",
        ),
        (
            "no first piece",
            Answer::stream("").then_stall(),
            first,
            "sent no answer within 0.05 s.",
        ),
        (
            "no further piece",
            begun.clone(),
            idle,
            "sent no more of its answer within 0.05 s.",
        ),
        (
            "no end",
            begun,
            total,
            "sent no complete answer within 0.05 s.",
        ),
    ] {
        let server = serve(answer).await;
        let mut endpoint = endpoint(&base_url(&server), None);
        endpoint.timeouts = timeouts;
        let error = ask(&model(endpoint), &request()).await.0.unwrap_err();
        assert_eq!(error.kind, ModelErrorKind::Timeout, "{name}");
        assert!(
            error.message.contains(expected),
            "{name}: {}",
            error.message
        );
    }
}

/// A server that never answers the TLS handshake: the connection waits in the backlog.
#[tokio::test]
async fn tls_handshake_has_its_own_timeout() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let mut endpoint = endpoint(&format!("https://{address}/v1"), None);
    endpoint.timeouts.connect = Duration::from_millis(50);
    let error = ask(&model(endpoint), &request()).await.0.unwrap_err();
    assert_eq!(error.kind, ModelErrorKind::Unreachable);
    let expected = "within 0.05 s. Check the base URL and the network. (tried 3 times)";
    assert!(error.message.contains(expected), "{}", error.message);
}

#[tokio::test]
async fn endless_responses_are_cut() {
    let endless = "x".repeat(0x1_0000);
    let comments = ":\n".repeat(0x8000);
    for (status, media_type, more, expected) in [
        (
            200,
            "text/event-stream",
            comments,
            ": it is longer than 67108864 bytes.",
        ),
        (
            200,
            "text/event-stream",
            endless.clone(),
            ": it sent an event of more than 8388608 bytes.",
        ),
        (200, "application/json", endless.clone(), ": it is not JSON"),
        (400, "text/plain", endless, "xxx [cut]\""),
    ] {
        let answer = Answer::new(status).body(more, media_type).repeated();
        let server = serve(answer).await;
        let error = ask(&model(endpoint(&base_url(&server), None)), &request())
            .await
            .0
            .unwrap_err();
        assert!(error.message.contains(expected), "{}", error.message);
        assert_eq!(server.received().len(), 1);
    }
}

#[tokio::test]
async fn redirect_to_other_server_is_not_followed() {
    let other = serve(event_stream(events("stolen"))).await;
    let here = "/v1/chat/completions".to_owned();
    let there = format!("{}/v1/chat/completions", other.url);
    // To another server; within the server but as a GET; and round and round.
    for (status, target, times) in [
        (307, &there, 1),
        (308, &there, 1),
        (302, &here, 1),
        (307, &here, 4),
    ] {
        let server = serve(Answer::new(status).header("location", target)).await;
        let url = format!("{}/chat/completions", base_url(&server));
        let (answer, _) = ask(&model(endpoint(&base_url(&server), Some(KEY))), &request()).await;
        let expected = format!(
            "The server at {url} redirects to \"{target}\" ({status}). The redirect was not followed, because the \
             key and the conversation go only to the configured address; if the new address is right, set the base \
             URL to it."
        );
        assert_eq!(
            answer,
            Err(ModelError::new(ModelErrorKind::Protocol, expected))
        );
        assert_eq!(server.received().len(), times);
    }
    assert!(other.received().is_empty());
}

#[tokio::test]
async fn unrequested_response_forms_are_refused() {
    let page = Answer::new(200).body("<html>welcome", "text/html");
    let packed = event_stream(events("a"));
    let cases = [
        (
            page,
            "it is a web page; the base URL is probably not a model server's",
        ),
        (
            packed.clone().header("content-encoding", "gzip"),
            "it is encoded as \"gzip\", which was not requested",
        ),
    ];
    for (answer, why) in cases {
        let server = serve(answer).await;
        let (answer, _) = ask(&model(endpoint(&base_url(&server), None)), &request()).await;
        let expected = format!(
            "Cannot use the answer of the model server at {}/chat/completions: {why}.",
            base_url(&server)
        );
        let expected = ModelError::new(ModelErrorKind::Protocol, expected);
        assert_eq!(answer, Err(expected));
        assert_eq!(server.bodies().len(), 1);
    }
    let plain = packed.header("content-encoding", "identity");
    let server = serve(plain).await;
    let (answer, _) = ask(&model(endpoint(&base_url(&server), None)), &request()).await;
    assert_eq!(answer, Ok(reply("a")));
}

#[tokio::test]
async fn key_never_appears_in_errors() {
    let echo = format!("you sent {KEY}");
    let stream = format!("data: {}\n\n", json!({"error": {"message": echo}}));
    for answer in [
        Answer::new(400).text(echo.clone()),
        Answer::new(401).json(&json!({"error": {"message": echo}})),
        Answer::new(404).text(format!("<html><title>{KEY}</title>")),
        Answer::new(500).json(&json!({"error": {"odd": KEY}})),
        Answer::new(302).header("location", &format!("https://x/{KEY}")),
        event_stream(stream),
    ] {
        let server = serve(answer).await;
        let model = model(endpoint(&base_url(&server), Some(KEY)));
        let error = ask(&model, &request()).await.0.unwrap_err();
        assert!(error.message.contains("[the key]"), "{}", error.message);
        assert!(!error.message.contains(KEY), "{}", error.message);
        assert!(!format!("{model:?}{:?}", endpoint(&base_url(&server), Some(KEY))).contains(KEY));
    }
}

#[test]
fn unsendable_key_is_refused_at_once() {
    let endpoint = endpoint("http://127.0.0.1/v1", Some("two\nlines"));
    let error = HttpModel::new(
        Provider::OpenAiCompat,
        "m1",
        endpoint,
        Provider::OpenAiCompat.capabilities(),
    )
    .err()
    .unwrap();
    let expected = "The key in THE_KEY contains characters that cannot be sent. Set THE_KEY to only the key, on one \
        line.";
    assert_eq!(
        ModelError::from(error),
        ModelError::new(ModelErrorKind::Unauthorized, expected)
    );
}
