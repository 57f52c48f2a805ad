//! Exports the table of functions: the host puts the function that calls the plugin into it.

fn main() {
    if std::env::var("CARGO_CFG_TARGET_FAMILY").is_ok_and(|family| family == "wasm") {
        println!("cargo::rustc-link-arg-cdylib=--export-table");
    }
}
