//! Makes small tool components from WebAssembly text, for tests and benchmarks: a guest is the body
//! of its `call`, or a core module in a file, and this crate adds the parts that it lacks.

#![expect(
    clippy::unwrap_used,
    reason = "a guest that cannot be made is a mistake in the test that asks for it"
)]

mod contract;
pub mod hook;
pub mod http;
mod image;
pub mod imports;

pub use imports::{
    ASK, ASK_FORM, BEHIND, BLOCK, CONTEXT_GET, CWD, DIRECTORIES, ENVIRONMENT, EXIT, FIELDS, HALT,
    Import, MAKE_DIR, NEW_OWN, PARTIAL_BYTES, PARTIAL_TEXT, POLL, PROGRESS, RANDOM, STATE_GET,
    STATE_MERGE, STDOUT, TIMER, WRITE,
};

use contract::{TYPES, exports};
use image::{IMAGE, Image};

/// The function `realloc` of a module whose global `$next` is the end of what is in use.
const REALLOC: &str = r#"(func (export "realloc") (param i32 i32 i32 i32) (result i32)
        (local $at i32)
        (local.set $at (i32.and (i32.add (global.get $next) (i32.const 7)) (i32.const -8)))
        (global.set $next (i32.add (local.get $at) (local.get 3)))
        (block $fits
            (br_if $fits (i32.le_u (global.get $next) (i32.mul (memory.size) (i32.const 65536))))
            (br_if $fits (i32.ne (i32.const -1) (memory.grow
                (i32.add (i32.const 1) (i32.shr_u (local.get 3) (i32.const 16))))))
            unreachable)
        (local.get $at))"#;

/// A page of WebAssembly memory, in bytes.
const PAGE_BYTES: usize = 65_536;

/// The definition of a tool.
#[derive(Clone)]
pub struct Definition {
    /// The name that the model calls.
    pub name: String,
    /// The name for users.
    pub title: Option<String>,
    /// The text for the model.
    pub description: String,
    /// The schema of its input, as JSON text.
    pub input_schema: String,
    /// The schema of its result, as JSON text.
    pub output_schema: Option<String>,
    /// 0 read-only, 1 idempotent, 2 effectful.
    pub effect: u8,
}

impl Default for Definition {
    fn default() -> Self {
        Self {
            name: "echo".to_owned(),
            title: None,
            description: "Returns its arguments.".to_owned(),
            input_schema: r#"{"type":"object"}"#.to_owned(),
            output_schema: None,
            effect: 0,
        }
    }
}

/// A guest's result, or the code that makes it.
pub enum Body<'a> {
    /// A variant with a string: 0 text, 1 json, 3 error-text, 4 error-json.
    Text(u32, &'a [u8]),
    /// `execution-denied`.
    Denied(Option<&'a str>),
    /// `content` with one text part and one file part with these bytes.
    Content(&'a str, &'a str, &'a [u8]),
    /// `content` with one file part of this type, at this address.
    Link(&'a str, &'a str),
    /// Code that leaves the address of the result.
    Code(&'a str),
}

/// Code that returns the arguments as JSON.
pub const ECHO: &str = "(i32.store (i32.const 16) (i32.const 1))
    (i32.store (i32.const 20) (local.get $input))
    (i32.store (i32.const 24) (local.get $input-len))
    (i32.const 16)";

/// Code that asks `Which?`, with [`ASK`] among its imports, and returns the text of the answer,
/// empty if the answer has none.
pub const ASKS: &str = "(i64.store (i32.const 512) (i64.const 0x3f6863696857))
    (call $ask (i32.const 512) (i32.const 6) (i32.const 0) (i32.const 0) (i32.const 1) (i32.const 0) (i32.const 32))
    (i32.store (i32.const 16) (i32.const 0))
    (i32.store (i32.const 20) (i32.load (i32.const 36)))
    (i32.store (i32.const 24) (i32.load (i32.const 40)))
    (i32.const 16)";

/// Code of a filter that passes its call to the tool behind, with [`BEHIND`] among its imports.
pub const PASS: &str = "(call $behind
        (local.get $id) (local.get $id-len) (local.get $name) (local.get $name-len)
        (local.get $input) (local.get $input-len) (local.get $key) (local.get $key-len) (i32.const 16))
    (i32.const 16)";

/// A guest under construction.
pub struct Guest<'a> {
    /// The body of `call`, unless `core` exports one.
    pub body: Body<'a>,
    /// The result of `definitions`, unless `core` exports one.
    pub definitions: Vec<Definition>,
    /// Code that leaves the address of the list of definitions; absent for the list above.
    pub definitions_code: Option<&'a str>,
    /// The host functions that its code calls as `$NAME`, besides those that `core` imports itself.
    pub imports: &'a [Import],
    /// Further items of the guest's core module. It may import host functions as `(import "host"
    /// "NAME" ..)`, and export a `call`, `definitions`, `memory`, `realloc` or `post-return` that
    /// replaces the default.
    pub core: &'a str,
    /// Further items of the component, before all others.
    pub component: &'a str,
    /// The name under which the tool is exported.
    pub export: &'a str,
    /// The pages of its memory at the start.
    pub pages: u32,
}

impl Default for Guest<'_> {
    fn default() -> Self {
        Self {
            body: Body::Code(ECHO),
            definitions: vec![Definition::default()],
            definitions_code: None,
            imports: &[],
            core: "",
            component: "",
            export: "agent:tool/tool@0.1.0",
            pages: 4,
        }
    }
}

