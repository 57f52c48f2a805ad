//! Built-in components: prebuilt and part of the binary, so that neither building nor running
//! agent-host needs a WebAssembly toolchain. `guest-tools/README.md` says how they are built.

/// A built-in component.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Builtin {
    /// Its name after `builtin:`.
    pub name: &'static str,
    /// The bytes of the component.
    pub bytes: &'static [u8],
}

/// The built-in components. All but `code` are the tools of a configuration that names none.
pub const BUILTINS: [Builtin; 4] = [
    Builtin {
        name: "files",
        bytes: include_bytes!("../builtins/files.wasm"),
    },
    Builtin {
        name: "fetch",
        bytes: include_bytes!("../builtins/fetch.wasm"),
    },
    Builtin {
        name: "image",
        bytes: include_bytes!("../builtins/image.wasm"),
    },
    Builtin {
        name: "code",
        bytes: include_bytes!("../builtins/code.wasm"),
    },
];

/// Returns the built-in component of this name.
#[must_use]
pub fn builtin(name: &str) -> Option<Builtin> {
    BUILTINS.into_iter().find(|builtin| builtin.name == name)
}
