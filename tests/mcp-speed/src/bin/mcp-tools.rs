//! Makes the tools that `speed.py` calls: `mcp-tools DIR` writes ten components, each with one tool
//! that does nothing, and `endless`, which computes until it is stopped. `noop` is read-only and
//! `change` is effectful; `idle_1` to `idle_8` are only loaded.

use agent_host_test_guests::{Body, Definition, Guest};
use std::{error::Error, path::Path};

/// The input of every tool; `mcp-echo` has the same.
const SCHEMA: &str =
    r#"{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}"#;

/// The tools, with their effects as [`Definition`] has them.
const TOOLS: [(&str, u8); 10] = [
    ("noop", 0),
    ("change", 2),
    ("idle_1", 0),
    ("idle_2", 0),
    ("idle_3", 0),
    ("idle_4", 0),
    ("idle_5", 0),
    ("idle_6", 0),
    ("idle_7", 0),
    ("idle_8", 0),
];

fn main() -> Result<(), Box<dyn Error>> {
    let directory = std::env::args_os().nth(1).ok_or("name a directory")?;
    let write = |name: &str, effect, guest: Guest| {
        let definition = Definition {
            name: name.to_owned(),
            description: "Does nothing.".to_owned(),
            input_schema: SCHEMA.to_owned(),
            effect,
            ..Definition::default()
        };
        let guest = Guest {
            definitions: vec![definition],
            ..guest
        };
        let file = Path::new(&directory).join(format!("{name}.wasm"));
        std::fs::write(file, guest.bytes())
    };
    for (name, effect) in TOOLS {
        write(name, effect, Guest::returning(Body::Text(0, b"ok")))?;
    }
    write(
        "endless",
        0,
        Guest::running("(loop $l (br $l)) unreachable"),
    )?;
    Ok(())
}
