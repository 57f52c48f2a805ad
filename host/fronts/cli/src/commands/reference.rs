//! `agent-host reference`: the reference of all commands, keys and events as Markdown, which
//! `host/REFERENCE.md` has. It is generated from the definitions themselves.

use crate::{
    args::{Args, ConfigArgs},
    exit::Exit,
    terminal::Terminal,
};
use agent_host_app::config_schema;
use agent_host_engine::documents::{DOCUMENTS, Document};
use clap::{Arg, Args as _, Command, CommandFactory as _};
use serde_json::Value;

/// The head of the page.
const HEAD: &str = "\
# Reference

Every command, every key of `agent.toml` and every event, generated from the code by `agent-host
reference`. The [book](../docs/SUMMARY.md) explains them.
";

pub(super) fn reference(terminal: &Terminal) -> Exit {
    let mut page = HEAD.to_owned();
    page.push_str("\n## Commands\n");
    let mut program = Args::command();
    program.build();
    commands(&program, /*depth*/ 0, &mut page);
    page.push_str("\n## Keys of agent.toml\n");
    Keys::of(&config_schema()).write(&mut page);
    for (heading, what, definition) in [
        ("## Events", "event", "Event"),
        ("### Requests in `audit`", "`operation`", "AuditRequest"),
    ] {
        page.push_str(&format!("\n{heading}\n\n| `kind` | {what} |\n|---|---|\n"));
        for (kind, about) in kinds(definition) {
            row(&mut page, &[&code(&kind), &about]);
        }
    }
    terminal.println(page.trim_end());
    Exit::Done
}

/// The options of the configuration, which are listed once.
const SHARED: [&str; 5] = ["config", "grants", "write", "trust", "state_dir"];

/// Writes a section for each command.
fn commands(command: &Command, depth: usize, page: &mut String) {
    let name = command
        .get_bin_name()
        .unwrap_or(command.get_name())
        .to_owned();
    let args = command.get_arguments().filter(|arg| is_own(arg, depth));
    let about = command
        .get_about()
        .map(ToString::to_string)
        .unwrap_or_default();
    page.push_str(&format!("\n### {name}\n\n"));
    page.push_str("| | |\n|---|---|\n");
    row(page, &[&code(&name), &about]);
    args.for_each(|arg| argument(arg, page));
    if depth == 0 {
        page.push_str("\n### Options of the configuration\n\n| | |\n|---|---|\n");
        let shared = ConfigArgs::augment_args(Command::new("shared"));
        shared.get_arguments().for_each(|arg| argument(arg, page));
    }
    let below = command.get_subcommands();
    for command in below.filter(|command| !command.is_hide_set() && command.get_name() != "help") {
        commands(command, depth + 1, page);
    }
}

/// Writes the row of an argument.
fn argument(arg: &Arg, page: &mut String) {
    let help = arg.get_long_help().or(arg.get_help());
    let help = help.map(ToString::to_string).unwrap_or_default();
    row(page, &[&code(&usage(arg)), &help]);
}

/// True for an argument that is not shown for a command above, or once for all.
fn is_own(arg: &Arg, depth: usize) -> bool {
    let id = arg.get_id().as_str();
    let is_shared = arg.is_global_set() && SHARED.contains(&id);
    let is_inherited =
        arg.is_global_set() && (depth > 1 || depth > 0 && ["log", "threads"].contains(&id));
    !arg.is_hide_set() && !["help", "version"].contains(&id) && !is_shared && !is_inherited
}

/// Returns an argument as it is written.
fn usage(arg: &Arg) -> String {
    let values = arg.get_value_names().unwrap_or_default();
    let values = values.iter().map(ToString::to_string).collect::<Vec<_>>();
    let value = values.join(" ");
    let takes = arg.get_action().takes_values();
    match (arg.get_long(), takes) {
        (Some(long), true) => format!("--{long} {value}"),
        (Some(long), false) => format!("--{long}"),
        (None, _) => format!("[{value}]"),
    }
}

/// The keys of the configuration, by tables.
struct Keys<'a> {
    root: &'a Value,
    /// The header of each table, and its keys.
    tables: Vec<(String, Vec<[String; 3]>)>,
    /// The types on the way to the present table, none of which is entered again.
    entered: Vec<String>,
}

impl<'a> Keys<'a> {
    fn of(schema: &'a Value) -> Self {
        let mut keys = Self {
            root: schema,
            tables: Vec::new(),
            entered: Vec::new(),
        };
        keys.table(schema, "", "");
        keys
    }

    /// Adds a table and those below it; `open` and `close` are the brackets of its header.
    fn table(&mut self, schema: &'a Value, path: &str, header: &str) {
        let properties = schema.get("properties").and_then(Value::as_object);
        let at = self.tables.len();
        self.tables.push((header.to_owned(), Vec::new()));
        let mut below = Vec::new();
        for (key, property) in properties.into_iter().flatten() {
            let about = text(property, "description");
            let here = match path {
                "" => key.clone(),
                path => format!("{path}.{key}"),
            };
            match self.shape(property) {
                Shape::Table(name, table) => {
                    below.push((name, table, here.clone(), format!("[{here}]")))
                }
                Shape::Tables(name, table) => {
                    below.push((name, table, here.clone(), format!("[[{here}]]")))
                }
                Shape::Named(name, table) => {
                    let here = format!("{here}.NAME");
                    below.push((name, table, here.clone(), format!("[{here}]")));
                }
                Shape::Value(kind) => {
                    if let Some((_, rows)) = self.tables.get_mut(at) {
                        rows.push([code(key), kind, about]);
                    }
                }
            }
        }
        for (name, table, path, header) in below {
            if !self.entered.contains(&name) {
                self.entered.push(name);
                self.table(table, &path, &header);
                self.entered.pop();
            }
        }
    }

