//! Adds a `[[tool]]` to the text of an `agent.toml`, or removes one. The rest of the text stays as
//! the user wrote it.

#[cfg(test)]
mod tests;

use agent_host_types::reason::Reason;
use std::{fmt::Write as _, ops::Range};
use toml_edit::{Array, Document, Item, TableLike, Value};

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

/// Returns the text with one tool more, which is granted nothing.
///
/// # Errors
/// The text is not TOML, has a tool of this name, or its tools are not a list.
pub fn with_tool(text: &str, tool: &NewTool<'_>) -> Result<String, Reason> {
    let builtins = match parse(text)?.contains_key(KEY) {
        true => &[],
        false => tool.builtins,
    };
    appended(text, KEY, &[tool.name], &block(tool, builtins))
}

/// Returns the text with tables of a list more, which have these names.
pub(crate) fn appended(text: &str, key: &str, new: &[&str], block: &str) -> Result<String, Reason> {
    let file = parse(text)?;
    if let Some((name, _)) = entries(&file, key).find(|(name, _)| new.contains(name)) {
        return Err(format!(
            "it already has `{name}`; choose another name (of a tool, with `--as NAME`)"
        )
        .into());
    }
    match file.get(key) {
        None | Some(Item::ArrayOfTables(_)) => {
            let gap = match text {
                "" => "",
                text if text.ends_with('\n') => "\n",
                _ => "\n\n",
            };
            Ok(format!("{text}{gap}{block}"))
        }
        // The list is closed for headers.
        Some(Item::Value(Value::Array(_))) => in_list(file, key, |list| {
            let added = parse(block)?;
            let added = added.get(key).and_then(Item::as_array_of_tables);
            for table in added.into_iter().flatten() {
                list.push(table.clone().into_inline_table());
            }
            Ok(())
        }),
        Some(_) => Err(format!(
            "its `{key}` is not a list of tables; write each one under a `[[{key}]]`"
        )
        .into()),
    }
}

/// Returns the text without the tool of this name, and without the comment right above it.
///
/// # Errors
/// The text is not TOML, or has no such tool.
pub fn without_tool(text: &str, name: &str) -> Result<String, Reason> {
    let file = parse(text)?;
    let index = entries(&file, KEY).position(|(known, _)| known == name);
    let index = index.ok_or_else(|| absent(&file, name))?;
    match file.get(KEY) {
        Some(Item::ArrayOfTables(list)) => {
            let lines = list.get(index).and_then(|table| {
                let begin = table.span()?.start;
                Some(lines_of(text, begin, end_of(table, begin)))
            });
            Ok(spliced(text, lines, ""))
        }
        _ => in_list(file, KEY, |list| {
            list.remove(index);
            Ok(())
        }),
    }
}

/// Returns the text with another `component` of the tool or hook of this name.
///
/// # Errors
/// The text is not TOML, or has nothing of this name with a component.
pub fn with_component(text: &str, name: &str, component: &str) -> Result<String, Reason> {
    let file = parse(text)?;
    let mut named = [KEY, "hook"]
        .into_iter()
        .flat_map(|key| entries(&file, key));
    let entry = named.find(|(known, _)| *known == name);
    let old = entry.and_then(|(_, entry)| entry.get("component")?.span());
    match old {
        Some(span) => Ok(spliced(
            text,
            Some(span),
            &Value::from(component).to_string(),
        )),
        None => Err(absent(&file, name)),
    }
}

fn parse(text: &str) -> Result<Document<&str>, Reason> {
    Document::parse(text).map_err(|error| format!("it is not TOML: {}", error.message()).into())
}

/// Returns the tables of a list that have a name, with it. A table without one is `""`.
fn entries<'a>(
    file: &'a Document<&str>,
    key: &str,
) -> impl Iterator<Item = (&'a str, &'a dyn TableLike)> {
    let item = file.get(key);
    let tables = item
        .and_then(Item::as_array_of_tables)
        .into_iter()
        .flatten();
    let tables = tables.map(|table| table as &dyn TableLike);
    let list = item.and_then(Item::as_array).into_iter().flatten();
    let inline = list.filter_map(|value| Some(value.as_inline_table()? as &dyn TableLike));
    tables.chain(inline).map(|table| {
        let name = table.get("name").and_then(Item::as_str);
        (name.unwrap_or_default(), table)
    })
}

fn absent(file: &Document<&str>, name: &str) -> Reason {
    let known: Vec<&str> = entries(file, KEY).map(|(name, _)| name).collect();
    let known = known.join(", ");
    format!("it has no tool `{name}`; the tools are: {known}").into()
}

/// Returns where a table ends, with the tables in it.
fn end_of(table: &dyn TableLike, begin: usize) -> usize {
    table.iter().fold(begin, |end, (_, item)| {
        let end = end.max(item.span().map_or(0, |span| span.end));
        let list = item.as_array_of_tables().into_iter().flatten();
        let tables = list.map(|table| table as &dyn TableLike);
        let tables = tables.chain(item.as_table().map(|table| table as &dyn TableLike));
        tables.fold(end, |end, table| end_of(table, end))
    })
}

/// Returns the whole lines from one place to another, with the comments right above them.
fn lines_of(text: &str, begin: usize, end: usize) -> Range<usize> {
    let above = text
        .get(..begin)
        .unwrap_or_default()
        .split_inclusive('\n')
        .rev();
    let comments = above.take_while(|line| line.trim_start().starts_with('#'));
    let begin = begin - comments.map(str::len).sum::<usize>();
    let rest = text.get(end..).unwrap_or_default();
    begin..end + rest.find('\n').map_or(rest.len(), |newline| newline + 1)
}

/// Returns the text of a file with an inline list changed.
fn in_list(
    file: Document<&str>,
    key: &str,
    change: impl FnOnce(&mut Array) -> Result<(), Reason>,
) -> Result<String, Reason> {
    let mut file = file.into_mut();
    if let Some(list) = file.get_mut(key).and_then(Item::as_array_mut) {
        change(list)?;
    }
    Ok(file.to_string())
}

/// Returns the text with another part at a place. What was parsed from it has its places.
fn spliced(text: &str, place: Option<Range<usize>>, part: &str) -> String {
    let mut edited = text.to_owned();
    if let Some(place) = place {
        edited.replace_range(place, part);
    }
    edited
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
