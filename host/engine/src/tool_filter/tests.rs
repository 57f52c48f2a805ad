use super::*;
use crate::ask_user::with_ask_user;
use agent_host_types::id::{CallId, SessionId};
use pretty_assertions::assert_eq;

/// A runner without tools.
struct NoTools;

impl ToolRunner for NoTools {
    fn tools(&self) -> &[RegisteredTool] {
        &[]
    }

    fn validate(&self, tool: &str, _: &Map<String, Value>) -> Result<(), ToolFailure> {
        Err(unknown(tool))
    }

    fn run<'a>(&'a self, call: Invocation, _: ProgressSink<'a>) -> BoxFuture<'a, RunEnd> {
        panic!("there is no tool {}", call.tool)
    }
}

/// A tool that no glob matches is not there for any caller.
#[tokio::test]
async fn tool_outside_of_the_filter_is_unknown() {
    let input = serde_json::json!({ "questions": [{ "question": "?" }] });
    let input = input.as_object().unwrap();
    for (glob, is_there) in [("ask_*", true), ("ask_user", true), ("ask", false)] {
        let globs = [NameGlob::new(glob).unwrap()];
        let tools = filter_tools(with_ask_user(Arc::new(NoTools)), &globs);
        assert_eq!(tools.tools().len(), usize::from(is_there), "{glob}");
        let valid = tools.validate("ask_user", input);
        let call = Invocation {
            session: SessionId::new(),
            call_id: CallId("a".into()),
            tool: "ask_user".into(),
            input: input.clone(),
            idempotency_key: "k".into(),
            shared: Arc::default(),
            context: Arc::default(),
            answers: Vec::new(),
            artifacts: None,
            agent_depth: 0,
            traceparent: None,
            can_ask: true,
            cancel: Default::default(),
        };
        let end = tools.run(call, &|_, _| {}).await;
        if is_there {
            assert_eq!(valid, Ok(()));
            assert!(matches!(end, RunEnd::Asked(_)), "{end:?}");
        } else {
            assert_eq!(valid, Err(unknown("ask_user")));
            let failure = ToolResultOutput::from(unknown("ask_user"));
            assert_eq!(end.settled().unwrap().output, failure);
        }
    }
}
