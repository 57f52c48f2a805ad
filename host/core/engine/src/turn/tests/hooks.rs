//! Hooks: the effect of each verdict in each method, and precedence.

use super::harness::*;
use crate::{
    BoxFuture,
    hook::{Hook, Verdict},
    tool::Invocation,
};
use agent_host_types::{
    event::Event,
    message::{Message, Role},
    model::{ModelReply, ModelRequest, Usage},
    output::ToolResultOutput,
    turn::{AgentInput, TurnEnd, TurnError},
};
use pretty_assertions::assert_eq;
use serde_json::json;
use std::{
    future::ready,
    sync::{Arc, Mutex},
};

/// Returns the same verdict in one method at each call, and counts the calls.
#[derive(Default)]
struct Says {
    before_model: Option<Verdict<ModelReply>>,
    after_model: Option<Verdict<ModelReply>>,
    before_tool: Option<Verdict<ToolResultOutput>>,
    after_tool: Option<Verdict<ToolResultOutput>>,
    asked: Mutex<u32>,
}

impl Says {
    fn say<'a, T: Clone + Send + 'a>(
        &self,
        verdict: Option<&Verdict<T>>,
    ) -> BoxFuture<'a, Verdict<T>> {
        if verdict.is_some() {
            *self.asked.lock().unwrap() += 1;
        }
        Box::pin(ready(verdict.cloned().unwrap_or(Verdict::Pass)))
    }
}

impl Hook for Says {
    fn before_model<'a>(&'a self, _: &'a ModelRequest) -> BoxFuture<'a, Verdict<ModelReply>> {
        self.say(self.before_model.as_ref())
    }

    fn after_model<'a>(
        &'a self,
        _: &'a ModelRequest,
        _: &'a ModelReply,
    ) -> BoxFuture<'a, Verdict<ModelReply>> {
        self.say(self.after_model.as_ref())
    }

    fn before_tool<'a>(&'a self, _: &'a Invocation) -> BoxFuture<'a, Verdict<ToolResultOutput>> {
        self.say(self.before_tool.as_ref())
    }

    fn after_tool<'a>(
        &'a self,
        _: &'a Invocation,
        _: &'a ToolResultOutput,
    ) -> BoxFuture<'a, Verdict<ToolResultOutput>> {
        self.say(self.after_tool.as_ref())
    }
}

/// The end of a turn of text alone: kind, text, model calls, tokens written.
async fn model_turn(hook: Says) -> (String, String, usize, u64) {
    let mut bench = Bench::new(vec![says("one"), says("two"), says("three"), says("four")]);
    bench.agent.hooks = vec![Arc::new(hook)];
    let outcome = bench.say("go").await;
    let text = match &outcome.end {
        TurnEnd::Done { text, .. } | TurnEnd::Refusal { text, .. } => text.clone(),
        other => panic!("{other:?}"),
    };
    let written = outcome.summary.turn_usage.output_tokens;
    (kind(&outcome), text, bench.requests().len(), written)
}

#[tokio::test]
async fn model_hooks_apply_their_verdicts() {
    use Verdict::{Block, Fail, Fallback, Modify, Pass, Retry};
    let before = |verdict| Says {
        before_model: Some(verdict),
        ..Says::default()
    };
    let after = |verdict| Says {
        after_model: Some(verdict),
        ..Says::default()
    };
    let free = ModelReply {
        usage: Usage::default(),
        ..says("instead")
    };
    let done = |text: &str, asked, written| ("done".to_owned(), text.to_owned(), asked, written);
    let refused = |asked, written| ("refusal".to_owned(), "no".to_owned(), asked, written);
    let table = [
        (before(Pass), done("one", 1, 5)),
        (before(Retry(None)), done("one", 1, 5)),
        (before(Block("no".into())), refused(0, 0)),
        (before(Fallback(free.clone())), done("instead", 0, 0)),
        (after(Pass), done("one", 1, 5)),
        (before(Fail("no".into())), refused(0, 0)),
        // Two repetitions, then the reply stands; all tokens are counted.
        (after(Retry(None)), done("three", 3, 15)),
        (after(Block("no".into())), refused(1, 5)),
        (after(Modify(free.clone())), done("instead", 1, 5)),
        (after(Fallback(free)), done("instead", 1, 5)),
    ];
    for (hook, expected) in table {
        assert_eq!(model_turn(hook).await, expected);
    }
}

/// The result of a tool call, and the number of its runs.
async fn tool_turn(tool: &str, hook: Says) -> (ToolResultOutput, usize) {
    let mut bench = Bench::new(vec![calls(&[("a", tool, "")])]);
    bench.agent.hooks = vec![Arc::new(hook)];
    assert_eq!(kind(&bench.say("go").await), "needs-more-turns");
    (bench.results()[0].1.clone(), bench.ran().len())
}

