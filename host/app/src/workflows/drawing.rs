//! Draws the workflows that a session ran, with the states of their nodes.

use agent_host_engine::{
    journal::JournalError,
    workflow::{RecordedRun, whole_of},
};
use agent_host_journal::JournalStore;
use agent_host_types::{
    event::{Event, EventRecord},
    id::{Digest, SessionId},
    output::ContentPart,
};
use agent_host_workflow::graph::{self, Layout, States};

/// The events of one run, after its start.
struct Recorded {
    definition: Digest,
    message: Vec<ContentPart>,
    events: Vec<Event>,
}

/// A run of a workflow, for a drawing.
#[derive(Clone, Debug)]
pub struct WorkflowDrawing {
    /// The drawing as text.
    pub text: String,
    /// The nodes in layers.
    pub layout: Layout,
}

/// Returns a drawing of each workflow that a session ran, in order. A run that this program
/// cannot follow is drawn as far as it can.
///
/// # Errors
/// The session cannot be read.
pub async fn workflow_drawings(
    store: &dyn JournalStore,
    session: SessionId,
) -> Result<Vec<WorkflowDrawing>, JournalError> {
    let mut runs: Vec<Recorded> = Vec::new();
    let mut message = Vec::new();
    let collect = |record: EventRecord| match record.event {
        Event::InputReceived { message: input, .. } => message = input.content,
        Event::WorkflowStarted { definition, .. } => runs.push(Recorded {
            definition: definition.digest,
            message: message.clone(),
            events: Vec::new(),
        }),
        event @ (Event::NodeIntended { .. }
        | Event::NodeSettled { .. }
        | Event::NodeSkipped { .. }
        | Event::ChildrenWaiting { .. }) => {
            if let Some(run) = runs.last_mut() {
                run.events.push(event);
            }
        }
        _ => {}
    };
    store.for_each_record(session, collect).await?;
    let mut drawings = Vec::with_capacity(runs.len());
    for run in runs {
        drawings.extend(drawing(store, run).await?);
    }
    Ok(drawings)
}

async fn drawing(
    store: &dyn JournalStore,
    recorded: Recorded,
) -> Result<Option<WorkflowDrawing>, JournalError> {
    let definition = store.read_blob(recorded.definition).await?;
    let Some(mut run) = RecordedRun::new(&definition, recorded.message) else {
        return Ok(None);
    };
    for event in recorded.events {
        let whole = match whole_of(&event) {
            Some(whole) => serde_json::from_slice(&store.read_blob(whole.digest).await?).ok(),
            None => None,
        };
        if run.add(event, whole).is_err() {
            break;
        }
    }
    let run = run.run();
    let (workflow, states) = (run.workflow(), States::from_run(run));
    Ok(Some(WorkflowDrawing {
        text: graph::text(workflow, &states),
        layout: graph::layout(workflow, &states),
    }))
}
