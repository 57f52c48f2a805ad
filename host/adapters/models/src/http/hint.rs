//! Finds the setting that leaves out of requests what a server refuses.

#[cfg(test)]
mod tests;

/// Words of errors, in lower case, and the setting to write. The first whose words all occur counts.
const HINTS: [(&[&str], &str); 10] = [
    // OpenAI and Azure about models that reason.
    (
        &["'max_tokens'", "use 'max_completion_tokens'"],
        "max_completion_tokens = true",
    ),
    (&["max_completion_tokens"], "max_completion_tokens = false"),
    (&["stream_options"], "stream_options = false"),
    (&["parallel_tool_calls"], "parallel_tool_calls = false"),
    (&["parallel tool calls"], "parallel_tool_calls = false"),
    (&["tool_choice"], "tool_choice = false"),
    // Mistral, and servers of its models.
    (
        &["tool call id", "length of 9"],
        "nine_character_ids = true",
    ),
    (
        &["role 'user' after role 'tool'"],
        "user_after_tool = false",
    ),
    (
        &["role 'system' after role 'tool'"],
        "user_after_tool = false",
    ),
    (&["developer", "role"], "developer = false"),
];

/// Returns the setting that may help, as a sentence; none for an error about something else.
pub(super) fn hint(message: &str) -> Option<String> {
    let message = message.to_ascii_lowercase();
    let known = HINTS
        .iter()
        .find(|(words, _)| words.iter().all(|word| message.contains(word)));
    let setting = match known {
        Some((_, setting)) => setting,
        None if has_word(&message, "strict") => "strict = false",
        None => return None,
    };
    Some(format!(
        "If the server does not accept it, set `send = {{ {setting} }}` for its provider in agent.toml."
    ))
}

/// Whether text has a word as a whole, not as a part of another one.
fn has_word(text: &str, word: &str) -> bool {
    let is_letter = |c: char| c.is_alphanumeric() || c == '_';
    text.split(|c| !is_letter(c)).any(|part| part == word)
}
