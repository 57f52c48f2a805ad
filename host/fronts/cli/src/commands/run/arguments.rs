//! The arguments of a run that a later run of its session takes over: as they are recorded, as
//! flags of a command, and back.
//!
//! The grants of a session are its user's to give, so they are shown and confirmed, or repeated on
//! the command line. Nothing of a copy and nothing of another directory is taken over that has
//! authority: a copy may come from anywhere, and paths mean something else elsewhere.

use crate::{
    args::{RunArgs, RuntimeOfTools},
    commands::{open_journal, shell_quoted},
    exit::Failure,
    terminal::{BOLD, Terminal, YELLOW, answer, escape_line},
};
use agent_host_app::{
    Config, Environment, OnUntrusted, Overrides, config::GrantsSection, run_states,
};
use agent_host_engine::session::{Session, SessionState};
use agent_host_types::{id::SessionId, run::RunArguments};
use std::path::Path;

/// The beginning of the command that runs or resumes a session.
const PROGRAM: &str = "agent-host";

/// Returns the arguments of a run as they are recorded. Values of variables are left out.
pub(super) fn recorded(args: &RunArgs, directory: &Path) -> RunArguments {
    let without_value = |grant: &String| match grant.split_once('=') {
        Some((name, _)) if name.starts_with("env:") => format!("{name}="),
        _ => grant.clone(),
    };
    let config = args.config.config.as_ref().map(|file| {
        let file = directory.join(file);
        file.canonicalize().unwrap_or(file).display().to_string()
    });
    RunArguments {
        directory: Some(directory.display().to_string()),
        config,
        model: args.model.clone(),
        effort: args.effort.map(|effort| effort.name().to_owned()),
        agent: args.agent.clone(),
        tools: args.tools.clone(),
        grants: args.config.grants.iter().map(without_value).collect(),
        write: args.config.write,
        trust: args.config.trust,
        allow: args.rules.allowed(),
        deny: args.rules.deny.clone(),
        runs_tools_outside: args.runs_tools_outside(),
    }
}

/// Adds what the last run of the session was given to the arguments of the one that resumes it. A
/// flag of the new command line replaces what is recorded of its kind.
pub(super) async fn take_over(mut args: RunArgs, terminal: &Terminal) -> Result<RunArgs, Failure> {
    let Some((id, state, directory)) = last_run(&args).await? else {
        return Ok(args);
    };
    args.resume = Some(id.to_string());
    if let Some(original) = state.original_arguments() {
        if original.has_authority() {
            terminal.note(&format!(
                "{YELLOW}Session {id} is a copy, which inherits no permissions:{YELLOW:#} the original ran with {}. \
                 Only the flags of this command apply.",
                escape_line(&flags(original).join(" "))
            ));
        }
        return Ok(args);
    }
    let here = recorded(&args, Path::new(&directory));
    let taken = left_to_take(state.run_arguments(), &here);
    let elsewhere = taken.directory.as_ref().filter(|dir| **dir != directory);
    if let Some(elsewhere) = elsewhere
        && taken.has_authority()
    {
        return Err(Failure::usage(format!(
            "session {id} was run in {elsewhere}, and its arguments apply only to that directory. Change to it: cd \
             {} && {}\nOr pass the arguments for this directory: {}",
            shell_quoted(elsewhere),
            same_command(&[]),
            same_command(&flags(&taken))
        )));
    }
    if let Some(grant) = taken.grants.iter().find(|grant| is_valued(grant)) {
        return Err(Failure::usage(format!(
            "session {id} was given {grant}VALUE, and values are not recorded. Pass it again, with the value in \
             place of VALUE: {}",
            same_command(&flags(&widening(&taken)))
        )));
    }
    if taken.widens() && !confirmed(&taken, id, terminal)? {
        return Ok(with(
            args,
            RunArguments {
                grants: Vec::new(),
                write: false,
                trust: false,
                allow: Vec::new(),
                ..taken
            },
        ));
    }
    Ok(with(args, taken))
}

/// Returns the session that is resumed, with the state of its runs, and this directory; `None` if
/// it is not found where the command line leads, which opening it reports.
async fn last_run(args: &RunArgs) -> Result<Option<(SessionId, SessionState, String)>, Failure> {
    let Some(name) = &args.resume else {
        return Ok(None);
    };
    let environment = Environment::from_process()?;
    let overrides = Overrides {
        state_dir: args.config.state_dir.clone(),
        on_untrusted: match args.config.trust {
            true => OnUntrusted::Use,
            // It may have nothing to do with the session.
            false => OnUntrusted::LeaveOut,
        },
        ..Overrides::default()
    };
    let file = args.config.config.as_deref();
    // Nor may a file that cannot be used.
    let config = Config::load(file, &overrides, &environment).or_else(|_| {
        let (grants, secrets) = (GrantsSection::default(), Vec::new());
        Config::of_sections(None, grants, secrets, None, &overrides, &environment)
    });
    let Ok(config) = config else {
        return Ok(None);
    };
    let store = open_journal(&config).await?;
    let directory = config.working_dir.display().to_string();
    let Ok((id, state)) = run_states(store.as_ref(), &directory, name).await else {
        return Ok(None);
    };
    Ok(Some((id, state, directory)))
}

