//! Budgets and prices: from the file and from the command line, and what of them is refused.

use super::Tree;
use crate::config::Overrides;
use agent_host_types::budget::{Budgets, LongContext, Price, TokenPrices, UsdBudget};
use pretty_assertions::assert_eq;

const PRICES: &str = r#"
    [prices."openai-compat:*"]
    input = 3
    output = 15.000001
    [prices."openai-compat:m*"]
    input = 0.15
    cached-input = 0.075
    cache-write = 0.3
    output = 0.6
    [prices."openai-compat:mini"]
    input = 0.000001
    output = 0
"#;

fn price(input: u64, cached_input: u64, cache_write: u64, output: u64) -> Price {
    Price {
        tokens: tokens(input, cached_input, cache_write, output),
        long_context: None,
    }
}

fn tokens(input: u64, cached_input: u64, cache_write: u64, output: u64) -> TokenPrices {
    TokenPrices {
        input_micros: input,
        cached_input_micros: cached_input,
        cache_write_micros: cache_write,
        output_micros: output,
    }
}

#[test]
fn budgets_of_file_and_command_line() {
    let tree = Tree::new();
    let toml = format!(
        r#"
        model = "openai-compat:medium"
        max-turns = 7
        [budgets]
        tokens = 100000
        usd = 2.5
        wall-clock-seconds = 90
        tool-calls = 20
        identical-repeats = 3
        {PRICES}"#
    );
    let expected = Budgets {
        turns: 7,
        tokens: Some(100_000),
        usd: Some(UsdBudget {
            micros: 2_500_000,
            price: price(150_000, 75_000, 300_000, 600_000),
        }),
        wall_ms: Some(90_000),
        tool_calls: Some(20),
        repeats: Some(3),
    };
    let config = tree.load(&toml, &Overrides::default()).unwrap();
    assert_eq!(config.budgets, expected);
    let overrides = Overrides {
        model: Some("openai-compat:other".to_owned()),
        max_turns: Some(1),
        max_total_tokens: Some(2),
        max_usd: Some(0.000_003),
        max_tool_calls: Some(4),
        ..Overrides::default()
    };
    let config = tree.load(&toml, &overrides).unwrap();
    let expected = Budgets {
        turns: 1,
        tokens: Some(2),
        usd: Some(UsdBudget {
            micros: 3,
            price: price(3_000_000, 3_000_000, 3_750_000, 15_000_001),
        }),
        tool_calls: Some(4),
        ..expected
    };
    assert_eq!(config.budgets, expected);
    let config = tree.load("", &Overrides::default()).unwrap();
    assert_eq!(config.budgets, Budgets::default());
}

/// Any of the models may answer, so the highest price of each kind counts.
#[test]
fn usd_budget_uses_the_highest_price() {
    let tree = Tree::new();
    let toml = |fallback: &str| {
        format!(
            "model = \"openai-compat:mini\"\nfallback = [{fallback}]\n[budgets]\nusd = 1\n\
             [prices.\"gemini:*\"]\ninput = 0.1\noutput = 2\n{PRICES}"
        )
    };
    let config = tree.load(
        &toml("\"openai-compat:m\", \"gemini:g\""),
        &Overrides::default(),
    );
    assert_eq!(
        config.unwrap().budgets.usd.unwrap().price,
        price(150_000, 100_000, 300_000, 2_000_000)
    );
    let refusal = tree.refusal(&toml("\"ollama:x\""), &Overrides::default());
    assert!(
        refusal.contains("no price for the model `ollama:x`"),
        "{refusal}"
    );
}

/// The model's own price before any pattern, and of patterns the longest; a script costs nothing
/// unless a price says so.
#[test]
fn price_of_longest_match_is_used() {
    let tree = Tree::new();
    for (model, own, expected) in [
        ("openai-compat:mini", "", price(1, 1, 2, 0)),
        (
            "openai-compat:m",
            "",
            price(150_000, 75_000, 300_000, 600_000),
        ),
        (
            "openai-compat:x",
            "",
            price(3_000_000, 3_000_000, 3_750_000, 15_000_001),
        ),
        ("script:tour", "", Price::default()),
        (
            "script:tour",
            "[prices.\"script:*\"]\ninput = 1\noutput = 2\n",
            price(1_000_000, 1_000_000, 1_250_000, 2_000_000),
        ),
    ] {
        let toml = format!("model = \"{model}\"\n[budgets]\nusd = 1\n{own}{PRICES}");
        let config = tree.load(&toml, &Overrides::default()).unwrap();
        let budget = UsdBudget {
            micros: 1_000_000,
            price: expected,
        };
        assert_eq!(config.budgets.usd, Some(budget), "{model} {own}");
    }
}

