//! `agent-host eval --from-session`: adds a case with what a message of a session led to.

use super::{
    super::{configure, find_session, open_journal},
    MAX_FILE_BYTES, check,
    files::{MAX_BYTES, copy},
};
use crate::{
    args::EvalArgs,
    exit::{Exit, Failure},
    terminal::{DIM, Terminal, escape_line, path_text},
};
use agent_host_app::{Config, Environment, Overrides, config::parse, trusted_file};
use agent_host_engine::policy::{FileOp, Ruling, decide_file};
use agent_host_eval::{CaseDraft, DraftedCase, EvaluationForm};
use agent_host_types::tool::Effect;
use serde_json::json;
use std::{
    collections::BTreeSet,
    fs, io,
    path::{Component, Path, PathBuf},
};

pub(super) async fn add(
    session: &str,
    args: &EvalArgs,
    terminal: &Terminal,
) -> Result<Exit, Failure> {
    let config = configure(args.config.clone(), Overrides::default())?;
    let store = open_journal(&config).await?;
    let id = find_session(store.as_ref(), &config, session).await?;
    let mut draft = CaseDraft::new(args.message);
    store
        .for_each_record(id, |record| draft.add(&record.event))
        .await?;
    let mut case = draft.finish(&private(&config)).map_err(|why| {
        Failure::usage(format!(
            "session {id} makes no case: {why}; `agent-host sessions show {id}` shows its messages"
        ))
    })?;
    let (before, names) = existing(&args.file, terminal)?;
    case.name = new_name(&case.name, &names);

    let directory = format!("{}-files", case.name);
    let beside = args.file.parent().unwrap_or(Path::new(""));
    let (copied, missing) = copy_files(&config, &case, &beside.join(&directory))?;
    let files = (!copied.is_empty()).then_some(directory.as_str());
    let text = written(&case, files, before)?;
    let form: EvaluationForm = parse(&args.file, &text)?;
    if !case.expects_nothing() {
        check(form, &args.file, &text, terminal)?;
    }
    let path = std::path::absolute(&args.file);
    let replaced = path.and_then(|path| trusted_file::replace(&path, &text, 0o644));
    replaced.map_err(|error| {
        Failure::failed(format!(
            "cannot write the evaluation {}: {error}",
            args.file.display()
        ))
    })?;
    terminal.println_as(
        args.json,
        || json!({ "file": args.file, "case": case.name, "files": copied, "missing": missing }),
        || format!("{}: case {}", path_text(&args.file), case.name),
    );
    for path in &missing {
        terminal.note(&escape_line(&format!(
            "{path} is not among its files: it is outside the working directory, or cannot be read now"
        )));
    }
    for what in &case.lacks {
        terminal.note(&format!("The case is without {what}."));
    }
    let advice = match case.expects_nothing() {
        true => "It expects nothing yet: add `answer`, a pattern of the answer.",
        false => {
            "Its files are as they are now. Read the case before you keep it, and remove what may differ."
        }
    };
    terminal.note(&format!("{DIM}{advice}{DIM:#}"));
    Ok(Exit::Done)
}

/// Returns the directories of this machine that no case names.
fn private(config: &Config) -> Vec<String> {
    let directories = [&config.working_dir, &config.state_dir];
    let directories = directories.map(|directory| directory.display().to_string());
    let environment = Environment::from_process().ok();
    let home = environment.and_then(|environment| environment.variables.get("HOME").cloned());
    let all = directories.into_iter().chain(home);
    all.filter(|directory| directory.len() > 1).collect()
}

/// Returns the text of the file so far, and the names of its cases.
fn existing(file: &Path, terminal: &Terminal) -> Result<(String, BTreeSet<String>), Failure> {
    if !file.try_exists().unwrap_or(true) {
        return Ok((String::new(), BTreeSet::new()));
    }
    let text = trusted_file::read(file, MAX_FILE_BYTES).map_err(|error| {
        Failure::usage(format!(
            "cannot read the evaluation {}: {error}",
            file.display()
        ))
    })?;
    let evaluation = check(parse(file, &text)?, file, &text, terminal)?;
    let names = evaluation.cases.into_iter().map(|case| case.name);
    Ok((text, names.collect()))
}

fn new_name(name: &str, known: &BTreeSet<String>) -> String {
    if !known.contains(name) {
        return name.to_owned();
    }
    let numbered = (2..).map(|number| format!("{name}-{number}"));
    let mut new = numbered.filter(|name| !known.contains(name));
    new.next().unwrap_or_default()
}

/// Returns the text of the file with the case.
fn written(case: &DraftedCase, files: Option<&str>, before: String) -> Result<String, Failure> {
    let toml = case.to_toml(files).map_err(Failure::failed)?;
    let answer = case.answer.lines().map(|line| format!("# {line}\n"));
    let mut text = before;
    if !text.is_empty() {
        text.push('\n');
    }
    text.push_str("# The answer was:\n");
    text.extend(answer.take(20));
    text.push_str(&toml);
    Ok(text)
}

/// Copies what the calls read, if a tool may read it now and it is in the working directory, which a
/// run has a copy of. Returns the paths below it, and those that are missing.
fn copy_files(
    config: &Config,
    case: &DraftedCase,
    target: &Path,
) -> Result<(Vec<PathBuf>, Vec<String>), Failure> {
    let (mut copied, mut missing) = (Vec::new(), Vec::new());
    let mut left = MAX_BYTES;
    for path in &case.read {
        let Some((host, below)) = readable(config, path) else {
            missing.push(path.clone());
            continue;
        };
        let to = target.join(&below);
        let made = to.parent().map_or(Ok(()), fs::create_dir_all);
        match made.and_then(|()| copy(&host, &to, &mut left)) {
            Ok(()) => copied.push(below),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                return Err(Failure::usage(format!(
                    "{} already exists, and is not overwritten; remove it, or move it",
                    to.display()
                )));
            }
            Err(_) => missing.push(path.clone()),
        }
    }
    Ok((copied, missing))
}

/// Returns the file at a path that tools see, and its path below the working directory.
fn readable(config: &Config, path: &str) -> Option<(PathBuf, PathBuf)> {
    let (grant, rest) = config.grants.dir_of(path)?;
    let dir = config.grants.dirs.get(grant)?;
    let below = Path::new(rest);
    let is_below = below
        .components()
        .all(|part| matches!(part, Component::Normal(_)));
    let ruling = decide_file(&config.grants, Effect::ReadOnly, grant, FileOp::Read, rest);
    let root = dir.host.canonicalize().ok()?;
    let host = root.join(below).canonicalize().ok()?;
    let is_own = root == config.working_dir.canonicalize().ok()? && host.starts_with(&root);
    let is_allowed = matches!(ruling, Ruling::Allow { .. });
    (is_below && is_own && is_allowed).then(|| (host, below.to_owned()))
}
