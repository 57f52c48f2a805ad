//! `agent-host trust`, and the prompt for a directory's configuration that asks for more than an
//! untrusted one gets.

use crate::{
    args::TrustArgs,
    commands::shell_quoted,
    exit::{Exit, Failure},
    terminal::{BOLD, Terminal, YELLOW, answer, at_words, date, escape_line, one_line, path_text},
};
use agent_host_app::{
    Config, Environment, Overrides, TrustFile,
    config::{LeftOut, Untrusted, UnusableFile},
};
use agent_host_author::{Project, test};
use std::path::Path;

/// The maximum number of demands in a prompt; with more, its beginning would scroll away.
const MAX_SHOWN: usize = 30;

/// The maximum length of a demand in a prompt, in characters.
const MAX_DEMAND: usize = 2_000;

/// The maximum number of demands in the line about a file that is left out.
const MAX_IN_LINE: usize = 3;

/// The maximum length of each of them, in characters.
const MAX_DEMAND_IN_LINE: usize = 120;

/// The maximum length of why a file cannot be used, in characters.
const MAX_UNUSABLE: usize = 240;

/// The maximum number of skills that are named in a prompt.
const MAX_SHOWN_SKILLS: usize = 16;

pub(super) fn trust(args: &TrustArgs, terminal: &Terminal) -> Result<Exit, Failure> {
    let mut environment = Environment::from_process()?;
    let file = trust_file(&environment)?;
    if args.list {
        return list(&file, terminal);
    }
    let directory = environment.cwd.join(&args.dir);
    let directory = directory
        .canonicalize()
        .map_err(|error| Failure::usage(format!("cannot open {}: {error}", directory.display())))?;
    if !directory.is_dir() {
        let parent = directory.parent().unwrap_or(Path::new("/"));
        return Err(Failure::usage(format!(
            "{} is not a directory; trust applies to directories: {}",
            path_text(&directory),
            trust_command(parent, &[])
        )));
    }
    if args.revoke {
        let gone = file.remove(&directory)?;
        for trusted in &gone {
            terminal.println(&format!("revoked {}", path_text(&trusted.path)));
        }
        if gone.is_empty() {
            terminal.note("Nothing in this directory is trusted.");
        }
        return Ok(Exit::Done);
    }
    environment.cwd = directory;
    let found = untrusted_files(args, &environment)?;
    if found.is_empty() {
        terminal.note("Nothing in this directory needs trust.");
    }
    let mut undecided = Vec::new();
    for untrusted in found {
        let path = path_text(&untrusted.path);
        if TrustFile::holds(&untrusted, &environment)? {
            terminal.note(&format!("{path} is already trusted."));
            continue;
        }
        if args.yes || !terminal.can_ask() {
            terminal.note(&demands_text(&untrusted));
        } else if !confirm_trust(&untrusted, terminal) {
            return Ok(Exit::Refused);
        }
        if !args.yes && !terminal.can_ask() {
            undecided.push(path);
            continue;
        }
        file.add(&untrusted)?;
        terminal.println(&format!("trusted {path}"));
    }
    if undecided.is_empty() {
        // Every command in the directory is about to say so.
        if let Err(error) = Config::load(None, &Overrides::default(), &environment) {
            terminal.warn(&error.to_string());
        }
        return Ok(Exit::Done);
    }
    Err(Failure::usage(format!(
        "nothing is trusted, because the question needs a terminal; read {}, then trust it with: {}",
        undecided.join(" and "),
        trust_command(&args.dir, &["--yes"])
    )))
}

/// Lists what is trusted.
fn list(file: &TrustFile, terminal: &Terminal) -> Result<Exit, Failure> {
    let all = file.read()?;
    let ignored = all
        .ignored
        .iter()
        .map(|known| (&known.entry, "  (ignored: no valid signature)"));
    for (trusted, note) in all
        .believed
        .iter()
        .map(|trusted| (trusted, ""))
        .chain(ignored)
    {
        let path = path_text(&trusted.path);
        terminal.println(&format!("{}  {path}{note}", date(trusted.at_ms)));
    }
    Ok(Exit::Done)
}

/// Returns what the configuration and the cases of the directory ask for.
///
/// # Errors
/// One of them cannot be read, so that what it asks for cannot be shown.
fn untrusted_files(args: &TrustArgs, environment: &Environment) -> Result<Vec<Untrusted>, Failure> {
    let configuration = match LeftOut::found(environment)? {
        None => None,
        Some(LeftOut::Untrusted(untrusted)) => Some(untrusted),
        Some(LeftOut::Unusable(file)) => {
            return Err(Failure::usage(format!(
                "cannot trust {}, because {}; then run `{}` again",
                path_text(&file.path),
                unusable_text(&file),
                trust_command(&args.dir, &[])
            )));
        }
    };
    let cases = untrusted_cases(environment)?;
    Ok(configuration.into_iter().chain(cases).collect())
}

/// Returns the command that trusts a directory, for a shell.
pub(super) fn trust_command(directory: &Path, options: &[&str]) -> String {
    let mut words = vec!["agent-host".to_owned(), "trust".to_owned()];
    words.extend(options.iter().map(|&option| option.to_owned()));
    if directory != Path::new(".") {
        words.push(shell_quoted(&directory.display().to_string()));
    }
    words.join(" ")
}

