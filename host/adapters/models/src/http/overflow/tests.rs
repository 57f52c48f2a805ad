use super::*;
use crate::{provider::Provider, testing::playback, wire::ServerError};
use agent_host_types::model::ModelErrorKind;
use pretty_assertions::assert_eq;
use serde_json::json;

/// Bodies of servers for a request that is too long: the project or service and the year of the
/// report, the status, and the body.
fn bodies() -> Vec<(&'static str, u16, String)> {
    let openai = |message: &str, kind: &str, code: &str| {
        json!({"error": {"message": message, "type": kind, "param": "messages", "code": code}})
            .to_string()
    };
    let flat = |message: &str, kind: &str, code: u16| {
        json!({"object": "error", "message": message, "type": kind, "param": null, "code": code})
            .to_string()
    };
    let text = |message: &str| json!({ "error": message }).to_string();
    vec![
        (
            "OpenAI, 2023",
            400,
            openai(
                "This model's maximum context length is 4097 tokens. However, your messages resulted in 4294 tokens. Please reduce the length of the messages.",
                "invalid_request_error",
                "context_length_exceeded",
            ),
        ),
        (
            "OpenAI Responses, 2025",
            400,
            openai(
                "Your input exceeds the context window of this model. Please adjust your input and try again.",
                "invalid_request_error",
                "context_length_exceeded",
            ),
        ),
        ("a code alone", 400, openai("too long", "invalid_request_error", "context_length_exceeded")),
        (
            "Anthropic, 2025",
            400,
            json!({"type": "error", "error": {"type": "invalid_request_error", "message": "prompt is too long: 205668 tokens > 200000 maximum"}})
                .to_string(),
        ),
        (
            "Anthropic, 2025, with the reply",
            400,
            json!({"type": "error", "error": {"type": "invalid_request_error", "message": "input length and `max_tokens` exceed context limit: 199759 + 8192 > 200000, decrease input length or `max_tokens` and try again"}})
                .to_string(),
        ),
        (
            "Gemini, 2025",
            400,
            json!([{"error": {"code": 400, "message": "The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).", "status": "INVALID_ARGUMENT"}}])
                .to_string(),
        ),
        (
            "DeepSeek, 2025",
            400,
            openai(
                "This model's maximum context length is 65536 tokens. However, you requested 87731 tokens (87731 in the messages, 0 in the completion). Please reduce the length of the messages or completion.",
                "invalid_request_error",
                "invalid_request_error",
            ),
        ),
        (
            "Moonshot, 2026",
            400,
            json!({"error": {"message": "Invalid request: Your request exceeded model token limit: 262144 (requested: 269030)", "type": "invalid_request_error"}})
                .to_string(),
        ),
        (
            "Groq, 2025",
            400,
            openai("Please reduce the length of the messages or completion.", "invalid_request_error", "context_length_exceeded"),
        ),
        (
            "xAI, 2025",
            400,
            json!({"code": "Client specified an invalid argument", "error": "This model's maximum prompt length is 131072 but the request contains 537812 tokens."})
                .to_string(),
        ),
        (
            "Mistral, 2025",
            400,
            flat("Prompt contains 40123 tokens and 0 draft tokens, too large for model with 32768 maximum context length", "invalid_request_error", 3051),
        ),
        (
            "OpenRouter, 2026",
            400,
            json!({"error": {"message": "This endpoint's maximum context length is 131072 tokens. However, you requested about 198412 tokens (189000 of text input, 1220 of tool input, 8192 in the output).", "code": 400, "metadata": {"provider_name": null}}})
                .to_string(),
        ),
        (
            "OpenRouter with the provider's own body, 2026",
            400,
            json!({"error": {"message": "Provider returned error", "code": 400, "metadata": {"raw": "{\"object\":\"error\",\"message\":\"prompt is too long: 5 tokens > 4 maximum\"}", "provider_name": "X"}}})
                .to_string(),
        ),
        ("Bedrock, 2023", 400, json!({"message": "Input is too long for requested model."}).to_string()),
        (
            "Bedrock, 2026",
            400,
            json!({"message": "The model returned the following errors: prompt is too long: 227255 tokens > 200000 maximum"}).to_string(),
        ),
        (
            "Bedrock, older models",
            400,
            json!({"message": "400 Bad Request: Too many input tokens. Max input tokens: 8192, request input token count: 9279"}).to_string(),
        ),
        (
            "Bedrock, in characters",
            400,
            json!({"message": "Malformed input request: expected maxLength: 50000, actual: 52611, please reformat your input and try again."}).to_string(),
        ),
        (
            "DashScope, 2026",
            400,
            openai("<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 983616]", "invalid_request_error", "invalid_parameter_error"),
        ),
        (
            "NVIDIA NIM and SGLang, 2026",
            400,
            json!({"error": {"message": "Requested token count exceeds the model's maximum context length of 202752 tokens. You requested a total of 202941 tokens: 170941 tokens from the input messages and 32000 tokens for the completion.", "type": "Bad Request", "code": 400}})
                .to_string(),
        ),
        (
            "SGLang, 2025",
            400,
            flat("The input (61709 tokens) is longer than the model's context length (40960 tokens).", "BadRequestError", 400),
        ),
        (
            "SGLang, by its memory, 2025",
            400,
            flat("Input length (160062 tokens) exceeds the maximum allowed length (59862 tokens). Use a shorter input or enable --allow-auto-truncate.", "BadRequestError", 400),
        ),
        (
            "vLLM, 2025",
            400,
            flat("This model's maximum context length is 6048 tokens. However, you requested 6616 tokens (568 in the messages, 6048 in the completion).", "BadRequestError", 400),
        ),
        (
            "vLLM, with images, 2025",
            400,
            flat("The prompt (total length 25938) is too long to fit into the model (context length 4096). Make sure that `max_model_len` is no smaller than the number of text tokens plus multimodal tokens.", "BadRequestError", 400),
        ),
        (
            "vLLM, 2026",
            400,
            json!({"error": {"message": "The decoder prompt (length 36012) is longer than the maximum model length of 32768. Make sure that `max_model_len` is no smaller than the number of text tokens.", "type": "BadRequestError", "param": null, "code": 400}})
                .to_string(),
        ),
        (
            "llama.cpp, 2025",
            400,
            json!({"error": {"code": 400, "message": "the request exceeds the available context size. try increasing the context size or enable context shift", "type": "exceed_context_size_error", "n_prompt_tokens": 1407, "n_ctx": 256}})
                .to_string(),
        ),
        (
            "llama.cpp, 2026",
            400,
            json!({"error": {"code": 400, "message": "request (53192 tokens) exceeds the available context size (50176 tokens), try increasing it", "type": "exceed_context_size_error"}})
                .to_string(),
        ),
        (
            "LM Studio, 2024",
            400,
            text("<LM Studio error> Trying to keep the first 15857 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens, which is not enough. Try to load the model with a larger context length, or provide a shorter input."),
        ),
        (
            "LM Studio, 2026",
            400,
            text("The number of tokens to keep from the initial prompt is greater than the context length (n_keep: 12526 >= n_ctx: 4096). Try to load the model with a larger context length, or provide a shorter input."),
        ),
        ("LM Studio with MLX, 2026", 400, text("Context size has been exceeded.")),
        ("Ollama, 2025", 500, text("prompt too long; exceeded max context length by 4 tokens")),
        ("Ollama, 2024", 500, text("the input length exceeds the context length")),
        (
            "text-generation-inference and Together, 2024",
            422,
            json!({"error": "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 4000 `inputs` tokens and 512 `max_new_tokens`", "error_type": "validation"})
                .to_string(),
        ),
        (
            "text-generation-inference, 2024",
            422,
            json!({"error": "Input validation error: `inputs` must have less than 1024 tokens. Given: 1500", "error_type": "validation"}).to_string(),
        ),
        (
            "TensorRT-LLM, 2025",
            400,
            flat("The sum of prompt length (8000.0) and query length (0) should not exceed max_num_tokens (8192)", "BadRequestError", 400),
        ),
        (
            "Fireworks, 2025",
            400,
            json!({"error": {"object": "error", "type": "invalid_request_error", "message": "The prompt is too long: 140000, model maximum context length: 131071"}})
                .to_string(),
        ),
        (
            "Cohere, 2024",
            400,
            json!({"message": "too many tokens: total number of tokens in the prompt cannot exceed 4081 - received 5022."}).to_string(),
        ),
        (
            "Cerebras, 2025",
            400,
            json!({"message": "Please reduce the length of the messages or completion. Current length is 9001 while limit is 8192", "type": "invalid_request_error", "param": "messages", "code": "context_length_exceeded"})
                .to_string(),
        ),
        (
            "GitHub Copilot, 2025",
            400,
            openai("prompt token count of 140035 exceeds the limit of 128000", "invalid_request_error", "model_max_prompt_tokens_exceeded"),
        ),
        (
            "GitHub Models, 2025",
            413,
            openai("Request body too large for gpt-4o model. Max size: 8000 tokens.", "tokens_limit_reached", "tokens_limit_reached"),
        ),
        ("MiniMax, 2026", 400, openai("invalid params, context window exceeds limit (2013)", "bad_request_error", "2013")),
        ("Zhipu, 2025", 400, json!({"error": {"code": "1261", "message": "Prompt exceeds max length"}}).to_string()),
        (
            "Volcengine Ark, 2025",
            400,
            openai("Total tokens of image and text exceed max message tokens. Request id: 02", "BadRequest", "InvalidParameter"),
        ),
        (
            "Cloudflare Workers AI, 2025",
            400,
            json!({"errors": [{"message": "AiError: The estimated number of input and maximum output tokens (90000) exceeded this model context window limit (80000).", "code": 5021}]})
                .to_string(),
        ),
        ("LiteLLM, 2025", 400, openai("litellm.BadRequestError: refused", "ContextWindowExceededError", "400")),
        (
            "ds4, 2026",
            400,
            json!({"error": {"message": "Prompt has 32769 tokens, but the configured context size is 32768 tokens", "type": "context_exceeded"}}).to_string(),
        ),
    ]
}