/// Checks that a conversation with these arguments may continue another session: what that was
/// given besides a model holds for the conversation, too.
///
/// # Errors
/// Something is missing; the message has the command that gives it.
pub(super) fn check_given(
    args: &RunArgs,
    session: &Session,
    directory: &Path,
) -> Result<(), Failure> {
    let recorded = session.state().run_arguments();
    let missing = RunArguments {
        model: None,
        effort: None,
        ..left_to_take(recorded, &self::recorded(args, directory))
    };
    let flags = flags(&missing);
    if flags.is_empty() {
        return Ok(());
    }
    let id = session.id();
    let mut command = format!("{PROGRAM} run --resume {id}");
    if let Some(state_dir) = &args.config.state_dir {
        let state_dir = shell_quoted(&state_dir.display().to_string());
        command.push_str(&format!(" --state-dir {state_dir}"));
    }
    Err(Failure::usage(format!(
        "session {id} was run with {}, which this conversation does not have. To continue it with them: {command}",
        flags.join(" ")
    )))
}

/// Returns what is recorded and not replaced by the command line.
fn left_to_take(recorded: RunArguments, here: &RunArguments) -> RunArguments {
    let mut left = recorded;
    let is_other_file = here.config.is_some() && here.config != left.config;
    left.config = left.config.filter(|_| here.config.is_none());
    left.model = left.model.filter(|_| here.model.is_none());
    left.effort = left.effort.filter(|_| here.effort.is_none());
    left.agent = left
        .agent
        .filter(|_| here.agent.is_none() && !is_other_file);
    if !here.tools.is_empty() {
        left.tools.clear();
    }
    if here.write || !here.grants.is_empty() {
        left.write = false;
        left.grants.clear();
    }
    left.trust = left.trust && !here.trust && here.config.is_none();
    if !here.allow.is_empty() {
        left.allow.clear();
    }
    left.runs_tools_outside &= !here.runs_tools_outside;
    // A denial stays, whatever else is denied.
    left.deny.retain(|rule| !here.deny.contains(rule));
    left
}

/// Returns what gives a run more than its configuration.
fn widening(taken: &RunArguments) -> RunArguments {
    RunArguments {
        grants: taken.grants.clone(),
        write: taken.write,
        trust: taken.trust,
        allow: taken.allow.clone(),
        ..RunArguments::default()
    }
}

/// Asks whether a session gets what it was given before. Any answer but `y` or `yes` is a no.
fn confirmed(taken: &RunArguments, id: SessionId, terminal: &Terminal) -> Result<bool, Failure> {
    let flags = flags(&widening(taken));
    if !terminal.can_ask() {
        return Err(Failure::usage(format!(
            "session {id} was given more permissions than the configuration allows, and confirming them needs a terminal; pass them again: {}",
            same_command(&flags)
        )));
    }
    let rows: Vec<String> = flags
        .iter()
        .map(|flag| format!("  {}", escape_line(flag)))
        .collect();
    let question = format!(
        "{YELLOW}Session {id} was given these permissions:{YELLOW:#}\n{}\n{BOLD}Grant them again?{BOLD:#} \
         [y] yes  [n] no (any other answer also means no)",
        rows.join("\n")
    );
    let answer = answer(terminal, &question);
    Ok(matches!(
        answer.as_deref().map(str::trim),
        Some("y" | "yes")
    ))
}

/// Puts recorded arguments into those of a command line.
fn with(mut args: RunArgs, taken: RunArguments) -> RunArgs {
    let config = &mut args.config;
    config.config = config.config.take().or(taken.config.map(Into::into));
    config.grants.extend(taken.grants);
    config.write |= taken.write;
    config.trust |= taken.trust;
    args.model = args.model.or(taken.model);
    args.effort = args
        .effort
        .or(taken.effort.and_then(|text| text.parse().ok()));
    if args.workflow.is_none() {
        args.agent = args.agent.or(taken.agent);
    }
    args.tools.extend(taken.tools);
    args.rules.allow.extend(taken.allow);
    args.rules.deny.extend(taken.deny);
    if taken.runs_tools_outside {
        args.tool_runtime.get_or_insert(RuntimeOfTools::External);
    }
    args
}

/// Returns the command that resumes a session of a run with these arguments, for a shell. It
/// repeats what has authority and what bounds the run; the rest is recorded.
pub(super) fn resume_command(args: &RunArgs, id: SessionId, directory: &Path) -> String {
    let mut words = vec![
        PROGRAM.to_owned(),
        "run".to_owned(),
        "--resume".to_owned(),
        id.to_string(),
    ];
    let config = &args.config;
    if let Some(state_dir) = &config.state_dir {
        words.extend([
            "--state-dir".to_owned(),
            shell_quoted(&state_dir.display().to_string()),
        ]);
    }
    let authority = RunArguments {
        config: config
            .config
            .as_ref()
            .map(|file| file.display().to_string()),
        model: None,
        effort: None,
        agent: None,
        tools: Vec::new(),
        deny: Vec::new(),
        runs_tools_outside: false,
        ..recorded(args, directory)
    };
    words.extend(flags(&authority));
    words.extend(args.bounds());
    escape_line(&words.join(" "))
}

