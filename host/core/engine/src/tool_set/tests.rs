use super::*;
use crate::{
    ask_user::{ASK_USER, ask_user},
    flow::CallFlow,
};
use agent_host_types::id::{CallId, SessionId};
use pretty_assertions::assert_eq;
use serde_json::json;

fn call(tool: &str) -> Invocation {
    let input = json!({ "questions": [{ "question": "?" }] });
    Invocation {
        session: SessionId::new(),
        call_id: CallId("a".into()),
        tool: tool.into(),
        input: input.as_object().unwrap().clone().into(),
        idempotency_key: "k".into(),
        shared: Arc::default(),
        context: Arc::default(),
        answers: Vec::new(),
        artifacts: None,
        agent_depth: 0,
        traceparent: None,
        sources: Vec::new(),
        flow: CallFlow::default(),
        can_ask: true,
        cancel: Default::default(),
    }
}

/// A tool with the schema of the one that asks the user, and no handler.
fn named(name: &str) -> ToolEntry {
    let mut entry = ask_user().unwrap();
    Arc::make_mut(&mut entry.tool.definition).name = name.into();
    ToolEntry {
        handler: None,
        ..entry
    }
}

fn names(tools: &ToolSet) -> Vec<&str> {
    let tools = tools.tools();
    tools.map(|tool| tool.definition.name.as_str()).collect()
}

/// A tool that no glob matches is not there for any caller.
#[tokio::test]
async fn tool_outside_of_the_filter_is_unknown() {
    let call = call(ASK_USER);
    for (glob, is_there) in [("ask_*", true), ("ask_user", true), ("ask", false)] {
        let globs = [NameGlob::new(glob).unwrap()];
        let tools = ToolSet::from_iter(ask_user()).filtered(&globs);
        assert_eq!(tools.len(), usize::from(is_there), "{glob}");
        let valid = tools.accept(ASK_USER, &call.input).map(drop);
        let end = tools.run(call.clone(), &|_| {}).await;
        if is_there {
            assert_eq!(valid, Ok(()));
            assert!(matches!(end, RunEnd::Asked(_)), "{end:?}");
        } else {
            assert_eq!(valid, Err(unknown(ASK_USER)));
            let failure = ToolResultOutput::from(unknown(ASK_USER));
            assert_eq!(end.settled().unwrap().output, failure);
        }
    }
}

/// Those of the program come first, in their order, and no other tool takes the place of one.
#[tokio::test]
async fn set_behind_others_keeps_their_order_and_names() {
    let tools = ToolSet::from_iter([named("read"), named(ASK_USER), named("write")]);
    let tools = tools.behind(ask_user().into_iter().chain([named("find")]));
    assert_eq!(names(&tools), [ASK_USER, "find", "read", "write"]);
    let end = tools.run(call(ASK_USER), &|_| {}).await;
    assert!(matches!(end, RunEnd::Asked(_)), "{end:?}");
}

/// The set that another is made from stays as it is.
#[tokio::test]
async fn tool_outside_of_the_host_is_not_run_here() {
    let tools = ToolSet::from_iter(ask_user());
    let mut outside = tools.clone();
    outside.run_outside(|name| name == ASK_USER);
    let end = outside.run(call(ASK_USER), &|_| {}).await;
    let failure = ToolFailure::new(
        ToolErrorCode::ToolUnavailable,
        "This tool runs outside of the host.",
    );
    assert_eq!(end.settled().unwrap().output, failure.into());
    let runtimes = |tools: &ToolSet| tools.get(ASK_USER).map(|entry| entry.tool.runtime);
    assert_eq!(runtimes(&outside), Some(ToolRuntime::External));
    assert_eq!(runtimes(&tools), Some(ToolRuntime::Host));
}

#[test]
fn found_tool_is_offered_once_the_session_has_it() {
    let mut tools = ToolSet::from_iter([named("read")]);
    tools.offer_found();
    let tools = tools.behind(ask_user());
    let found = BTreeSet::from(["read".to_owned()]);
    let none = BTreeSet::new();
    assert!(tools.is_offered(ASK_USER, &none));
    assert!(!tools.is_offered("read", &none));
    assert!(tools.is_offered("read", &found));
}
