//! Descriptions of a component's imports.

use crate::terminal::escape_line;

/// Describes each import in plain words, or by its name if it is not listed here.
pub(super) fn permissions(imports: &[String]) -> Vec<String> {
    let mut lines: Vec<String> = imports.iter().map(|import| permission(import)).collect();
    lines.sort();
    lines.dedup();
    if lines.is_empty() {
        lines.push("nothing: it only computes".to_owned());
    }
    lines
}

fn permission(import: &str) -> String {
    let interface = import.split('@').next().unwrap_or(import);
    let (package, _) = interface.split_once('/').unwrap_or((interface, ""));
    let words = match package {
        "wasi:filesystem" => "files and directories (wasi:filesystem)",
        "wasi:http" => "HTTP requests (wasi:http)",
        "wasi:sockets" => "sockets (wasi:sockets): always refused",
        "wasi:clocks" => "the time (wasi:clocks)",
        "wasi:random" => "random numbers (wasi:random)",
        "wasi:cli" => {
            "its own standard streams, arguments and variables (wasi:cli); empty unless granted"
        }
        "wasi:io" => "streams (wasi:io)",
        "agent:tool" => match interface {
            "agent:tool/progress" => "reporting progress (agent:tool/progress)",
            "agent:tool/state" => "the session's shared state (agent:tool/state)",
            "agent:tool/human" => "asking you questions (agent:tool/human)",
            "agent:tool/context" => "context from the caller (agent:tool/context)",
            "agent:tool/control" => "ending the whole run (agent:tool/control)",
            "agent:tool/tools" => "other tools (agent:tool/tools); only from programs of code mode",
            "agent:tool/artifacts" => {
                "the session's artifacts (agent:tool/artifacts); refused unless granted"
            }
            _ => "the types of the contract (agent:tool/types)",
        },
        _ => return escape_line(import),
    };
    words.to_owned()
}
