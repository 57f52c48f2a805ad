//! The process of a run: this program, with `run`, in directories of its own.

use super::{files::CaseFiles, plan::EvalRun};
use crate::{args::EvalArgs, exit::Failure, self_exec};
use agent_host_app::{Config, Environment, Overrides};
use agent_host_engine::policy::{DirMode, Grants};
use agent_host_eval::{Case, Observed, RunEnd, Transcript};
use agent_host_process::{Child, ChildKind, Line, LineDecoder};
use agent_host_types::{budget::Price, model::Provenance};
use futures_util::StreamExt as _;
use std::{
    fs::{self, File},
    io::{self, Read as _, Seek as _, SeekFrom},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};
use tokio_util::codec::FramedRead;

/// The time after which a run is stopped where its case has no `max-seconds`, in seconds.
const DEFAULT_SECONDS: u64 = 600;

/// The longest line of a run, in bytes.
const MAX_LINE_BYTES: usize = 64 * 1024 * 1024;

/// The part of a run's stderr that is kept, at its end, in bytes.
const MAX_STDERR_BYTES: u64 = 4 * 1024;

/// The name of the directory in which a run works.
const WORK: &str = "work";

/// Starts runs.
#[derive(Debug)]
pub(super) struct Launcher {
    /// The temporary directory of the evaluation.
    root: PathBuf,
    /// The configuration of the runs; an empty one if there is none.
    config: PathBuf,
    grants: Vec<String>,
    write: bool,
    locked: bool,
    environment: Environment,
}

impl Launcher {
    /// Prepares runs with a configuration, whose trust was decided. A directory of files never
    /// brings one along.
    pub(super) fn new(root: &Path, args: &EvalArgs, config: &Config) -> Result<Self, Failure> {
        let config = match &config.file {
            Some(file) => config.working_dir.join(file),
            None => {
                let empty = root.join("agent.toml");
                fs::write(&empty, "").map_err(Failure::failed)?;
                empty
            }
        };
        Ok(Self {
            config,
            root: root.to_owned(),
            grants: args.config.grants.clone(),
            write: args.config.write,
            locked: args.config.locked,
            environment: Environment::from_process()?,
        })
    }

    /// Checks the configuration as a run has it.
    pub(super) fn check(&self, task: &EvalRun) -> Result<Config, Failure> {
        let directory = self.root.join("check");
        let checked = prepare(&directory, &task.files)
            .map_err(|error| Failure::usage(format!("cannot prepare a run: {error}")))
            .and_then(|work| self.configuration(&work, task.model_argument.as_deref()));
        // What is left is removed with the directory of the evaluation.
        let _ = fs::remove_dir_all(&directory);
        checked
    }

    /// Loads the configuration as a run in `work` does, and refuses one that would let runs change
    /// what other runs or the user see.
    fn configuration(&self, work: &Path, model: Option<&str>) -> Result<Config, Failure> {
        let work = work.canonicalize().map_err(Failure::failed)?;
        let overrides = Overrides {
            model: model.map(str::to_owned),
            grants: self.grants.clone(),
            write: self.write,
            locked: self.locked,
            state_dir: Some(self.root.join("state")),
            ..Overrides::default()
        };
        let environment = Environment {
            cwd: work.clone(),
            ..self.environment.clone()
        };
        let config = Config::load(Some(&self.config), &overrides, &environment)?;
        if config.store.database.is_some() {
            return Err(Failure::usage(
                "the configuration keeps sessions in a database, where those of an evaluation would also be stored; \
                 pass a configuration without `url` in [store] with `--config`",
            ));
        }
        let tools = config.tools.iter().map(|tool| &tool.grants);
        let agents = config.agent_definitions.iter();
        let agents = agents.filter_map(|agent| agent.grants.as_ref());
        for grants in tools.chain(agents).chain([&config.grants]) {
            check_apart(grants, &work)?;
        }
        Ok(config)
    }

    /// Runs a case once. Returns what it did and how long it took, in milliseconds.
    pub(super) async fn run(&self, index: usize, case: &Case, task: &EvalRun) -> (Observed, u64) {
        let started = Instant::now();
        let directory = self.root.join(index.to_string());
        let (end, transcript) = match self.start(&directory, case, task).await {
            Ok((config, mut child, output)) => {
                let seconds = case.expect.max_seconds.unwrap_or(DEFAULT_SECONDS);
                let mut transcript = Transcript::default();
                let read = follow(&mut child, output, &mut transcript);
                let end = tokio::time::timeout(Duration::from_secs(seconds), read).await;
                transcript.price(|model| price(&config, model));
                (end.unwrap_or(RunEnd::TimedOut(seconds)), transcript)
            }
            Err(error) => {
                let why = format!("it could not be started: {error}");
                (RunEnd::Broken(why), Transcript::default())
            }
        };
        let stderr = end_of(&directory.join("stderr")).unwrap_or_default();
        // What is left is removed with the directory of the evaluation.
        let _ = fs::remove_dir_all(&directory);
        let ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        let observed = Observed {
            end,
            transcript,
            stderr,
        };
        (observed, ms)
    }

