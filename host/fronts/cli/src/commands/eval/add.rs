//! `agent-host eval --from-session`: adds a case with what a message of a session led to.

use super::{
    super::{configure, find_session, open_journal},
    MAX_FILE_BYTES, check,
};
use crate::{
    args::EvalArgs,
    exit::{Exit, Failure},
    terminal::{DIM, Terminal, one_line, path_text},
};
use agent_host_app::{Config, Environment, Overrides, config::parse, trusted_file};
use agent_host_eval::{CaseDraft, DraftedCase, EvaluationForm};
use serde_json::json;
use std::{collections::BTreeSet, path::Path};

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

    let text = written(&case, before)?;
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
        || json!({ "file": args.file, "case": case.name, "read": case.read }),
        || format!("{}: case {}", path_text(&args.file), case.name),
    );
    let read: Vec<&str> = case.read.iter().map(String::as_str).collect();
    if !read.is_empty() {
        terminal.note(&format!(
            "Its calls read {}. Put copies into a directory, and name that in `files`.",
            one_line(&read.join(", "), 500)
        ));
    }
    for what in &case.lacks {
        terminal.note(&format!("The case is without {what}."));
    }
    let advice = match case.expects_nothing() {
        true => "It expects nothing yet: add `answer`, a pattern of the answer.",
        false => "Read the case before you keep it, and remove what may differ.",
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
fn written(case: &DraftedCase, before: String) -> Result<String, Failure> {
    let toml = case.to_toml().map_err(Failure::failed)?;
    let answer = case
        .answer
        .lines()
        .map(|line| format!("# {}\n", one_line(line, 200)));
    let mut text = before;
    if !text.is_empty() {
        text.push('\n');
    }
    text.push_str("# The answer was:\n");
    text.extend(answer.take(20));
    text.push_str(&toml);
    Ok(text)
}
