//! Agents whose calls end the run.

use super::*;
use crate::turn::tests::halt::{halted, stopper};
use pretty_assertions::assert_eq;

fn tools() -> Vec<Tool> {
    let mut tools = standard();
    tools.push(stopper(Effect::Effectful, Approval::Never, text("stopped")));
    tools
}

/// A call of a child ends the run of its parent. A sibling that waits for the user is stopped.
#[tokio::test]
async fn halt_in_a_child_ends_the_parents_run() {
    let batch = [
        ("p", "agent_helper", START),
        ("q", "agent_clerk", START),
        ("c", "act", ""),
    ];
    let mut parent = Bench::new(vec![calls(&batch), says("more")]);
    let helper = Bench::with(vec![calls(&[("s", "stop", "")]), says("more")], tools());
    let clerk = Bench::with(vec![calls(&[("w", "send", "")])], tools());
    let journals = Arc::<TestJournals>::default();
    let agents = vec![
        ("helper", helper.agent.clone()),
        ("clerk", clerk.agent.clone()),
    ];
    parent.adopt(agents, journals.clone());

    assert_eq!(parent.say("go").await.end, halted());

    let stopped = failure(
        "cancelled",
        "The agent was stopped: another call ended the run.",
    );
    let results = parent.results();
    assert_eq!(results[0], ("p".to_owned(), text("enough")));
    // Cancelled while it asked, or while it waited.
    assert!(
        results[1].1 == stopped || results[1].1.tag() == "error-json",
        "{results:?}"
    );
    let not_run = denied(crate::turn::tests::halt::NOT_RUN);
    assert_eq!(results[2], ("c".to_owned(), not_run));
    assert_eq!(parent.requests().len(), 1);
    assert_eq!(helper.requests().len(), 1);
    let opened = journals.after_crash();
    let opened: Vec<_> = opened.opened.lock().unwrap().values().cloned().collect();
    let mut ends = Vec::new();
    for journal in opened {
        let session = Session::resume(journal).await.unwrap();
        assert_eq!(session.state().batch(), []);
        ends.push(session.state().last_report().unwrap().end.kind());
    }
    ends.sort_unstable();
    assert_eq!(ends, ["cancelled", "halted"]);
}

/// A hook that withholds the result of the agent withholds its end, too; the same for a child that
/// fails after it.
#[tokio::test]
async fn halt_of_a_child_whose_result_is_withheld_ends_nothing() {
    struct Withholds;
    impl crate::hook::Hook for Withholds {
        fn after_tool<'a>(
            &'a self,
            _: &'a crate::tool::Invocation,
            _: &'a ToolResultOutput,
        ) -> BoxFuture<'a, crate::hook::Verdict<ToolResultOutput>> {
            let blocked = crate::hook::Verdict::Block("secret".into());
            Box::pin(std::future::ready(blocked))
        }
    }
    let mut parent = Bench::new(vec![start()]);
    parent.agent.hooks = vec![Arc::new(Withholds)];
    let replies = vec![calls(&[("s", "stop", "")])];
    let mut family = Family::with(parent, Arc::default(), replies, tools(), |_| {});

    let end = family.parent.say("go").await.end;

    assert_eq!(end, TurnEnd::NeedsMoreTurns);
    let child = family.child().await;
    assert_eq!(child.state().last_report().unwrap().end, halted());
    assert!(!family.parent.kinds().contains(&"run-halted".to_owned()));
}

/// The context goes down to agents, and the model of neither sees it.
#[tokio::test]
async fn context_is_inherited_by_children_and_in_no_prompt() {
    let mut family = Family::new(
        vec![start(), says("done")],
        vec![calls(&[("a", "act", "")]), says("ok")],
    );
    let context: agent_host_types::custom_context::CustomContext =
        r#"{"tenant":"bees-and-honey"}"#.parse().unwrap();
    family.parent.session.set_context(context.clone());
    family.parent.say("go").await;
    family.parent.turn(AgentInput::Continue).await;
    let seen = family.ran.invocations.lock().unwrap()[0].context.clone();
    assert_eq!(*seen, context);
    assert_eq!(**family.child().await.state().context(), context);
    let requests = family.parent.requests().into_iter();
    let requests = requests.chain(family.model.requests.lock().unwrap().clone());
    for request in requests {
        assert!(!format!("{request:?}").contains("bees-and-honey"));
    }
}

/// The artifacts of a child reach its parent with a success alone: the last of each name, with its
/// bytes.
#[tokio::test]
async fn artifacts_of_a_child_reach_the_parent_with_its_success() {
    use crate::artifact::{ArtifactName, NewArtifact};
    let store = |name: &str, content: &str| {
        let bytes = content.as_bytes().to_vec();
        SessionChange::Store(NewArtifact::new(name, "text/plain".into(), bytes).unwrap())
    };
    let changes = vec![
        store("a.txt", "one"),
        store("b.txt", "two"),
        store("a.txt", "three"),
        SessionChange::Delete("b.txt".parse().unwrap()),
        SessionChange::Delete("c.txt".parse().unwrap()),
    ];
    for (last, expected) in [
        (Some(says("ok")), vec!["a.txt", "c.txt"]),
        (None, vec!["c.txt"]),
    ] {
        let changes = changes.clone();
        let keeps = tool("keep", Effect::Effectful, Approval::Never).ends(move |_| {
            CallReport {
                changes: changes.clone(),
                ..CallReport::of(text("kept"))
            }
            .into()
        });
        let replies = [Some(calls(&[("k", "keep", "")])), last];
        let replies = replies.into_iter().flatten().collect();
        let parent = Bench::new(vec![start()]);
        let mut family = Family::with(parent, Arc::default(), replies, vec![keeps], |_| {});
        // The child does not see it, and cannot delete it.
        let session = &mut family.parent.session;
        session
            .store_artifact("c.txt", "text/plain", b"theirs".to_vec())
            .unwrap();
        family.parent.say("go").await;
        let artifacts = family.parent.session.artifacts();
        let names: Vec<&str> = artifacts.list().keys().map(ArtifactName::as_str).collect();
        assert_eq!(names, expected);
        if let Some((_, artifact)) = artifacts
            .list()
            .iter()
            .find(|(name, _)| name.as_str() == "a.txt")
        {
            assert_eq!(artifacts.read(artifact).await.unwrap(), b"three");
        }
    }
}
