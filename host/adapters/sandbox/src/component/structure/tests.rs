use super::*;
use pretty_assertions::assert_eq;

/// A component with one module.
fn module(fields: &str) -> Vec<u8> {
    wat::parse_str(format!("(component (core module {fields}))")).unwrap()
}

/// A function whose body nests blocks.
fn nested(kind: &str, depth: u64) -> Vec<u8> {
    let depth = usize::try_from(depth).unwrap();
    module(&format!(
        "(func {} {})",
        kind.repeat(depth),
        "end ".repeat(depth)
    ))
}

/// One item, many times.
fn many(item: &str, count: u64) -> String {
    item.repeat(usize::try_from(count).unwrap())
}

/// Numbered items.
fn numbered(count: u64, item: impl Fn(u64) -> String) -> String {
    (0..count).map(item).collect()
}

fn components(depth: u64) -> Vec<u8> {
    wat::parse_str(format!(
        "{}{}",
        many("(component ", depth),
        many(")", depth)
    ))
    .unwrap()
}

/// An item, its cap, and a function that makes a component with a number of them.
type Case = (&'static str, u64, fn(u64) -> Vec<u8>);

const CASES: [Case; 11] = [
    ("functions", FUNCTIONS.1, |count| {
        module(&many("(func)", count))
    }),
    ("modules", MODULES.1, |count| {
        let inner = many("(core module)", count - 1);
        wat::parse_str(format!("(component {inner})")).unwrap()
    }),
    ("components inside each other", NESTING.1, components),
    ("exports", EXPORTS.1, |count| {
        let exports = numbered(count, |i| format!("(export \"{i}\" (func 0))"));
        module(&format!("(func) {exports}"))
    }),
    ("imports", IMPORTS.1, |count| {
        module(&many("(import \"\" \"\" (func))", count))
    }),
    ("entries in its sections", ENTRIES.1, |count| {
        module(&many("(global i32 i32.const 0)", count))
    }),
    ("bytes in one function", FUNCTION_BYTES.1, |bytes| {
        // The number of locals, the instructions, and the end.
        module(&format!("(func {})", many("nop ", bytes - 2)))
    }),
    ("local variables in one function", LOCALS.1, |count| {
        module(&format!("(func (local {}))", many("i32 ", count)))
    }),
    ("loops in one function", LOOPS.1, |count| {
        module(&format!("(func {})", many("(loop)", count)))
    }),
    ("blocks in one function", BLOCKS.1, |count| {
        module(&format!("(func (param i32) {})", many("(block)", count)))
    }),
    ("blocks inside each other", DEPTH.1, |depth| {
        nested("block ", depth)
    }),
];

#[test]
fn each_cap_is_accepted_and_one_more_is_refused() {
    assert_eq!(CASES.map(|(item, max, _)| (item, max)), STRUCTURE_CAPS);
    for (item, max, make) in CASES {
        assert!(check(&make(max)).is_ok(), "{max} {item}");
        let error = check(&make(max + 1)).unwrap_err();
        let LoadError::TooComplex {
            item: found,
            max: cap,
        } = error
        else {
            panic!("more than {max} {item}: {error}");
        };
        assert_eq!((found, cap), (item, max));
    }
}

#[test]
fn builtin_components_are_within_the_caps() {
    // Python's figures are beside the constants.
    for name in ["fetch", "files", "image"] {
        let path = format!(
            "{}/../../../guest-tools/dist/{name}.wasm",
            env!("CARGO_MANIFEST_DIR")
        );
        assert!(check(&std::fs::read(path).unwrap()).is_ok(), "{name}");
    }
}

#[test]
fn modules_and_malformed_bytes_are_told_apart() {
    let whole = module("(func)");
    let core = wat::parse_str("(module)").unwrap();
    assert!(matches!(check(&core), Err(LoadError::CoreModule)));
    assert!(check(&wat::parse_str("(component)").unwrap()).is_ok());
    let truncated = &whole[..whole.len() - 1];
    for bytes in [b"\0asm".as_slice(), truncated] {
        assert!(matches!(check(bytes), Err(LoadError::NotAComponent(_))));
    }
    // A body that ends in the middle of an instruction.
    let mut torn = whole.clone();
    let end = torn.iter().rposition(|byte| *byte == 0x0b).unwrap();
    torn[end] = 0x41;
    assert!(matches!(check(&torn), Err(LoadError::NotAComponent(_))));
}
