use super::*;
use agent_host_types::failure::ToolErrorCode;
use pretty_assertions::assert_eq;

#[test]
fn input_reason_leaves_out_the_call() {
    for (message, expected) in [
        (
            "The arguments do not fit the tool's schema; the tool did not run. `/n`: too\nlarge",
            "`/n`: too large",
        ),
        (
            "The arguments do not match the function's types; it did not run. `/v` is not a number",
            "`/v` is not a number",
        ),
        (
            "There is no tool `\u{1b}x`.",
            "There is no tool `\\u{1b}x`.",
        ),
    ] {
        let failure = ToolFailure::new(ToolErrorCode::InvalidInput, message);
        assert_eq!(input_reason(&failure).as_str(), expected);
    }
}
