//! `agent-host test --from-session`: writes the calls of a session as cases of a project.

use super::super::{configure, explain::shell_quoted, find_session, open_journal};
use super::component;
use crate::{
    args::{ConfigArgs, TestArgs},
    exit::{Exit, Failure},
    self_exec,
    terminal::{DIM, Terminal, escape_line, path_text},
};
use agent_host_app::{Config, Environment, Overrides};
use agent_host_author::test::{self, SessionCases, SkippedCall, TestPlan, TestedComponent};
use agent_host_journal::SHORT_ID_CHARS;
use agent_host_types::event::EventRecord;
use serde_json::json;
use std::path::Path;

pub(super) async fn write(
    session: &str,
    args: TestArgs,
    environment: &Environment,
    terminal: &Terminal,
) -> Result<Exit, Failure> {
    let config_args = ConfigArgs {
        state_dir: args.state_dir.clone(),
        ..ConfigArgs::default()
    };
    let config = configure(config_args, Overrides::default())?;
    let plan = TestPlan {
        component: component(&args, terminal).await?,
        state_dir: args.state_dir,
        compiler: Some(self_exec::compiler()),
        ..TestPlan::default()
    };
    let mut tested = test::tested_component(&plan, environment).await?;
    if let Some(tool) = &args.tool {
        keep_only(&mut tested, tool)?;
    }
    let store = open_journal(&config).await?;
    let id = find_session(store.as_ref(), &config, session).await?;
    let mut cases = SessionCases::new(tested, private(&config, environment, &args.dir));
    let add = |record: EventRecord| cases.add(record.event);
    store.for_each_record(id, add).await?;

    let full = id.to_string();
    let (_, short) = full.split_at(full.len().saturating_sub(SHORT_ID_CHARS));
    let written = cases.finish(&format!("session {short}"));
    if !args.json {
        for SkippedCall { call, tool, reason } in &written.skipped {
            terminal.note(&escape_line(&format!(
                "no case of the call {call} of {tool}: {reason}"
            )));
        }
    }
    if written.cases == 0 {
        return Err(Failure::usage(format!(
            "no call of session {id} can be a case of this component, and nothing was written; `agent-host sessions show {short}` shows its calls"
        )));
    }
    let tool = args
        .tool
        .map_or_else(String::new, |tool| format!("-{tool}"));
    let name = format!("session-{short}{tool}.toml");
    let path = written.write(&args.dir, &name, environment)?;
    terminal.println_as(
        args.json,
        || json!({ "file": path, "cases": written.cases, "skipped": written.skipped }),
        || match written.cases {
            1 => format!("{}: 1 case", path_text(&path)),
            many => format!("{}: {many} cases", path_text(&path)),
        },
    );
    let dir = shell_quoted(&args.dir.to_string_lossy());
    terminal.note(&format!(
        "{DIM}Read it before you keep it: it has what the calls were given and what they returned. `agent-host test {}` runs it.{DIM:#}",
        escape_line(&dir)
    ));
    Ok(Exit::Done)
}

/// Leaves one tool of a component.
fn keep_only(tested: &mut TestedComponent, tool: &str) -> Result<(), Failure> {
    if tested.tools.contains(tool) {
        tested.tools.retain(|known| known == tool);
        return Ok(());
    }
    let known: Vec<&str> = tested.tools.iter().map(String::as_str).collect();
    Err(Failure::usage(format!(
        "the component has no tool `{}`; it has {}",
        escape_line(tool),
        escape_line(&known.join(", "))
    )))
}

/// Returns the directories of this machine that no case may name.
fn private(config: &Config, environment: &Environment, project: &Path) -> Vec<String> {
    let project = environment.cwd.join(project);
    let project = project.canonicalize().unwrap_or(project);
    let directories = [&config.working_dir, &config.state_dir, &project];
    let directories = directories.map(|directory| directory.display().to_string());
    let home = environment.variables.get("HOME").cloned();
    directories.into_iter().chain(home).collect()
}