impl<'a> Guest<'a> {
    /// A guest whose `call` runs this code.
    pub fn running(code: &'a str) -> Self {
        Self {
            body: Body::Code(code),
            ..Self::default()
        }
    }

    /// A guest from a file: its core module's items, most often a `call`. Its tool is called
    /// `hostile`.
    pub fn from_text(core: &'a str) -> Self {
        Self {
            core,
            definitions: vec![Definition {
                name: "hostile".to_owned(),
                ..Definition::default()
            }],
            ..Self::default()
        }
    }

    /// A guest that returns this output.
    pub fn returning(body: Body<'a>) -> Self {
        Self {
            body,
            ..Self::default()
        }
    }

    /// The component.
    ///
    /// # Panics
    /// When the text is not WebAssembly.
    pub fn bytes(&self) -> Vec<u8> {
        wat::parse_str(self.text()).unwrap()
    }

    fn text(&self) -> String {
        let mut image = Image::default();
        let listed = image.definitions(&self.definitions);
        let definitions = match self.definitions_code {
            Some(code) => code.to_owned(),
            None => format!("(i32.const {listed})"),
        };
        let call = self.call(&mut image);
        let data: String = image
            .bytes()
            .iter()
            .map(|byte| format!("\\{byte:02x}"))
            .collect();
        let heap = (IMAGE as usize + image.bytes().len()).next_multiple_of(16);
        let pages = (self.pages as usize).max(heap.div_ceil(PAGE_BYTES));
        let base = format!(
            r#"(core module $base-module
    (memory (export "memory") {pages})
    (global $next (mut i32) (i32.const {heap}))
    (data (i32.const {IMAGE}) "{data}")
    {REALLOC})"#
        );
        self.assemble(&base, &definitions, &call)
    }

    /// The code of `call`.
    fn call(&self, image: &mut Image) -> String {
        let address = match self.body {
            Body::Code(code) => return code.to_owned(),
            Body::Text(variant, text) => {
                let [address, length] = image.string(text);
                image.words(&[variant, address, length, 0])
            }
            Body::Denied(reason) => {
                let [some, address, length] = image.optional(reason);
                image.words(&[5, some, address, length])
            }
            Body::Content(text, media_type, bytes) => {
                let [text, text_len] = image.string(text.as_bytes());
                let [media, media_len] = image.string(media_type.as_bytes());
                let [data, data_len] = image.string(bytes);
                let parts = [
                    // A text part, filled up to the size of a file part.
                    [0, text, text_len, 0, 0, 0, 0, 0, 0],
                    [1, media, media_len, 0, data, data_len, 0, 0, 0],
                ];
                let list = image.words(parts.as_flattened());
                image.words(&[2, list, 2, 0])
            }
            Body::Link(media_type, url) => {
                let [media, media_len] = image.string(media_type.as_bytes());
                let [url, url_len] = image.string(url.as_bytes());
                let list = image.words(&[1, media, media_len, 1, url, url_len, 0, 0, 0]);
                image.words(&[2, list, 1, 0])
            }
        };
        format!("(i32.const {address})")
    }

    /// Whether the guest's own text has this export.
    fn exports(&self, name: &str) -> bool {
        self.core.contains(&format!(r#"(export "{name}")"#))
    }

    /// Whether the guest's own text imports this host function.
    fn states(&self, import: &Import) -> bool {
        self.core
            .contains(&format!(r#"(import "host" "{}""#, import.name))
    }

    /// The guest's core module, with the standard functions that it lacks.
    fn main_module(&self, definitions: &str, call: &str) -> String {
        let memory = if self.exports("memory") {
            ""
        } else {
            r#"(import "base" "memory" (memory 1))"#
        };
        let imports: Vec<String> = self
            .imports
            .iter()
            .map(
                |Import {
                     name, signature, ..
                 }| {
                    format!(r#"(import "host" "{name}" (func ${name} {signature}))"#)
                },
            )
            .collect();
        let imports = imports.join("\n    ");
        let core = self.core;
        let definitions = if self.exports("definitions") {
            String::new()
        } else {
            format!(r#"(func (export "definitions") (result i32) {definitions})"#)
        };
        let call = if self.exports("call") {
            String::new()
        } else {
            format!(
                r#"(func (export "call")
        (param $id i32) (param $id-len i32) (param $name i32) (param $name-len i32)
        (param $input i32) (param $input-len i32) (param $key i32) (param $key-len i32)
        (result i32)
    {call})"#
            )
        };
        format!(
            r#"(core module $main-module
    (type $call (func (param i32 i32 i32 i32 i32 i32 i32 i32) (result i32)))
    {memory}
    {imports}
    {core}
    {definitions}
    {call})"#
        )
    }

    /// The options with which `call` and `definitions` are lifted: the memory and the allocator of
    /// the module that has them.
    fn lifts(&self) -> [String; 2] {
        let owner = |name| if self.exports(name) { "$main" } else { "$base" };
        let memory = |owner| format!(r#"(memory (core memory {owner} "memory"))"#);
        let post_return = if self.exports("post-return") {
            r#" (post-return (core func $main "post-return"))"#
        } else {
            ""
        };
        let call = format!(
            r#"{} (realloc (core func {} "realloc")){post_return}"#,
            memory(owner("memory")),
            owner("realloc")
        );
        // The default list is in the default memory.
        let definitions = if self.exports("definitions") {
            memory(owner("memory"))
        } else {
            memory("$base")
        };
        [call, definitions]
    }

    fn assemble(&self, base: &str, definitions: &str, call: &str) -> String {
        let mut imports = self.imports.to_vec();
        imports.extend(
            imports::ALL
                .into_iter()
                .filter(|import| self.states(import)),
        );
        let mut interfaces: Vec<&str> = Vec::new();
        for interface in imports.iter().flat_map(|import| import.interfaces) {
            if !interfaces.contains(interface) {
                interfaces.push(interface);
            }
        }
        let interfaces = interfaces.join("\n    ");
        let lowered: Vec<String> = imports.iter().map(lowered).collect();
        let lowered = lowered.join("\n    ");
        let host: Vec<String> = imports
            .iter()
            .map(|Import { name, .. }| format!(r#"(export "{name}" (func ${name}))"#))
            .collect();
        let host = host.join("\n    ");
        let main = self.main_module(definitions, call);
        let [lift_call, lift_definitions] = self.lifts();
        let (component, export, exports) = (self.component, self.export, exports());
        format!(
            r#"(component
    {component}
    {TYPES}
    {interfaces}
    {base}
    (core instance $base (instantiate $base-module))
    {lowered}
    {main}
    (core instance $main (instantiate $main-module
        (with "base" (instance $base))
        (with "host" (instance {host}))))
    (func $definitions (result (list $tool-definition))
        (canon lift (core func $main "definitions") {lift_definitions}))
    (func $call (param "call" $tool-call) (result $tool-result-output)
        (canon lift (core func $main "call") {lift_call}))
    {exports}
    (instance $tool (instantiate $exports
        (with "agent:tool/types@0.1.0" (instance $types))
        (with "run-definitions" (func $definitions))
        (with "run-call" (func $call))))
    (export "{export}" (instance $tool)))"#
        )
    }
}

/// A host function as the guest's core module gets it.
fn lowered(import: &Import) -> String {
    let Import { name, function, .. } = import;
    if function.starts_with("resource.") {
        return format!("(core func ${name} (canon {function}))");
    }
    format!(
        r#"(core func ${name} (canon lower (func {function}) (memory (core memory $base "memory")) (realloc (core func $base "realloc"))))"#
    )
}