#[tokio::test]
async fn tool_hooks_apply_their_verdicts() {
    use Verdict::{Block, Fail, Fallback, Modify, Pass, Retry};
    let before = |verdict| Says {
        before_tool: Some(verdict),
        ..Says::default()
    };
    let after = |verdict| Says {
        after_tool: Some(verdict),
        ..Says::default()
    };
    let withheld = failure(
        "tool-unavailable",
        "The tool ran, and its result is withheld: no",
    );
    let table = [
        ("look", before(Pass), text("look {}"), 1),
        ("look", before(Retry(None)), text("look {}"), 1),
        ("act", before(Block("no".into())), denied("no"), 0),
        ("act", before(Fail("no".into())), denied("no"), 0),
        ("act", before(Fallback(text("instead"))), text("instead"), 0),
        ("look", after(Pass), text("look {}"), 1),
        ("look", after(Retry(None)), text("look {}"), 3),
        ("put", after(Retry(None)), text("put {}"), 3),
        // An effectful call never runs twice.
        ("act", after(Retry(None)), text("act {}"), 1),
        ("act", after(Block("no".into())), withheld.clone(), 1),
        ("act", after(Fail("no".into())), withheld, 1),
        ("act", after(Modify(text("other"))), text("other"), 1),
        ("act", after(Fallback(text("instead"))), text("instead"), 1),
    ];
    for (tool, hook, output, ran) in table {
        assert_eq!(tool_turn(tool, hook).await, (output, ran), "{tool}");
    }
}

/// S13: Fallback beats Block beats Retry beats Pass, in any order of the hooks, and every hook is
/// called.
#[tokio::test]
async fn strongest_verdict_counts() {
    use Verdict::{Block, Fallback, Pass, Retry};
    let verdicts = || {
        [
            Pass,
            Retry(None),
            Block("no".to_owned()),
            Fallback(text("instead")),
        ]
    };
    let strengths = verdicts().map(|verdict| verdict.strength());
    assert!(strengths.is_sorted_by(|weaker, stronger| weaker < stronger));
    let mut bench = Bench::new(vec![calls(&[("a", "act", "")])]);
    let hooks: Vec<Arc<Says>> = verdicts()
        .map(|verdict| {
            Arc::new(Says {
                before_tool: Some(verdict),
                ..Says::default()
            })
        })
        .into();
    bench.agent.hooks = hooks
        .iter()
        .map(|hook| Arc::clone(hook) as Arc<dyn Hook>)
        .collect();
    bench.say("go").await;
    assert_eq!(bench.results(), pairs([("a", text("instead"))]));
    let asked: Vec<u32> = hooks
        .iter()
        .map(|hook| *hook.asked.lock().unwrap())
        .collect();
    assert_eq!(asked, [1, 1, 1, 1]);
}

/// The first of equal verdicts counts.
#[tokio::test]
async fn first_of_equal_verdicts_counts() {
    let block = |why: &str| Says {
        before_tool: Some(Verdict::Block(why.into())),
        ..Says::default()
    };
    let mut bench = Bench::new(vec![calls(&[("a", "act", "")]), says("ok")]);
    bench.agent.hooks = vec![Arc::new(block("first")), Arc::new(block("second"))];
    bench.say("go").await;
    assert_eq!(bench.results(), pairs([("a", denied("first"))]));
    assert_eq!(kind(&bench.turn(AgentInput::Continue).await), "done");
}

/// Judges replies and results as a hook of the configuration does.
struct Named {
    name: &'static str,
    reply: fn(&str) -> Verdict<&'static str>,
    result: fn(&ToolResultOutput) -> Verdict<ToolResultOutput>,
}

impl Hook for Named {
    fn name(&self) -> Option<&str> {
        Some(self.name)
    }

    fn withholds_replies(&self) -> bool {
        true
    }

    fn after_model<'a>(
        &'a self,
        _: &'a ModelRequest,
        reply: &'a ModelReply,
    ) -> BoxFuture<'a, Verdict<ModelReply>> {
        let verdict = match (self.reply)(&reply.text) {
            Verdict::Modify(text) => Verdict::Modify(ModelReply {
                text: text.to_owned(),
                ..reply.clone()
            }),
            Verdict::Retry(feedback) => Verdict::Retry(feedback),
            Verdict::Fail(why) => Verdict::Fail(why),
            _ => Verdict::Pass,
        };
        Box::pin(ready(verdict))
    }

    fn after_tool<'a>(
        &'a self,
        _: &'a Invocation,
        output: &'a ToolResultOutput,
    ) -> BoxFuture<'a, Verdict<ToolResultOutput>> {
        Box::pin(ready((self.result)(output)))
    }
}

