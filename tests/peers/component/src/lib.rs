//! Ordinary and hostile tools as a plain component. Paths, addresses and URLs go to the host
//! exactly as they are given, through raw WASI: a C library would tidy them first.

// The component cannot run outside a host, so elsewhere the crate is empty.
#![cfg(target_family = "wasm")]

mod files;
mod network;

use std::hint::black_box;
use wasip2::cli::{environment, stdout};

wit_bindgen::generate!({ world: "tools", path: "wit" });

/// The version in each answer of `echo`. The suite replaces it in the bytes of the component, so
/// that it has a second version of the same tool.
const VERSION: &str = "peers-version-1";

const MIB: usize = 1024 * 1024;

/// The most bytes of one blocking write to a stream (wasi:io).
const MAX_STREAM_WRITE: usize = 4096;

struct Tools;

impl Guest for Tools {
    fn echo(text: String) -> String {
        format!("{}:{text}", black_box(VERSION))
    }

    fn spin() -> String {
        loop {
            black_box(());
        }
    }

    fn allocate(mib: u32) -> String {
        let block = vec![1_u8; mib as usize * MIB];
        format!("{} bytes", black_box(&block).len())
    }

    fn flood(mib: u32) -> String {
        "x".repeat(mib as usize * MIB)
    }

    fn print(mib: u32) -> Result<String, String> {
        let stream = stdout::get_stdout();
        let chunk = format!("{}\n", "x".repeat(MAX_STREAM_WRITE - 1));
        let mut written = 0;
        while written < mib as usize * MIB {
            stream
                .blocking_write_and_flush(chunk.as_bytes())
                .map_err(|error| format!("{error:?} after {written} bytes"))?;
            written += chunk.len();
        }
        Ok(format!("{written} bytes"))
    }

    fn recurse() -> String {
        depth(0).to_string()
    }

    fn crash() -> String {
        std::process::abort()
    }

    fn read_file(path: String) -> Result<String, String> {
        files::read(&path)
    }

    fn write_file(path: String, text: String) -> Result<String, String> {
        files::write(&path, &text)
    }

    fn connect(address: String) -> Result<String, String> {
        network::connect(&address)
    }

    fn http_get(url: String, authorization: String) -> Result<String, String> {
        network::get(&url, &authorization)
    }

    fn read_variable(name: String) -> Result<String, String> {
        environment::get_environment()
            .into_iter()
            .find(|(key, _)| *key == name)
            .map(|(_, value)| value)
            .ok_or_else(|| "no such variable".to_owned())
    }
}

/// Recurses until the host stops it.
fn depth(at: u64) -> u64 {
    let frame = black_box([at; 64]);
    if black_box(false) {
        return at;
    }
    depth(at + 1).wrapping_add(frame.iter().sum::<u64>())
}

export!(Tools);