#[test]
fn requests_that_are_too_long_are_recognized() {
    let server = playback::server(Provider::OpenAiCompat.wire());
    let bodies = bodies();
    assert!(bodies.len() >= 30);
    for (source, status, body) in bodies {
        let error = ServerError::from_response(status, &body);
        let kind = server.server_error(&error, None).error.kind;
        assert_eq!(kind, ModelErrorKind::ContextWindow, "{source}: {body}");
    }
}

#[test]
fn other_errors_are_not_taken_for_it() {
    for message in [
        "max_tokens is too large: 200000. This model supports at most 16384 completion tokens",
        "max_tokens: 100000 > 64000, which is the maximum allowed number of output tokens",
        "Invalid max_tokens value, the valid range of max_tokens is [1, 8192]",
        "Range of max_tokens should be [1, 8192]",
        "tools: the name is too long",
        "tools.0.custom.name: String should have at most 128 characters",
        "unknown field `context`",
        "You exceeded your current quota, please check your plan and billing details",
        "messages.1.content.0.image.source.base64.data: At least one of the image dimensions exceed max allowed size: 8000 pixels",
        "Unsupported parameter: 'context_window'",
        "",
    ] {
        assert!(
            !is_context_overflow("invalid_request_error", message),
            "{message}"
        );
    }
    let message = "too many images and documents: 102 + 0 > 100";
    assert!(is_context_overflow("", message));
}

/// LM Studio answers 200 and sends the error as an event of the stream.
#[test]
fn error_within_a_stream_is_recognized() {
    let error = json!({"message": "The number of tokens to keep from the initial prompt is greater than the context length."});
    let error = ServerError {
        status: None,
        ..ServerError::from_response(200, &error.to_string())
    };
    let server = playback::server(Provider::OpenAiCompat.wire());
    let failed = server.server_error(&error, None);
    assert_eq!(failed.error.kind, ModelErrorKind::ContextWindow);
}