    async fn start(
        &self,
        directory: &Path,
        case: &Case,
        task: &EvalRun,
    ) -> io::Result<(Config, Child, tokio::net::unix::pipe::Receiver)> {
        let (files, target) = (task.files.clone(), directory.to_owned());
        let prepared = tokio::task::spawn_blocking(move || prepare(&target, &files));
        let work = prepared.await.map_err(io::Error::other)??;
        // A directory of `--grant` may be one of the files of the case.
        let checked = self.configuration(&work, task.model_argument.as_deref());
        let config = checked.map_err(|failure| {
            io::Error::other(anstream::adapter::strip_str(failure.text()).to_string())
        })?;
        let stderr = File::create(directory.join("stderr"))?;
        let mut command = self_exec::command();
        self.arguments(&mut command, directory, task);
        command
            .arg("--")
            .arg(&case.prompt)
            .current_dir(&work)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(stderr);
        let (child, pipes) = Child::spawn(command, ChildKind::Worker).await?;
        let output = pipes
            .output
            .ok_or_else(|| io::Error::other("it has no stdout"))?;
        Ok((config, child, output))
    }

    fn arguments(&self, command: &mut Command, directory: &Path, task: &EvalRun) {
        command
            .args(["run", "--quiet", "--output-format", "stream-json"])
            .args(["--permission-prompts", "none", "--config"])
            .arg(&self.config)
            .arg("--state-dir")
            .arg(directory.join("state"));
        if self.locked {
            command.arg("--locked");
        }
        if self.write {
            command.arg("--write");
        }
        for grant in &self.grants {
            command.arg("--grant").arg(grant);
        }
        if let Some(model) = &task.model_argument {
            command.arg("--model").arg(model);
        }
        if let Some(file) = &task.record {
            command.arg("--record").arg(file);
        }
    }
}

/// Creates the directory in which a run works, with the files of its case.
fn prepare(directory: &Path, files: &CaseFiles) -> io::Result<PathBuf> {
    let work = directory.join(WORK);
    fs::create_dir_all(&work)?;
    files.copy_to(&work)?;
    Ok(work)
}

/// Refuses grants to write outside of the directory of a run.
fn check_apart(grants: &Grants, work: &Path) -> Result<(), Failure> {
    let mut dirs = grants.dirs.iter();
    let shared = dirs.find(|dir| dir.mode == DirMode::ReadWrite && !dir.host.starts_with(work));
    match shared {
        None => Ok(()),
        Some(dir) => Err(Failure::usage(format!(
            "the configuration grants write access to {}, which all runs of an evaluation would share; remove the \
             grant, and pass `--write` to let each run write in its own directory",
            dir.host.display()
        ))),
    }
}

/// Returns the price of a model by a configuration; a recorded run has none of its own.
fn price(config: &Config, model: &Provenance) -> Option<Price> {
    let mut providers = config.models.providers.iter();
    let provider = providers.find(|provider| provider.name == model.provider)?;
    config.known_model(provider, &model.model).1
}

/// Reads the lines of a run until its end.
async fn follow(
    child: &mut Child,
    output: tokio::net::unix::pipe::Receiver,
    transcript: &mut Transcript,
) -> RunEnd {
    let decoder = LineDecoder::new(MAX_LINE_BYTES);
    let mut lines = FramedRead::with_capacity(output, decoder, LineDecoder::BUFFER_BYTES);
    while let Some(line) = lines.next().await {
        let read = match line {
            Ok(Line::Complete(line)) => transcript.line(&line).map_err(|error| error.to_string()),
            Ok(Line::Oversized) => Err(format!(
                "it printed a line of more than {MAX_LINE_BYTES} bytes"
            )),
            Err(error) => Err(format!("its output cannot be read: {error}")),
        };
        if let Err(why) = read {
            return RunEnd::Broken(why);
        }
    }
    let status = child.wait().await;
    match status.and_then(|status| status.code()) {
        Some(code) => RunEnd::Exited(code),
        None => RunEnd::Broken("it was ended by a signal".to_owned()),
    }
}

/// Returns the end of a file of messages as text.
fn end_of(file: &Path) -> io::Result<String> {
    let mut file = File::open(file)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(MAX_STDERR_BYTES)))?;
    let mut bytes = Vec::new();
    file.take(MAX_STDERR_BYTES).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
