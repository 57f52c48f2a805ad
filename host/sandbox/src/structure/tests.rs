use super::*;
use pretty_assertions::assert_eq;

#[test]
fn parts_are_counted_wherever_they_are() {
    let nested = |count: usize| {
        wat::parse_str(format!(
            "(component {} (core module (func)) {})",
            "(component ".repeat(count),
            ")".repeat(count)
        ))
        .unwrap()
    };
    let cases = [
        (nested(0), Ok(())),
        (nested(90), Ok(())),
        (
            wat::parse_str("(module)").unwrap(),
            Err(StructureFault::CoreModule),
        ),
        (
            wat::parse_str(format!("(component {})", "(component)".repeat(256))).unwrap(),
            Err(StructureFault::TooMuch {
                what: "modules",
                most: MAX_PARTS,
            }),
        ),
    ];
    for (bytes, expected) in cases {
        assert_eq!(check(&bytes), expected);
    }
    assert!(matches!(check(b"\0asm"), Err(StructureFault::Malformed(_))));
}