#[test]
fn budget_of_zero_or_no_amount_is_refused() {
    let tree = Tree::new();
    let zero = |name: &str| {
        format!(
            "the budget `{name}` is 0, which would be used up at once; set it to at least 1, or leave it out"
        )
    };
    let amount = |what: &str, value: &str| {
        format!(
            "{what} is {value}, which is not an amount of US dollars; write a number that is not negative, with at most 6 decimal \
             places"
        )
    };
    let model = "model = \"openai-compat:m\"";
    for (toml, expected) in [
        ("[budgets]\ntokens = 0".to_owned(), zero("tokens")),
        ("[budgets]\nwall-clock-seconds = 0".to_owned(), zero("wall-clock-seconds")),
        ("[budgets]\ntool-calls = 0".to_owned(), zero("tool-calls")),
        ("[budgets]\nidentical-repeats = 0".to_owned(), zero("identical-repeats")),
        (
            "[budgets]\nusd = 0.0".to_owned(),
            "the budget `usd` is 0, which would be used up at once; set it to an amount, or leave it out".to_owned(),
        ),
        ("[budgets]\nusd = -1".to_owned(), amount("the budget `usd`", "-1")),
        ("[budgets]\nusd = nan".to_owned(), amount("the budget `usd`", "NaN")),
        ("[budgets]\nusd = inf".to_owned(), amount("the budget `usd`", "inf")),
        ("[budgets]\nusd = 0.0000001".to_owned(), amount("the budget `usd`", "0.0000001")),
        (
            "[prices.\"openai-compat:m\"]\ninput = -1\noutput = 1".to_owned(),
            amount("`input` of [prices.\"openai-compat:m\"]", "-1"),
        ),
        (
            "[prices.llama]\ninput = 1\noutput = 1".to_owned(),
            "`llama` in [prices] is not a model; write it like \"openai-compat:llama3.2\", or \"openai-compat:*\" \
             for every model with that prefix"
                .to_owned(),
        ),
    ] {
        assert_eq!(tree.problem(&toml, &Overrides::default()), expected, "{toml}");
    }
    let unpriced = "there is a budget in US dollars but no price for the model `openai-compat:m`, so the budget \
                    could not be enforced; add [prices.\"openai-compat:m\"] with `input` and `output`, in US dollars \
                    per million tokens, or remove the budget";
    assert_eq!(
        tree.problem(
            &format!("{model}\n[budgets]\nusd = 1"),
            &Overrides::default()
        ),
        unpriced
    );
    let overrides = Overrides {
        max_usd: Some(1.0),
        ..Overrides::default()
    };
    assert_eq!(tree.refusal(model, &overrides), unpriced);
}

#[test]
fn budget_and_price_keys_are_checked() {
    let tree = Tree::new();
    for (toml, expected) in [
        (
            "[budgets]\ntoken = 1",
            "line 2, column 1: unknown key `token`; did you mean `tokens`?",
        ),
        (
            "[prices.\"openai-compat:m\"]\ninput = 1",
            "line 1, column 1: missing key `output`; add it",
        ),
        (
            "[prices.\"openai-compat:m\"]\ninput = \"1 USD\"\noutput = 1",
            "line 2, column 9: invalid type: string \"1 USD\", expected f64; correct it",
        ),
    ] {
        assert_eq!(
            tree.refusal(toml, &Overrides::default()),
            format!("cannot use ROOT/home/ann/project/agent.toml: {expected}")
        );
    }
}

/// A known model has its price at its service's own address, unless `[prices]` has another.
#[test]
fn known_models_have_a_price_and_a_window() {
    let haiku = Price {
        tokens: tokens(100_000, 10_000, 125_000, 500_000),
        long_context: Some(LongContext {
            above_tokens: 100_000,
            tokens: tokens(500_000, 50_000, 625_000, 2_500_000),
        }),
    };
    let own = Price {
        tokens: tokens(1_000_000, 1_000_000, 1_250_000, 2_000_000),
        long_context: Some(LongContext {
            above_tokens: 9,
            tokens: tokens(3_000_000, 500_000, 3_750_000, 4_000_000),
        }),
    };
    let opus = price(4_000_000, 200_000, 5_000_000, 20_000_000);
    let both = Price {
        tokens: opus.tokens,
        long_context: Some(LongContext {
            above_tokens: 100_000,
            tokens: opus.tokens,
        }),
    };
    let tree = Tree::new();
    let own_toml = "[prices.\"anthropic:*\"]\ninput = 1\noutput = 2\n\
        long-context = { above-tokens = 9, input = 3, cached-input = 0.5, output = 4 }";
    let cases = [
        ("anthropic:claude-haiku-5-5", "", haiku, 1_000_000),
        ("anthropic:claude-haiku-5-5-20261001", "", haiku, 1_000_000),
        (
            "anthropic:claude-haiku-5-5-2026-10-01",
            "",
            haiku,
            1_000_000,
        ),
        ("anthropic:claude-haiku-5-5", own_toml, own, 1_000_000),
        (
            "anthropic:claude-opus-5-5",
            "fallback = [\"anthropic:claude-haiku-5-5\"]",
            both,
            1_000_000,
        ),
        (
            "groq:qwen/qwen3.8-27b",
            "fallback = [\"mistral:mistral-small-2603\"]",
            price(800_000, 800_000, 1_000_000, 4_000_000),
            131_072,
        ),
        (
            "claude:claude-opus-5-5",
            "[[provider]]\nname = \"claude\"\nkind = \"anthropic\"",
            opus,
            1_000_000,
        ),
    ];
    for (model, more, expected, window) in cases {
        let toml = format!("model = \"{model}\"\n{more}\n");
        let overrides = Overrides {
            max_usd: Some(1.0),
            ..Overrides::default()
        };
        let config = tree.load(&toml, &overrides).unwrap();
        assert_eq!(config.budgets.usd.unwrap().price, expected, "{toml}");
        let context = config.context.unwrap();
        assert_eq!(
            (context.window_tokens, context.is_known),
            (window, true),
            "{toml}"
        );
    }
    for (model, more) in [
        ("anthropic:claude-haiku-9", ""),
        ("anthropic:claude-haiku-5-5-latest", ""),
        (
            "anthropic:claude-haiku-5-5",
            "[anthropic]\nbase-url = \"https://gateway.example/v1\"",
        ),
    ] {
        let toml = format!("model = \"{model}\"\n[budgets]\nusd = 1\n{more}\n");
        let refusal = tree.refusal(&toml, &Overrides::default());
        let expected = format!("no price for the model `{model}`");
        assert!(refusal.contains(&expected), "{refusal}");
    }
}
