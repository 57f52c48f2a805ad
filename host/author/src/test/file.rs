//! The form of a file with cases, and nothing more: what is absent stays absent here. Its first part has the keys of `agent.toml`.

use super::{
    case::{self, Case},
    subject::CASES,
};
use agent_host_app::{
    Environment,
    config::{
        ConfigError, GrantsSection, LimitsSection, Review, SecretSection, Untrusted, canonical,
        parse,
    },
};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::Read as _,
    path::{Component, Path, PathBuf},
};

/// The longest file with cases that is read, and the longest file of a case's own, in bytes.
pub(super) const MAX_FILE_BYTES: u64 = 16 * 1024 * 1024;

/// A file with cases.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub(super) struct RawFile {
    /// The limits of its cases, as in `agent.toml`.
    pub(super) limits: Option<LimitsSection>,
    /// What its cases may reach, as in `agent.toml`.
    pub(super) grants: GrantsSection,
    /// The secrets that may be granted, as in `agent.toml`.
    pub(super) secret: Vec<SecretSection>,
    /// The cases.
    pub(super) case: Vec<RawCase>,
}

/// `[[case]]`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct RawCase {
    /// What it shows.
    pub(super) name: String,
    /// The tool that is called.
    pub(super) tool: String,
    /// Its arguments.
    pub(super) input: Option<toml::Table>,
    /// The same as JSON text, for what TOML cannot say.
    pub(super) input_json: Option<String>,
    /// How often it is called, all at once.
    pub(super) calls: Option<usize>,
    /// What a person answers, in order.
    pub(super) answers: Option<Vec<toml::Value>>,
    /// The shared state before the call.
    pub(super) state: Option<toml::Table>,
    /// The file of the HTTP exchanges.
    pub(super) recording: Option<String>,
    /// What should come of it.
    pub(super) expect: RawExpect,
    /// Limits instead of the file's.
    pub(super) limits: Option<LimitsSection>,
    /// Grants instead of the file's.
    pub(super) grants: Option<GrantsSection>,
}

/// `[case.expect]`.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub(super) struct RawExpect {
    /// This text.
    pub(super) text: Option<String>,
    /// This JSON.
    pub(super) json: Option<toml::Value>,
    /// The same as JSON text.
    pub(super) json_text: Option<String>,
    /// These parts.
    pub(super) content: Option<Vec<PartForm>>,
    /// This error.
    pub(super) error_text: Option<String>,
    /// This error.
    pub(super) error_json: Option<toml::Value>,
    /// The same as JSON text.
    pub(super) error_json_text: Option<String>,
    /// Denied: for this reason, or with `true` for any or none.
    pub(super) denied: Option<toml::Value>,
    /// Denied, and nobody said why.
    pub(super) denied_without_reason: Option<bool>,
    /// An abnormal end of this kind, or of one of these.
    pub(super) code: Option<toml::Value>,
    /// A result of this kind.
    pub(super) variant: Option<Variant>,
    /// A pattern that is found in the result's text.
    pub(super) matches: Option<String>,
    /// What is at these JSON pointers of the result.
    pub(super) at: BTreeMap<String, toml::Value>,
    /// A pattern that is found in what the guest wrote to stdout and stderr.
    pub(super) stderr: Option<String>,
    /// The progress that was reported, in order.
    pub(super) progress: Option<Vec<ReportForm>>,
    /// What was merged into the shared state, in order.
    pub(super) merges: Option<Vec<toml::Table>>,
    /// What is in these files afterwards, by the guest's paths; `false` for a file that is not there.
    pub(super) files: BTreeMap<String, toml::Value>,
    /// The prompts of the questions that were asked, in order.
    pub(super) asked: Option<Vec<String>>,
    /// The file that has the whole result.
    pub(super) golden: Option<String>,
    /// The longest time that the call may take, in milliseconds.
    pub(super) max_ms: Option<u64>,
    /// The most memory that it may take, in bytes.
    pub(super) max_memory_bytes: Option<u64>,
}

/// `variant`: the tags of the result union.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Variant {
    Text,
    Json,
    Content,
    ErrorText,
    ErrorJson,
    ExecutionDenied,
}

