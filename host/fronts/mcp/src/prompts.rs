//! Prompts: the skills of the configuration, which the user of a client chooses by name.

mod arguments;
#[cfg(test)]
mod tests;

use crate::resources::of_skill;
use agent_host_app::{SKILL_FILE, Skill};
use rmcp::{
    ErrorData,
    model::{
        ContentBlock, GetPromptResult, JsonObject, ListPromptsResult, Prompt, PromptMessage,
        ResourceContents, Role,
    },
};
use std::sync::Arc;

/// The size of all files in a prompt, in bytes: about 60,000 tokens. Further ones are only named.
const FILES_BYTES: usize = 256 * 1024;

/// Returns all skills on one page: there are at most 64.
pub(crate) fn list(skills: &[Arc<Skill>]) -> ListPromptsResult {
    let prompt = |skill: &Arc<Skill>| {
        let description = Some(skill.description.clone());
        let arguments = arguments::declared(&skill.instructions);
        Prompt::new(skill.name.clone(), description, arguments)
    };
    ListPromptsResult::with_all_items(skills.iter().map(prompt).collect())
}

/// Returns the instructions of a skill, with the client's argument in them, and its other files: a
/// client has no other way to them.
///
/// # Errors
/// Returns `-32602` if there is no such skill, or it does not take these arguments.
pub(crate) fn get(
    skills: &[Arc<Skill>],
    name: &str,
    arguments: Option<&JsonObject>,
) -> Result<GetPromptResult, ErrorData> {
    let skill = skills.iter().find(|skill| skill.name == name);
    let why = "unknown prompt; `prompts/list` lists the prompts";
    let skill = skill.ok_or_else(|| ErrorData::invalid_params(why, None))?;
    let mut files = Vec::new();
    let mut omitted = Vec::new();
    let mut left = FILES_BYTES;
    for (path, bytes) in skill.files.iter().filter(|(path, _)| *path != SKILL_FILE) {
        let text = std::str::from_utf8(bytes).ok();
        match text.filter(|text| text.len() <= left) {
            Some(text) => {
                left -= text.len();
                let contents = ResourceContents::text(text, of_skill(name, path));
                files.push(PromptMessage::new(
                    Role::User,
                    ContentBlock::resource(contents),
                ));
            }
            None => omitted.push(format!("{path} ({} bytes)", bytes.len())),
        }
    }
    let mut text = arguments::substituted(&skill.text(), arguments)?;
    if !omitted.is_empty() {
        text = format!("{text}\n\n[Not here: {}]", omitted.join(", "));
    }
    let mut messages = vec![PromptMessage::new_text(Role::User, text)];
    messages.extend(files);
    Ok(GetPromptResult::new(messages).with_description(skill.description.clone()))
}
