use super::*;
use pretty_assertions::assert_eq;

/// The words of servers: project or service, and year of the report.
#[test]
fn refused_fields_have_a_setting() {
    for (source, message, expected) in [
        (
            "new-api, 2024",
            "Unknown parameter: 'stream_options'.",
            Some("stream_options = false"),
        ),
        (
            "Azure AI Foundry, 2025",
            "Extra parameters ['stream_options'] are not allowed when extra-parameters is not set or set to be 'error'.",
            Some("stream_options = false"),
        ),
        (
            "Mistral, 2025",
            r#"{"detail":[{"type":"extra_forbidden","loc":["body","stream_options","include_usage"],"msg":"Extra inputs are not permitted"}]}"#,
            Some("stream_options = false"),
        ),
        (
            "OpenAI, 2024",
            "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
            Some("max_completion_tokens = true"),
        ),
        (
            "a strict server",
            r#"[{"type":"extra_forbidden","loc":["body","max_completion_tokens"]}]"#,
            Some("max_completion_tokens = false"),
        ),
        (
            "OpenAI, 2025",
            "Unsupported parameter: 'parallel_tool_calls' is not supported with this model.",
            Some("parallel_tool_calls = false"),
        ),
        (
            "a local server",
            "This model only supports single tool-calls at once! Parallel tool calls are not supported.",
            Some("parallel_tool_calls = false"),
        ),
        (
            "DeepSeek, 2025",
            "Thinking mode does not support this tool_choice",
            Some("tool_choice = false"),
        ),
        (
            "Mistral, 2026",
            "Tool call id was turn1_0 but must be a-z, A-Z, 0-9, with a length of 9.",
            Some("nine_character_ids = true"),
        ),
        (
            "Mistral, 2025",
            "Unexpected role 'user' after role 'tool'",
            Some("user_after_tool = false"),
        ),
        (
            "a gateway",
            "Invalid schema: unknown field `strict` in tools.0.function",
            Some("strict = false"),
        ),
        (
            "a local server",
            "Unexpected message role: developer",
            Some("developer = false"),
        ),
        ("restricted", "This key is restricted to other models", None),
        ("another field", "Unknown parameter: 'seed'", None),
        ("empty", "", None),
    ] {
        let expected = expected.map(|setting| {
            format!("If the server does not accept it, set `send = {{ {setting} }}` for its provider in agent.toml.")
        });
        assert_eq!(hint(message), expected, "{source}");
    }
}
