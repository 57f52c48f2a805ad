//! The lines that programs print while they run.

use super::{call, json_of, writes};
use crate::{
    BoxFuture,
    observer::{Live, Observer},
    program::{Program, ProgramRun, ProgramRunner},
    tool::CallReport,
    tool_set::ToolSet,
    turn::tests::{children::TestJournals, harness::*},
};
use agent_host_types::event::EventRecord;
use pretty_assertions::assert_eq;
use serde_json::json;
use std::sync::{Arc, Mutex};

/// Sees what the program of an agent prints, and nothing else.
pub(in crate::turn::tests) struct Prints<'a>(pub(in crate::turn::tests) &'a Mutex<Vec<String>>);

impl Observer for Prints<'_> {
    fn recorded(&self, _record: &Arc<EventRecord>) {}

    fn live(&self, _live: Live<'_>) {}

    fn printed(&self, text: &str) {
        self.0.lock().unwrap().push(format!("printed {text}"));
    }
}

/// Prints a line before each of two calls.
struct Printing;

impl ProgramRunner for Printing {
    fn run(&self, run: ProgramRun) -> BoxFuture<'static, CallReport> {
        Box::pin(async move {
            run.printed.send("before".to_owned()).await.unwrap();
            call(&run.tools, &[("look", "{}")]).await;
            run.printed.send("between".to_owned()).await.unwrap();
            CallReport::of(json_of(&call(&run.tools, &[("look", "{}")]).await))
        })
    }
}

/// The lines are shown where they are printed, before the calls that follow, and never recorded.
#[tokio::test]
async fn lines_of_a_program_are_shown_as_it_runs() {
    let mut bench = Bench::with(vec![writes("p"), says("done")], standard());
    let journals = Arc::<TestJournals>::default();
    let program = Program {
        runner: Arc::new(Printing),
        max_calls: 2,
    };
    bench.agent = bench
        .agent
        .with_programs(program, ToolSet::default(), journals.clone());
    bench.say("go").await;
    let live = bench.observer.live.lock().unwrap().clone();
    let expected = [
        "asked",
        "text ",
        "started p",
        "printed before",
        "printed between",
        "ended p json",
    ];
    assert_eq!(live, expected);
    let recorded = json!(journals.only().durable()).to_string();
    assert!(!recorded.contains("before"), "{recorded}");
}
