//! `agent-host call`: calls one tool without a model, with the grants and limits of the
//! configuration. No approval is asked for: the operator requested exactly this call. A rule that
//! denies it does so here, too.

mod arguments;
mod saved;

use super::{
    configure,
    explain::{shell_quoted, suggestions_text},
    tool_list, tool_names,
};
use crate::{
    args::CallArgs,
    exit::{Exit, Failure},
    signals::Stop,
    terminal::{
        Terminal, TerminalUser, ask_question, audit_line, escape, full_text, json_text, one_line,
    },
};
use agent_host_app::{CommandRules, Config, Overrides, Registry, nearest, suggestions};
use agent_host_engine::{
    arguments::Arguments,
    flow::CallFlow,
    policy::{CallRequest, CallRule, Ruling, decide_call, denied_call},
    session::now_ms,
    tool::{CallReport, CallUpdate, Invocation, ProgressSink, RunEnd},
};
use agent_host_types::{
    accounting::{AuditEntry, AuditVerdict},
    facts::{CallFacts, LOCAL_CALLER},
    id::{CallId, SessionId, object_digest},
    output::ToolResultOutput,
    question::{AnsweredBy, AnsweredQuestion, MAX_QUESTIONS},
};
use saved::Target;
use serde_json::{Map, Value, json};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

pub(super) async fn call(args: CallArgs, terminal: &Terminal) -> Result<Exit, Failure> {
    let CallArgs {
        component,
        tool,
        arguments,
        config,
        deny,
        output,
        json,
    } = args;
    let mut config = configure(
        config,
        Overrides {
            deny,
            ..Overrides::default()
        },
    )?;
    let Some(tool) = tool else {
        return list(&component, &config, json, terminal).await;
    };
    let target = output.map(Target::check).transpose()?;
    if terminal.can_ask() {
        config.elicitor = Some(Arc::new(TerminalUser::new(*terminal)));
    }
    let registry = Registry::open_one(&config, &component).await?;
    registry.check_default_dir(&config)?;
    // Accepts an MCP server's own name for a tool besides the one that models see.
    let tool = registry
        .name_of_own(&tool)
        .map_or(tool.clone(), str::to_owned);
    let Some(known) = registry.tool(&tool) else {
        return Err(unknown(&component, &tool, &registry));
    };
    let input = arguments::read(&arguments, &known.definition.input_schema)?;
    let input = registry
        .tool_set()
        .accept(&tool, &input)
        .map_err(|failure| Failure::usage(failure.message()))?;
    let rules = CommandRules::resolve(&config, &registry)?.rules;
    if let Some(denial) = denial(&rules, &registry, &tool, &input) {
        return print(&denial, /*target*/ None, json, terminal);
    }
    let invocation = invocation(tool, input, terminal);
    // All that it printed follows at the end.
    let progress = |update: CallUpdate<'_>| {
        if let (CallUpdate::Progress { message, .. }, true) = (update, terminal.stderr) {
            terminal.note(&one_line(message, 200));
        }
    };
    // A signal also ends a prompt and restores the terminal's modes.
    let stop = Stop::listen(terminal);
    let report = tokio::select! {
        biased;
        () = stop.token.cancelled() => return Ok(stop.exit()),
        report = run_to_result(&registry, invocation, &progress, terminal) => report?,
    };
    if !report.accounting.stdio.is_empty() {
        terminal.note(&escape(&report.accounting.stdio));
    }
    if matches!(report.output, ToolResultOutput::ExecutionDenied(_)) {
        explain_denials(&report.audit, &config, terminal);
    }
    print(&report.output, target.as_ref(), json, terminal)
}

/// Makes the call of a session of its own.
fn invocation(tool: String, input: Arguments, terminal: &Terminal) -> Invocation {
    let session = SessionId::new();
    Invocation {
        session,
        call_id: CallId("call-1".to_owned()),
        tool,
        input,
        idempotency_key: session.to_string(),
        shared: Arc::default(),
        context: Arc::default(),
        answers: Vec::new(),
        artifacts: None,
        agent_depth: 0,
        traceparent: None,
        sources: Vec::new(),
        flow: CallFlow::default(),
        can_ask: terminal.can_ask(),
        // Unused: a signal drops the whole future.
        cancel: CancellationToken::new(),
    }
}

