//! Turns from input to end.

use super::harness::*;
use crate::{journal::Journal as _, turn::ToolRuntime};
use agent_host_types::{
    event::Event,
    id::CallId,
    message::{Message, Role, ToolResult},
    model::{ModelError, ModelErrorKind, ModelReply, ModelRequest, Provenance, StopReason, Usage},
    output::{Blob, ContentPart, FileData, FilePart, ToolResultOutput},
    tool::{Approval, Effect},
    turn::{AgentInput, Durability, TurnEnd, TurnError, TurnReport, TurnSummary},
};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

fn summary(bench: &Bench) -> TurnSummary {
    TurnSummary {
        session: bench.session.id(),
        turn: 1,
        total_turns: 1,
        turn_usage: USAGE,
        total_usage: USAGE,
        provenance: Provenance {
            provider: "queue".into(),
            model: "m".into(),
        },
        response_id: Some("r".into()),
        stop_reason: Some(StopReason::EndTurn),
        tool_calls: 0,
        duration_ms: 0,
        tool_runtime: ToolRuntime::Host,
        durability: Durability::Turn,
        children: Vec::new(),
        workflow: None,
    }
}

/// S4: text ends the turn. The request and the report are compared whole.
#[tokio::test]
async fn text_alone_is_the_answer() {
    let mut bench = Bench::new(vec![says("hello")]);
    let outcome = timeless(bench.say("hi").await);
    let expected = TurnReport {
        summary: summary(&bench),
        end: TurnEnd::Done {
            text: "hello".into(),
            output: None,
            result: None,
        },
    };
    assert_eq!(outcome, expected);
    let tools = bench.agent.tools.tools();
    let request = ModelRequest {
        system: Some("Be brief.".into()),
        messages: vec![Message::text(Role::User, "hi")],
        tools: tools.map(|tool| tool.definition.as_ref().clone()).collect(),
        answer_schema: None,
    };
    assert_eq!(bench.requests(), vec![request]);
    assert_eq!(
        bench.session.state().last_report().map(kind).as_deref(),
        Some("done")
    );
    assert_eq!(
        *bench.observer.live.lock().unwrap(),
        ["asked", "text hello"]
    );
}

