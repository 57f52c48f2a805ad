//! Recognizes the errors of servers for a request that is longer than the model's window.

#[cfg(test)]
mod tests;

/// The codes and types of such errors, in lower case.
const TAGS: [&str; 8] = [
    "context_exceeded",
    "context_length_exceeded",
    "context_window_exceeded",
    "contextwindowexceedederror",
    "exceed_context_size_error",
    "model_context_window_exceeded",
    "request_too_large",
    "tokens_limit_reached",
];

/// The words of such errors, in lower case: all of a row occur. Servers share no code for them, and
/// the cases of the tests name the servers. The last three are Anthropic's for more images than a
/// request may have, or larger ones than many may be
/// (<https://platform.claude.com/docs/en/build-with-claude/vision#request-limits>).
const WORDS: [&[&str]; 31] = [
    &["maximum context length"],
    &["maximum prompt length"],
    &["maximum model length"],
    &["context window", "exceed"],
    &["context size", "exceed"],
    &["context limit", "exceed"],
    &["context length", "exceed"],
    &["context length", "longer than"],
    &["context length", "greater than"],
    &["context length", "too long"],
    &["context length", "not enough"],
    &["context_length_exceeded"],
    &["configured context size"],
    &["model token limit", "exceed"],
    &["session length", "exceed"],
    &["prompt is too long"],
    &["prompt too long"],
    &["prompt exceeds max length"],
    &["prompt length", "exceed"],
    &["input is too long"],
    &["input length", "exceed"],
    &["input token", "exceed"],
    &["too many input tokens"],
    &["token count", "exceeds"],
    &["tokens in the prompt", "exceed"],
    &["exceed max message tokens"],
    &["reduce the length of the"],
    &["range of input length"],
    &["too many images"],
    &["too much media"],
    &["for many-image requests"],
];

/// Words that occur together with numbers only.
const COUNTED: [&[&str]; 3] = [
    &["`inputs` tokens + `max_new_tokens` must be"],
    &["`inputs` must have less than"],
    &["expected maxlength"],
];

/// True if an error says that the request is too long for the model: by its code and type, or in
/// words.
pub(super) fn is_context_overflow(tags: &str, message: &str) -> bool {
    let (tags, message) = (tags.to_ascii_lowercase(), message.to_ascii_lowercase());
    let says = |words: &&[&str]| words.iter().all(|word| message.contains(word));
    tags.split_whitespace().any(|tag| TAGS.contains(&tag))
        || WORDS.iter().any(says)
        || COUNTED.iter().any(says)
}
