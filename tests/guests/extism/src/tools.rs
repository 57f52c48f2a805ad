//! The tools of hyper-mcp: what `list_tools` and `call_tool` exchange is JSON of MCP.

use extism_pdk::{Error, FnResult, Json, host_fn, plugin_fn};
use serde_json::{Value, json};

#[host_fn("extism:host/user")]
unsafe extern "ExtismHost" {
    fn create_elicitation(form: Json<Value>) -> Json<Value>;
    fn create_message(request: Json<Value>) -> Json<Value>;
    fn list_roots() -> Json<Value>;
    fn notify_progress(progress: Json<Value>);
}

/// A picture of one pixel.
const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/// Lists the tools.
#[plugin_fn]
pub fn list_tools(Json(request): Json<Value>) -> FnResult<Json<Value>> {
    if !request["context"]["_meta"].is_object() {
        return Err(Error::msg("no context").into());
    }
    let names =
        json!({"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]});
    let any = json!({"type": "object"});
    Ok(Json(json!({"tools": [
        {"name": "greet", "title": "Greet", "description": "Greets someone", "inputSchema": names,
         "annotations": {"readOnlyHint": true}},
        {"name": "sum", "description": "Adds numbers", "inputSchema": {"type": "object",
         "properties": {"numbers": {"type": "array", "items": {"type": "number"}}}, "required": ["numbers"]},
         "outputSchema": {"type": "object", "properties": {"sum": {"type": "number"}}, "required": ["sum"]},
         "annotations": {"idempotentHint": true}},
        {"name": "picture", "description": "Returns a picture", "inputSchema": any},
        {"name": "refuse", "description": "Fails", "inputSchema": any},
        {"name": "ask", "description": "Asks the user", "inputSchema": any},
        {"name": "sample", "description": "Asks a model", "inputSchema": any},
        {"name": "request", "description": "Returns its request", "inputSchema": any},
    ]})))
}

/// Calls a tool.
#[plugin_fn]
pub fn call_tool(Json(call): Json<Value>) -> FnResult<Json<Value>> {
    let request = &call["request"];
    let arguments = &request["arguments"];
    let texts = |texts: &[&str]| {
        let blocks = texts
            .iter()
            .map(|text| json!({"type": "text", "text": text}));
        json!({"content": blocks.collect::<Vec<_>>()})
    };
    let mut result = match request["name"].as_str().unwrap_or_default() {
        "greet" => texts(&[&format!(
            "Hello, {}!",
            arguments["name"].as_str().unwrap_or_default()
        )]),
        "sum" => {
            let numbers = arguments["numbers"].as_array().into_iter().flatten();
            let sum: f64 = numbers.filter_map(Value::as_f64).sum();
            let value = json!({"sum": sum});
            json!({"content": [{"type": "text", "text": value.to_string()}], "structuredContent": value})
        }
        "picture" => json!({"content": [
            {"type": "text", "text": "A pixel:"},
            {"type": "image", "data": PNG, "mimeType": "image/png"},
            {"type": "resource", "resource": {"uri": "file:///notes/a.csv", "mimeType": "text/csv", "text": "a,b\n"}},
            {"type": "resource_link", "uri": "https://example.com/x", "name": "x"},
        ]}),
        "refuse" => texts(&["no", "not now"]),
        "ask" => {
            let answer = unsafe { create_elicitation(Json(json!({"message": "?"})))? };
            let roots = unsafe { list_roots()? };
            unsafe { notify_progress(Json(json!({"progress": 1})))? };
            texts(&[&answer.0.to_string(), &roots.0.to_string()])
        }
        "sample" => unsafe { create_message(Json(json!({})))?.0 },
        "request" => json!({"content": [], "structuredContent": call}),
        other => return Err(Error::msg(format!("no tool {other}")).into()),
    };
    if request["name"] == "refuse" {
        result["isError"] = json!(true);
    }
    Ok(Json(result))
}

/// Lists prompts, which are not offered.
#[plugin_fn]
pub fn list_prompts(_: String) -> FnResult<Json<Value>> {
    Ok(Json(json!({"prompts": []})))
}