/// Returns what a project's cases ask for; `None` without cases. Outside of a project, `tests` may
/// hold unrelated TOML.
fn untrusted_cases(environment: &Environment) -> Result<Option<Untrusted>, Failure> {
    let directory = &environment.cwd;
    let cases = test::cases(directory)?;
    match test::untrusted(directory, &cases, /*record*/ true, environment) {
        Err(_) if Project::find(directory).is_err() => Ok(None),
        untrusted => Ok(untrusted?),
    }
}

/// Returns true if it is trusted: already, for this run, or by the user's answer to a prompt.
pub(super) fn resolve_trust(
    untrusted: &Untrusted,
    for_this_run: bool,
    environment: &Environment,
    terminal: &Terminal,
) -> Result<bool, Failure> {
    if for_this_run {
        terminal.note(&format!(
            "{}\nIt is trusted for this run.",
            demands_text(untrusted)
        ));
        return Ok(true);
    }
    if TrustFile::holds(untrusted, environment)? {
        return Ok(true);
    }
    if !terminal.can_ask() || !confirm_trust(untrusted, terminal) {
        return Ok(false);
    }
    trust_file(environment)?.add(untrusted)?;
    Ok(true)
}

/// Says in one line that a file is left out because it is not trusted, and what it asks for, or why
/// that cannot be read.
pub(super) fn warn_left_out(left_out: &LeftOut, terminal: &Terminal) {
    let untrusted = match left_out {
        LeftOut::Untrusted(untrusted) => untrusted,
        LeftOut::Unusable(file) => {
            return terminal.warn(&format!(
                "continuing without {}, which is not trusted: {}",
                path_text(&file.path),
                unusable_text(file)
            ));
        }
    };
    let demands = &untrusted.demands;
    let shown = demands.iter().take(MAX_IN_LINE);
    let shown = shown.map(|demand| one_line(&format!("it {demand}"), MAX_DEMAND_IN_LINE));
    let shown: Vec<String> = shown.collect();
    let more = match demands.len().saturating_sub(MAX_IN_LINE) {
        0 => String::new(),
        more => format!("; and {more} more"),
    };
    terminal.warn(&format!(
        "{} is not trusted and is ignored, so the defaults apply. It asks for more: {}{more}. To review and accept \
         it: agent-host trust",
        path_text(&untrusted.path),
        shown.join("; ")
    ));
}

/// Returns why a file cannot be used, and what to do, on one line.
pub(super) fn unusable_text(file: &UnusableFile) -> String {
    let shown = |text: &str| one_line(text, MAX_UNUSABLE);
    format!("{}; {}", shown(&file.reason()), shown(file.fix()))
}

/// Asks whether the user trusts it; any answer but `y` or `yes` is a no.
fn confirm_trust(untrusted: &Untrusted, terminal: &Terminal) -> bool {
    let is_short = |demand: &String| demand.chars().nth(MAX_DEMAND).is_none();
    if untrusted.demands.len() > MAX_SHOWN || !untrusted.demands.iter().all(is_short) {
        terminal.note(&demands_text(untrusted));
        terminal
            .note("This is too much for one question: read the file, and pass it with `--config`.");
        return false;
    }
    let directory = untrusted.path.parent().unwrap_or(Path::new("/"));
    let asked = format!(
        "Trust is remembered until one of these settings changes or you run `agent-host trust --revoke`. It also \
         covers the components and programs of that directory.\n{BOLD}Do you trust {}?{BOLD:#} [y] yes  [n] no (any \
         other answer also means no)",
        path_text(directory)
    );
    let asked = at_words(&asked, terminal.columns());
    let question = format!("{}\n{asked}", demands_text(untrusted));
    matches!(
        answer(terminal, &question).as_deref().map(str::trim),
        Some("y" | "yes")
    )
}

/// Lists the demands in the host's words, with text of the file quoted.
fn demands_text(untrusted: &Untrusted) -> String {
    let shown = untrusted.demands.iter().take(MAX_SHOWN);
    // Escaped one by one, so that none can start another line.
    let lines = shown.map(|demand| format!("  - it {}", one_line(demand, MAX_DEMAND)));
    let lines: Vec<String> = lines.collect();
    let more = match untrusted.demands.len().saturating_sub(MAX_SHOWN) {
        0 => String::new(),
        more => format!("\n  and {more} more; see the file"),
    };
    format!(
        "{YELLOW}{}{YELLOW:#} is not trusted yet and asks for:\n{}{more}{}",
        path_text(&untrusted.path),
        lines.join("\n"),
        skills_text(&untrusted.skills)
    )
}

/// Names the skills that come with the directory, on a line of their own.
fn skills_text(skills: &[(String, usize)]) -> String {
    if skills.is_empty() {
        return String::new();
    }
    let shown = skills.iter().take(MAX_SHOWN_SKILLS);
    let named = shown.map(|(name, files)| match files {
        1 => format!("{name} (1 file)"),
        files => format!("{name} ({files} files)"),
    });
    let named = escape_line(&named.collect::<Vec<_>>().join(", "));
    let more = match skills.len().saturating_sub(MAX_SHOWN_SKILLS) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("\nIts skills are read anyway, as text that grants nothing: {named}{more}")
}

fn trust_file(environment: &Environment) -> Result<TrustFile, Failure> {
    TrustFile::for_environment(environment).ok_or_else(|| {
        Failure::usage(
            "no directory to remember trust: neither HOME nor XDG_STATE_HOME is set; set one of them, or pass the \
             file with `--config`",
        )
    })
}
