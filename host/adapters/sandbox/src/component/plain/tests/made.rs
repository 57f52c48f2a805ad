//! Components built from WIT and the text of a core module.

use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::{PackageMetadata, Resolve};

/// A memory, an allocator that never frees, and a return area at address 8.
const RUNTIME: &str = r#"
    (memory (export "memory") 1)
    (global $heap (mut i32) (i32.const 4096))
    (func $realloc (export "cabi_realloc") (param $old i32) (param $old-len i32) (param $align i32) (param $len i32) (result i32)
        (local $at i32)
        (local.set $at (i32.and
            (i32.add (global.get $heap) (i32.sub (local.get $align) (i32.const 1)))
            (i32.sub (i32.const 0) (local.get $align))))
        (global.set $heap (i32.add (local.get $at) (local.get $len)))
        (block $enough (loop $more
            (br_if $enough (i32.le_u (global.get $heap) (i32.mul (memory.size) (i32.const 65536))))
            (br_if $more (i32.ne (memory.grow (i32.const 16)) (i32.const -1)))
            unreachable))
        (local.get $at))
    (func $return (param $pointer i32) (param $len i32) (result i32)
        (i32.store (i32.const 8) (local.get $pointer))
        (i32.store (i32.const 12) (local.get $len))
        (i32.const 8))"#;

/// A core function that returns its list or string argument.
pub(super) fn echo(export: &str) -> String {
    format!(
        r#"(func (export "{export}") (param i32 i32) (result i32) (call $return (local.get 0) (local.get 1)))"#
    )
}

fn resolved(wit: &str) -> (Resolve, wit_parser::PackageId) {
    let mut resolve = Resolve::default();
    let package = resolve.push_str("made.wit", wit).unwrap();
    (resolve, package)
}

/// The component of the package's world, with these items in its core module.
pub(super) fn component(wit: &str, core: &str) -> Vec<u8> {
    let (resolve, package) = resolved(wit);
    let world = resolve.select_world(&[package], None).unwrap();
    let mut module = wat::parse_str(format!("(module {core} {RUNTIME})")).unwrap();
    embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8).unwrap();
    ComponentEncoder::default()
        .validate(true)
        .module(&module)
        .unwrap()
        .encode()
        .unwrap()
}

/// Returns a docs section for this package, as component tools write it.
pub(super) fn docs(wit: &str) -> Vec<u8> {
    let (resolve, package) = resolved(wit);
    PackageMetadata::extract(&resolve, package)
        .encode()
        .unwrap()
}

/// The component with one more custom section.
pub(super) fn with_section(mut component: Vec<u8>, name: &str, content: &[u8]) -> Vec<u8> {
    let mut section = leb128(name.len());
    section.extend_from_slice(name.as_bytes());
    section.extend_from_slice(content);
    component.push(0);
    component.extend(leb128(section.len()));
    component.extend(section);
    component
}

fn leb128(mut value: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    loop {
        let byte = u8::try_from(value & 0x7f).unwrap();
        value >>= 7;
        if value == 0 {
            bytes.push(byte);
            return bytes;
        }
        bytes.push(byte | 0x80);
    }
}
