//! The runs of an evaluation: which case with which model, recorded to or played from which file.

use super::{files::CaseFiles, process::Launcher};
use crate::{args::EvalArgs, exit::Failure};
use agent_host_app::{Config, config::ModelConfig};
use agent_host_eval::{Case, Evaluation};
use std::{
    collections::BTreeSet,
    fs::DirBuilder,
    os::unix::fs::DirBuilderExt as _,
    path::{Path, PathBuf},
};

/// The most runs of an evaluation.
const MAX_TASKS: usize = 10_000;

/// The runs of an evaluation.
#[derive(Debug)]
pub(super) struct EvalPlan {
    /// The runs: by case, below it by model, below that by number.
    pub(super) tasks: Vec<EvalRun>,
    cases: Vec<Case>,
    /// The files of each case.
    files: Vec<CaseFiles>,
    models: Vec<Model>,
}

/// A run.
#[derive(Clone, Debug)]
pub(super) struct EvalRun {
    case: usize,
    model: usize,
    /// The number of the run, from 1.
    pub(super) run: u32,
    /// The files of the case.
    pub(super) files: CaseFiles,
    /// The `--model` of the run; absent for that of the configuration.
    pub(super) model_argument: Option<String>,
    /// The file to record the run in.
    pub(super) record: Option<PathBuf>,
}

/// A model of the evaluation.
#[derive(Clone, Debug)]
struct Model {
    /// The name in the report, as it was written.
    name: String,
    /// The `--model` of its runs; absent for that of the configuration.
    argument: Option<String>,
}

impl EvalPlan {
    /// Plans the runs. Reads the directories with files; starts nothing.
    pub(super) fn new(
        evaluation: Evaluation,
        args: &EvalArgs,
        config: &Config,
    ) -> Result<Self, Failure> {
        let Evaluation { models, mut cases } = evaluation;
        let base = args.file.parent().unwrap_or(Path::new("."));
        let base = config.working_dir.join(base);
        if let Some(runs) = args.runs {
            cases.iter_mut().for_each(|case| case.runs = runs);
        }
        let files = cases.iter().map(|case| match &case.files {
            Some(directory) => CaseFiles::read(&base.join(directory)),
            None => Ok(CaseFiles::default()),
        });
        let files = files
            .collect::<Result<Vec<_>, _>>()
            .map_err(Failure::usage)?;
        let models = match (args.models.as_slice(), models.as_slice()) {
            ([], []) => vec![of_configuration(config)],
            ([], names) => names.iter().map(|name| named(name, &base)).collect(),
            (names, _) => {
                let names = names.iter();
                names.map(|name| named(name, &config.working_dir)).collect()
            }
        };
        let mut plan = Self {
            tasks: Vec::new(),
            cases,
            files,
            models,
        };
        plan.add_tasks(args, &config.working_dir)?;
        Ok(plan)
    }

    fn add_tasks(&mut self, args: &EvalArgs, working_dir: &Path) -> Result<(), Failure> {
        let recordings = args.record.as_ref().or(args.replay.as_ref());
        let recordings = recordings.map(|directory| working_dir.join(directory));
        let mut names = BTreeSet::new();
        for (case, (of_case, files)) in self.cases.iter().zip(&self.files).enumerate() {
            for (model, of_model) in self.models.iter().enumerate() {
                for run in 1..=of_case.runs {
                    let name = recording_name(&of_case.name, &of_model.name, run);
                    let recording = recordings.as_ref().map(|directory| directory.join(&name));
                    if recording.is_some() && !names.insert(name.clone()) {
                        return Err(Failure::usage(format!(
                            "two runs would use the recording {name}; rename a case"
                        )));
                    }
                    let replay = recording.as_ref().filter(|_| args.replay.is_some());
                    let replay = replay.map(|file| format!("replay:{}", file.display()));
                    self.tasks.push(EvalRun {
                        case,
                        model,
                        run,
                        files: files.clone(),
                        model_argument: replay.or_else(|| of_model.argument.clone()),
                        record: recording.filter(|_| args.record.is_some()),
                    });
                }
            }
        }
        if self.tasks.len() > MAX_TASKS {
            return Err(Failure::usage(format!(
                "there are {} runs, and the maximum is {MAX_TASKS}; lower `runs`, or split the file",
                self.tasks.len()
            )));
        }
        match &args.record {
            Some(directory) => self.prepare_recordings(&working_dir.join(directory)),
            None if args.replay.is_some() => self.find_recordings(),
            None => Ok(()),
        }
    }

