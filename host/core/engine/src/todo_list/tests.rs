use super::*;
use crate::{
    flow::CallFlow,
    journal::MemoryJournal,
    schema::InputSchema,
    session::{Session, SessionStart},
};
use agent_host_types::{event::Event, id::CallId};
use pretty_assertions::assert_eq;

fn task(content: &str, status: TaskStatus) -> Task {
    Task {
        content: content.into(),
        status,
    }
}

fn tasks() -> Vec<Task> {
    vec![
        task("read", TaskStatus::Completed),
        task("sum up", TaskStatus::InProgress),
        task("write", TaskStatus::Pending),
    ]
}

const LIST: &str = "1 of 3 done\n[x] read\n[>] sum up\n[ ] write";

fn invocation(session: SessionId, input: Value) -> Invocation {
    let Value::Object(input) = input else {
        panic!("no object");
    };
    Invocation {
        session,
        call_id: CallId("a".into()),
        tool: WRITE_TODOS.into(),
        input: input.into(),
        idempotency_key: "k".into(),
        shared: Arc::default(),
        context: Arc::default(),
        answers: Vec::new(),
        artifacts: None,
        agent_depth: 0,
        traceparent: None,
        sources: Vec::new(),
        flow: CallFlow::default(),
        can_ask: false,
        cancel: Default::default(),
    }
}

#[test]
fn list_is_merged_below_its_session_and_read_again() {
    let session = SessionId::new();
    let report = write(&invocation(session, json!({ "todos": tasks() })))
        .settled()
        .unwrap();
    assert_eq!(report.output, ToolResultOutput::Text(LIST.into()));
    let [SessionChange::Merge(delta)] = report.changes.as_slice() else {
        panic!("one merge: {:?}", report.changes);
    };
    assert_eq!(tasks_of(delta, session), tasks());
    assert_eq!(tasks_of(delta, SessionId::new()), []);
    assert_eq!(as_text(&[]), "0 of 0 done");
}

/// Any tool of the session can write there.
#[test]
fn list_of_another_form_is_empty() {
    let session = SessionId::new();
    let forms = [
        json!({ "todos": 1 }),
        json!({ "todos": { session.to_string(): "x" } }),
        json!({ "todos": { session.to_string(): [{ "content": "x", "status": "late" }] } }),
    ];
    for form in forms {
        assert_eq!(tasks_of(form.as_object().unwrap(), session), []);
    }
}

#[test]
fn arguments_beyond_the_bounds_do_not_fit() {
    let schema = InputSchema::compile(&definition().input_schema).unwrap();
    let fits = |todos: Value| {
        let input = json!({ "todos": todos });
        schema.validate(input.as_object().unwrap()).is_ok()
    };
    let one = |content: &str, status: &str| json!([{ "content": content, "status": status }]);
    assert!(fits(json!([])) && fits(one(&"é".repeat(300), "pending")));
    assert!(fits(json!(vec![tasks()[0].clone(); 50])));
    let wrong = [
        one("", "pending"),
        one(&"é".repeat(301), "pending"),
        one("a\nb", "pending"),
        one("a", "done"),
        json!(vec![tasks()[0].clone(); 51]),
        json!([{ "content": "a" }]),
        json!("a"),
    ];
    for todos in wrong {
        assert!(!fits(todos.clone()), "{todos}");
    }
}

/// A list in the state that no call of the conversation has, as after a summary.
#[test]
fn prompt_has_the_list_if_the_conversation_lacks_it() {
    let journal = Arc::new(MemoryJournal::new(SessionId::new()));
    let mut session = Session::start(journal, SessionStart::default());
    assert_eq!(TodoList.prompt(&session), Some(PROMPT.to_owned()));
    let lists = json!({ "todos": { session.id().to_string(): tasks() } });
    let merged = Event::StateMerged {
        call_id: CallId("a".into()),
        delta: lists.as_object().unwrap().clone(),
        labels: Vec::new(),
    };
    session.record(merged, Vec::new());
    let with_list = Some(format!("{PROMPT} The list is now:\n{LIST}"));
    assert_eq!(TodoList.prompt(&session), with_list);
    // Text that the model may not have seen can be in it.
    let merged = Event::StateMerged {
        call_id: CallId("b".into()),
        delta: Map::new(),
        labels: vec!["http:news.example".into()],
    };
    session.record(merged, Vec::new());
    assert_eq!(TodoList.prompt(&session), Some(PROMPT.to_owned()));
}
