//! A summary in place of older messages.

use super::*;
use pretty_assertions::assert_eq;
use std::sync::Arc;

/// If references do not suffice, the model summarises in a separate request, whose tokens count.
/// Only the first message and the newest turns of the conversation stay.
#[tokio::test]
async fn older_messages_become_a_summary() {
    let replies = [
        uncounted(calls(&[("a", "look", "")])),
        counted(9_000, says(&"words ".repeat(5_000))),
        counted(3_000, says(" I looked. \n")),
        counted(1_200, says("done")),
    ];
    let mut bench = bench(400, replies);
    bench.say("go").await;
    bench.turn(AgentInput::Continue).await;
    let outcome = bench.say("and now?").await;
    assert_eq!(kind(&outcome), "done", "{outcome:?}");
    let requests = bench.requests();
    let [.., asked, last] = requests.as_slice() else {
        panic!("{requests:?}");
    };
    assert_eq!((asked.messages.len(), &asked.tools), (1, &Vec::new()));
    let lines: Vec<&str> = texts(&asked.messages[0])[0].lines().collect();
    assert_eq!(lines[0], r#"{"from":"user","said":["go"]}"#);
    assert_eq!(lines.len(), 5, "{lines:?}");
    let [message] = last.messages.as_slice() else {
        panic!("{last:?}");
    };
    let record = summary("I looked.").replace(
        "here, and the conversation continues.",
        "here. What the user said last follows.",
    );
    assert_eq!(texts(message), ["go", &record, "and now?"]);
    assert_eq!(summarised(&bench).len(), 1);

    let usage = outcome.summary.turn_usage;
    assert_eq!((usage.input_tokens, usage.output_tokens), (4_200, 10));
    assert_eq!(bench.session.state().usage().input_tokens, 13_200);
    assert_eq!(bench.session.state().spent().usage.input_tokens, 4_200);
    let lines = bench.observer.live.lock().unwrap().clone();
    assert!(lines.contains(&"summarised 5".to_owned()), "{lines:?}");
    assert!(
        !lines.contains(&"text  I looked. \n".to_owned()),
        "{lines:?}"
    );
}

/// A small model summarises, unless the conversation is too long for it or it says nothing.
#[tokio::test]
async fn small_model_summarises_where_it_can() {
    type Reply = Result<ModelReply, ModelError>;
    let cases: [(Reply, &str, &str); 3] = [
        (Ok(counted(300, says("In short."))), "small", "In short."),
        (Err(too_long()), "m", "I looked."),
        (Ok(says(" ")), "m", "I looked."),
    ];
    for (reply, asked, text) in cases {
        let mut replies = vec![
            uncounted(calls(&[("a", "look", "")])),
            counted(9_000, says(&"words ".repeat(5_000))),
        ];
        if asked == "m" {
            replies.push(counted(3_000, says("I looked.")));
        }
        replies.push(counted(1_200, says("done")));
        let small = Arc::new(QueueModel::named("small", vec![], None));
        small.replies.lock().unwrap().push_back(reply);
        let mut bench = bench(400, vec![]);
        let model = Arc::new(QueueModel::named("m", replies, Some(Arc::clone(&small))));
        bench.agent.model = model.clone();
        bench.say("go").await;
        bench.turn(AgentInput::Continue).await;
        let outcome = bench.say("and now?").await;
        assert_eq!(kind(&outcome), "done", "{outcome:?}");
        let by = events(&bench, |event| match event {
            Event::HistorySummarised { provenance, .. } => Some(provenance.model),
            _ => None,
        });
        assert_eq!(by, [asked]);
        let last = model.requests.lock().unwrap().pop().unwrap();
        let shown = texts(&last.messages[0]).concat();
        assert!(shown.contains(text), "{shown}");
        assert_eq!(small.requests.lock().unwrap().len(), 1);
    }
}

/// A long run of one message, with no result old enough for a reference: the older turns become a
/// summary, and later that and more another one. The user's message and the newest turns stay.
#[tokio::test]
async fn long_run_stays_within_the_window() {
    let acts = |number: usize| uncounted(calls(&[(&format!("a{number}"), "act", "")]));
    let replies = (0..8)
        .map(acts)
        .chain([uncounted(says("First."))])
        .chain((8..12).map(acts))
        .chain([uncounted(says("Second.")), uncounted(says("done"))]);
    let mut bench = bench(4_000, replies);
    bench.agent.settings.context = Some(ContextLimits {
        keep_results: 20,
        ..LIMITS
    });
    let outcome = run(&mut bench, "go").await;
    assert_eq!(kind(&outcome), "done", "{outcome:?}");
    let found = summarised(&bench);
    let counts: Vec<usize> = found.iter().map(|(count, _)| *count).collect();
    assert_eq!(counts, [9, 9]);
    for (_, size) in &found {
        assert!(
            size.before_tokens > 8_000 && size.after_tokens <= 5_000,
            "{size:?}"
        );
    }
    let requests = bench.requests();
    let last = requests.last().unwrap();
    assert_eq!(texts(&last.messages[0]), ["go", &summary("Second.")]);
    let calls = last.messages.iter().flat_map(|message| &message.tool_calls);
    let calls: Vec<&str> = calls.map(|call| call.id.0.as_str()).collect();
    assert_eq!(calls, ["a8", "a9", "a10", "a11"]);
}

/// The tokens of a summary count towards the budget, which is checked before the next model call.
#[tokio::test]
async fn summary_counts_towards_the_budget() {
    let replies = [
        counted(8_500, says(&"words ".repeat(5_000))),
        counted(3_000, says("Short.")),
    ];
    let mut bench = bench(400, replies);
    bench.agent.settings.budgets.tokens = Some(3_000);
    assert_eq!(kind(&bench.say("go").await), "done");
    let outcome = bench.say("and now?").await;
    let expected = Budget::Tokens {
        limit: 3_000,
        used: 3_005,
    };
    match &outcome {
        TurnReport {
            summary,
            end: TurnEnd::BudgetExceeded { budget },
        } => {
            assert_eq!(budget, &expected);
            assert_eq!(summary.turn_usage.input_tokens, 3_000);
        }
        other => panic!("{other:?}"),
    }
    // With a larger budget the turn resumes from the summary, which is not written again.
    bench.agent.settings.budgets.tokens = None;
    bench.replies(says("done"));
    assert_eq!(kind(&bench.turn(AgentInput::Continue).await), "done");
    assert_eq!(bench.requests().len(), 3);
}

/// Whatever is stored when the process dies, the next one has the same conversation.
#[tokio::test]
async fn resumed_session_sends_the_same_request() {
    let mut bench = bench(4_000, looks(0..8));
    bench.fails(failing("the server is gone"));
    let outcome = run(&mut bench, "go").await;
    assert_eq!(kind(&outcome), "error");
    assert_eq!(referenced(&bench).len(), 1);
    // The next message is long enough for a summary.
    bench.replies(uncounted(says("I looked.")));
    bench.fails(failing("the server is gone"));
    let outcome = bench.say(&"long ".repeat(4_000)).await;
    assert_eq!(kind(&outcome), "error");
    assert_eq!(summarised(&bench).len(), 1);
    let asked = bench.requests().last().unwrap().clone();

    let mut again = Bench::resume(&bench.journal, vec![says("done")], tools(4_000)).await;
    again.agent.settings.context = Some(LIMITS);
    let outcome = again.turn(AgentInput::Continue).await;
    assert_eq!(kind(&outcome), "done");
    assert_eq!(again.requests(), std::slice::from_ref(&asked));

    // A copy has the same conversation, and knows which blobs it needs.
    let id = bench.session.id();
    let mut copy = SessionCopy::new(id, id);
    for record in bench.journal.durable() {
        copy.next(record).unwrap();
    }
    let results = events(&bench, |event| match event {
        Event::ResultsReferenced { results, .. } => Some(results),
        _ => None,
    });
    // The system prompt is one of them.
    assert_eq!(copy.blobs().len(), results.concat().len() + 1);
    let fresh = TestJournal::new(id);
    fresh.append(&bench.journal.durable(), Vec::new());
    let copied = Session::resume(fresh).await.unwrap();
    assert_eq!(copied.state().all_messages().unwrap(), asked.messages);
}

/// If the model returns no summary, or the user cancels, nothing of the conversation is lost.
#[tokio::test]
async fn missing_summary_changes_nothing() {
    let refusing = ModelReply {
        stop_reason: Some(StopReason::Refusal),
        ..says("I will not.")
    };
    let table = [
        (Ok(says(" \n")), "did not summarise"),
        (Ok(refusing), "did not summarise"),
        (Err(failing("the server is gone")), "the server is gone"),
    ];
    for (reply, expected) in table {
        let mut bench = bench(400, [counted(8_500, says(&"words ".repeat(5_000)))]);
        bench.say("go").await;
        bench.model.replies.lock().unwrap().push_back(reply);
        let outcome = bench.say("and now?").await;
        match outcome.end {
            TurnEnd::Error {
                error: TurnError::Model { error },
            } => assert!(error.message.contains(expected), "{error}"),
            other => panic!("{other:?}"),
        }
        assert_eq!(bench.session.state().message_count(), 3);
    }
    let mut bench = bench(400, [counted(8_500, says(&"words ".repeat(5_000)))]);
    bench.say("go").await;
    *bench.model.cancel_when_asked.lock().unwrap() = Some(bench.cancel.clone());
    assert_eq!(kind(&bench.say("and now?").await), "cancelled");
    assert_eq!(bench.session.state().message_count(), 3);
}