/// One part of `content`: a text, or a file. Of a file's bytes, only what is written is compared; of all else, everything.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub(super) struct PartForm {
    /// A text part.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) text: Option<String>,
    /// A file part of this type.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) media_type: Option<String>,
    /// Its name; absent where it has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) filename: Option<String>,
    /// Its content, where that is given as text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) text_data: Option<String>,
    /// Where its content is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) url: Option<String>,
    /// Its content, in base64.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) base64: Option<String>,
    /// How many bytes it has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) size: Option<u64>,
    /// The digest of its bytes, in hexadecimal digits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) sha256: Option<String>,
    /// The width of the image, in pixels.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) width: Option<u32>,
    /// The height of the image, in pixels.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) height: Option<u32>,
}

/// One report of `progress`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct ReportForm {
    /// What it says.
    pub(super) message: String,
    /// How far it is, from 0 to 1; absent where that was not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) fraction: Option<f64>,
}

/// Reads the cases of a file.
///
/// # Errors
/// It cannot be read, does not have the form, or a case cannot be run as it is: with line and column.
pub(super) fn read(path: &Path, environment: &Environment) -> Result<Vec<Case>, ConfigError> {
    let text = cases_text(path, environment)?;
    case::resolve(parse(path, &text)?, path, environment)
        .map_err(|error| error.in_file(path, &text))
}

fn cases_text(path: &Path, environment: &Environment) -> Result<String, ConfigError> {
    text_of(&environment.cwd.join(path)).map_err(|why| {
        let reason = format!("cannot read the cases of {}: {why}", path.display());
        ConfigError::new("", reason, "correct the path, or the file")
    })
}

/// Reviews files with cases of a project, all of which lie in one directory. Every field is named,
/// so that a new one is decided about.
///
/// # Errors
/// One of them cannot be read or does not have the form.
pub(super) fn review(
    project: &Path,
    files: &[PathBuf],
    record: bool,
    environment: &Environment,
) -> Result<Option<Untrusted>, ConfigError> {
    let mut review = Review::of_cases(project, record, environment);
    let mut authority = Vec::new();
    for path in files {
        let RawFile {
            limits,
            grants,
            secret,
            case,
        } = parse(path, &cases_text(path, environment)?)?;
        authority.push(review.cases(path, limits.as_ref(), Some(&grants), &secret));
        for case in &case {
            let RawCase {
                // What is called and expected. Files that are named here stay below the directory
                // of the cases.
                name: _,
                tool: _,
                input: _,
                input_json: _,
                calls: _,
                answers: _,
                state: _,
                recording: _,
                expect: _,
                limits,
                grants,
            } = case;
            authority.push(review.cases(path, limits.as_ref(), grants.as_ref(), &[]));
        }
    }
    let path = canonical(&environment.cwd.join(project).join(CASES));
    Ok(review.finish(path, &json!(authority)))
}

/// Where a file of a case is, which `--record` or `--update` may write. `key` is where the case names it, for messages.
///
/// # Errors
/// It is not below the folder of the cases.
pub(super) fn own_file(key: &str, name: &str, folder: &Path) -> Result<PathBuf, ConfigError> {
    let name = Path::new(name);
    let is_inside = |part| matches!(part, Component::Normal(_) | Component::CurDir);
    if name.file_name().is_some() && name.components().all(is_inside) {
        let path = folder.join(name);
        if stays_in(folder, &path) {
            return Ok(path);
        }
    }
    Err(ConfigError::new(
        "",
        format!(
            "`{key}` is `{}`, and it has to be a file below the directory of its cases",
            name.display()
        ),
        "write a relative path without `..`",
    ))
}

/// Whether a path below a directory stays in it by the links on the way, too. A link that leads to
/// nothing would be written to where it leads.
pub(super) fn stays_in(directory: &Path, path: &Path) -> bool {
    let below = path.ancestors().take_while(|part| *part != directory);
    let dangles = |part: &Path| part.is_symlink() && !part.exists();
    canonical(path).starts_with(canonical(directory)) && !below.into_iter().any(dangles)
}

/// The text of a file, within bounds. What is not a regular file, such as a pipe, is not waited
/// for.
///
/// # Errors
/// Why it cannot be read, as a fragment.
pub(super) fn text_of(path: &Path) -> Result<String, String> {
    let mut text = String::new();
    let found = fs::metadata(path).map_err(|error| error.to_string())?;
    if !found.is_file() {
        return Err("it is not a regular file".to_owned());
    }
    let file = File::open(path).map_err(|error| error.to_string())?;
    file.take(MAX_FILE_BYTES + 1)
        .read_to_string(&mut text)
        .map_err(|error| error.to_string())?;
    if text.len() as u64 > MAX_FILE_BYTES {
        return Err(format!("it has more than {MAX_FILE_BYTES} bytes"));
    }
    Ok(text)
}
