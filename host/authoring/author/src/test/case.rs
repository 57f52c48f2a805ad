//! A case as run: its input is JSON, grants and limits are validated, patterns compiled.

use super::{
    case_error,
    expect::Expect,
    file::{ArtifactForm, RawCase, RawFile, case_file},
    value,
};
use agent_host_app::{
    Config, Environment, Overrides,
    config::{ConfigError, GrantsSection, LimitsSection, SecretSection},
};
use agent_host_engine::artifact::NewArtifact;
use agent_host_types::{custom_context::CustomContext, question::Answer};
use serde_json::{Map, Value};
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};

/// The maximum of calls per case. The sandbox runs fewer at once; the others wait.
const MAX_CALLS: usize = 100;

#[derive(Debug)]
pub(super) struct Case {
    /// The case file as given.
    pub(super) file: PathBuf,
    pub(super) name: String,
    pub(super) tool: String,
    pub(super) input: Map<String, Value>,
    /// The number of concurrent calls.
    pub(super) calls: usize,
    /// The answers of the simulated user; `None` if no one can be asked.
    pub(super) answers: Option<Vec<Answer>>,
    /// The shared state before the call.
    pub(super) state: Arc<Map<String, Value>>,
    /// The custom context of the session.
    pub(super) context: Arc<CustomContext>,
    /// The artifacts of the session before the call, by name.
    pub(super) artifacts: BTreeMap<String, ArtifactForm>,
    /// The grants and limits.
    pub(super) config: Arc<Config>,
    /// The recording of HTTP exchanges, if any.
    pub(super) recording: Option<PathBuf>,
    pub(super) expect: Expect,
}

/// Resolves the cases of a file. `path` is its name in messages and the base of relative paths.
///
/// # Errors
/// The first defect, with its position if known.
pub(super) fn resolve(
    raw: RawFile,
    path: &Path,
    environment: &Environment,
) -> Result<Vec<Case>, ConfigError> {
    let RawFile {
        limits,
        grants,
        secret,
        case,
    } = raw;
    let config = |grants, limits| config(grants, limits, &secret, path, environment);
    let of_file = config(grants.clone(), limits)?;
    case.into_iter()
        .enumerate()
        .map(|(index, mut raw)| {
            let own = (raw.grants.take(), raw.limits.take());
            let config = match own {
                (None, None) => Ok(Arc::clone(&of_file)),
                (own_grants, own_limits) => config(
                    own_grants.unwrap_or_else(|| grants.clone()),
                    own_limits.or(limits),
                ),
            };
            config
                .and_then(|config| Case::resolve(raw, config, path, environment))
                .map_err(|error| error.within(&format!("case[{index}]")))
        })
        .collect()
}

/// Validates grants and limits as those of `agent.toml`.
fn config(
    grants: GrantsSection,
    limits: Option<LimitsSection>,
    secrets: &[SecretSection],
    path: &Path,
    environment: &Environment,
) -> Result<Arc<Config>, ConfigError> {
    // A case keeps no state, so any directory will do.
    let overrides = Overrides {
        state_dir: Some(environment.cwd.clone()),
        ..Overrides::default()
    };
    let secrets = secrets.to_vec();
    Config::of_sections(limits, grants, secrets, Some(path), &overrides, environment).map(Arc::new)
}

impl Case {
    fn resolve(
        raw: RawCase,
        config: Arc<Config>,
        path: &Path,
        environment: &Environment,
    ) -> Result<Self, ConfigError> {
        let input = match (raw.input, raw.input_json) {
            (Some(_), Some(_)) => {
                return Err(case_error!(
                    "a case has either `input` or `input-json`, not both",
                    "remove one"
                ));
            }
            (Some(input), None) => value::from_table(input)?,
            (None, Some(text)) => value::from_text("input-json", &text)?,
            (None, None) => Map::new(),
        };
        let calls = raw.calls.unwrap_or(1);
        if !(1..=MAX_CALLS).contains(&calls) {
            return Err(case_error!(
                "`calls` is {calls}",
                "a case has 1 to {MAX_CALLS} calls"
            ));
        }
        let dir = environment.cwd.join(path);
        let dir = dir.parent().unwrap_or(&environment.cwd);
        let answers = raw.answers;
        let answers = answers.map(|answers| answers.iter().map(answer).collect());
        let recording = raw.recording;
        let recording = recording.map(|name| case_file("recording", &name, dir));
        Ok(Self {
            file: path.to_owned(),
            name: raw.name,
            tool: raw.tool,
            input,
            calls,
            answers: answers.transpose()?,
            state: Arc::new(value::from_table(raw.state.unwrap_or_default())?),
            artifacts: artifacts(raw.artifacts)?,
            context: Arc::new(context(raw.context.unwrap_or_default())?),
            config,
            recording: recording.transpose()?,
            expect: Expect::resolve(raw.expect, dir)?,
        })
    }
}

/// Checks the artifacts of the session.
fn artifacts(
    artifacts: BTreeMap<String, ArtifactForm>,
) -> Result<BTreeMap<String, ArtifactForm>, ConfigError> {
    for (name, ArtifactForm { media_type, text }) in &artifacts {
        NewArtifact::new(name, media_type.clone(), text.clone().into_bytes())
            .map_err(|why| case_error!("invalid artifact: {why}", "correct it"))?;
    }
    Ok(artifacts)
}

/// Parses the custom context.
fn context(table: toml::Table) -> Result<CustomContext, ConfigError> {
    CustomContext::try_from(value::from_table(table)?)
        .map_err(|why| case_error!("invalid `context`: {why}", "make it smaller"))
}

/// Parses an answer: a string, the index of a choice, indexes of several, `{ fields = { ... } }`
/// for a form, or `{ cancelled = true }`.
fn answer(given: &toml::Value) -> Result<Answer, ConfigError> {
    let parsed = match given {
        toml::Value::String(text) => Some(Answer::Text { text: text.clone() }),
        toml::Value::Integer(index) => {
            let index = u32::try_from(*index).ok();
            index.map(|index| Answer::Choice { index })
        }
        toml::Value::Array(indexes) => {
            let indexes = indexes.iter().map(|index| match index {
                toml::Value::Integer(index) => u32::try_from(*index).ok(),
                _ => None,
            });
            let indexes = indexes.collect::<Option<_>>();
            indexes.map(|indexes| Answer::Choices { indexes })
        }
        toml::Value::Table(table) => {
            let mut entries = table.iter();
            match (
                entries.next().map(|(key, value)| (key.as_str(), value)),
                entries.next(),
            ) {
                (Some(("cancelled", toml::Value::Boolean(true))), None) => Some(Answer::Cancelled),
                (Some(("fields", toml::Value::Table(fields))), None) => Some(Answer::Fields {
                    fields: value::from_table(fields.clone())?,
                }),
                _ => None,
            }
        }
        _ => None,
    };
    parsed.ok_or_else(|| {
        case_error!(
            "`{given}` is not an answer",
            "write the words in quotes, the number of a choice (from 0), `{{ fields = {{ NAME = VALUE }} }}` for a form, or `{{ cancelled = true }}`"
        )
    })
}
