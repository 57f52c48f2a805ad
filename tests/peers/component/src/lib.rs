//! Ordinary and hostile tools as a plain component. Paths, addresses and URLs go to the host
//! exactly as they are given, through raw WASI: a C library would tidy them first.

// The component cannot run outside a host, so elsewhere the crate is empty.
#![cfg(target_family = "wasm")]

mod console;
mod files;
mod network;
mod tools;

wit_bindgen::generate!({ world: "tools", path: "wit" });

struct Tools;

impl Guest for Tools {
    fn echo(text: String) -> String {
        tools::echo(&text)
    }

    fn spin() -> String {
        tools::spin()
    }

    fn allocate(mib: u32) -> String {
        tools::allocate(mib)
    }

    fn flood(mib: u32) -> String {
        tools::flood(mib)
    }

    fn print(mib: u32) -> Result<String, String> {
        console::print(mib)
    }

    fn recurse() -> String {
        tools::recurse()
    }

    fn crash() -> String {
        tools::crash()
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
        console::read_variable(&name)
    }
}

export!(Tools);
