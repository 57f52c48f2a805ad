//! The host dies at every barrier of a program's session and of its parent's.

use super::*;
use crate::turn::tests::children::{approve, children};
use agent_host_types::turn::AgentInput;
use pretty_assertions::assert_eq;
use std::collections::HashMap;

/// Effects before, in and after the batch that waits.
fn body(tools: ToolCaller) -> BoxFuture<'static, ToolResultOutput> {
    Box::pin(async move {
        let mut all = call(&tools, &[("act", r#"{"n": 1}"#)]).await;
        all.extend(call(&tools, &[("look", ""), ("send", r#"{"n": 2}"#)]).await);
        all.extend(call(&tools, &[("put", ""), ("act", r#"{"n": 3}"#)]).await);
        json_of(&all)
    })
}

impl Coder {
    /// Runs to the end, approving everything.
    async fn drive(&mut self, mut outcome: TurnReport) -> TurnReport {
        loop {
            outcome = match outcome.end {
                TurnEnd::NeedsMoreTurns => self.bench.turn(AgentInput::Continue).await,
                TurnEnd::AwaitingChildren { .. } => {
                    let (continuation, waiting) = children(&outcome);
                    let inputs = waiting.iter().map(approve).collect();
                    self.bench
                        .turn(AgentInput::Children {
                            continuation,
                            inputs,
                        })
                        .await
                }
                _ => return outcome,
            };
        }
    }

    /// The same after the process died.
    async fn resumed(&self, replies: Vec<ModelReply>) -> Self {
        let bench = Bench::resume(&self.bench.journal, replies, standard()).await;
        let journals = self.journals.after_crash();
        Self::around(bench, journals, self.program.clone(), 256)
    }
}

fn ran(coders: &[&Coder]) -> HashMap<String, u32> {
    let mut runs = HashMap::new();
    for id in coders.iter().flat_map(|coder| coder.bench.ran()) {
        *runs.entry(id).or_default() += 1;
    }
    runs
}

/// At every barrier of either session: nothing effectful ran twice, and the conversation ends with
/// one result of the program.
#[tokio::test]
async fn crash_at_every_barrier_repeats_no_effect() {
    for of_child in [true, false] {
        let mut total = 0;
        for fails_from in 1.. {
            let mut coder = Coder::new(body);
            // Here one journal dies and the other lives, of which there is no recording.
            coder.bench.is_unreplayable = true;
            match of_child {
                true => coder.journals.fail_from(fails_from),
                false => coder
                    .bench
                    .journal
                    .fails_from
                    .store(fails_from, Ordering::SeqCst),
            }
            let outcome = coder.bench.say("go").await;
            if done(&coder.drive(outcome).await) {
                total = fails_from - 1;
                break;
            }
            if coder.bench.journal.durable().is_empty() {
                continue;
            }
            let durable = coder.bench.journal.durable();
            let replied = durable
                .iter()
                .filter(|record| matches!(record.event, Event::ModelReplied { .. }));
            let rest = [writes("p"), says("done")].into_iter();
            let mut again = coder.resumed(rest.skip(replied.count()).collect()).await;
            again.bench.is_unreplayable = true;
            let outcome = again.bench.turn(AgentInput::Continue).await;
            let last = again.drive(outcome).await;
            let at = format!("child: {of_child}, barrier {fails_from}");
            assert!(done(&last), "{at}: {last:?}");
            let mut runs = ran(&[&coder, &again]);
            // Read-only and idempotent calls may run again.
            runs.remove("call-2");
            runs.remove("call-4");
            assert!(runs.values().all(|count| *count == 1), "{at}: {runs:?}");
        }
        // The child: two intents before the pause and its end, two after it and the idempotent one,
        // and the end. The parent: request, spawn, pause; the decision, the request, the answer.
        assert_eq!(total, if of_child { 7 } else { 6 });
    }
}

/// A call whose run was cut off is in doubt, in the program too, and never runs again.
#[tokio::test]
async fn interrupted_effect_of_a_program_stays_in_doubt() {
    let hangs = || tool("act", Effect::Effectful, Approval::Never).body(|_| std::future::pending());
    let first = |tools: ToolCaller| -> BoxFuture<'static, ToolResultOutput> {
        Box::pin(async move { call(&tools, &[("act", "")]).await.remove(0) })
    };
    let mut coder = Coder::with(vec![hangs()], 8, first);
    {
        let started = coder.bench.ran.clone();
        let seen = async move {
            while started.log.lock().unwrap().is_empty() {
                tokio::task::yield_now().await;
            }
        };
        tokio::select! {
            report = coder.bench.say("go") => panic!("the call ended: {report:?}"),
            () = seen => {}
        }
    }
    let mut again = coder.resumed(vec![says("done")]).await;
    again.bench.turn(AgentInput::Continue).await;
    let why = "The host stopped while `act` ran. Whether the call took effect is not known, and it was not repeated. Check before you call it again.";
    assert_eq!(again.result(), failure("interrupted-unknown", why));
    assert_eq!(again.bench.ran(), Vec::<String>::new());
    assert_eq!(again.runs(), 2);
}
