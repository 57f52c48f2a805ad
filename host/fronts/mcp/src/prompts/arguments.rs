//! The argument of a prompt: the text that stands for `$ARGUMENTS` in the instructions of a skill,
//! or a word of it for `$ARGUMENTS[N]`, counted from 0
//! (<https://code.claude.com/docs/en/skills#available-string-substitutions>).

use rmcp::{
    ErrorData,
    model::{JsonObject, PromptArgument},
};
use serde_json::Value;

/// The placeholder in the instructions.
const PLACEHOLDER: &str = "$ARGUMENTS";

const NAME: &str = "arguments";

/// The maximum length of the argument, and of the instructions with it, in bytes. A placeholder may
/// occur many times.
const MAX_ARGUMENT_BYTES: usize = 32 * 1024;
const MAX_TEXT_BYTES: usize = 1024 * 1024;

/// Returns the arguments of a prompt with these instructions: one, if they have a placeholder.
pub(super) fn declared(instructions: &str) -> Option<Vec<PromptArgument>> {
    let argument = || {
        PromptArgument::new(NAME)
            .with_description("The text for `$ARGUMENTS` in the instructions of this skill.")
            .with_required(false)
    };
    instructions.contains(PLACEHOLDER).then(|| vec![argument()])
}

/// Puts the argument in the place of the placeholders; without one they stand for nothing.
///
/// # Errors
/// Returns `-32602` for an argument that the prompt does not have, that is not a text, or that is
/// too long.
pub(super) fn substituted(
    instructions: &str,
    arguments: Option<&JsonObject>,
) -> Result<String, ErrorData> {
    let argument = argument(instructions, arguments)?;
    let words = words(argument);
    let mut out = String::with_capacity(instructions.len());
    let mut rest = instructions;
    while let Some((before, after)) = rest.split_once(PLACEHOLDER) {
        out.push_str(before);
        rest = match word_index(after) {
            None => {
                out.push_str(argument);
                after
            }
            Some((index, length)) => {
                let (index_text, after) = after.split_at(length);
                match words.get(index) {
                    Some(word) => out.push_str(word),
                    // The model sees which word is missing.
                    None => out.extend([PLACEHOLDER, index_text]),
                }
                after
            }
        };
        if out.len() > MAX_TEXT_BYTES {
            return Err(invalid(format!(
                "the instructions including `{NAME}` have more than {MAX_TEXT_BYTES} bytes; send shorter text"
            )));
        }
    }
    out.push_str(rest);
    Ok(out)
}

fn argument<'a>(
    instructions: &str,
    arguments: Option<&'a JsonObject>,
) -> Result<&'a str, ErrorData> {
    let is_declared = instructions.contains(PLACEHOLDER);
    let mut argument = "";
    for (name, value) in arguments.into_iter().flatten() {
        if !is_declared || name != NAME {
            let name: String = name.chars().take(80).flat_map(char::escape_debug).collect();
            return Err(invalid(format!(
                "the prompt has no argument `{name}`; `prompts/list` lists its arguments"
            )));
        }
        argument = match value {
            Value::String(text) if text.len() <= MAX_ARGUMENT_BYTES => text,
            Value::String(_) => {
                return Err(invalid(format!(
                    "`{NAME}` has more than {MAX_ARGUMENT_BYTES} bytes; send shorter text"
                )));
            }
            _ => return Err(invalid(format!("`{NAME}` is not a string; send one"))),
        };
    }
    Ok(argument)
}

fn invalid(why: String) -> ErrorData {
    ErrorData::invalid_params(why, None)
}

/// Returns the number in the brackets that a text begins with, and their length in bytes.
fn word_index(text: &str) -> Option<(usize, usize)> {
    let (digits, _) = text.strip_prefix('[')?.split_once(']')?;
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let index = is_number.then(|| digits.parse().ok()).flatten()?;
    Some((index, digits.len() + "[]".len()))
}

/// Splits a text at white space, except between quotes, which are taken away.
fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for character in text.chars() {
        match character {
            '"' | '\'' if quote == Some(character) => quote = None,
            '"' | '\'' if quote.is_none() => {
                quote = Some(character);
                word.get_or_insert_default();
            }
            c if c.is_whitespace() && quote.is_none() => words.extend(word.take()),
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}
