//! The introduction of a run: the model, the tools, the agents, and what they may reach, from the
//! values that the policy checks.

use crate::{
    commands::tool_names,
    terminal::{BOLD, DIM, Terminal, YELLOW, escape_line},
};
use agent_host_app::{ConfiguredAgents, reach};
use agent_host_engine::{agents::SubAgent, session::Session, turn::Agent};

/// The hint to instructions that are not read unless the user says so.
pub(in crate::commands) const UNTOLD: &str = "the model does not see the AGENTS.md here; to include it, set \
    `instructions = [\"AGENTS.md\"]` in agent.toml";

pub(super) fn show(
    agents: &ConfiguredAgents,
    agent: &Agent,
    session: &Session,
    terminal: &Terminal,
) {
    match &agent.workflow {
        Some(graph) => row(terminal, "workflow", graph.workflow().name()),
        None => show_model(agents, terminal),
    }
    row(terminal, "tools", &tool_names(agents.registry()));
    let (programs, mut started): (Vec<SubAgent>, Vec<SubAgent>) = started_by(agent)
        .into_iter()
        .partition(|child| child.program_loop().is_some());
    if !programs.is_empty() {
        row(terminal, "code", "programs of the model call the tools");
    }
    let loops = programs.iter().filter_map(SubAgent::program_loop);
    started.extend(loops.flat_map(started_by));
    let names: Vec<&str> = started.iter().map(|child| child.name.as_str()).collect();
    if !names.is_empty() {
        row(terminal, "agents", &names.join(", "));
    }
    let skills = agents.registry().skills();
    if !skills.is_empty() {
        let names: Vec<&str> = skills.iter().map(|skill| skill.name.as_str()).collect();
        row(terminal, "skills", &names.join(", "));
    }
    if agents.config().untold_agents_file().is_some() {
        row(terminal, "", UNTOLD);
    }
    for line in reach(agents.registry()) {
        row(terminal, "reach", &line);
    }
    row(terminal, "session", &session.id().to_string());
    terminal.note("");
}

/// Returns the agents that an agent can start, with its programs.
fn started_by(agent: &Agent) -> Vec<SubAgent> {
    let agents = agent.agents.iter();
    agents.flat_map(|agents| agents.parts().0).collect()
}

fn show_model(agents: &ConfiguredAgents, terminal: &Terminal) {
    let models = &agents.config().models;
    if models.first.is_none() {
        terminal.note_at_words(&format!(
            "{YELLOW}No model is configured, so the built-in tour plays:{YELLOW:#} a script that drives the real \
             loop and the real sandboxed tools on your directory. No language model is involved.\nFor a real agent: \
             `agent-host init`, or set ANTHROPIC_API_KEY, OPENAI_API_KEY or GEMINI_API_KEY, or set a model with \
             `--model` or in agent.toml, such as ollama:NAME, or openai-compat:NAME with OPENAI_COMPAT_BASE_URL \
             naming the server.\n"
        ));
    }
    let model = agents.model().provenance();
    let name = format!("{}:{}", model.provider, model.model);
    row(terminal, "model", &name);
    if let Some(source) = &models.chosen_by {
        let why = format!("chosen because of the key in {source}; choose another with `--model`");
        row(terminal, "", &why);
    }
    for model in &models.fallback {
        row(terminal, "or", &model.to_string());
    }
}

fn row(terminal: &Terminal, name: &str, text: &str) {
    terminal.note_at_words(&format!(
        "{DIM}{name:<8}{DIM:#} {BOLD}{}{BOLD:#}",
        escape_line(text)
    ));
}
