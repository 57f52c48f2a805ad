use super::*;
use agent_host_types::{
    event::{EVENT_VERSION, Event},
    failure::{ToolErrorCode, ToolFailure},
    model::{ModelError, ModelErrorKind},
    turn::TurnEnd,
};
use pretty_assertions::assert_eq;
use serde_json::json;
use std::sync::Mutex;
use std::time::Duration;

/// Returns the lines that an observer writes for what `tell` tells it.
fn lines(tell: impl FnOnce(&StreamObserver<'_>)) -> Vec<Value> {
    let lines = Mutex::new(Vec::new());
    let write = |line: Arc<StreamLine>| {
        let text: Value = serde_json::from_str(line.json()).unwrap();
        assert_eq!(text, json!(line));
        lines.lock().unwrap().push(text);
    };
    tell(&StreamObserver::new(&write));
    lines.into_inner().unwrap()
}

#[test]
fn lines_name_the_path_of_an_agent_in_an_agent() {
    let (outer, inner) = (CallId("a".into()), CallId("b".into()));
    let written = lines(|observer| {
        let child = observer.child(&outer, "researcher").unwrap();
        let grandchild = child.child(&inner, "reader").unwrap();
        grandchild.live(Live::Delta(ModelDelta::Text("hi")));
        // A program's lines are the output of its call.
        observer.printed("of no call");
        grandchild.printed("of b");
    });
    assert_eq!(
        written,
        [
            json!({"live": "agent-started", "call_id": "a", "agent": "researcher"}),
            json!({"live": "agent-started", "call_id": "b", "agent": "reader", "path": ["a"]}),
            json!({"live": "text", "text": "hi", "path": ["a", "b"]}),
            json!({"live": "call-output", "call_id": "b", "text": "of b", "path": ["a"]}),
        ]
    );
}

#[test]
fn lines_of_every_kind_fit_the_schema() {
    let session = SessionId::new();
    let call_id = CallId("c".into());
    let input = Map::from_iter([("path".to_owned(), json!("a"))]);
    let output = ToolFailure::new(ToolErrorCode::Timeout, "late").into();
    let size = CompactionStats::default();
    let record = EventRecord {
        v: EVENT_VERSION,
        session,
        seq: 3,
        at_ms: 5,
        event: Event::NodeSkipped { node: "n".into() },
    };
    let written = lines(|observer| {
        observer.begin(session, "1.2.3");
        observer.recorded(&Arc::new(record.clone()));
        for live in [
            Live::ModelAsked,
            Live::Delta(ModelDelta::Text("t")),
            Live::Delta(ModelDelta::Reasoning("r")),
            Live::Delta(ModelDelta::Restarted),
            Live::Delta(ModelDelta::Note("n")),
            Live::Delta(ModelDelta::Waiting {
                error: &ModelError::new(ModelErrorKind::Server, "e"),
                wait: Duration::from_millis(1_500),
            }),
            Live::ResultsReferenced { count: 2, size },
            Live::HistorySummarised { messages: 4, size },
            Live::CallStarted {
                call_id: &call_id,
                tool: "read",
                input: &input,
            },
            Live::CallProgress {
                call_id: &call_id,
                message: "half",
                fraction: Some(0.5),
            },
            Live::CallProgress {
                call_id: &call_id,
                message: "more",
                fraction: None,
            },
            Live::CallOutput {
                call_id: &call_id,
                text: "lines",
            },
            Live::CallEnded {
                call_id: &call_id,
                tool: "read",
                input: Some(&input),
                output: &output,
                audit: &[],
                wall_us: 7,
            },
        ] {
            observer.live(live);
        }
        observer.step(Step::CheckBudgets, &StepResult::go(Step::CallModel));
        observer.step(Step::CallModel, &StepResult::end(TurnEnd::Cancelled));
    });
    let size = json!(size);
    assert_eq!(
        written,
        [
            json!({"live": "session", "version": 1, "session": session, "program": "1.2.3"}),
            json!(record),
            json!({"live": "model-asked"}),
            json!({"live": "text", "text": "t"}),
            json!({"live": "reasoning", "text": "r"}),
            json!({"live": "restarted"}),
            json!({"live": "note", "text": "n"}),
            json!({"live": "waiting", "error": "e", "wait_ms": 1_500}),
            json!({"live": "results-referenced", "count": 2, "size": size}),
            json!({"live": "history-summarised", "messages": 4, "size": size}),
            json!({"live": "call-started", "call_id": "c", "tool": "read", "input": input}),
            json!({"live": "call-progress", "call_id": "c", "message": "half", "fraction": 0.5}),
            json!({"live": "call-progress", "call_id": "c", "message": "more"}),
            json!({"live": "call-output", "call_id": "c", "text": "lines"}),
            json!({
                "live": "call-ended", "call_id": "c", "tool": "read", "output": "error-json",
                "wall_us": 7,
            }),
            json!({"live": "step", "step": "check-budgets", "next_step": "call-model"}),
            json!({"live": "step", "step": "call-model", "end": "cancelled"}),
        ]
    );
    let schema = agent_host_types::schema::of::<StreamLine>();
    let schema = jsonschema::validator_for(&schema).unwrap();
    for line in &written {
        assert!(schema.is_valid(line), "{line}");
        let read = StreamLine::from_json(line.to_string().into()).unwrap();
        assert_eq!(json!(read), *line);
    }
    // The schema is not one that everything fits.
    for line in [
        json!({"live": "unknown"}),
        json!({"live": "text"}),
        json!({"live": "step", "step": "unknown"}),
        json!({"text": "t"}),
        json!([]),
    ] {
        assert!(!schema.is_valid(&line), "{line}");
        assert!(
            StreamLine::from_json(line.to_string().into()).is_err(),
            "{line}"
        );
    }
}
