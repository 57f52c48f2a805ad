//! The tools of the server. Those from `crash` on try the bounds of the sandbox.

use crate::server::Send;
use serde_json::{Value, json};
use std::{env, fs, io};

const MIB: usize = 1024 * 1024;

/// The state that lives as long as the server.
#[derive(Default)]
pub(crate) struct Session {
    calls: u64,
}

/// Returns the tools of the server.
pub(crate) fn list() -> Value {
    let tool = |name: &str, description: &str, arguments: &[(&str, &str)]| {
        let properties = arguments.iter();
        let properties = properties.map(|(name, kind)| ((*name).to_owned(), json!({"type": kind})));
        let required = arguments.iter().map(|(name, _)| *name);
        json!({
            "name": name,
            "description": description,
            "inputSchema": {
                "type": "object",
                "properties": serde_json::Map::from_iter(properties),
                "required": required.collect::<Vec<_>>(),
            },
        })
    };
    json!([
        tool("echo", "Returns a text.", &[("text", "string")]),
        tool("count", "Counts its calls since the server started.", &[]),
        tool("steps", "Reports its progress in three steps.", &[]),
        tool("read", "Reads a text file.", &[("path", "string")]),
        tool(
            "write",
            "Writes a text file.",
            &[("path", "string"), ("text", "string")]
        ),
        tool("variable", "Returns a variable.", &[("name", "string")]),
        tool("crash", "Panics.", &[]),
        tool("spin", "Computes without end.", &[]),
        tool("flood", "Writes messages without end.", &[]),
        tool("allocate", "Allocates memory.", &[("mib", "integer")]),
    ])
}

impl Session {
    /// Calls a tool. What goes wrong in it is a result for the model.
    pub(crate) fn call(
        &mut self,
        params: Option<&Value>,
        send: &mut Send<'_>,
    ) -> io::Result<Value> {
        self.calls += 1;
        let part = |path| params.and_then(|params| params.pointer(path));
        let name = part("/name").and_then(Value::as_str).unwrap_or_default();
        let token = part("/_meta/progressToken");
        let result = self.run(name, part("/arguments"), token, send)?;
        let (text, is_error) = match result {
            Ok(text) => (text, false),
            Err(why) => (why, true),
        };
        Ok(json!({"content": [{"type": "text", "text": text}], "isError": is_error}))
    }

    fn run(
        &self,
        name: &str,
        input: Option<&Value>,
        token: Option<&Value>,
        send: &mut Send<'_>,
    ) -> io::Result<Result<String, String>> {
        let argument = |key: &str| input.and_then(|input| input.get(key));
        let text = |key: &str| argument(key).and_then(Value::as_str).unwrap_or_default();
        Ok(match name {
            "echo" => Ok(text("text").to_owned()),
            "count" => Ok(self.calls.to_string()),
            "steps" => {
                for step in 1..=3 {
                    let params = json!({
                        "progressToken": token, "progress": step, "total": 3,
                        "message": format!("step {step}"),
                    });
                    let method = "notifications/progress";
                    send(&json!({"jsonrpc": "2.0", "method": method, "params": params}))?;
                }
                Ok("done".to_owned())
            }
            "read" => fs::read_to_string(text("path")).map_err(|error| error.to_string()),
            "write" => fs::write(text("path"), text("text"))
                .map(|()| "written".to_owned())
                .map_err(|error| error.to_string()),
            "variable" => env::var(text("name")).map_err(|error| error.to_string()),
            "crash" => crash(),
            "spin" => spin(),
            "flood" => flood(send)?,
            "allocate" => {
                let mib = argument("mib").and_then(Value::as_u64).unwrap_or_default();
                let bytes = usize::try_from(mib).unwrap_or_default() * MIB;
                Ok(format!(
                    "{} bytes",
                    std::hint::black_box(vec![1_u8; bytes]).len()
                ))
            }
            other => Err(format!("no tool `{other}`")),
        })
    }
}

#[expect(clippy::panic, reason = "the host has to survive it")]
fn crash() -> Result<String, String> {
    panic!("the tool `crash` was called")
}

fn spin() -> Result<String, String> {
    let mut number = 1_u64;
    while std::hint::black_box(number) > 0 {
        number = number.wrapping_mul(3) | 1;
    }
    Ok(number.to_string())
}

/// Writes until the host closes the connection.
fn flood(send: &mut Send<'_>) -> io::Result<Result<String, String>> {
    let message = json!({
        "jsonrpc": "2.0", "method": "notifications/message",
        "params": {"level": "info", "data": "x".repeat(1024)},
    });
    loop {
        send(&message)?;
    }
}
