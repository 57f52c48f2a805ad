//! Adds a `[[tool]]` to the text of an `agent.toml`, or removes one. The rest of the text stays as
//! the user wrote it; an edit that changed anything else is refused.

#[cfg(test)]
mod tests;

use std::fmt::Write as _;
use toml::{Table, Value};

/// The key of the tools.
const KEY: &str = "tool";

/// The header of one of them.
const HEADER: &str = "[[tool]]";

/// A tool to add.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewTool<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its component, as `component` has it.
    pub component: &'a str,
    /// The interfaces that the component imports.
    pub imports: &'a [String],
    /// The built-in components that are used as long as the text has no tools, and stay in use.
    pub builtins: &'a [&'a str],
}

/// Why a text is not edited.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    /// It is not TOML.
    #[error("it is not TOML: {0}")]
    Form(String),
    /// There is such a tool or server.
    #[error("it has `{0}` already; choose another name (of a tool, with `--as NAME`)")]
    Exists(String),
    /// There is no such tool.
    #[error("it has no tool `{0}`; the tools are: {1}")]
    Absent(String, String),
    /// The text is of a form in which the edit would change something else.
    #[error(
        "its tools are written in a form that is not edited; do it by hand with these lines:\n{0}"
    )]
    ByHand(String),
}

/// Returns the text with one tool more, which is granted nothing.
///
/// # Errors
/// The text is not TOML, has a tool of this name, or is of a form that is not edited.
pub fn with_tool(text: &str, tool: &NewTool<'_>) -> Result<String, EditError> {
    let builtins = match parse(text)?.contains_key(KEY) {
        true => &[],
        false => tool.builtins,
    };
    appended(text, KEY, &[tool.name], &block(tool, builtins))
}

/// Returns the text with tables of a list more, which have these names.
pub(crate) fn appended(
    text: &str,
    key: &str,
    new: &[&str],
    block: &str,
) -> Result<String, EditError> {
    let mut expected = parse(text)?;
    if let Some(name) = names(&expected, key).find(|name| new.contains(name)) {
        return Err(EditError::Exists(name.to_owned()));
    }
    let gap = match text {
        "" => "",
        text if text.ends_with('\n') => "\n",
        _ => "\n\n",
    };
    let edited = format!("{text}{gap}{block}");
    let added = parse(block)?;
    let own = expected
        .entry(key)
        .or_insert_with(|| Value::Array(Vec::new()));
    if let (Some(own), Some(Value::Array(added))) = (own.as_array_mut(), added.get(key)) {
        own.extend(added.iter().cloned());
    }
    match parse(&edited) {
        Ok(found) if found == expected => Ok(edited),
        _ => Err(EditError::ByHand(block.to_owned())),
    }
}

/// Returns the text without the tool of this name.
///
/// # Errors
/// The text is not TOML, has no such tool, or is of a form that is not edited.
pub fn without_tool(text: &str, name: &str) -> Result<String, EditError> {
    let mut expected = parse(text)?;
    let known: Vec<&str> = names(&expected, KEY).collect();
    if !known.contains(&name) {
        let known = known.join(", ");
        return Err(EditError::Absent(name.to_owned(), known));
    }
    if let Some(Value::Array(tools)) = expected.get_mut(KEY) {
        tools.retain(|tool| tool.get("name").and_then(Value::as_str) != Some(name));
        if tools.is_empty() {
            expected.remove(KEY);
        }
    }
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let starts = lines.iter().enumerate();
    let mut starts = starts.filter(|(_, line)| line.trim().starts_with(HEADER));
    // A line in a string may look like a header; the right one leaves all other values as they are.
    let edited = starts.find_map(|(start, _)| {
        let (before, block) = lines.split_at_checked(start)?;
        let rest = block.iter().skip(1);
        let length = 1 + rest.take_while(|line| !is_other_header(line)).count();
        let (block, after) = block.split_at_checked(length)?;
        // Comments before the next header are about what follows.
        let own = block.iter().rposition(|line| is_content(line))? + 1;
        let (_, comments) = block.split_at_checked(own)?;
        let edited = [before, comments, after].concat().concat();
        (parse(&edited).as_ref() == Ok(&expected)).then_some(edited)
    });
    edited.ok_or_else(|| EditError::ByHand(format!("(remove the tool `{name}`)")))
}

