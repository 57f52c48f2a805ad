use super::Reasoning;
use pretty_assertions::assert_eq;

#[test]
fn reasoning_is_one_line_with_a_count() {
    let mut reasoning = Reasoning::default();
    assert_eq!(reasoning.finish(80), None);
    reasoning.push("**First**\nI read ");
    reasoning.push("the\u{1b}[2J file.");
    assert_eq!(
        reasoning.progress(80),
        "reasoning: **First** I read the\\u{1b}[2J file."
    );
    assert_eq!(reasoning.progress(46), "reasoning: …}[2J file.");
    assert_eq!(
        reasoning.finish(80).as_deref(),
        Some("\u{1b}[2mreasoning: **First** I read the\\u{1b}[2J file. (30 characters)\u{1b}[0m")
    );
    reasoning.push(&"word ".repeat(1_000));
    assert_eq!(
        reasoning.finish(60).as_deref(),
        Some("\u{1b}[2mreasoning: word word word word word… (5,000 characters)\u{1b}[0m")
    );
    assert_eq!(reasoning.finish(60), None);
}

#[test]
fn verbose_reasoning_is_shown_line_by_line() {
    let mut reasoning = Reasoning::default();
    assert_eq!(reasoning.push_shown("one\ntw"), ["\u{1b}[2mone\u{1b}[0m"]);
    assert_eq!(
        reasoning.push_shown("o\n\u{1b}three"),
        ["\u{1b}[2mtwo\u{1b}[0m"]
    );
    assert_eq!(
        reasoning.finish(80).as_deref(),
        Some("\u{1b}[2m\\u{1b}three\u{1b}[0m")
    );
    let long = "x".repeat(5_000);
    assert_eq!(
        reasoning.push_shown(&long),
        [format!("\u{1b}[2m{long}\u{1b}[0m")]
    );
    assert_eq!(reasoning.finish(80), None);
}
