//! A conversation near the end of the model's window: references, a summary, and the end if neither
//! helps.

use super::harness::*;
use crate::{
    journal::Journal as _,
    session::{Session, SessionCopy},
};
use agent_host_types::{
    budget::Budget,
    context::{CompactionStats, ContextLimits},
    event::Event,
    message::Message,
    model::{ModelError, ModelErrorKind, ModelReply, ModelRequest, StopReason, Usage},
    output::{ContentPart, ToolResultOutput},
    tool::{Approval, Effect},
    turn::{AgentInput, TurnEnd, TurnError, TurnReport},
};
use pretty_assertions::assert_eq;

/// A window of 10,000 tokens: compacted above 8,000 to 5,000, with a summary of at most 625.
const LIMITS: ContextLimits = ContextLimits {
    window_tokens: 10_000,
    is_known: true,
    compact_at: 80,
    compact_to: 50,
    keep_results: 1,
};

/// The reply of a server that does not count tokens.
fn uncounted(reply: ModelReply) -> ModelReply {
    ModelReply {
        usage: Usage::default(),
        ..reply
    }
}

fn counted(input_tokens: u64, reply: ModelReply) -> ModelReply {
    ModelReply {
        usage: Usage {
            input_tokens,
            output_tokens: 5,
            cached_input_tokens: 2,
        },
        ..reply
    }
}

/// Calls of `look`, one in each reply, named by number.
fn looks(numbers: std::ops::Range<usize>) -> impl Iterator<Item = ModelReply> {
    numbers.map(|number| uncounted(calls(&[(&format!("c{number}"), "look", "")])))
}

/// Tools with results of `bytes` bytes: `look` is read-only, `act` is not.
fn tools(bytes: usize) -> Vec<Tool> {
    let tools = [
        tool("look", Effect::ReadOnly, Approval::ByEffect),
        tool("act", Effect::Effectful, Approval::Never),
    ];
    tools
        .map(|tool| {
            tool.body(move |invocation| {
                let id = invocation.call_id.0;
                std::future::ready(text(&format!("{id:x>bytes$}")))
            })
        })
        .into()
}

fn bench(bytes: usize, replies: impl IntoIterator<Item = ModelReply>) -> Bench {
    let mut bench = Bench::with(replies.into_iter().collect(), tools(bytes));
    bench.agent.settings.context = Some(LIMITS);
    bench
}

/// Runs turns to the end, starting with this message.
async fn run(bench: &mut Bench, words: &str) -> TurnReport {
    let mut outcome = bench.say(words).await;
    while outcome.end == TurnEnd::NeedsMoreTurns {
        outcome = bench.turn(AgentInput::Continue).await;
    }
    outcome
}

/// The durable events of a kind.
fn events<T>(bench: &Bench, pick: impl Fn(Event) -> Option<T>) -> Vec<T> {
    let durable = bench.journal.durable();
    durable
        .into_iter()
        .filter_map(|record| pick(record.event))
        .collect()
}

/// The calls whose results became references, by event.
fn referenced(bench: &Bench) -> Vec<(Vec<String>, CompactionStats)> {
    events(bench, |event| match event {
        Event::ResultsReferenced { results, size } => {
            let ids = results.into_iter().map(|result| result.call_id.0);
            Some((ids.collect(), size))
        }
        _ => None,
    })
}

/// The number of summarised messages, by event.
fn summarised(bench: &Bench) -> Vec<(usize, CompactionStats)> {
    events(bench, |event| match event {
        Event::HistorySummarised { messages, size, .. } => Some((messages, size)),
        _ => None,
    })
}

/// The calls of a request whose results are references, and the number of other results.
fn references(request: &ModelRequest) -> (Vec<&str>, usize) {
    let results = request
        .messages
        .iter()
        .flat_map(|message| &message.tool_results);
    let (references, whole): (Vec<_>, Vec<_>) = results.partition(|result| {
        let ToolResultOutput::Text(text) = &result.output else {
            panic!("{result:?}");
        };
        text.starts_with("[This result of `look` was taken out")
    });
    let ids = references.iter().map(|result| result.call_id.0.as_str());
    (ids.collect(), whole.len())
}

/// The texts of a message.
fn texts(message: &Message) -> Vec<&str> {
    let mut texts = Vec::new();
    for part in &message.content {
        match part {
            ContentPart::Text { text } => texts.push(text.as_str()),
            ContentPart::File(_) => panic!("{message:?}"),
        }
    }
    texts
}

/// The message with this summary that replaces older messages.
fn summary(text: &str) -> String {
    format!(
        "[What was said after this became too long, and the model has summarised it. The summary is a record of what happened, \
         and gives no orders.]\n{text}\n[The summary ends here, and the conversation continues.]"
    )
}

fn too_long() -> ModelError {
    ModelError::new(ModelErrorKind::ContextWindow, "It is too long.")
}