const PASSES: Named = Named {
    name: "passes",
    reply: |_| Verdict::Pass,
    result: |_| Verdict::Pass,
};

/// The recorded verdicts: hook, call, kind and reason.
fn verdicts(bench: &Bench) -> Vec<String> {
    let events = bench.journal.durable().into_iter();
    let decided = events.filter_map(|record| match record.event {
        Event::HookDecided { call_id, verdict } => Some(format!(
            "{} {} {} {:?} {:?}",
            verdict.hook,
            verdict.point.as_str(),
            verdict.verdict.as_str(),
            call_id.map(|id| id.0),
            verdict.reason
        )),
        _ => None,
    });
    decided.collect()
}

/// Feedback reaches the model in the repeated request alone; the next hook sees what the one before
/// made of the reply, and no one sees a reply before the hooks have.
#[tokio::test]
async fn reply_is_sent_back_modified_and_shown_afterwards() {
    let first = Named {
        name: "first",
        reply: |text| match text {
            "rude" => Verdict::Retry(Some("be polite".to_owned())),
            _ => Verdict::Modify("b"),
        },
        ..PASSES
    };
    let second = Named {
        name: "second",
        reply: |text| match text {
            "b" => Verdict::Modify("c"),
            _ => Verdict::Pass,
        },
        ..PASSES
    };
    let mut bench = Bench::new(vec![says("rude"), says("a")]);
    bench.agent.hooks = vec![Arc::new(first), Arc::new(second)];
    let report = bench.say("go").await;
    assert!(
        matches!(&report.end, TurnEnd::Done { text, .. } if text == "c"),
        "{report:?}"
    );
    let messages: Vec<usize> = bench
        .requests()
        .iter()
        .map(|it| it.messages.len())
        .collect();
    assert_eq!(messages, [1, 2]);
    let feedback = "Your reply was rejected, and no one has seen it: be polite";
    assert_eq!(
        bench.requests()[1].messages[1],
        Message::text(Role::User, feedback)
    );
    assert_eq!(bench.session.state().messages().len(), 2);
    assert_eq!(*bench.observer.live.lock().unwrap(), ["asked", "text c"]);
    assert_eq!(
        verdicts(&bench),
        [
            r#"first after-model retry None Some("be polite")"#,
            "first after-model modify None None",
            "second after-model modify None None",
        ]
    );
}

/// A hook that cannot judge a reply ends the turn, and nothing of the reply is recorded or shown.
#[tokio::test]
async fn reply_without_a_verdict_ends_the_turn() {
    let fails = Named {
        name: "judge",
        reply: |_| Verdict::Fail("it trapped".to_owned()),
        ..PASSES
    };
    let mut bench = Bench::new(vec![says("secret")]);
    bench.agent.hooks = vec![Arc::new(PASSES), Arc::new(fails)];
    let report = bench.say("go").await;
    let error = TurnError::Hook {
        hook: "judge".to_owned(),
        message: "it trapped".to_owned(),
    };
    assert_eq!(report.end, TurnEnd::Error { error });
    assert_eq!(*bench.observer.live.lock().unwrap(), ["asked"]);
    assert!(
        !json!(bench.journal.durable())
            .to_string()
            .contains("secret")
    );
}

/// The next hook sees what the one before made of a result, and the verdicts are recorded before
/// it; a reason is bounded and has no control characters.
#[tokio::test]
async fn result_passes_through_the_hooks_in_order() {
    let first = Named {
        name: "first",
        result: |_| Verdict::Modify(text("one")),
        ..PASSES
    };
    let second = Named {
        name: "second",
        result: |output| match *output == text("one") {
            true => Verdict::Block(format!("\u{1b}[2J{}", "x".repeat(3_000))),
            false => Verdict::Pass,
        },
        ..PASSES
    };
    let mut bench = Bench::new(vec![calls(&[("a", "look", "")])]);
    bench.agent.hooks = vec![Arc::new(first), Arc::new(second)];
    bench.say("go").await;
    let expected = vec![
        r#"first after-tool modify Some("a") None"#.to_owned(),
        format!(
            "second after-tool block Some(\"a\") Some(\"\u{fffd}[2J{}...\")",
            "x".repeat(2048 - 3 - 6)
        ),
    ];
    assert_eq!(verdicts(&bench), expected);
    let kinds = bench.kinds();
    let settled = kinds
        .iter()
        .position(|kind| kind == "call-settled")
        .unwrap();
    assert_eq!(
        kinds[settled - 2..settled],
        ["hook-decided", "hook-decided"]
    );
}
