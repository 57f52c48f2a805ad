//! The tools that the conformance suite of the Model Context Protocol expects of a server under
//! test. The suite defines their names and behaviour; `tests/interop/mcp_conformance/` lists what it
//! expects and no tool of this host can do.

mod asks;
mod results;
mod runs;
mod schemas;

agent_tool::export!(
    results::test_simple_text,
    results::test_image_content,
    results::test_audio_content,
    results::test_embedded_resource,
    results::test_multiple_content_types,
    results::test_error_handling,
    runs::test_tool_with_logging,
    runs::test_logging_tool,
    runs::test_tool_with_progress,
    runs::test_reconnection,
    asks::test_elicitation,
    asks::test_streaming_elicitation,
    asks::test_input_required_result_elicitation,
    asks::test_input_required_result_request_state,
    asks::test_input_required_result_multi_round,
    asks::test_input_required_result_tampered_state,
    schemas::json_schema_2020_12_tool,
    schemas::test_custom_header,
);