/// Returns the text with another `component` of the tool or hook of this name.
///
/// # Errors
/// The text is not TOML, has nothing of this name, or is of a form that is not edited.
pub fn with_component(text: &str, name: &str, component: &str) -> Result<String, EditError> {
    let mut expected = parse(text)?;
    let mut tables = [KEY, "hook"].into_iter();
    let found = tables.find_map(|key| {
        let mut entries = expected.get(key)?.as_array()?.iter();
        let index = entries.position(|it| it.get("name").and_then(Value::as_str) == Some(name))?;
        Some((key, index))
    });
    let entry = found.and_then(|(key, index)| {
        let entries = expected.get_mut(key)?.as_array_mut()?;
        entries.get_mut(index)?.as_table_mut()
    });
    let Some(entry) = entry else {
        let known = names(&expected, KEY).collect::<Vec<_>>().join(", ");
        return Err(EditError::Absent(name.to_owned(), known));
    };
    let value = Value::from(component);
    let old = entry.insert("component".to_owned(), value.clone());
    let old = old.as_ref().and_then(Value::as_str).unwrap_or_default();
    let by_hand = || EditError::ByHand(format!("component = {value}"));
    // Another line may have the same text; the right one leaves all other values as they are.
    let mut places = text.match_indices(old).filter(|_| !old.is_empty());
    let edited = places.find_map(|(start, _)| {
        let (before, rest) = text.split_at_checked(start)?;
        let after = rest.strip_prefix(old)?;
        let edited = format!("{before}{component}{after}");
        (parse(&edited).as_ref() == Ok(&expected)).then_some(edited)
    });
    edited.ok_or_else(by_hand)
}

fn parse(text: &str) -> Result<Table, EditError> {
    text.parse()
        .map_err(|error: toml::de::Error| EditError::Form(error.message().to_owned()))
}

fn names<'a>(table: &'a Table, key: &str) -> impl Iterator<Item = &'a str> {
    let tools = table
        .get(key)
        .and_then(Value::as_array)
        .into_iter()
        .flatten();
    tools.filter_map(|tool| tool.get("name").and_then(Value::as_str))
}

/// True for the header of a table that is not of the tool before it.
fn is_other_header(line: &str) -> bool {
    let line = line.trim();
    line.starts_with('[') && !line.starts_with("[tool.") && !line.starts_with("[[tool.")
}

fn is_content(line: &str) -> bool {
    let line = line.trim();
    !line.is_empty() && !line.starts_with('#')
}

/// Returns the lines of a tool that is granted nothing, with the form of each grant that its
/// imports ask for.
fn block(tool: &NewTool<'_>, builtins: &[&str]) -> String {
    let mut text = String::new();
    for name in builtins {
        // Writing to a string does not fail.
        let _ = write!(
            text,
            "{HEADER}\nname = \"{name}\"\ncomponent = \"builtin:{name}\"\n\n"
        );
    }
    let (name, component) = (Value::from(tool.name), Value::from(tool.component));
    let _ = write!(text, "{HEADER}\nname = {name}\ncomponent = {component}\n");
    let grants = [
        (
            "dir",
            "wasi:filesystem/",
            "files: [{ host = \".\", mode = \"read-only\" }]",
        ),
        (
            "http",
            "wasi:http/",
            "HTTP: [{ host = \"api.example.com\", methods = [\"GET\"] }]",
        ),
        ("env", "wasi:cli/environment", "variables: [\"NAME\"]"),
        ("secrets", "wasi:http/", "the names of [[secret]]"),
    ];
    for (key, import, form) in grants {
        let asks = tool.imports.iter().any(|it| it.starts_with(import));
        let comment = match asks {
            true => format!(" # it may ask for {form}"),
            false => String::new(),
        };
        let _ = writeln!(text, "{key} = []{comment}");
    }
    text
}
