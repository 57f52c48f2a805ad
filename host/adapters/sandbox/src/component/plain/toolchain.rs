//! The functions that toolchains leave in the exports of a component, beside those of its world. A
//! model has no use for them.

use super::names::FunctionPath;

/// A function that a toolchain exports for itself.
struct Leftover {
    /// Its interface; empty for a function of the component itself.
    interface: &'static str,
    function: &'static str,
    /// The toolchain, with a version that does so where that is known.
    toolchain: &'static str,
}

/// The known leftovers. Names such as `cabi_realloc` and `_initialize` are those of core modules;
/// no function of a component can have them. Entry points of WASI are left out by their package.
const LEFTOVERS: [Leftover; 2] = [
    // Called once by component-init-transform, which stores the state after it in the component.
    Leftover {
        interface: "exports",
        function: "init",
        toolchain: "componentize-py (0.25.1)",
    },
    // The default name of the function that it calls before it stores the state.
    Leftover {
        interface: "",
        function: "wizer-initialize",
        toolchain: "wizer",
    },
];

/// Returns the toolchain that exports a function of this path for itself.
pub(super) fn exporter_of(path: &FunctionPath) -> Option<&'static str> {
    let interface = path.interface.as_deref().unwrap_or_default();
    let found = LEFTOVERS
        .iter()
        .find(|left| left.interface == interface && left.function == path.function);
    found.map(|left| left.toolchain)
}