    /// Creates the directory of recordings, for its owner alone, and checks that no run has one.
    fn prepare_recordings(&self, directory: &Path) -> Result<(), Failure> {
        let created = DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(directory);
        created.map_err(|error| {
            Failure::usage(format!("cannot record to {}: {error}", directory.display()))
        })?;
        let mut files = self.tasks.iter().filter_map(|task| task.record.as_ref());
        match files.find(|file| file.symlink_metadata().is_ok()) {
            Some(file) => Err(Failure::usage(format!(
                "cannot record to {}: it already exists; remove it, or choose another directory",
                file.display()
            ))),
            None => Ok(()),
        }
    }

    /// Checks that there is a recording of each run.
    fn find_recordings(&self) -> Result<(), Failure> {
        let models = self
            .tasks
            .iter()
            .filter_map(|task| task.model_argument.as_ref());
        let mut files = models.filter_map(|model| model.strip_prefix("replay:"));
        match files.find(|file| !Path::new(file).is_file()) {
            Some(file) => Err(Failure::usage(format!(
                "there is no recording {file}; record the evaluation with `--record`, with the same cases, models and number of runs"
            ))),
            None => Ok(()),
        }
    }

    /// Checks the configuration as the runs will have it, with each model.
    pub(super) fn check(&self, launcher: &Launcher) -> Result<(), Failure> {
        let mut checked = BTreeSet::new();
        for task in &self.tasks {
            if !checked.insert(task.model) {
                continue;
            }
            let config = launcher.check(task)?;
            let mut models = config.models.all();
            if task.record.is_some()
                && !models.any(|model| matches!(model, ModelConfig::Served { .. }))
            {
                return Err(Failure::usage(format!(
                    "there is nothing to record for {}: it does not use a server; leave out `--record`",
                    self.model(task)
                )));
            }
        }
        Ok(())
    }

    /// Returns the case of a task.
    #[expect(clippy::indexing_slicing, reason = "tasks are made from the cases")]
    pub(super) fn case(&self, task: &EvalRun) -> &Case {
        &self.cases[task.case]
    }

    /// Returns the name of the model of a task.
    #[expect(clippy::indexing_slicing, reason = "tasks are made from the models")]
    pub(super) fn model(&self, task: &EvalRun) -> &str {
        &self.models[task.model].name
    }

    pub(super) fn cases(&self) -> &[Case] {
        &self.cases
    }

    /// Returns the names of the models, in order.
    pub(super) fn models(&self) -> impl Iterator<Item = &str> {
        self.models.iter().map(|model| model.name.as_str())
    }
}

fn of_configuration(config: &Config) -> Model {
    let first = config.models.first.as_ref();
    Model {
        name: first.map_or_else(|| "script:tour".to_owned(), ToString::to_string),
        argument: None,
    }
}

/// Returns a model that is named; a path in it begins at `base`.
fn named(name: &str, base: &Path) -> Model {
    let argument = match name.split_once(':') {
        Some((kind, path))
            if !path.starts_with('~')
                && (kind == "replay" || kind == "script" && path.contains(['/', '.'])) =>
        {
            format!("{kind}:{}", base.join(path).display())
        }
        _ => name.to_owned(),
    };
    Model {
        name: name.to_owned(),
        argument: Some(argument),
    }
}

/// Returns the name of the file of a run's recording.
fn recording_name(case: &str, model: &str, run: u32) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let plain = |c: char| if is_plain(c) { c } else { '-' };
    let model: String = model.chars().map(plain).collect();
    format!("{case}-{model}-{run}.jsonl")
}
