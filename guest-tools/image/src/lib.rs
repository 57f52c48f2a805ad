//! x

/// X.
#[agent_tool::tool(effect = "read-only")]
fn x() -> &'static str {
    "x"
}

agent_tool::export!(x);
