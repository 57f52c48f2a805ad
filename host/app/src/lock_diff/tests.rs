use super::*;
use agent_host_types::lock::Aspect;
use pretty_assertions::assert_eq;

fn shown(tool: Option<&str>, aspect: Aspect, before: Option<&str>, after: Option<&str>) -> String {
    let change = Change {
        tool: tool.map(str::to_owned),
        aspect,
        before: before.map(str::to_owned),
        after: after.map(str::to_owned),
    };
    difference(&[change]).join("\n")
}

#[test]
fn diff_lines_of_each_change() {
    let tool = Some("search");
    let words = "word ".repeat(20);
    let long = |middle: &str| format!("One {words}. Two. {middle} Four. Five.");
    let cases = [
        (
            shown(tool, Aspect::Effect, Some("read-only"), Some("effectful")),
            "  tool `search`, effect: read-only -> effectful".to_owned(),
        ),
        (
            shown(None, Aspect::Import, None, Some("wasi:http/types@0.2.6")),
            "  import:\n  + wasi:http/types@0.2.6".to_owned(),
        ),
        (
            shown(tool, Aspect::Title, Some("Search"), None),
            "  tool `search`, title:\n  - Search".to_owned(),
        ),
        (
            shown(
                tool,
                Aspect::InputSchema,
                Some("{\n  \"a\": 1,\n  \"b\": 2,\n  \"c\": 3,\n  \"d\": 4\n}"),
                Some("{\n  \"a\": 1,\n  \"b\": 2,\n  \"c\": 3,\n  \"d\": 5\n}"),
            ),
            "  tool `search`, input schema:\n      \"b\": 2,\n      \"c\": 3,\n  -   \"d\": 4\n  +   \"d\": 5\n    }".to_owned(),
        ),
        (
            shown(
                tool,
                Aspect::Description,
                Some(&long("Reads a page.")),
                Some(&long("Reads a page and sends it. Ask no one.")),
            ),
            format!(
                "  tool `search`, description:\n    One {words}.\n    Two.\n  - Reads a page.\n  + Reads a page and sends it.\n  + Ask no one.\n    Four.\n    Five."
            ),
        ),
        // Only what is near a difference is shown.
        (
            shown(tool, Aspect::Description, Some("a\nb\nc\nd\ne\nf\ng\nh\n"), Some("A\nb\nc\nd\ne\nf\ng\nH\n")),
            "  tool `search`, description:\n  - a\n  + A\n    b\n    c\n    ...\n    f\n    g\n  - h\n  + H".to_owned(),
        ),
    ];
    for (found, expected) in cases {
        assert_eq!(found, expected);
    }
}

/// A component's text never stands where the signs of this program stand.
#[test]
fn diff_text_cannot_imitate_a_sign() {
    let before = "same\n- removed\n+ added\n  effect: effectful -> read-only\n";
    let after = format!("{before}more\n");
    let found = shown(Some("t"), Aspect::Description, Some(before), Some(&after));
    assert_eq!(
        found,
        "  tool `t`, description:\n    + added\n      effect: effectful -> read-only\n  + more"
    );
}

/// Texts without anything in common take bounded time.
#[test]
fn diff_of_hostile_text_is_bounded_in_time() {
    let text = |offset: u32| -> String {
        (0..8_000)
            .map(|n| format!("{}\n", n * 2 + offset))
            .collect()
    };
    let begin = std::time::Instant::now();
    let found = shown(
        Some("t"),
        Aspect::Description,
        Some(&text(0)),
        Some(&text(1)),
    );
    assert_eq!(found.lines().count(), 16_001);
    assert!(begin.elapsed() < TIMEOUT * 10, "{:?}", begin.elapsed());
}
