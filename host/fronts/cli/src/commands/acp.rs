//! `agent-host acp`: agents in editors, over the Agent Client Protocol. stdout belongs to the
//! client; text for users goes to stderr.

use super::{configure, flush_telemetry, tool_names};
use crate::{
    args::AcpArgs,
    exit::{Exit, Failure},
    signals::Stop,
    terminal::{Terminal, escape},
};
use agent_host_app::{ConfiguredAgents, Host, Overrides, reach};
use agent_host_mcp::standard_streams;
use std::sync::Arc;

pub(super) async fn acp(args: AcpArgs, terminal: &Terminal) -> Result<Exit, Failure> {
    let overrides = Overrides {
        model: args.model.clone(),
        ..Overrides::default()
    };
    let config = configure(args.config, overrides)?;
    let stop = Stop::listen(terminal);
    let host = tokio::select! {
        biased;
        () = stop.token.cancelled() => return Ok(stop.exit()),
        opened = Host::open(config) => Arc::new(opened?),
    };
    if let Some(name) = &args.agent {
        // A wrong name is an error of the start, and not of the first session.
        host.config().agent(name)?;
    }
    if !args.quiet {
        intro(host.agents(), terminal);
    }
    let (input, output) = standard_streams();
    let served =
        agent_host_acp::serve(Arc::clone(&host), args.agent, input, output, stop.token).await;
    flush_telemetry(&host, terminal).await;
    served.map_err(|error| Failure::failed(format!("could not write to the client: {error}")))?;
    // Closed input and a signal are the normal ends.
    Ok(Exit::Done)
}

/// Prints what is served and what it may reach, from the values that the policy checks.
fn intro(agents: &ConfiguredAgents, terminal: &Terminal) {
    let model = agents.model().provenance();
    let directory = agents.config().working_dir.display();
    let tools = tool_names(agents.registry());
    let reach = reach(agents.registry()).join("\n  ");
    terminal.note(&escape(&format!(
        "serving the Agent Client Protocol for {directory} over standard input and output, to the program that started this one\nmodel: {}:{}\ntools: {tools}\naccess: {reach}",
        model.provider, model.model
    )));
}