    /// Returns a schema behind its reference, and the name of its type.
    fn resolve(&self, schema: &'a Value) -> (String, &'a Value) {
        let alternatives = schema.get("anyOf").and_then(Value::as_array);
        let only = alternatives
            .into_iter()
            .flatten()
            .find(|one| one.get("$ref").is_some());
        let schema = only.unwrap_or(schema);
        let reference = text(schema, "$ref");
        let pointer = reference.strip_prefix('#').unwrap_or_default();
        match self.root.pointer(pointer).filter(|_| !pointer.is_empty()) {
            Some(found) => (reference, found),
            None => (reference, schema),
        }
    }

    fn shape(&self, property: &'a Value) -> Shape<'a> {
        let is_table = |schema: &Value| schema.get("properties").is_some();
        let (name, schema) = self.resolve(property);
        if is_table(schema) {
            return Shape::Table(name, schema);
        }
        if let Some(items) = schema.get("items") {
            let (name, items) = self.resolve(items);
            if is_table(items) {
                return Shape::Tables(name, items);
            }
        }
        if let Some(values) = schema
            .get("additionalProperties")
            .filter(|values| values.is_object())
        {
            let (name, values) = self.resolve(values);
            if is_table(values) {
                return Shape::Named(name, values);
            }
        }
        Shape::Value(kind(schema))
    }

    fn write(&self, page: &mut String) {
        for (header, rows) in self.tables.iter().filter(|(_, rows)| !rows.is_empty()) {
            let header = if header.is_empty() {
                "Top level"
            } else {
                header
            };
            page.push_str(&format!(
                "\n### {header}\n\n| key | value | |\n|---|---|---|\n"
            ));
            for [key, kind, about] in rows {
                row(page, &[key, kind, about]);
            }
        }
    }
}

/// The form of the value of a key.
enum Shape<'a> {
    Table(String, &'a Value),
    Tables(String, &'a Value),
    /// A table of tables.
    Named(String, &'a Value),
    Value(String),
}

/// Describes the values that a schema allows.
fn kind(schema: &Value) -> String {
    if let Some(words) = words(schema) {
        return words.join(", ");
    }
    if let Some(pattern) = schema.pointer("/anyOf/1/pattern") {
        let is_size = pattern
            .as_str()
            .is_some_and(|pattern| pattern.contains("KiB"));
        return if is_size { "size" } else { "duration" }.to_owned();
    }
    let types = match schema.get("type") {
        Some(Value::String(name)) => vec![name.as_str()],
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    let names = types
        .iter()
        .filter(|name| **name != "null")
        .map(|name| match *name {
            "string" => "text",
            "integer" => "whole number",
            "boolean" => "true or false",
            "array" => "list",
            "object" => "table",
            other => other,
        });
    let names: Vec<&str> = names.collect();
    if names.is_empty() {
        "several forms".to_owned()
    } else {
        names.join(" or ")
    }
}

/// Returns the words of an enum, in backquotes.
fn words(schema: &Value) -> Option<Vec<String>> {
    let listed = |values: &Value| {
        let values = values.as_array()?.iter().filter_map(Value::as_str);
        Some(values.map(code).collect::<Vec<_>>())
    };
    // They may be written in another way, too, which a pattern describes.
    let with_pattern = schema.pointer("/anyOf/1/pattern");
    let alternative = with_pattern.and_then(|_| schema.pointer("/anyOf/0/enum"));
    if let Some(words) = schema.get("enum").or(alternative).and_then(listed) {
        return Some(words);
    }
    let cases = schema.get("oneOf")?.as_array()?.iter();
    let cases = cases.map(|case| Some(code(case.get("const")?.as_str()?)));
    cases.collect()
}

/// Returns the kind and the description of each variant of a definition in the schema of events.
fn kinds(definition: &str) -> Vec<(String, String)> {
    let document = DOCUMENTS.iter().find(|document| document.name == "event");
    let schema = document.map(Document::schema).unwrap_or_default();
    let cases = schema.pointer(&format!("/$defs/{definition}/oneOf"));
    let cases = cases.and_then(Value::as_array).into_iter().flatten();
    let kinds = cases.filter_map(|case| {
        let kind = case.pointer("/properties/kind/const")?.as_str()?;
        Some((kind.to_owned(), text(case, "description")))
    });
    kinds.collect()
}

fn text(schema: &Value, key: &str) -> String {
    let text = schema.get(key).and_then(Value::as_str);
    text.unwrap_or_default().to_owned()
}

fn code(text: &str) -> String {
    format!("`{text}`")
}

/// Writes a row of a table: each cell on one line.
fn row(page: &mut String, cells: &[&str]) {
    let cells = cells.iter().map(|cell| {
        let words: Vec<&str> = cell.split_whitespace().collect();
        words.join(" ").replace('|', "\\|")
    });
    let cells = cells.collect::<Vec<_>>().join(" | ");
    page.push_str(&format!("| {cells} |\n"));
}
