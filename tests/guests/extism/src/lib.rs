//! Plugins with the PDK of Extism, for the host's tests.

use extism_pdk::{Error, FnResult, HttpRequest, Json, config, error, http, info, plugin_fn, var};
use serde_json::{Value, json};

#[cfg(feature = "tools")]
mod tools;

/// Counts the vowels of a text.
#[plugin_fn]
pub fn count_vowels(text: String) -> FnResult<Json<Value>> {
    let count = text.chars().filter(|c| "aeiouAEIOU".contains(*c)).count();
    Ok(Json(json!({"count": count})))
}

/// Returns the bytes of the input, reversed.
#[plugin_fn]
pub fn reverse(mut bytes: Vec<u8>) -> FnResult<Vec<u8>> {
    bytes.reverse();
    Ok(bytes)
}

/// Returns what `key` of the configuration is.
#[plugin_fn]
pub fn configured(key: String) -> FnResult<String> {
    Ok(config::get(&key)?.unwrap_or_else(|| "(none)".to_owned()))
}

/// Counts up in a variable, three times.
#[plugin_fn]
pub fn count_up(_: String) -> FnResult<String> {
    for _ in 0..3 {
        let count: i64 = var::get("count")?.unwrap_or_default();
        var::set("count", count + 1)?;
    }
    let count: Option<i64> = var::get("count")?;
    var::remove("count")?;
    let removed: Option<i64> = var::get("count")?;
    Ok(format!("{count:?} {removed:?}"))
}

/// Logs a line in three ways.
#[plugin_fn]
pub fn log(line: String) -> FnResult<String> {
    info!("info {}", line);
    error!("error {}", line);
    eprintln!("stderr {line}");
    Ok("logged".to_owned())
}

/// Gets a page, and returns its status, type and body.
#[plugin_fn]
pub fn get(url: String) -> FnResult<String> {
    let request = HttpRequest::new(url).with_header("x-plugin", "yes");
    let response = http::request::<String>(&request, None)?;
    let body = String::from_utf8_lossy(&response.body()).into_owned();
    let kind = response.header("content-type").unwrap_or("none").to_owned();
    Ok(format!("{} {kind} {body}", response.status_code()))
}

/// Fails with an error of its own.
#[plugin_fn]
pub fn fail(why: String) -> FnResult<String> {
    Err(Error::msg(format!("not today: {why}")).into())
}

/// Uses the clocks, randomness, variables and files of WASI.
#[plugin_fn]
pub fn wasi(_: String) -> FnResult<Json<Value>> {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH)?;
    let mut random = std::collections::HashMap::new();
    random.insert("key", std::time::Instant::now());
    Ok(Json(json!({
        "after_2020": now.as_secs() > 1_577_836_800,
        "hashed": random.contains_key("key"),
        "arguments": std::env::args().count(),
        "variables": std::env::vars().count(),
        "file": std::fs::read("/etc/hostname").is_ok(),
        "directory": std::fs::read_dir("/").is_ok(),
        "written": std::fs::write("file", "x").is_ok(),
    })))
}

/// Ends the process.
#[plugin_fn]
pub fn leave(_: String) -> FnResult<String> {
    std::process::exit(3)
}

/// Panics.
#[plugin_fn]
pub fn crash(_: String) -> FnResult<String> {
    panic!("it broke")
}

/// Runs until it is stopped.
#[plugin_fn]
pub fn spin(_: String) -> FnResult<String> {
    loop {
        std::hint::black_box(0);
    }
}

/// Allocates until memory is full.
#[plugin_fn]
pub fn grow(_: String) -> FnResult<String> {
    loop {
        std::mem::forget(extism_pdk::Memory::from_bytes(vec![1; 1 << 20])?);
    }
}
