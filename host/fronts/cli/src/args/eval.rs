//! Arguments of `eval`.

use super::ConfigArgs;
use agent_host_eval::MAX_RUNS;
use clap::{Args as ClapArgs, builder::RangedU64ValueParser, value_parser};
use std::path::PathBuf;

/// `eval`.
#[derive(Debug, ClapArgs)]
pub(crate) struct EvalArgs {
    /// The evaluation, a TOML file.
    pub(crate) file: PathBuf,
    /// Add a case to the file, which is made if there is none, with what a message of this session
    /// led to; run nothing.
    #[arg(long, value_name = "SESSION", conflicts_with_all = ["runs", "models", "junit", "html", "record", "replay"])]
    pub(crate) from_session: Option<String>,
    /// The message of the user, from 1.
    #[arg(long, value_name = "N", default_value_t = 1, requires = "from_session",
          value_parser = RangedU64ValueParser::<usize>::new().range(1..))]
    pub(crate) message: usize,
    /// Run each case this number of times with each model, from 1 to 100, overriding the file.
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..=i64::from(MAX_RUNS)))]
    pub(crate) runs: Option<u32>,
    /// A model, as for `run`, instead of those of the file. Repeatable.
    #[arg(long = "model", value_name = "PROVIDER:NAME")]
    pub(crate) models: Vec<String>,
    /// Print the report as one JSON document.
    #[arg(long)]
    pub(crate) json: bool,
    /// Write the report as JUnit XML to this file.
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,
    /// Write the report as one HTML page to this file.
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Record each run to a new file `CASE-MODEL-RUN.jsonl` of this directory.
    #[arg(long, value_name = "DIR", conflicts_with = "replay")]
    pub(crate) record: Option<PathBuf>,
    /// Replay the recordings in this directory, without calling a model.
    #[arg(long, value_name = "DIR")]
    pub(crate) replay: Option<PathBuf>,
    /// The maximum number of concurrent runs, from 1 to 64.
    #[arg(long, value_name = "N", default_value_t = 1,
          value_parser = RangedU64ValueParser::<usize>::new().range(1..=64))]
    pub(crate) jobs: usize,
    /// The configuration of the runs. Directories of `--grant` begin at the directory of the run.
    #[command(flatten)]
    pub(crate) config: ConfigArgs,
}
