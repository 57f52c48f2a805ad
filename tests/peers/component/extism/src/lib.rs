//! The tools of the directory above as a plugin of hyper-mcp, made with the PDK of Extism.

#![cfg(target_family = "wasm")]

mod files;
#[path = "../../src/tools.rs"]
mod tools;

use extism_pdk::{FnResult, HttpRequest, Json, config, http, plugin_fn};
use serde::Deserialize;
use serde_json::{Map, Value, from_value, json};
use std::io::Write;
use tools::MIB;

/// A name, a description, and the parameters with their types in JSON Schema.
type Tool = (
    &'static str,
    &'static str,
    &'static [(&'static str, &'static str)],
);

/// The suite writes another text of at most the same length in the place of the first description.
const TOOLS: [Tool; 12] = [
    (
        "echo",
        "Returns `peers-version-1`, a colon and the text, as it was given to this tool.",
        &[("text", "string")],
    ),
    ("spin", "Computes without end", &[]),
    ("allocate", "Takes this much memory", &[("mib", "integer")]),
    (
        "flood",
        "Returns a text of this size",
        &[("mib", "integer")],
    ),
    ("print", "Writes to standard output", &[("mib", "integer")]),
    ("recurse", "Calls itself until it is stopped", &[]),
    ("crash", "Ends its own process", &[]),
    ("read-file", "Reads a file", &[("path", "string")]),
    (
        "write-file",
        "Writes a file",
        &[("path", "string"), ("text", "string")],
    ),
    (
        "connect",
        "Connects to `IP:PORT` over TCP",
        &[("address", "string")],
    ),
    (
        "http-get",
        "Sends a GET request",
        &[("url", "string"), ("authorization", "string")],
    ),
    (
        "read-variable",
        "Returns the value of a variable",
        &[("name", "string")],
    ),
];

#[derive(Deserialize)]
struct Call {
    request: Request,
}

#[derive(Deserialize)]
struct Request {
    name: String,
    #[serde(default)]
    arguments: Map<String, Value>,
}

#[plugin_fn]
pub fn list_tools() -> FnResult<Json<Value>> {
    let tools = TOOLS.map(|(name, description, parameters)| {
        let properties = parameters
            .iter()
            .map(|(key, kind)| ((*key).to_owned(), json!({"type": kind})));
        let required: Vec<_> = parameters.iter().map(|(key, _)| *key).collect();
        let schema = json!({
            "type": "object", "properties": properties.collect::<Map<_, _>>(), "required": required,
        });
        json!({"name": name, "description": description, "inputSchema": schema})
    });
    Ok(Json(json!({"tools": tools})))
}

#[plugin_fn]
pub fn call_tool(Json(call): Json<Call>) -> FnResult<Json<Value>> {
    let (text, is_error) = match answer(&call.request) {
        Ok(text) => (text, false),
        Err(reason) => (reason, true),
    };
    let content = json!([{"type": "text", "text": text}]);
    Ok(Json(json!({"content": content, "isError": is_error})))
}

fn answer(request: &Request) -> Result<String, String> {
    let text = |key| argument::<String>(request, key);
    let mib = || argument::<u32>(request, "mib");
    Ok(match request.name.as_str() {
        "echo" => tools::echo(&text("text")?),
        "spin" => tools::spin(),
        "allocate" => tools::allocate(mib()?),
        "flood" => tools::flood(mib()?),
        "print" => print(mib()?)?,
        "recurse" => tools::recurse(),
        "crash" => tools::crash(),
        "read-file" => files::read(&text("path")?)?,
        "write-file" => files::write(&text("path")?, &text("text")?)?,
        "connect" => return Err("Extism has no sockets".to_owned()),
        "http-get" => http_get(&text("url")?, &text("authorization")?)?,
        "read-variable" => read_variable(&text("name")?)?,
        other => return Err(format!("no tool `{other}`")),
    })
}

fn argument<T: for<'de> Deserialize<'de>>(request: &Request, key: &str) -> Result<T, String> {
    let value = request.arguments.get(key).cloned().unwrap_or_default();
    from_value(value).map_err(|error| format!("{key}: {error}"))
}

fn print(mib: u32) -> Result<String, String> {
    let line = format!("{}\n", "x".repeat(4095));
    let mut output = std::io::stdout().lock();
    let mut written = 0;
    while written < mib as usize * MIB {
        output
            .write_all(line.as_bytes())
            .map_err(|error| error.to_string())?;
        written += line.len();
    }
    Ok(format!("{written} bytes"))
}

fn http_get(url: &str, authorization: &str) -> Result<String, String> {
    let mut request = HttpRequest::new(url);
    if !authorization.is_empty() {
        request = request.with_header("authorization", authorization);
    }
    let response = http::request::<()>(&request, None).map_err(|error| error.to_string())?;
    Ok(String::from_utf8_lossy(&response.body()).into_owned())
}

/// Returns a variable of the environment, or the key of the plugin's configuration, as which
/// hyper-mcp passes granted variables.
fn read_variable(name: &str) -> Result<String, String> {
    if let Ok(value) = std::env::var(name) {
        return Ok(value);
    }
    let configured = config::get(name).map_err(|error| error.to_string())?;
    configured.ok_or_else(|| "no such variable".to_owned())
}