/// Returns recorded arguments as flags, quoted for a shell.
fn flags(arguments: &RunArguments) -> Vec<String> {
    let RunArguments {
        directory: _,
        config,
        model,
        effort,
        agent,
        tools,
        grants,
        write,
        trust,
        allow,
        deny,
        runs_tools_outside,
    } = arguments;
    let one = |flag: &'static str, value: &Option<String>| {
        value
            .iter()
            .map(|value| (flag, value.clone()))
            .collect::<Vec<_>>()
    };
    let many = |flag: &'static str, values: &[String]| {
        values
            .iter()
            .map(|value| (flag, value.clone()))
            .collect::<Vec<_>>()
    };
    let grants: Vec<String> = grants
        .iter()
        .map(|grant| match is_valued(grant) {
            true => format!("{grant}VALUE"),
            false => grant.clone(),
        })
        .collect();
    let valued = [
        one("--config", config),
        one("--model", model),
        one("--effort", effort),
        one("--agent", agent),
        many("--tool", tools),
        many("--grant", &grants),
        many("--allow", allow),
        many("--deny", deny),
    ];
    let valued = valued.into_iter().flatten();
    let mut flags: Vec<String> = valued
        .map(|(flag, value)| format!("{flag} {}", shell_quoted(&value)))
        .collect();
    flags.extend(write.then(|| "--write".to_owned()));
    flags.extend(trust.then(|| "--trust".to_owned()));
    flags.extend(runs_tools_outside.then(|| "--tool-runtime external".to_owned()));
    flags
}

/// Whether a recorded grant had a value.
fn is_valued(grant: &str) -> bool {
    grant.starts_with("env:") && grant.ends_with('=')
}

/// Returns the command line of this process with more flags, for a shell.
pub(super) fn same_command(flags: &[String]) -> String {
    let words = std::env::args_os().skip(1);
    let words = words.map(|word| shell_quoted(&word.to_string_lossy()));
    let words: Vec<String> = std::iter::once(PROGRAM.to_owned())
        .chain(words)
        .chain(flags.iter().cloned())
        .collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::{flags, left_to_take};
    use agent_host_types::run::RunArguments;
    use pretty_assertions::assert_eq;

    type Change = fn(&mut RunArguments);

    fn recorded() -> RunArguments {
        RunArguments {
            directory: Some("/work".to_owned()),
            config: Some("/work/my file.toml".to_owned()),
            model: Some("openai:m".to_owned()),
            effort: Some("high".to_owned()),
            agent: Some("writer".to_owned()),
            tools: vec!["a.wasm".to_owned()],
            grants: vec!["dir:/data".to_owned(), "env:TOKEN=".to_owned()],
            write: true,
            trust: true,
            allow: vec!["write_file(src/**)".to_owned()],
            deny: vec!["delete_*".to_owned()],
            runs_tools_outside: true,
        }
    }

    #[test]
    fn flags_are_quoted_and_leave_out_values() {
        assert_eq!(
            flags(&recorded()).join(" "),
            "--config '/work/my file.toml' --model openai:m --effort high --agent writer --tool a.wasm --grant dir:/data --grant \
             env:TOKEN=VALUE --allow 'write_file(src/**)' --deny 'delete_*' --write --trust --tool-runtime external"
        );
    }

    /// A flag replaces what is recorded of its kind, and a denial only adds.
    #[test]
    fn flag_replaces_what_is_recorded_of_its_kind() {
        let none = RunArguments::default();
        assert_eq!(left_to_take(recorded(), &none), recorded());
        let table: [(Change, Change); 8] = [
            (
                |here| here.config = Some("/work/other.toml".to_owned()),
                |left| (left.config, left.agent, left.trust) = (None, None, false),
            ),
            (
                |here| here.model = Some("m".to_owned()),
                |left| left.model = None,
            ),
            (
                |here| here.tools = vec!["b".to_owned()],
                |left| left.tools.clear(),
            ),
            (
                |here| here.write = true,
                |left| (left.write, left.grants) = (false, Vec::new()),
            ),
            (
                |here| here.grants = vec!["dir:.".to_owned()],
                |left| (left.write, left.grants) = (false, Vec::new()),
            ),
            (
                |here| here.allow = vec!["x".to_owned()],
                |left| left.allow.clear(),
            ),
            (|here| here.deny = vec!["x".to_owned()], |_| {}),
            (
                |here| here.runs_tools_outside = true,
                |left| left.runs_tools_outside = false,
            ),
        ];
        for (change_here, change_left) in table {
            let (mut here, mut left) = (RunArguments::default(), recorded());
            change_here(&mut here);
            change_left(&mut left);
            assert_eq!(left_to_take(recorded(), &here), left, "{here:?}");
        }
    }
}
