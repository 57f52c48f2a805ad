//! Selects the usable definitions of a list: one tool that cannot be used, or a part of it, does
//! not disable the others.

use super::{
    Definitions, MAX_ALL_PATTERNS, MAX_ALL_SCHEMAS_BYTES, MAX_TOOLS, RawDefinition, Schemas,
    check_texts, cut_description, parse_json,
};
use crate::{
    call_summary::{KEYWORD, Template},
    schema::{InputSchema, OutputSchema, SchemaError},
    text,
};
use agent_host_types::{
    reason::Reason,
    tool::{SummaryTemplate, ToolDefinition},
};
use serde_json::Value;
use std::{
    collections::{HashMap, HashSet},
    fmt,
};

/// The maximum of notes in an error.
const SHOWN_NOTES: usize = 5;

/// The maximum of removed patterns in a note.
const SHOWN_PATTERNS: usize = 3;

const INPUT: &str = "input schema";
const OUTPUT: &str = "output schema";

/// A tool that is left out, or offered without a part of its definition, and the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolNote {
    /// The tool's name, escaped and cut to 80 bytes.
    pub tool: String,
    /// The part that is left out and the reason, as a clause.
    pub note: String,
}

impl fmt::Display for ToolNote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "tool `{}`: {}", self.tool, self.note)
    }
}

impl ToolNote {
    /// Returns the note on a tool that is left out for this reason.
    #[must_use]
    pub fn left_out(name: &str, why: &dyn fmt::Display) -> Self {
        Self::new(name, format!("{why}; the tool is left out"))
    }

    fn new(name: &str, note: String) -> Self {
        Self {
            tool: text::sanitize(name, 80),
            note,
        }
    }
}

/// The side that checks the arguments of calls against the input schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputChecks {
    /// This host alone, and the results, too: a tool is left out if any part of its schemas cannot
    /// be used.
    Host,
    /// The source itself, so that a check here is only an earlier answer: patterns of input schemas
    /// that cannot be run here and output schemas that cannot be used are left out, not the tool.
    Source,
}

impl Definitions {
    /// Selects the usable definitions of a source. Those that are left out, or a part of which is,
    /// have a note.
    ///
    /// # Errors
    /// There are none, too many, or none is usable.
    pub fn select(
        raw: Vec<RawDefinition>,
        checks: InputChecks,
    ) -> Result<(Self, Vec<ToolNote>), Reason> {
        if raw.is_empty() {
            return Err("it defines no tools".into());
        }
        if raw.len() > MAX_TOOLS {
            let count = raw.len();
            let why = format!("it defines {count} tools, and the maximum is {MAX_TOOLS}");
            return Err(why.into());
        }
        let mut selection = Selection::new(checks);
        let mut all = Vec::with_capacity(raw.len());
        let mut schemas = HashMap::with_capacity(raw.len());
        for raw in raw {
            let name = raw.name.clone();
            match selection.take(raw) {
                Ok((definition, own)) => {
                    schemas.insert(name, own);
                    all.push(definition);
                }
                Err(why) => selection.notes.push(ToolNote::left_out(&name, &why)),
            }
        }
        if all.is_empty() {
            let notes = selection.notes.iter().take(SHOWN_NOTES);
            let notes: Vec<String> = notes.map(ToString::to_string).collect();
            let why = format!("none of its tools can be used: {}", notes.join("; "));
            return Err(why.into());
        }
        Ok((Self { all, schemas }, selection.notes))
    }
}

impl RawDefinition {
    /// Checks the definition alone, as [`Definitions::select`] does those of a component.
    ///
    /// # Errors
    /// The first part that cannot be used.
    pub fn check(self) -> Result<(), Reason> {
        Selection::new(InputChecks::Host).take(self).map(drop)
    }
}

/// The bounds that the tools of a list share.
struct Selection {
    checks: InputChecks,
    bytes_left: usize,
    patterns_left: usize,
    /// The names of the selected tools, in lower case.
    names: HashSet<String>,
    notes: Vec<ToolNote>,
}

impl Selection {
    fn new(checks: InputChecks) -> Self {
        Self {
            checks,
            bytes_left: MAX_ALL_SCHEMAS_BYTES,
            patterns_left: MAX_ALL_PATTERNS,
            names: HashSet::new(),
            notes: Vec::new(),
        }
    }