/// S3: calls lead to the tools and then to another turn, whose request has every result.
#[tokio::test]
async fn calls_lead_to_another_turn() {
    let mut bench = Bench::new(vec![
        calls(&[("a", "look", r#"{"n": 1}"#), ("b", "act", "")]),
        says("done"),
    ]);
    let outcome = timeless(bench.say("go").await);
    let first = TurnSummary {
        stop_reason: Some(StopReason::ToolUse),
        tool_calls: 2,
        ..summary(&bench)
    };
    assert_eq!(
        outcome,
        TurnReport {
            summary: first,
            end: TurnEnd::NeedsMoreTurns
        }
    );

    let outcome = timeless(bench.turn(AgentInput::Continue).await);
    let second = TurnSummary {
        turn: 2,
        total_turns: 2,
        total_usage: Usage {
            input_tokens: 20,
            output_tokens: 10,
            cached_input_tokens: 4,
            cache_write_tokens: 0,
            cost_micros: None,
        },
        ..summary(&bench)
    };
    let expected = TurnReport {
        summary: second,
        end: TurnEnd::Done {
            text: "done".into(),
            output: None,
            result: None,
        },
    };
    assert_eq!(outcome, expected);
    let result = |id: &str, name: &str, output: &str| ToolResult {
        call_id: CallId(id.into()),
        name: name.into(),
        output: text(output),
        whole: None,
    };
    let messages = vec![
        Message::text(Role::User, "go"),
        calls(&[("a", "look", r#"{"n": 1}"#), ("b", "act", "")]).to_message(),
        Message::results(vec![
            result("a", "look", r#"look {"n":1}"#),
            result("b", "act", "act {}"),
        ]),
    ];
    assert_eq!(bench.requests()[1].messages, messages);
    let kinds = [
        "session-started",
        "input-received",
        "model-requested",
        "model-replied",
        "call-intended",
        "call-settled",
        "call-intended",
        "call-settled",
        "turn-ended",
        "model-requested",
        "model-replied",
        "turn-ended",
    ];
    assert_eq!(bench.kinds(), kinds);
}

/// T12: calls run, and are stored, only if the model stopped for them.
#[tokio::test]
async fn stop_reason_decides_whether_calls_run() {
    let cases = [
        (None, "needs-more-turns", true),
        (Some(StopReason::ToolUse), "needs-more-turns", true),
        (Some(StopReason::Unknown), "needs-more-turns", true),
        (Some(StopReason::EndTurn), "done", false),
        (Some(StopReason::MaxTokens), "done", false),
        (Some(StopReason::StopSequence), "done", false),
        (Some(StopReason::ContextWindow), "done", false),
        (Some(StopReason::Refusal), "refusal", false),
        (Some(StopReason::PauseTurn), "needs-more-turns", false),
    ];
    for (stop_reason, expected, runs) in cases {
        let reply = ModelReply {
            stop_reason,
            text: "so".into(),
            ..calls(&[("a", "act", "")])
        };
        let mut bench = Bench::new(vec![reply]);
        let outcome = bench.say("go").await;
        assert_eq!(kind(&outcome), expected, "{stop_reason:?}");
        let summary = outcome.summary;
        assert_eq!(
            (summary.stop_reason, summary.tool_calls),
            (stop_reason, u64::from(runs))
        );
        assert_eq!(bench.ran().len(), usize::from(runs), "{stop_reason:?}");
        let stored = &bench.session.state().messages()[1].tool_calls;
        assert_eq!(stored.len(), usize::from(runs), "{stop_reason:?}");
        let journaled = serde_json::to_string(&bench.journal.durable()).unwrap();
        assert_eq!(journaled.contains("raw_arguments"), runs, "{stop_reason:?}");
    }
}

/// The second request has the message in place of the empty reply, which providers refuse.
#[tokio::test]
async fn empty_reply_is_sent_back_once() {
    let nudge = "Your last reply was empty. If the task is done, tell the user the outcome; otherwise continue with it.";
    for (stop_reason, replied) in [
        (Some(StopReason::EndTurn), says(" \n")),
        (Some(StopReason::StopSequence), says("")),
        (Some(StopReason::Unknown), says("")),
        (None, says("")),
        // These calls never run.
        (Some(StopReason::EndTurn), calls(&[("a", "act", "")])),
        (Some(StopReason::ToolUse), calls(&[])),
    ] {
        let empty = ModelReply {
            stop_reason,
            ..replied
        };
        let mut bench = Bench::new(vec![empty.clone(), says("ok"), empty.clone(), empty]);
        assert_eq!(kind(&bench.say("go").await), "needs-more-turns");
        assert_eq!(kind(&bench.turn(AgentInput::Continue).await), "done");
        let asked = &bench.requests()[1].messages;
        let texts: Vec<&str> = asked.iter().filter_map(|it| it.content[0].text()).collect();
        assert_eq!(texts, ["go", nudge], "{stop_reason:?}");
        assert_eq!(kind(&bench.say("again").await), "needs-more-turns");
        let end = bench.turn(AgentInput::Continue).await.end;
        assert!(matches!(&end, TurnEnd::Done { text, .. } if text.trim().is_empty()));
    }
}

/// The same request would get the same reply.
#[tokio::test]
async fn reply_without_space_for_text_is_an_error() {
    let cut = "the model reached its token limit for one reply before writing any text; raise the limit, or ask for \
        less";
    let reply = ModelReply {
        stop_reason: Some(StopReason::MaxTokens),
        ..says("")
    };
    let mut bench = Bench::new(vec![reply, says("ok")]);
    let error = ModelError::new(ModelErrorKind::Protocol, cut);
    let error = TurnError::Model { error };
    assert_eq!(bench.say("go").await.end, TurnEnd::Error { error });
    assert_eq!(bench.session.state().messages().len(), 1);
    assert_eq!(kind(&bench.turn(AgentInput::Continue).await), "done");
}

#[tokio::test]
async fn refusal_keeps_the_text_of_the_model() {
    let reply = ModelReply {
        stop_reason: Some(StopReason::Refusal),
        ..says("I will not.")
    };
    let mut bench = Bench::new(vec![reply]);
    let outcome = timeless(bench.say("do").await);
    let summary = TurnSummary {
        stop_reason: Some(StopReason::Refusal),
        ..summary(&bench)
    };
    let text = "I will not.".into();
    assert_eq!(
        outcome,
        TurnReport {
            summary,
            end: TurnEnd::Refusal { text }
        }
    );
}

/// If another model replied than the one called, the turn's summary names it, and the next turn's
/// does not.
#[tokio::test]
async fn summary_names_the_model_that_replied() {
    let answered = Provenance {
        provider: "other".into(),
        model: "n".into(),
    };
    let reply = ModelReply {
        provenance: Some(answered.clone()),
        ..says("hello")
    };
    let mut bench = Bench::new(vec![reply, says("again")]);
    let outcome = timeless(bench.say("hi").await);
    let expected = TurnReport {
        summary: TurnSummary {
            provenance: answered,
            ..summary(&bench)
        },
        end: TurnEnd::Done {
            text: "hello".into(),
            output: None,
            result: None,
        },
    };
    assert_eq!(outcome, expected);
    let next = bench.say("and now?").await;
    assert_eq!(next.summary.provenance.provider, "queue");
}

/// The provider paused a long reply: the next request continues it with the text so far.
#[tokio::test]
async fn paused_reply_is_continued() {
    let paused = ModelReply {
        stop_reason: Some(StopReason::PauseTurn),
        ..says("first half")
    };
    let mut bench = Bench::new(vec![paused, says("second half")]);
    assert_eq!(kind(&bench.say("go").await), "needs-more-turns");
    assert_eq!(kind(&bench.turn(AgentInput::Continue).await), "done");
    let shown = &bench.requests()[1].messages;
    let expected = [
        Message::text(Role::User, "go"),
        Message::text(Role::Assistant, "first half"),
    ];
    assert_eq!(*shown, expected);
    let message = refusal(bench.turn(AgentInput::Continue).await);
    assert!(message.contains("nothing to continue"), "{message}");
}

/// Some servers count calls from zero in every reply, and some send no ids at all.
#[tokio::test]
async fn call_ids_are_made_unique_in_the_session() {
    let mut bench = Bench::new(vec![
        calls(&[
            ("", "look", ""),
            ("", "look", ""),
            ("a", "look", ""),
            ("a", "look", ""),
        ]),
        calls(&[("a", "look", ""), ("a-2", "look", ""), ("", "look", "")]),
    ]);
    bench.say("go").await;
    bench.turn(AgentInput::Continue).await;
    let ids = ["call-2", "call-3", "a", "a-2", "a-3", "a-2-2", "call-4"];
    assert_eq!(bench.ran(), ids);
    let answered = bench.session.state().messages().iter();
    let answered: Vec<&str> = answered
        .flat_map(|message| &message.tool_results)
        .map(|result| result.call_id.0.as_str())
        .collect();
    assert_eq!(answered, ids);
}

/// The failed request is in the journal; `Continue` repeats it.
#[tokio::test]
async fn failed_model_call_can_be_repeated() {
    let mut bench = Bench::new(Vec::new());
    bench.agent.settings.budgets.turns = 1;
    bench.fails(failing("overloaded"));
    let outcome = bench.say("hi").await;
    let error = TurnError::Model {
        error: failing("overloaded"),
    };
    assert_eq!(outcome.end, TurnEnd::Error { error });
    assert_eq!(outcome.summary.turn, 1);
    let kinds = [
        "session-started",
        "input-received",
        "model-requested",
        "turn-ended",
    ];
    assert_eq!(bench.kinds(), kinds);
    // Only useful calls count against the budget of turns, so the allowed one is left.
    bench.replies(says("hello"));
    assert_eq!(kind(&bench.turn(AgentInput::Continue).await), "done");
    let requests = bench.requests();
    assert_eq!(requests[0], requests[1]);
}

#[tokio::test]
async fn continue_without_anything_open_is_refused() {
    let mut bench = Bench::new(vec![says("hello")]);
    let message = refusal(bench.turn(AgentInput::Continue).await);
    assert_eq!(message, "the session is empty; send a message");
    bench.say("hi").await;
    let before = bench.session.state().clone();
    let message = refusal(bench.turn(AgentInput::Continue).await);
    assert_eq!(
        message,
        "the model has given its answer, so there is nothing to continue; send a message"
    );
    assert_eq!(*bench.session.state(), before);
}

fn image(data: FileData) -> ContentPart {
    ContentPart::File(FilePart {
        media_type: "image/png".into(),
        data,
        filename: None,
    })
}

/// A message that no later turn could send is refused before it is recorded.
#[tokio::test]
async fn unusable_message_is_refused() {
    let deep = (0..101).fold(json!(1), |inner, _| json!([inner]));
    let user = Message::text(Role::User, "x");
    let metadata = match json!({"p": deep}) {
        Value::Object(map) => map,
        _ => panic!("an object"),
    };
    let not_an_input = "an input message must be a user message without tool calls or results";
    let cases = [
        (Message::text(Role::Assistant, "x"), not_an_input),
        (Message::text(Role::System, "x"), not_an_input),
        (
            Message {
                tool_calls: calls(&[("a", "look", "")]).tool_calls,
                ..user.clone()
            },
            not_an_input,
        ),
        (
            Message {
                tool_results: vec![ToolResult {
                    call_id: CallId("a".into()),
                    name: "look".into(),
                    output: text(""),
                    whole: None,
                }],
                ..user.clone()
            },
            not_an_input,
        ),
        (
            Message::parts(Role::User, vec![image(FileData::Bytes(b"GIF89a".to_vec()))]),
            "part 0 of the message is declared as `image/png`, but its bytes are `image/gif`",
        ),
        (
            Message::parts(
                Role::User,
                vec![image(FileData::Blob(Blob::new(Vec::new()).reference()))],
            ),
            "part 0 of the message refers to a stored blob, which only the host may do",
        ),
        (
            Message { metadata, ..user },
            "the metadata of the message nests more than 100 levels deep",
        ),
    ];
    for (message, expected) in cases {
        let mut bench = Bench::new(vec![says("never")]);
        let before = bench.session.state().clone();
        assert_eq!(
            refusal(bench.turn(AgentInput::Message(message)).await),
            expected
        );
        assert_eq!(*bench.session.state(), before);
        assert_eq!(bench.requests(), Vec::new());
    }
}

/// Bytes are stored in blobs, and every request of a model has them again.
#[tokio::test]
async fn images_go_to_blobs_and_come_back() {
    const SENT: &[u8] = b"\x89PNG\r\n\x1a\nsent";
    const MADE: &[u8] = b"\x89PNG\r\n\x1a\nmade";
    let made = ToolResultOutput::Content(vec![image(FileData::Bytes(MADE.to_vec()))]);
    let answer = made.clone();
    let draw = tool("draw", Effect::ReadOnly, Approval::ByEffect)
        .body(move |_| std::future::ready(answer.clone()));
    let mut bench = Bench::with(vec![calls(&[("a", "draw", "")]), says("nice")], vec![draw]);
    let message = Message::parts(Role::User, vec![image(FileData::Bytes(SENT.to_vec()))]);
    bench.turn(AgentInput::Message(message.clone())).await;
    bench.turn(AgentInput::Continue).await;

    let shown = bench.requests()[1].messages.clone();
    assert_eq!(shown[0], message);
    assert_eq!(shown[2].tool_results[0].output, made);
    let kept = bench.session.state().messages();
    let reference = |bytes: &[u8]| image(FileData::Blob(Blob::new(bytes.to_vec()).reference()));
    assert_eq!(kept[0].content, [reference(SENT)]);
    assert_eq!(
        kept[2].tool_results[0].output,
        ToolResultOutput::Content(vec![reference(MADE)])
    );
    let journaled = serde_json::to_string(&bench.journal.durable()).unwrap();
    assert!(!journaled.contains(r#""bytes""#));

    // The same holds after the process died.
    let mut again = Bench::resume(&bench.journal, vec![says("again")], Vec::new()).await;
    again.say("more").await;
    assert_eq!(again.requests()[0].messages[..3], shown[..3]);
}

/// The digest is of the request with blob references, so that it can be computed from the journal
/// alone.
#[tokio::test]
async fn model_request_is_journaled_by_its_digest_and_prompt() {
    let mut bench = Bench::new(vec![calls(&[("a", "look", "{}")]), says("ok")]);
    bench.say("go").await;
    bench.turn(AgentInput::Continue).await;
    let mut requested = Vec::new();
    for record in bench.journal.records(0).await.unwrap() {
        if let Event::ModelRequested {
            request_digest,
            system,
            ..
        } = record.event
        {
            requested.push((request_digest, system));
        }
    }
    let prompt = Blob::new(b"Be brief.".to_vec());
    let expected: Vec<_> = bench
        .requests()
        .iter()
        .map(|request| (request.digest().unwrap(), Some(prompt.reference())))
        .collect();
    assert_eq!(requested.len(), 2);
    assert_eq!(requested, expected);
    let stored = bench.journal.blob(prompt.digest).await.unwrap();
    assert_eq!(stored, prompt.bytes);
}
