//! The format of a case file, without defaults. Its first part has the keys of `agent.toml`.

use super::{
    case::{self, Case},
    case_error,
};
use crate::inputs::CASES;
use agent_host_app::{
    Environment,
    config::{
        ConfigError, GrantsSection, LimitsSection, Review, SecretSection, Untrusted, canonical,
        parse,
    },
};
use agent_host_engine::artifact::NewArtifact;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{self, Read as _},
    path::{Component, Path, PathBuf},
};

/// The maximum size of a case file and of a case's own file in bytes.
pub(super) const MAX_FILE_BYTES: u64 = 16 * 1024 * 1024;

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub(super) struct RawFile {
    /// The limits, as in `agent.toml`.
    pub(super) limits: Option<LimitsSection>,
    /// The grants, as in `agent.toml`.
    pub(super) grants: GrantsSection,
    /// The secrets that may be granted, as in `agent.toml`.
    pub(super) secret: Vec<SecretSection>,
    pub(super) case: Vec<RawCase>,
}

/// `[[case]]`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct RawCase {
    pub(super) name: String,
    pub(super) tool: String,
    pub(super) input: Option<toml::Table>,
    /// The arguments as JSON text, for values beyond TOML.
    pub(super) input_json: Option<String>,
    pub(super) calls: Option<usize>,
    /// The user's answers, in order.
    pub(super) answers: Option<Vec<toml::Value>>,
    /// The shared state before the call.
    pub(super) state: Option<toml::Table>,
    /// The custom context of the session.
    pub(super) context: Option<toml::Table>,
    /// The artifacts of the session before the call, by name.
    #[serde(default)]
    pub(super) artifacts: BTreeMap<String, ArtifactForm>,
    pub(super) recording: Option<String>,
    pub(super) expect: RawExpect,
    /// Overrides the file's limits.
    pub(super) limits: Option<LimitsSection>,
    /// Overrides the file's grants.
    pub(super) grants: Option<GrantsSection>,
}

/// `[case.expect]`.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub(super) struct RawExpect {
    pub(super) text: Option<String>,
    pub(super) json: Option<toml::Value>,
    /// The value as JSON text.
    pub(super) json_text: Option<String>,
    pub(super) content: Option<Vec<PartForm>>,
    pub(super) error_text: Option<String>,
    pub(super) error_json: Option<toml::Value>,
    /// The value as JSON text.
    pub(super) error_json_text: Option<String>,
    /// A denial with this reason; `true` for any or none.
    pub(super) denied: Option<toml::Value>,
    /// A denial without a reason.
    pub(super) denied_without_reason: Option<bool>,
    /// A failure with this code or one of these.
    pub(super) code: Option<toml::Value>,
    /// Any result of this variant.
    pub(super) variant: Option<Variant>,
    /// A pattern for the result's text.
    pub(super) matches: Option<String>,
    /// The values at JSON pointers of the result.
    pub(super) at: BTreeMap<String, toml::Value>,
    /// A pattern for the guest's stdout and stderr.
    pub(super) stderr: Option<String>,
    /// The progress reports, in order.
    pub(super) progress: Option<Vec<ReportForm>>,
    /// The merges into the shared state, in order.
    pub(super) merges: Option<Vec<toml::Table>>,
    /// The artifacts of the session afterwards, all of them, by name.
    pub(super) artifacts: Option<BTreeMap<String, ArtifactForm>>,
    /// The message that ends the run; `false` for none.
    pub(super) halt: Option<toml::Value>,
    /// The contents of files afterwards, by guest path; `false` for a missing file.
    pub(super) files: BTreeMap<String, toml::Value>,
    /// The prompts of the questions, in order.
    pub(super) asked: Option<Vec<String>>,
    /// The file with the whole result.
    pub(super) golden: Option<String>,
    /// The maximum duration of a call in milliseconds.
    pub(super) max_ms: Option<u64>,
    /// The maximum memory of a call in bytes.
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

