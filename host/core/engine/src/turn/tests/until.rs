//! Runs that end through a tool, and the shared state of calls.

use super::harness::*;
use crate::{
    schema::AnswerSchema,
    turn::{UntilEnd, UntilTool},
};
use agent_host_types::{
    approval::Decision,
    message::ToolResult,
    output::ToolResultOutput,
    tool::{Approval, Effect},
    turn::{AgentInput, TurnEnd, TurnError, TurnReport},
};
use pretty_assertions::assert_eq;
use serde_json::json;

fn until(bench: &mut Bench, end: UntilEnd) {
    bench.agent.settings.until_tool = Some(UntilTool {
        tools: vec!["finish".into()],
        end,
    });
}

/// The standard tools and `finish`, which fails `failures` times.
fn with_finish(failures: usize) -> Vec<Tool> {
    let left = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(failures));
    let mut tools = standard();
    tools.push(
        tool("finish", Effect::ReadOnly, Approval::ByEffect).body(move |_| {
            let failed = left
                .fetch_update(
                    std::sync::atomic::Ordering::SeqCst,
                    std::sync::atomic::Ordering::SeqCst,
                    |left| left.checked_sub(1),
                )
                .is_ok();
            std::future::ready(if failed {
                ToolResultOutput::ErrorText("not yet".into())
            } else {
                ToolResultOutput::json(json!({"answer": 42}))
            })
        }),
    );
    tools
}

fn result(outcome: TurnReport) -> ToolResult {
    match outcome.end {
        TurnEnd::Done {
            result: Some(result),
            ..
        } => result,
        other => panic!("it did not end through a tool: {other:?}"),
    }
}

/// M11: a failed call of the target does not end the run; the first successful one does, and is the
/// result.
#[tokio::test]
async fn first_success_ends_the_run() {
    let replies = vec![
        calls(&[("a", "finish", "")]),
        calls(&[("b", "look", ""), ("c", "finish", "")]),
    ];
    let mut bench = Bench::with(replies, with_finish(1));
    until(&mut bench, UntilEnd::FirstSuccess);
    assert_eq!(kind(&bench.say("go").await), "needs-more-turns");
    let ended = result(bench.turn(AgentInput::Continue).await);
    assert_eq!(
        (ended.call_id.0.as_str(), ended.output),
        ("c", ToolResultOutput::json(json!({"answer": 42})))
    );
    // The rest of the batch is answered as usual.
    assert_eq!(bench.results()[0], ("b".to_owned(), text("look {}")));
}

#[tokio::test]
async fn any_call_ends_the_run() {
    let mut bench = Bench::with(vec![calls(&[("a", "finish", "")])], with_finish(1));
    until(&mut bench, UntilEnd::AnyCall);
    let ended = result(bench.say("go").await);
    assert_eq!(ended.output, ToolResultOutput::ErrorText("not yet".into()));
}

/// M12: the error names the tools; the session continues with another message.
#[tokio::test]
async fn model_that_stops_without_the_tool_is_an_error() {
    let replies = vec![says("that is all"), calls(&[("a", "finish", "")])];
    let mut bench = Bench::with(replies, with_finish(0));
    until(&mut bench, UntilEnd::FirstSuccess);
    let outcome = bench.say("go").await;
    let error = TurnError::UntilToolNotCalled {
        tools: vec!["finish".into()],
    };
    assert_eq!(
        error.to_string(),
        "until-tool-not-called: the model stopped without `finish`; send another message, or run without `until-tool`"
    );
    assert_eq!(outcome.end, TurnEnd::Error { error });
    assert_eq!(result(bench.say("call it").await).call_id.0, "a");
}

/// M16: an approved call of the target ends the run, too; a rejected one does not.
#[tokio::test]
async fn approved_target_ends_the_run() {
    for (approve, expected) in [(true, "done"), (false, "needs-more-turns")] {
        let mut bench = Bench::new(vec![calls(&[("a", "send", "")])]);
        bench.agent.settings.until_tool = Some(UntilTool {
            tools: vec!["send".into()],
            end: UntilEnd::FirstSuccess,
        });
        let continuation = bench.ask().await;
        let call_id = continuation.calls()[0].call_id.clone();
        let decision = if approve {
            Decision::approve(call_id)
        } else {
            Decision::Reject {
                call_id,
                reason: None,
            }
        };
        assert_eq!(
            kind(&bench.decide(&continuation, vec![decision]).await),
            expected
        );
    }
}

/// M17: refused at the start, with nothing recorded.
#[tokio::test]
async fn unknown_target_is_refused() {
    for (tools, message) in [
        (
            vec!["look".to_owned(), "finsh".to_owned()],
            "the run should end through `finsh`, which does not exist; correct `until-tool`, or add the tool",
        ),
        (
            Vec::new(),
            "the run should end through a tool, but none is named; list one in `until-tool`",
        ),
    ] {
        let mut bench = Bench::new(vec![says("never")]);
        let end = UntilEnd::FirstSuccess;
        bench.agent.settings.until_tool = Some(UntilTool { tools, end });
        assert_eq!(refusal(bench.say("go").await), message);
        assert_eq!(bench.requests(), Vec::new());
    }
}

/// The answer as a value: also parsed from a code block; sent back once if it does not fit, and
/// then an error.
#[tokio::test]
async fn answer_must_fit_its_schema() {
    let schema =
        json!({"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}});
    let misfit = "the answer: \"n\" is a required property";
    let table: [(&[&str], Result<serde_json::Value, &str>); 5] = [
        (&[r#"{"n": 1}"#], Ok(json!({"n": 1}))),
        (&["```json\n{\"n\": 2}\n```"], Ok(json!({"n": 2}))),
        (&["I think it is 3", r#"{"n": 3}"#], Ok(json!({"n": 3}))),
        (&["{}", "{}"], Err(misfit)),
        (
            &["{}", "no"],
            Err("it is not one JSON value (expected ident at line 1 column 2)"),
        ),
    ];
    for (answers, expected) in table {
        let mut bench = Bench::new(answers.iter().map(|answer| says(answer)).collect());
        bench.agent.settings.output_schema =
            Some(std::sync::Arc::new(AnswerSchema::compile(&schema).unwrap()));
        let mut outcome = bench.say("go").await;
        if kind(&outcome) == "needs-more-turns" {
            outcome = bench.turn(AgentInput::Continue).await;
        }
        let got = match outcome.end {
            TurnEnd::Done {
                output: Some(output),
                ..
            } => Ok(output),
            TurnEnd::Error {
                error: TurnError::InvalidAnswer { message },
            } => Err(message),
            other => panic!("{other:?}"),
        };
        assert_eq!(got, expected.map_err(str::to_owned), "{answers:?}");
        assert_eq!(bench.requests().len(), answers.len());
        let system = bench.requests()[0].system.clone().unwrap();
        let asked = "Be brief.\n\nYour final answer must be one JSON value that fits this JSON Schema, and nothing else:\n";
        assert_eq!(system, format!("{asked}{schema}"));
        let schemas = bench
            .requests()
            .into_iter()
            .map(|request| request.answer_schema);
        assert!(
            schemas
                .into_iter()
                .all(|asked| asked.as_ref() == Some(&schema))
        );
    }
}