    fn take(&mut self, mut raw: RawDefinition) -> Result<(ToolDefinition, Schemas), Reason> {
        let cut = cut_description(&mut raw.description);
        check_texts(&raw)?;
        let lower = raw.name.to_ascii_lowercase();
        if self.names.contains(&lower) {
            let reason = "another tool has this name, or one that differs only in case";
            return Err(reason.into());
        }
        let before = (self.bytes_left, self.patterns_left);
        let mut input_schema = parse_json(INPUT, &raw.input_schema)?;
        let summary = take_summary(&mut input_schema);
        let (input_schema, input, removed) = self.take_input(&raw.input_schema, input_schema)?;
        let output = raw.output_schema.map(|json| self.take_output(&json));
        let output = match (self.checks, output.transpose()) {
            (_, Ok(output)) => output,
            (InputChecks::Host, Err(why)) => {
                (self.bytes_left, self.patterns_left) = before;
                return Err(why);
            }
            (InputChecks::Source, Err(why)) => {
                let note = format!(
                    "{why}; the tool is offered without it, so its results are not checked"
                );
                self.notes.push(ToolNote::new(&raw.name, note));
                None
            }
        };
        self.names.insert(lower);
        self.notes
            .extend(cut.map(|note| ToolNote::new(&raw.name, note)));
        self.note_patterns(&raw.name, &removed);
        // What a server says later is not pinned, and no user has accepted it.
        let summary = match self.checks {
            InputChecks::Host => summary,
            InputChecks::Source => Ok(None),
        };
        let summary = summary.unwrap_or_else(|why| {
            let note = format!(
                "the template `{KEYWORD}` cannot be used, so that its calls are told in the usual words: {why}"
            );
            self.notes.push(ToolNote::new(&raw.name, note));
            None
        });
        let (output_schema, output) = output.unzip();
        let definition = ToolDefinition {
            name: raw.name,
            title: raw.title,
            description: raw.description,
            input_schema,
            output_schema,
            effect: raw.effect,
        };
        Ok((
            definition,
            Schemas {
                input: input.into(),
                output,
                summary,
            },
        ))
    }

    /// Returns a schema, which was parsed from `json`, with its patterns that are left out.
    fn take_input(
        &mut self,
        json: &str,
        schema: Value,
    ) -> Result<(Value, InputSchema, Vec<String>), Reason> {
        let bytes_left = self.spend(INPUT, json)?;
        let (schema, compiled) = match self.checks {
            InputChecks::Host => {
                let compiled = InputSchema::compile(&schema).map(|input| (input, Vec::new()));
                (schema, compiled)
            }
            InputChecks::Source => {
                let schema = typed(schema);
                let compiled = InputSchema::compile_relaxed(&schema, self.patterns_left);
                (schema, compiled)
            }
        };
        let (input, removed) = compiled.map_err(|error| schema_error(INPUT, &error))?;
        self.patterns_left = self.patterns_after(INPUT, input.patterns())?;
        self.bytes_left = bytes_left;
        Ok((schema, input, removed))
    }

    fn take_output(&mut self, json: &str) -> Result<(Value, OutputSchema), Reason> {
        let schema = parse_json(OUTPUT, json)?;
        let bytes_left = self.spend(OUTPUT, json)?;
        let compiled =
            OutputSchema::compile(&schema).map_err(|error| schema_error(OUTPUT, &error))?;
        self.patterns_left = self.patterns_after(OUTPUT, compiled.patterns())?;
        self.bytes_left = bytes_left;
        Ok((schema, compiled))
    }

    /// Returns the bytes that are left after this schema.
    fn spend(&self, field: &'static str, json: &str) -> Result<usize, Reason> {
        let left = self.bytes_left.checked_sub(json.len());
        left.ok_or_else(|| {
            Reason::from(format!(
                "with the {field}, the schemas of all tools would have more than {MAX_ALL_SCHEMAS_BYTES} bytes together"
            ))
        })
    }

    /// Returns the patterns that are left after these.
    fn patterns_after(&self, field: &str, count: usize) -> Result<usize, Reason> {
        let left = self.patterns_left.checked_sub(count);
        left.ok_or_else(|| schema_error(field, &SchemaError::TooManyPatterns))
    }

    fn note_patterns(&mut self, tool: &str, removed: &[String]) {
        if removed.is_empty() {
            return;
        }
        let shown = removed.iter().take(SHOWN_PATTERNS);
        let shown: Vec<String> = shown
            .map(|pattern| format!("`{}`", text::sanitize(pattern, 80)))
            .collect();
        let more = match removed.len() - shown.len() {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let note = format!(
            "the input schema is checked without patterns that this host does not support (look-around, \
             back-references, too large or too many): {}{more}",
            shown.join(", ")
        );
        self.notes.push(ToolNote::new(tool, note));
    }
}

/// Takes the template of the calls in words out of an input schema: models do not read it.
fn take_summary(schema: &mut Value) -> Result<Option<SummaryTemplate>, Reason> {
    let Some(keyword) = schema.as_object_mut().and_then(|root| root.remove(KEYWORD)) else {
        return Ok(None);
    };
    let text = keyword.as_str().ok_or("it is not a string")?;
    Template::parse(text)?;
    Ok(Some(SummaryTemplate::of_author(text.to_owned())))
}

fn schema_error(field: &str, error: &SchemaError) -> Reason {
    let error = text::sanitize(&error.to_string(), 300);
    format!("the {field}: {error}").into()
}

/// Adds the type of all arguments, which several servers omit.
fn typed(mut schema: Value) -> Value {
    if let Value::Object(fields) = &mut schema
        && !fields.contains_key("type")
    {
        fields.insert("type".to_owned(), "object".into());
    }
    schema
}
