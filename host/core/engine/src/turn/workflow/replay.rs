//! Starts the run of a workflow, or rebuilds it from the journal: after a pause, a crash, or with a
//! larger budget.

use crate::{
    session::Session,
    turn::{Agent, TurnContext, TurnError, begin::refuse},
    workflow::{Graph, RecordedRun, whole_of},
};
use agent_host_types::{
    event::Event,
    message::Role,
    output::{Blob, BlobRef},
    workflow::NodeOutput,
};
use agent_host_workflow::run::{NodeRun, Run};
use std::{collections::HashMap, sync::Arc};

impl Agent {
    /// Returns the run for the user's last message.
    pub(super) async fn open_run(
        &self,
        graph: &Graph,
        session: &mut Session,
        cx: &TurnContext<'_>,
    ) -> Result<Run, TurnError> {
        let messages = session.state().messages().iter();
        let Some(message) = messages.rev().find(|message| message.role == Role::User) else {
            return Err(refuse("the session is empty; send a message"));
        };
        let run = Run::of_parts(Arc::clone(&graph.workflow), message.content.clone());
        match session.state().open_workflow() {
            Some(_) => self.rebuild(run, session, cx).await,
            None => {
                start(graph, session)?;
                Ok(run)
            }
        }
    }

    /// Applies the events of a run, and records what the end of the program left open.
    async fn rebuild(
        &self,
        run: Run,
        session: &mut Session,
        cx: &TurnContext<'_>,
    ) -> Result<Run, TurnError> {
        let Some(progress) = session.state().open_workflow() else {
            return Ok(run);
        };
        let open = progress.open.iter().map(|(call_id, node)| {
            let of_node = NodeRun {
                node: node.node.as_str().into(),
                iteration: node.iteration,
            };
            (of_node, (call_id.clone(), node.clone()))
        });
        let open: HashMap<NodeRun, _> = open.collect();
        let mut recorded = RecordedRun::from_run(run);
        let mut from = session.workflow_start().saturating_add(1);
        loop {
            let page = session.records(from).await?;
            let Some(last) = page.last() else {
                break;
            };
            from = last.seq.saturating_add(1);
            for record in page {
                let whole = match whole_of(&record.event) {
                    Some(whole) => Some(read_whole(whole, session).await?),
                    None => None,
                };
                let added = recorded.add(record.event, whole);
                added.map_err(|error| refuse(error.to_string()))?;
            }
        }
        let mut run = recorded.into_run();
        // What has a session of its own continues there.
        let lost = run.resume(|node| open.get(node).is_some_and(|(_, node)| node.agent.is_some()));
        for (node, output) in lost {
            let Some((call_id, of_node)) = open.get(&node) else {
                continue;
            };
            let lost = self.lost_node(session, call_id, of_node, output).collect();
            session.record_all(lost, Vec::new());
        }
        for node in run.take_skipped() {
            let node = node.to_string();
            session.record(Event::NodeSkipped { node }, Vec::new());
        }
        if session.undurable() > 0 {
            session.barrier(cx.observer).await?;
        }
        Ok(run)
    }
}

fn start(graph: &Graph, session: &mut Session) -> Result<(), TurnError> {
    let workflow = &graph.workflow;
    let definition = serde_json::to_vec(workflow.definition());
    let definition = definition.map_err(|error| {
        refuse(format!(
            "cannot record the workflow `{}`: {error}",
            workflow.name()
        ))
    })?;
    let definition = Blob::new(definition);
    let started = Event::WorkflowStarted {
        workflow: workflow.name().to_owned(),
        run: session.state().workflow_runs + 1,
        definition: definition.reference(),
    };
    session.record(started, vec![definition]);
    Ok(())
}

async fn read_whole(whole: &BlobRef, session: &Session) -> Result<NodeOutput, TurnError> {
    let bytes = session.blob(whole.digest).await?;
    serde_json::from_slice(&bytes).map_err(|error| TurnError::Journal {
        message: format!(
            "blob {} is not the output of a node: {error}; restore the session from a backup",
            whole.digest
        ),
    })
}