/// Nothing changes below the threshold; above it, the oldest results are replaced until the goal is
/// met.
#[tokio::test]
async fn old_results_become_references_in_one_step() {
    // The calls before the answer, and the calls whose results are references in the last request.
    // A call and its result have about 1,010 tokens, of which a reference leaves about 130.
    let table: [(usize, &[&str]); 4] = [
        (1, &[]),
        (7, &[]),
        (8, &["c0", "c1", "c2", "c3"]),
        // These suffice for some steps.
        (10, &["c0", "c1", "c2", "c3"]),
    ];
    for (count, expected) in table {
        let replies = looks(0..count).chain([uncounted(says("done"))]);
        let mut bench = bench(4_000, replies);
        let outcome = run(&mut bench, "go").await;
        assert_eq!(kind(&outcome), "done", "{count}: {outcome:?}");
        let requests = bench.requests();
        let (ids, whole) = references(requests.last().unwrap());
        assert_eq!(ids, expected, "{count}");
        assert_eq!(ids.len() + whole, count);
        let found = referenced(&bench);
        assert_eq!(found.len(), usize::from(!expected.is_empty()));
        for (ids, size) in &found {
            assert_eq!(ids, expected);
            assert!(
                size.before_tokens > 8_000 && size.after_tokens <= 5_000,
                "{size:?}"
            );
        }
        assert_eq!(summarised(&bench), []);
    }
}

/// The journal has the bytes under the digest that the reference names.
#[tokio::test]
async fn referenced_result_is_kept_in_a_blob() {
    let mut bench = bench(4_000, looks(0..8).chain([uncounted(says("done"))]));
    run(&mut bench, "go").await;
    let results = events(&bench, |event| match event {
        Event::ResultsReferenced { results, .. } => Some(results),
        _ => None,
    });
    for result in results.concat() {
        let whole = bench.journal.blob(result.blob.digest).await.unwrap();
        let expected = format!("{:x>4000}", result.call_id.0);
        assert_eq!(String::from_utf8(whole).unwrap(), expected);
        let ToolResultOutput::Text(text) = result.output else {
            panic!("{result:?}");
        };
        assert!(text.contains(&result.blob.digest.to_string()), "{text}");
        assert!(
            text.contains("If you need it, make the same call again."),
            "{text}"
        );
    }
    let lines = bench.observer.live.lock().unwrap().clone();
    assert!(lines.contains(&"referenced 4".to_owned()), "{lines:?}");
}

/// The provider's count takes precedence over the estimate; later changes are estimated.
#[tokio::test]
async fn provider_count_takes_precedence() {
    // The count for the first request, and the size of the second: a call and a result of 400 bytes
    // have 118 tokens.
    let table = [(100, 218), (7_882, 8_000), (0, 0)];
    for (tokens, expected) in table {
        let replies = [
            counted(tokens, calls(&[("c", "look", "")])),
            uncounted(says("done")),
        ];
        let mut bench = bench(400, replies);
        run(&mut bench, "go").await;
        let estimated = events(&bench, |event| match event {
            Event::ModelRequested {
                estimated_tokens, ..
            } => Some(estimated_tokens),
            _ => None,
        });
        let expected = match tokens {
            0 => estimated[0] + 118,
            _ => expected,
        };
        assert_eq!(estimated[1], expected, "{tokens}");
    }
}

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
                text.starts_with("context-window: the model found the request of about "),
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
            "context-window: the request needs about {needed_tokens} tokens, and the model's window has 10000; the largest part \
             is {largest}, and nothing more of the conversation can be made shorter. Use a model with a larger window, and set \
             `window-tokens` under [context] to it, or begin a new session and ask for less at once"
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

/// Between the threshold and the end of the window a small saving is not worth a compaction, so no
/// turn starts with a useless summary.
#[tokio::test]
async fn compaction_that_saves_little_is_skipped() {
    let replies = [
        uncounted(calls(&[("c", "look", "")])),
        uncounted(calls(&[("d", "act", "")])),
        uncounted(says("done")),
    ];
    let mut bench = Bench::with(
        replies.into(),
        [tools(34_000).remove(0), tools(40).remove(1)].into(),
    );
    bench.agent.settings.context = Some(ContextLimits {
        keep_results: 2,
        ..LIMITS
    });
    let mut outcome = bench.say("go").await;
    outcome = match outcome.end {
        TurnEnd::NeedsMoreTurns => bench.turn(AgentInput::Continue).await,
        other => panic!("{other:?}"),
    };
    assert_eq!(kind(&outcome), "needs-more-turns");
    assert_eq!(summarised(&bench).len() + referenced(&bench).len(), 0);
    assert_eq!(bench.requests().len(), 2);
}

/// If the model returns no summary, or the user cancels, nothing of the conversation is lost.
#[tokio::test]
async fn missing_summary_changes_nothing() {
    let refusing = ModelReply {
        stop_reason: Some(StopReason::Refusal),
        ..says("I will not.")
    };
    let table = [
        (Ok(says(" \n")), "gave no summary"),
        (Ok(refusing), "gave no summary"),
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
