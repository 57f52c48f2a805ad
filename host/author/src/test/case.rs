//! A case as it is run: its input is JSON, its grants and limits are checked, its patterns are compiled.

use super::{
    expect::Expect,
    file::{RawCase, RawFile, own_file},
    value,
};
use agent_host_app::{
    Config, Environment, Overrides,
    config::{ConfigError, GrantsSection, LimitsSection, SecretSection},
};
use agent_host_types::question::Answer;
use serde_json::{Map, Value};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

/// The most calls of one case. The sandbox lets fewer run at once; the others wait.
const MAX_CALLS: usize = 100;

/// One case.
#[derive(Debug)]
pub(super) struct Case {
    /// The file that it is in, as it was named.
    pub(super) file: PathBuf,
    /// What it shows.
    pub(super) name: String,
    /// The tool that is called.
    pub(super) tool: String,
    /// Its arguments.
    pub(super) input: Map<String, Value>,
    /// How often it is called, all at once.
    pub(super) calls: usize,
    /// What a person answers; absent where there is none.
    pub(super) answers: Option<Vec<Answer>>,
    /// The shared state before the call.
    pub(super) state: Arc<Map<String, Value>>,
    /// What the calls may reach, and their limits.
    pub(super) reach: Arc<Config>,
    /// The file of the HTTP exchanges; absent where there are none.
    pub(super) recording: Option<PathBuf>,
    /// What should come of it.
    pub(super) expect: Expect,
}

/// The cases of a file, which is called so in messages and in which relative paths begin.
///
/// # Errors
/// The first thing that cannot be used, with its place in the text where that is known.
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
    let reach = |grants, limits| reach(grants, limits, &secret, path, environment);
    let of_file = reach(grants.clone(), limits)?;
    case.into_iter()
        .enumerate()
        .map(|(index, mut raw)| {
            let own = (raw.grants.take(), raw.limits.take());
            let reach = match own {
                (None, None) => Ok(Arc::clone(&of_file)),
                (own_grants, own_limits) => reach(
                    own_grants.unwrap_or_else(|| grants.clone()),
                    own_limits.or(limits),
                ),
            };
            reach
                .and_then(|reach| Case::resolve(raw, reach, path, environment))
                .map_err(|error| error.within(&format!("case[{index}]")))
        })
        .collect()
}

/// Grants and limits, checked as those of `agent.toml` are.
fn reach(
    grants: GrantsSection,
    limits: Option<LimitsSection>,
    secrets: &[SecretSection],
    path: &Path,
    environment: &Environment,
) -> Result<Arc<Config>, ConfigError> {
    // Nothing is kept for a case, so it does not matter where.
    let overrides = Overrides {
        state_dir: Some(environment.cwd.clone()),
        ..Overrides::default()
    };
    let secrets = secrets.to_vec();
    Config::of_sections(limits, grants, secrets, Some(path), overrides, environment).map(Arc::new)
}

impl Case {
    fn resolve(
        raw: RawCase,
        reach: Arc<Config>,
        path: &Path,
        environment: &Environment,
    ) -> Result<Self, ConfigError> {
        let RawCase {
            name,
            tool,
            input,
            input_json,
            calls,
            answers,
            state,
            recording,
            expect,
            limits: _,
            grants: _,
        } = raw;
        let input = match (input, input_json) {
            (Some(_), Some(_)) => {
                return Err(ConfigError::new(
                    "",
                    "a case has `input` or `input-json`, and not both",
                    "remove one",
                ));
            }
            (Some(input), None) => value::from_table(input)?,
            (None, Some(text)) => value::from_text("input-json", &text)?,
            (None, None) => Map::new(),
        };
        let calls = calls.unwrap_or(1);
        if !(1..=MAX_CALLS).contains(&calls) {
            return Err(ConfigError::new(
                "",
                format!("`calls` is {calls}"),
                format!("a case has 1 to {MAX_CALLS} calls"),
            ));
        }
        let folder = environment.cwd.join(path);
        let folder = folder.parent().unwrap_or(&environment.cwd);
        Ok(Self {
            file: path.to_owned(),
            name,
            tool,
            input,
            calls,
            answers: answers
                .map(|answers| answers.iter().map(answer).collect())
                .transpose()?,
            state: Arc::new(value::from_table(state.unwrap_or_default())?),
            reach,
            recording: recording
                .map(|name| own_file("recording", &name, folder))
                .transpose()?,
            expect: Expect::resolve(expect, folder)?,
        })
    }
}

/// An answer: a string, the index of a choice, or `{ cancelled = true }`.
fn answer(value: &toml::Value) -> Result<Answer, ConfigError> {
    match value {
        toml::Value::String(text) => return Ok(Answer::Text { text: text.clone() }),
        toml::Value::Integer(index) => {
            if let Ok(index) = u32::try_from(*index) {
                return Ok(Answer::Choice { index });
            }
        }
        toml::Value::Table(table) => {
            if table.len() == 1 && table.get("cancelled") == Some(&toml::Value::Boolean(true)) {
                return Ok(Answer::Cancelled);
            }
        }
        toml::Value::Float(_)
        | toml::Value::Boolean(_)
        | toml::Value::Datetime(_)
        | toml::Value::Array(_) => {}
    }
    Err(ConfigError::new(
        "",
        format!("`{value}` is no answer"),
        "write the words in quotes, the number of a choice (from 0), or `{ cancelled = true }`",
    ))
}
