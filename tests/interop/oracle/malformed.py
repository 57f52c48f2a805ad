"""For `check.py --self-test`: a good request of each wire, with tools and results in it, and what spoils it.

A row of SPOILED is a wire, a place in its good request, and the value that is wrong there; `None` takes the field away. The places
are those at which adapters have been wrong before, and each kind of looseness of the types is among them: lazy sequences, fields
that are unknown, conversions, other spellings.
"""

SCHEMA = {"type": "object", "properties": {"path": {"type": "string", "minLength": 1}}, "required": ["path"], "additionalProperties": False}
PNG = "iVBORw0KGgo="

GOOD = {
    "anthropic": {
        "model": "m",
        "max_tokens": 64,
        "stream": True,
        "system": [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}],
        "tools": [{"name": "read", "description": "Reads.", "input_schema": SCHEMA}],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "Look."}]},
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"},
                    {"type": "tool_use", "id": "c1", "name": "read", "input": {"path": "a"}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {
                        "type": "tool_result",
                        "tool_use_id": "c1",
                        "is_error": False,
                        "content": [
                            {"type": "text", "text": "seen"},
                            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}},
                        ],
                    }
                ],
            },
        ],
    },
    "openai_responses": {
        "model": "m",
        "stream": True,
        "store": False,
        "include": ["reasoning.encrypted_content"],
        "instructions": "Be brief.",
        "tools": [{"type": "function", "name": "read", "description": "Reads.", "parameters": SCHEMA, "strict": False}],
        "input": [
            {"role": "user", "content": [{"type": "input_text", "text": "Look."}]},
            {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "c2VjcmV0"},
            {"type": "function_call", "call_id": "c1", "name": "read", "arguments": "{\"path\":\"a\"}"},
            {
                "type": "function_call_output",
                "call_id": "c1",
                "output": [
                    {"type": "input_text", "text": "seen"},
                    {"type": "input_image", "detail": "auto", "image_url": f"data:image/png;base64,{PNG}"},
                ],
            },
        ],
    },
    "openai_chat": {
        "model": "m",
        "stream": True,
        "stream_options": {"include_usage": True},
        "tools": [{"type": "function", "function": {"name": "read", "description": "Reads.", "parameters": SCHEMA}}],
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Look."},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "read", "arguments": "{\"path\":\"a\"}"}}],
            },
            {"role": "tool", "tool_call_id": "c1", "content": "seen"},
            {"role": "user", "content": [{"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}}]},
        ],
    },
    "gemini": {
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "generationConfig": {"maxOutputTokens": 64},
        "toolConfig": {"functionCallingConfig": {"mode": "AUTO"}},
        "tools": [{"functionDeclarations": [{"name": "read", "description": "Reads.", "parametersJsonSchema": SCHEMA}]}],
        "contents": [
            {"role": "user", "parts": [{"text": "Look."}]},
            {"role": "model", "parts": [{"functionCall": {"id": "c1", "name": "read", "args": {"path": "a"}}, "thoughtSignature": "c2ln"}]},
            {
                "role": "user",
                "parts": [
                    {
                        "functionResponse": {
                            "id": "c1",
                            "name": "read",
                            "response": {"output": "seen"},
                            "parts": [{"inlineData": {"mimeType": "image/png", "data": PNG}}],
                        }
                    }
                ],
            },
        ],
    },
    "ollama": {
        "model": "m",
        "stream": True,
        "tools": [{"type": "function", "function": {"name": "read", "description": "Reads.", "parameters": SCHEMA}}],
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Look."},
            {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "read", "arguments": {"path": "a"}}}]},
            {"role": "tool", "tool_name": "read", "content": "seen"},
            {"role": "user", "content": "", "images": [PNG]},
        ],
    },
}

SPOILED = [
    ("anthropic", "max_tokens", None),
    ("anthropic", "max_tokens", "64"),
    ("anthropic", "stream", False),
    ("anthropic", "temprature", 0.5),
    ("anthropic", "messages.0.role", "system-ish"),
    ("anthropic", "messages.0.content.0.text", None),
    ("anthropic", "messages.1.content.0.signature", None),
    ("anthropic", "messages.1.content.1.input", "{\"path\":\"a\"}"),
    ("anthropic", "messages.2.content.0.tool_use_id", None),
    ("anthropic", "messages.2.content.0.content.1.source.media_type", "image/bmp"),
    ("anthropic", "messages.2.content.0.content.1.source.data", 7),
    ("anthropic", "tools.0.input_schema", None),
    ("anthropic", "tools.0.parameters", SCHEMA),
    ("openai_responses", "stream", None),
    ("openai_responses", "messages", []),
    ("openai_responses", "include.0", "everything"),
    ("openai_responses", "input.1.summary", None),
    ("openai_responses", "input.2.call_id", None),
    ("openai_responses", "input.2.arguments", {"path": "a"}),
    ("openai_responses", "input.3.output", {"seen": True}),
    ("openai_responses", "input.3.output.1.image_url", {"url": f"data:image/png;base64,{PNG}"}),
    ("openai_responses", "input.3.is_error", True),
    ("openai_responses", "tools.0.function", {"name": "read"}),
    ("openai_chat", "model", None),
    ("openai_chat", "stream", "true"),
    ("openai_chat", "stream_options.usage", True),
    ("openai_chat", "messages.2.tool_calls.0.id", None),
    ("openai_chat", "messages.2.tool_calls.0.function.arguments", {"path": "a"}),
    ("openai_chat", "messages.3.tool_call_id", None),
    ("openai_chat", "messages.3.content", [{"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}]),
    ("openai_chat", "messages.4.content.0.image_url", f"data:image/png;base64,{PNG}"),
    ("openai_chat", "tools.0.function.name", None),
    ("gemini", "contents", None),
    ("gemini", "contents", "Look."),
    ("gemini", "system_instruction", {"parts": [{"text": "Be brief."}]}),
    ("gemini", "generationConfig.max_output_tokens", 64),
    ("gemini", "toolConfig.functionCallingConfig.mode", "auto"),
    ("gemini", "contents.1.parts.0.function_call", {"name": "read"}),
    ("gemini", "contents.1.parts.0.functionCall.arguments", {}),
    ("gemini", "contents.1.parts.0.thoughtSignature", "not base64!"),
    ("gemini", "contents.2.parts.0.functionResponse.response", "seen"),
    ("gemini", "contents.2.parts.0.functionResponse.parts.0.inlineData.mimeType", 7),
    ("gemini", "tools.0.functionDeclarations.0.input_schema", SCHEMA),
    ("ollama", "messages", None),
    ("ollama", "messages.1.role", None),
    ("ollama", "messages.2.tool_calls.0.function.arguments", "{\"path\":\"a\"}"),
    ("ollama", "messages.3.content", [{"type": "text", "text": "seen"}]),
    ("ollama", "messages.3.tool_call_id", "c1"),
    ("ollama", "messages.4.images.0", f"data:image/png;base64,{PNG}"),
    ("ollama", "tools.0.function.name", 7),
    ("ollama", "stream", "yes"),
]
