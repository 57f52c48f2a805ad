//! The tool with which the model reads skills. Its description names them; their texts come when
//! they are asked for, so that skills cost little until one is used.

use super::{SKILL_FILE, Skill};
use agent_host_engine::{
    BoxFuture,
    artifact::{file_result, offset, text_page},
    tool::{Invocation, ProgressSink, RunEnd, ToolHandler},
    tool_set::ToolEntry,
};
use agent_host_types::{
    output::ToolResultOutput,
    tool::{Effect, ToolDefinition},
};
use serde_json::{Map, Value, json};
use std::{fmt::Write as _, future::ready, sync::Arc};

/// The name of the tool.
pub const READ_SKILL: &str = "read_skill";

/// The length of the list of skills in the tool's description, in bytes: about 4,000 tokens.
const LIST_BYTES: usize = 16 * 1024;

struct SkillReader {
    skills: Vec<Arc<Skill>>,
}

/// The tool that reads these skills; none if there are none.
#[must_use]
pub(crate) fn skill_reader(skills: &[Arc<Skill>]) -> Option<ToolEntry> {
    if skills.is_empty() {
        return None;
    }
    let own = SkillReader {
        skills: skills.to_vec(),
    };
    let tool = ToolEntry::own(reader(skills), Arc::new(own)).ok()?;
    Some(tool.with_summary("Read the skill {skill}[, {path}]  {result|bytes}"))
}

impl ToolHandler for SkillReader {
    fn run<'a>(&'a self, invocation: Invocation, _: ProgressSink<'a>) -> BoxFuture<'a, RunEnd> {
        Box::pin(ready(self.read(&invocation.input).into()))
    }
}

impl SkillReader {
    fn read(&self, input: &Map<String, Value>) -> ToolResultOutput {
        let text = |key: &str| input.get(key).and_then(Value::as_str);
        let name = text("skill").unwrap_or_default();
        let Some(skill) = self.skills.iter().find(|skill| skill.name == name) else {
            let names: Vec<&str> = self
                .skills
                .iter()
                .map(|skill| skill.name.as_str())
                .collect();
            return ToolResultOutput::ErrorText(format!(
                "Unknown skill. The skills are: {}.",
                names.join(", ")
            ));
        };
        let offset = offset(input.get("offset"));
        let Some(path) = text("path") else {
            return text_page(&instructions(skill), offset);
        };
        match skill.files.get(path) {
            Some(bytes) => file_result(path, bytes, offset),
            None => ToolResultOutput::ErrorText(format!(
                "The skill has no such file. Its files are: {}.",
                listed(skill).join(", ")
            )),
        }
    }
}

/// Returns the text of a skill with the list of its other files.
fn instructions(skill: &Skill) -> String {
    let files = listed(skill);
    let mut text = skill.text().into_owned();
    if !files.is_empty() {
        let _ = write!(
            text,
            "\n\n[Files of this skill, which `{READ_SKILL}` returns by `path`: {}]",
            files.join(", ")
        );
    }
    text
}

/// Returns the files besides the instructions, each with its size.
fn listed(skill: &Skill) -> Vec<String> {
    let others = skill.files.iter().filter(|(path, _)| *path != SKILL_FILE);
    others
        .map(|(path, bytes)| format!("{path} ({} bytes)", bytes.len()))
        .collect()
}

/// Returns the tool that reads these skills.
fn reader(skills: &[Arc<Skill>]) -> ToolDefinition {
    let mut list = String::new();
    for (index, skill) in skills.iter().enumerate() {
        let line = format!(
            "\n- {}: {}",
            skill.name,
            skill.description.replace('\n', " ")
        );
        if list.len() + line.len() > LIST_BYTES {
            let names: Vec<&str> = skills
                .iter()
                .skip(index)
                .map(|skill| skill.name.as_str())
                .collect();
            let _ = write!(
                list,
                "\n- and without their descriptions: {}",
                names.join(", ")
            );
            break;
        }
        list.push_str(&line);
    }
    ToolDefinition {
        name: READ_SKILL.to_owned(),
        title: Some("Read a skill".to_owned()),
        description: format!(
            "Returns the instructions of a skill, or one of its files. A skill describes how to do a kind of task: \
             read it before you start such a task. The skills:{list}"
        ),
        input_schema: json!({
            "type": "object",
            "properties": {
                "skill": { "type": "string", "description": "The name of the skill." },
                "path": {
                    "type": "string",
                    "description": "A file of the skill, as named in its instructions. Without it, the instructions \
                        are returned.",
                },
                "offset": {
                    "type": "integer",
                    "minimum": 0,
                    "description": "Where to continue reading a long text, in bytes.",
                },
            },
            "required": ["skill"],
            "additionalProperties": false,
        }),
        output_schema: None,
        effect: Effect::ReadOnly,
    }
}
