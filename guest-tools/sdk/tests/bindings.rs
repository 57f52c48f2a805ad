//! The bindings in `src/bindings/generated.rs` and `generated_hook.rs` are those of the contract in
//! `wit/`. They are in the repository and not made by a macro, because the macro's crates take longer
//! to compile than all else that a tool needs.
//!
//! `UPDATE_BINDINGS=1 cargo test --test bindings` writes them anew.

#![expect(
    clippy::unwrap_used,
    reason = "a test that finds something else than it expects is to end there"
)]

use pretty_assertions::assert_eq;
use std::{fs, path::Path};
use wit_bindgen_core::{Files, WorldGenerator as _, wit_parser::Resolve};
use wit_bindgen_rust::{Opts, WithOption};

/// All that a tool may use. An import that it does not call is not in its component.
const WORLD: &str = "
    package agent:sdk;
    world sdk {
        include agent:tool/filter-component@0.1.0;
        import agent:tool/progress@0.1.0;
        import agent:tool/partial@0.1.0;
        import agent:tool/state@0.1.0;
        import agent:tool/human@0.1.0;
        import agent:tool/context@0.1.0;
        import agent:tool/control@0.1.0;
        import agent:tool/artifacts@0.1.0;
        import agent:tool/tools@0.1.0;
    }
";

/// The world of a hook. Its functions have the imports and the types of the tool's bindings.
const HOOK_WORLD: &str = "
    package agent:sdk;
    world sdk-hook {
        include agent:tool/hook-component@0.1.0;
    }
";

/// The module with the types of the contract.
const TYPES: &str = "crate::bindings::generated::agent::tool::types";

#[test]
fn bindings_match_the_contract() {
    assert_current("generated", "sdk", WORLD, Vec::new());
    let types = WithOption::Path(TYPES.to_owned());
    let with = vec![("agent:tool/types@0.1.0".to_owned(), types)];
    assert_current("generated_hook", "sdk-hook", HOOK_WORLD, with);
}

/// Checks the bindings in a module against those of a world, which `text` declares; `with` has the
/// interfaces whose bindings are elsewhere.
fn assert_current(module: &str, world: &str, text: &str, with: Vec<(String, WithOption)>) {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR"));
    let file = directory.join(format!("src/bindings/{module}.rs"));
    let options = Opts {
        format: true,
        generate_all: true,
        pub_export_macro: true,
        default_bindings_module: Some(format!("agent_tool::__private::{module}")),
        with,
        ..Opts::default()
    };
    let made = generate(&directory.join("../../wit"), world, text, options);
    if std::env::var_os("UPDATE_BINDINGS").is_some() {
        fs::write(&file, &made).unwrap();
    }
    assert_eq!(fs::read_to_string(&file).unwrap(), made);
}

fn generate(contract: &Path, world: &str, text: &str, options: Opts) -> String {
    let mut resolve = Resolve::default();
    resolve.push_path(contract).unwrap();
    let package = resolve.push_str("sdk.wit", text).unwrap();
    let world = resolve.select_world(&[package], Some(world)).unwrap();
    let mut files = Files::default();
    options
        .build()
        .generate(&mut resolve, world, &mut files)
        .unwrap();
    let (_, code) = files.iter().next().unwrap();
    String::from_utf8(code.to_vec()).unwrap()
}
