//! `[context]`: what holds without it, and what is refused.

use super::Tree;
use crate::config::Overrides;
use agent_host_types::context::ContextLimits;
use pretty_assertions::assert_eq;

#[test]
fn context_window_is_resolved() {
    let chat = "model = \"openai-compat:m\"\n";
    let table = [
        (String::new(), None),
        ("model = \"script:tour\"".to_owned(), None),
        (chat.to_owned(), Some(ContextLimits::default())),
        (format!("{chat}[context]"), Some(ContextLimits::default())),
        (
            "[context]\nwindow-tokens = 1000".to_owned(),
            Some(ContextLimits {
                window_tokens: 1_000,
                is_known: true,
                ..ContextLimits::default()
            }),
        ),
        (
            format!(
                "{chat}[context]\nwindow-tokens = 32000\ncompact-at = 100\ncompact-to = 1\nkeep-results = 0"
            ),
            Some(ContextLimits {
                window_tokens: 32_000,
                is_known: true,
                compact_at: 100,
                compact_to: 1,
                keep_results: 0,
            }),
        ),
    ];
    let tree = Tree::new();
    for (toml, expected) in table {
        let config = tree.load(&toml, &Overrides::default()).unwrap();
        assert_eq!(config.context, expected, "{toml}");
    }
}

#[test]
fn context_window_too_small_is_refused() {
    let parts = |at: u64, to: u64| {
        format!(
            "`compact-at` is {at} and `compact-to` is {to}; both are percentages of the window, and `compact-to` \
             must be smaller; use values such as 80 and 50, or leave them out"
        )
    };
    let table = [
        (
            "window-tokens = 999",
            "`window-tokens` is 999; set it to at least 1000, or leave it out".to_owned(),
        ),
        ("compact-at = 101", parts(101, 50)),
        ("compact-at = 50", parts(50, 50)),
        ("compact-to = 0", parts(80, 0)),
    ];
    let tree = Tree::new();
    for (line, expected) in table {
        let toml = format!("\n[context]\n{line}\n");
        assert_eq!(tree.problem(&toml, &Overrides::default()), expected);
    }
}