/// A part of `content`: a text or a file. Of a file's bytes only the given properties are compared,
/// all else completely.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub(super) struct PartForm {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) text: Option<String>,
    /// The media type of a file part.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) media_type: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) filename: Option<String>,
    /// The content as text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) text_data: Option<String>,
    /// The URL of the content.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) url: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) base64: Option<String>,
    /// The size in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) size: Option<u64>,
    /// The SHA-256 digest of the bytes in hexadecimal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) sha256: Option<String>,
    /// The image width in pixels.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) width: Option<u32>,
    /// The image height in pixels.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) height: Option<u32>,
}

/// An artifact of text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct ArtifactForm {
    pub(super) media_type: String,
    pub(super) text: String,
}

impl ArtifactForm {
    /// Returns the form of a stored artifact; bytes that are no text are shown as a note.
    pub(super) fn from_artifact(new: &NewArtifact) -> Self {
        let text = match str::from_utf8(new.bytes()) {
            Ok(text) => text.to_owned(),
            Err(_) => format!("{} bytes that are not text", new.bytes().len()),
        };
        Self {
            media_type: new.media_type().to_owned(),
            text,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct ReportForm {
    pub(super) message: String,
    /// The fraction from 0 to 1, if reported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) fraction: Option<f64>,
}

/// Reads a case file.
///
/// # Errors
/// The file is unreadable or malformed, or a case is invalid; with line and column.
pub(super) fn read(path: &Path, environment: &Environment) -> Result<Vec<Case>, ConfigError> {
    let text = cases_text(path, environment)?;
    case::resolve(parse(path, &text)?, path, environment)
        .map_err(|error| error.in_file(path, &text))
}

fn cases_text(path: &Path, environment: &Environment) -> Result<String, ConfigError> {
    text_of(&environment.cwd.join(path)).map_err(|why| {
        let path = path.display();
        case_error!(
            "cannot read the cases of {path}: {why}",
            "correct the path, or the file"
        )
    })
}

/// Reviews case files of a project, all in one directory. The patterns name every field, so that a
/// new one requires a decision.
///
/// # Errors
/// A file is unreadable or malformed.
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
                // Calls and expectations. Files named here stay below the directory of the cases.
                name: _,
                tool: _,
                input: _,
                input_json: _,
                calls: _,
                answers: _,
                state: _,
                context: _,
                artifacts: _,
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

/// Resolves a case's own file, which `--record` or `--update` may write. `key` is its key for
/// messages.
///
/// # Errors
/// The file is not below the directory of the cases.
pub(super) fn case_file(key: &str, name: &str, dir: &Path) -> Result<PathBuf, ConfigError> {
    let name = Path::new(name);
    let is_inside = |part| matches!(part, Component::Normal(_) | Component::CurDir);
    if name.file_name().is_some() && name.components().all(is_inside) {
        let path = dir.join(name);
        if stays_in(dir, &path) {
            return Ok(path);
        }
    }
    let name = name.display();
    Err(case_error!(
        "`{key}` is `{name}`, but must be a file below the directory of its cases",
        "write a relative path without `..`"
    ))
}

/// Returns whether `path` stays below `directory` after following links. A dangling link is
/// refused, since writing would create its target.
pub(super) fn stays_in(directory: &Path, path: &Path) -> bool {
    let below = path.ancestors().take_while(|part| *part != directory);
    let dangles = |part: &Path| part.is_symlink() && !part.exists();
    canonical(path).starts_with(canonical(directory)) && !below.into_iter().any(dangles)
}

/// Reads a file of bounded size. Anything but a regular file, such as a pipe, is refused.
///
/// # Errors
/// It cannot be read, or is no such file.
pub(super) fn text_of(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let mut bounded = File::open(path)?.take(MAX_FILE_BYTES + 1);
    bounded.read_to_string(&mut text)?;
    if text.len() as u64 > MAX_FILE_BYTES {
        let why = format!("it has more than {MAX_FILE_BYTES} bytes");
        return Err(io::Error::other(why));
    }
    Ok(text)
}

/// Writes a case's own file, and creates its directory.
pub(super) fn write(path: &Path, text: &str) -> io::Result<()> {
    if let Some(dir) = path.parent() {
        fs::create_dir_all(dir)?;
    }
    fs::write(path, text)
}
