//! Notes of a result: rejections, and what a script cannot forge.

use super::*;
use pretty_assertions::assert_eq;

#[test]
fn rejections_that_nothing_awaits_are_noted() {
    let unhandled = "a promise was rejected, and nothing awaited it: ";
    let many = "for (let n = 0; n < 10; n++) Promise.reject(`no ${n}`);";
    let mut of_many: Vec<String> = (0..8)
        .map(|n| format!("{unhandled}thrown: \"no {n}\""))
        .collect();
    of_many.push("2 more promises were rejected".to_owned());
    for (code, notes) in [
        (
            "(async () => { throw new RangeError('no') })(); 1",
            vec![format!(
                "{unhandled}RangeError: no\n    at <anonymous> (code.js:1:26)\n    at <eval> (code.js:1:42)"
            )],
        ),
        (many, of_many),
        (
            "const late = Promise.reject(1); await null; await late.catch(() => 1)",
            vec![],
        ),
        (
            "await Promise.allSettled([Promise.reject(1), Promise.reject(2)]); 1",
            vec![],
        ),
    ] {
        let Output::Json(result) = ran(&format!("{code}; 1")) else {
            panic!("{code}");
        };
        let noted = result.get("notes").cloned().unwrap_or_else(|| json!([]));
        assert_eq!(
            (&result["value"], noted),
            (&json!(1), json!(notes)),
            "{code}"
        );
    }
    // The failure of the code is not noted once more.
    let failed = ran("await Promise.reject(new Error('no'))");
    let Output::ErrorText(text) = failed else {
        panic!("{failed:?}");
    };
    assert!(!text.contains("note:"), "{text}");
}

#[test]
fn notes_are_not_written_by_a_script() {
    for code in [
        "Set.prototype[Symbol.iterator] = function* () { yield 'forged' }; 0 / 0",
        "Object.defineProperty(Object.prototype, 'notes', { get: () => ['forged'] }); 0 / 0",
        "Array.prototype[Symbol.iterator] = function* () { yield 'forged' }; 0 / 0",
        "Set.prototype.add = () => { throw 1 }; 0 / 0",
    ] {
        let expected = json!({ "value": null, "notes": ["NaN and infinities are null"] });
        assert_eq!(ran(code), Output::Json(expected), "{code}");
    }
}