/// Lists the tools of a component or server.
async fn list(
    component: &str,
    config: &Config,
    json: bool,
    terminal: &Terminal,
) -> Result<Exit, Failure> {
    let registry = Registry::open_one_unlocked(config, component).await?;
    let tools = registry.tools();
    let tools = tools.map(|tool| (tool.definition.as_ref(), tool.effect));
    terminal.println_as(
        json,
        || {
            let tools = tools
                .clone()
                .map(|(tool, effect)| tool_list::as_json(tool, effect, &config.rules));
            json!({ "component": component, "tools": tools.collect::<Vec<_>>() })
        },
        || tool_list::rows(tools.clone(), &config.rules).join("\n"),
    );
    if !json {
        let component = shell_quoted(component);
        terminal.note(&format!(
            "\nCall one: agent-host call {component} TOOL KEY=VALUE\nTheir arguments: agent-host inspect {component} --schemas",
        ));
    }
    Ok(Exit::Done)
}

/// Returns the failure of a tool that the component does not have.
fn unknown(component: &str, tool: &str, registry: &Registry) -> Failure {
    let tools = registry.tools();
    let names: Vec<&str> = tools.map(|tool| tool.definition.name.as_str()).collect();
    let fix = match nearest(tool, &names) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("its tools are: {}", tool_names(registry)),
    };
    Failure::usage(format!("`{component}` has no tool `{tool}`; {fix}"))
}

/// Returns the result of a call that a rule denies.
fn denial(
    rules: &[CallRule],
    registry: &Registry,
    tool: &str,
    input: &Map<String, Value>,
) -> Option<ToolResultOutput> {
    // Outside of a session, nothing is counted.
    let facts = CallFacts {
        at_ms: now_ms(),
        caller: LOCAL_CALLER.to_owned(),
        windows: Vec::new(),
    };
    let call = CallRequest {
        tool: registry.tool(tool)?,
        input,
        input_digest: object_digest(input),
        agent: None,
        facts: Some(&facts),
    };
    match decide_call(&call, rules, &[], []) {
        Ruling::Deny { rule, reason, .. } => Some(denied_call(&rule, &reason)),
        Ruling::Allow { .. } | Ruling::Ask { .. } => None,
    }
}

/// Prints each denial and the grants that would have allowed it: without a session, `explain` has
/// nothing to read.
fn explain_denials(audit: &[AuditEntry], config: &Config, terminal: &Terminal) {
    let denied = audit
        .iter()
        .filter(|entry| entry.verdict == AuditVerdict::Denied);
    for entry in denied {
        terminal.note(&audit_line(entry));
    }
    if let Some(text) = suggestions_text(&suggestions(audit, config.implied_grant())) {
        terminal.note(&text);
    }
}

/// Runs the call to its result; after each question it runs again with the answer.
async fn run_to_result(
    registry: &Registry,
    mut invocation: Invocation,
    progress: ProgressSink<'_>,
    terminal: &Terminal,
) -> Result<CallReport, Failure> {
    loop {
        let asked = match registry.tool_set().run(invocation.clone(), progress).await {
            RunEnd::Settled(report) => return Ok(report),
            RunEnd::Asked(asked) => asked,
        };
        let question = asked.question;
        let (screen, tool, shown) = (*terminal, invocation.tool.clone(), question.clone());
        let answer = tokio::task::spawn_blocking(move || ask_question(&screen, &tool, &shown));
        let answer = answer.await.ok().flatten().ok_or_else(|| {
            Failure::new(
                Exit::Waiting,
                "The tool asks a question, but a call without a session cannot wait for the answer. Call it again at \
                 a terminal.",
            )
        })?;
        if asked.answered_by == AnsweredBy::Result || invocation.answers.len() >= MAX_QUESTIONS {
            return Ok(CallReport::of(question.result(&answer)));
        }
        invocation
            .answers
            .push(AnsweredQuestion { question, answer });
    }
}

fn print(
    output: &ToolResultOutput,
    target: Option<&Target>,
    json: bool,
    terminal: &Terminal,
) -> Result<Exit, Failure> {
    let exit = if output.is_success() {
        Exit::Done
    } else if output.is_error() {
        Exit::Failed
    } else {
        Exit::Refused
    };
    let mut is_saved = false;
    if let Some(target) = target.filter(|_| output.is_success()) {
        let (lines, is_whole) = target.save(output)?;
        lines.iter().for_each(|line| terminal.note(line));
        is_saved = is_whole;
    }
    if json {
        let text = serde_json::to_string(output).map_err(Failure::failed)?;
        terminal.println(&json_text(&text));
    } else if output.is_success() {
        if !is_saved {
            terminal.println_untrusted(&full_text(output));
        }
    } else {
        return Err(Failure::new(exit, full_text(output)));
    }
    Ok(exit)
}
