//! Requests that the model refuses as too long.

use super::*;
use pretty_assertions::assert_eq;

/// The model's refusal causes one compaction and one repetition, whatever the configured window.
#[tokio::test]
async fn model_refusal_compacts_once() {
    let short = || uncounted(says("short"));
    // The replies from the third request on, and the end.
    let table = [
        (
            vec![Err(too_long()), Ok(short()), Ok(uncounted(says("done")))],
            "done",
        ),
        (vec![Err(too_long()), Ok(short()), Err(too_long())], "error"),
        (vec![Err(too_long()), Err(too_long())], "error"),
    ];
    for (replies, expected) in table {
        let mut bench = bench(400, [uncounted(says(&"words ".repeat(1_000)))]);
        let count = replies.len();
        bench.say("go").await;
        bench.model.replies.lock().unwrap().extend(replies);
        let outcome = bench.say("and now?").await;
        assert_eq!(kind(&outcome), expected, "{outcome:?}");
        assert_eq!(bench.requests().len(), 1 + count);
        if let TurnEnd::Error { error } = outcome.end {
            let text = error.to_string();
            assert!(
                text.starts_with("context-window: the model rejected the request of about "),
                "{text}"
            );
            assert!(text.contains("(It is too long.)"), "{text}");
        }
    }
    // If nothing can be made shorter, the model is called once.
    let mut bench = bench(400, []);
    bench.fails(too_long());
    assert_eq!(kind(&bench.say("go").await), "error");
    assert_eq!(bench.requests().len(), 1);
    // Without a window the refusal is an error like any other.
    bench.agent.settings.context = None;
    bench.fails(too_long());
    let error = TurnError::Model { error: too_long() };
    assert_eq!(bench.say("go").await.end, TurnEnd::Error { error });
}

/// A reply that ended with the window is discarded and requested again; its tokens count, but not
/// as the size of the request.
#[tokio::test]
async fn reply_cut_by_the_window_is_requested_again() {
    let cut = |text: &str| ModelReply {
        stop_reason: Some(StopReason::ContextWindow),
        ..counted(2_000, says(text))
    };
    let mut bench = bench(400, [uncounted(says(&"words ".repeat(1_000)))]);
    bench.say("go").await;
    for reply in [
        cut("do"),
        uncounted(says("short")),
        counted(300, says("done")),
    ] {
        bench.replies(reply);
    }
    let outcome = bench.say("and now?").await;
    assert_eq!(kind(&outcome), "done", "{outcome:?}");
    let usage = outcome.summary.turn_usage;
    assert_eq!((usage.input_tokens, usage.output_tokens), (2_300, 10));
    let replies = events(&bench, |event| match event {
        Event::ModelReplied {
            reply, discarded, ..
        } => Some((reply.text, discarded.input_tokens)),
        _ => None,
    });
    assert_eq!(replies[1], ("done".to_owned(), 2_000));
    assert!(
        bench
            .observer
            .live
            .lock()
            .unwrap()
            .contains(&"restarted".to_owned())
    );
    // If nothing can be made shorter, the partial reply is the answer.
    let mut bench = self::bench(400, [cut("do")]);
    match bench.say("go").await {
        TurnReport {
            summary,
            end: TurnEnd::Done { text, .. },
        } => {
            assert_eq!(
                (text.as_str(), summary.stop_reason),
                ("do", Some(StopReason::ContextWindow))
            );
        }
        other => panic!("{other:?}"),
    }
}

/// A conversation that cannot fit ends the turn before the model call, and the error names the
/// largest part.
#[tokio::test]
async fn conversation_that_cannot_fit_ends_the_turn() {
    let mut bench = bench(44_000, [uncounted(calls(&[("c", "look", "")]))]);
    let outcome = run(&mut bench, "go").await;
    let TurnEnd::Error { error } = outcome.end else {
        panic!("{outcome:?}");
    };
    let TurnError::ContextWindow {
        needed_tokens,
        window_tokens,
        ref largest,
        said: None,
    } = error
    else {
        panic!("{error:?}");
    };
    assert!((11_000..11_300).contains(&needed_tokens), "{needed_tokens}");
    assert_eq!(window_tokens, 10_000);
    assert_eq!(
        largest,
        "the result of call c of `look` with about 11005 tokens"
    );
    assert_eq!(
        error.to_string(),
        format!(
            "context-window: the request needs about {needed_tokens} tokens, and the model's window has 10000; the \
             largest part is {largest}, and the conversation cannot be shortened any further. Use a model with a \
             larger window and set `window-tokens` under [context] accordingly, or start a new session and ask for \
             less at once"
        )
    );
    assert_eq!(bench.requests().len(), 1);
    // If the window is only assumed, the provider decides.
    bench.agent.settings.context = Some(ContextLimits {
        is_known: false,
        ..LIMITS
    });
    bench.replies(says("done"));
    assert_eq!(kind(&bench.turn(AgentInput::Continue).await), "done");
}

/// Servers refuse long requests without words for it. Near the window the conversation is compacted
/// once; the error of the second refusal is the server's own.
#[tokio::test]
async fn unknown_refusal_near_the_window_compacts_once() {
    let refused = || ModelError::new(ModelErrorKind::InvalidRequest, "Bad Request");
    let short = || uncounted(says("short"));
    let near = "words ".repeat(4_000);
    let table = [
        (
            near.as_str(),
            vec![Err(refused()), Ok(short()), Ok(uncounted(says("done")))],
            "done",
        ),
        (
            near.as_str(),
            vec![Err(refused()), Ok(short()), Err(refused())],
            "error",
        ),
        ("words", vec![Err(refused())], "error"),
    ];
    for (said, replies, expected) in table {
        let mut bench = bench(400, [uncounted(says(said))]);
        let count = replies.len();
        bench.say("go").await;
        bench.model.replies.lock().unwrap().extend(replies);
        let outcome = bench.say("and now?").await;
        assert_eq!(kind(&outcome), expected, "{outcome:?}");
        assert_eq!(bench.requests().len(), 1 + count);
        if let TurnEnd::Error { error } = outcome.end {
            assert_eq!(error, TurnError::Model { error: refused() });
        }
    }
}
