//! The front matter of a `SKILL.md`, by the rules of
//! <https://agentskills.io/specification#frontmatter>.

use super::{SKILL_FILE, SkillError};
use agent_host_engine::text::{is_deceptive, sanitize};
use serde::Deserialize;
use serde_json::{Map, Value};

/// The maximum size of the front matter, in bytes.
const MAX_FRONT_MATTER_BYTES: usize = 16 * 1024;

/// The longest name, description and compatibility, in characters.
const MAX_NAME: usize = 64;
const MAX_DESCRIPTION: usize = 1_024;
const MAX_COMPATIBILITY: usize = 500;

/// The fields that are known here; others are ignored.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Fields {
    name: String,
    description: String,
    license: Option<Value>,
    compatibility: Option<Value>,
    metadata: Option<Value>,
    allowed_tools: Option<Value>,
}

/// The checked fields. Texts have no space around them.
pub(super) struct FrontMatter {
    pub(super) name: String,
    pub(super) description: String,
    pub(super) license: Option<String>,
    pub(super) compatibility: Option<String>,
    pub(super) metadata: Map<String, Value>,
    pub(super) allowed_tools: Vec<String>,
}

/// Splits the text of a `SKILL.md` into its front matter and its instructions.
pub(super) fn parse(text: &str) -> Result<(FrontMatter, &str), SkillError> {
    let (front_matter, instructions) = split(text)?;
    let fields: Fields = serde_saphyr::from_str(front_matter).map_err(|error| {
        let error = sanitize(&error.to_string(), 300);
        SkillError::new(
            format!("the front matter of {SKILL_FILE}: {error}"),
            "correct it",
        )
    })?;
    check_name(&fields.name)?;
    let front_matter = FrontMatter {
        name: fields.name,
        description: bounded("description", &fields.description, MAX_DESCRIPTION, || {
            format!("write 1 to {MAX_DESCRIPTION} that say what it is for and when to use it")
        })?,
        license: text_of("license", fields.license, MAX_FRONT_MATTER_BYTES)?,
        compatibility: text_of("compatibility", fields.compatibility, MAX_COMPATIBILITY)?,
        metadata: metadata(fields.metadata)?,
        allowed_tools: allowed_tools(fields.allowed_tools)?,
    };
    Ok((front_matter, instructions))
}

fn split(text: &str) -> Result<(&str, &str), SkillError> {
    let example =
        "start it with `---`, `name: ...`, `description: ...` and `---`, each on its own line";
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let missing = || SkillError::new(format!("{SKILL_FILE} has no front matter"), example);
    let (first, rest) = text.split_once('\n').ok_or_else(missing)?;
    if first.trim_end() != "---" {
        return Err(missing());
    }
    let mut end = 0;
    for line in rest.split_inclusive('\n') {
        if line.trim_end() == "---" {
            let front_matter = rest.get(..end).unwrap_or_default();
            return Ok((
                front_matter,
                rest.get(end + line.len()..).unwrap_or_default(),
            ));
        }
        end += line.len();
        if end > MAX_FRONT_MATTER_BYTES {
            let reason = format!(
                "the front matter of {SKILL_FILE} has more than {MAX_FRONT_MATTER_BYTES} bytes"
            );
            return Err(SkillError::new(reason, "shorten it, or end it with `---`"));
        }
    }
    Err(missing())
}

fn check_name(name: &str) -> Result<(), SkillError> {
    let is_word = |part: &str| {
        let is_good = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
        !part.is_empty() && part.chars().all(is_good)
    };
    if name.len() <= MAX_NAME && name.split('-').all(is_word) {
        return Ok(());
    }
    let shown = sanitize(name, 80);
    Err(SkillError::new(
        format!(
            "its name {shown:?} is not 1 to {MAX_NAME} lower-case letters and digits, in words separated by `-`"
        ),
        "correct `name` in its front matter",
    ))
}

/// Returns a text without the space around it. The error for one that cannot be used ends with the
/// fix.
fn bounded(
    field: &str,
    text: &str,
    most: usize,
    fix: impl Fn() -> String,
) -> Result<String, SkillError> {
    let count = text.trim().chars().count();
    if count == 0 || count > most || text.chars().any(is_deceptive) {
        let reason = format!("its {field} has {count} characters, or control characters");
        return Err(SkillError::new(reason, fix()));
    }
    Ok(text.trim().to_owned())
}

/// Returns an optional text.
fn text_of(field: &str, value: Option<Value>, most: usize) -> Result<Option<String>, SkillError> {
    match value {
        None => Ok(None),
        Some(Value::String(text)) => {
            let fix = || format!("write 1 to {most}, or remove `{field}`");
            bounded(field, &text, most, fix).map(Some)
        }
        Some(other) => Err(wrong_type(field, &other, "text")),
    }
}

/// Returns the metadata. The values should be texts; other programs write objects, too.
fn metadata(value: Option<Value>) -> Result<Map<String, Value>, SkillError> {
    match value {
        None => Ok(Map::new()),
        Some(Value::Object(map)) => Ok(map),
        Some(other) => Err(wrong_type("metadata", &other, "a map")),
    }
}

/// Returns the tools. The specification has a text; several programs write a list.
fn allowed_tools(value: Option<Value>) -> Result<Vec<String>, SkillError> {
    let Some(value) = value else {
        return Ok(Vec::new());
    };
    let tools = match &value {
        Value::String(text) => Some(text.split_whitespace().map(str::to_owned).collect()),
        Value::Array(list) => {
            let tools = list.iter().map(|tool| tool.as_str().map(str::to_owned));
            tools.collect()
        }
        _ => None,
    };
    let right = "text with spaces between the tools, or a list of text";
    tools.ok_or_else(|| wrong_type("allowed-tools", &value, right))
}

fn wrong_type(field: &str, value: &Value, right: &str) -> SkillError {
    let kind = match value {
        Value::Null => "nothing",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "text",
        Value::Array(_) => "a list",
        Value::Object(_) => "a map",
    };
    SkillError::new(
        format!("`{field}` in the front matter of {SKILL_FILE} is {kind}, but must be {right}"),
        format!("correct `{field}`"),
    )
}
