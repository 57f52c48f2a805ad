//! Budgets: each ends the turn with a typed end, and a larger one resumes it.

use super::harness::*;
use agent_host_types::{
    budget::{Budget, Budgets, LongContext, Price, TokenPrices, UsdBudget},
    model::Usage,
    tool::{Approval, Effect},
    turn::{AgentInput, TurnEnd, TurnReport},
};
use pretty_assertions::assert_eq;

fn budget(outcome: TurnReport) -> Budget {
    match outcome.end {
        TurnEnd::BudgetExceeded { budget, .. } => budget,
        other => panic!("no budget is used up: {other:?}"),
    }
}

/// A price at which one reply of [`USAGE`] (8 fresh tokens, 2 cached, 5 written) costs 8 * 3 + 2 *
/// 1 + 5 * 10 = 76 micros.
const PRICE: Price = Price {
    tokens: TokenPrices {
        input_micros: 3_000_000,
        cached_input_micros: 1_000_000,
        cache_write_micros: 4_000_000,
        output_micros: 10_000_000,
    },
    long_context: None,
};

#[test]
fn prices_are_exact_and_rounded_up() {
    let usage = |input_tokens, output_tokens, cached_input_tokens| Usage {
        input_tokens,
        output_tokens,
        cached_input_tokens,
        ..Usage::default()
    };
    let cheap = TokenPrices {
        input_micros: 1,
        ..TokenPrices::default()
    };
    let cheap = Price {
        tokens: cheap,
        long_context: Some(LongContext {
            above_tokens: 2_000_000,
            tokens: TokenPrices {
                output_micros: 1_000_000,
                ..cheap
            },
        }),
    };
    let table = [
        (PRICE, USAGE, 76),
        (
            PRICE,
            Usage {
                cache_write_tokens: 3,
                ..USAGE
            },
            5 * 3 + 2 + 3 * 4 + 50,
        ),
        (PRICE, usage(0, 0, 0), 0),
        // A server that counts more cached tokens than tokens is charged for the cached ones alone.
        (PRICE, usage(1, 0, 4), 4),
        (cheap, usage(1, 0, 0), 1),
        (cheap, usage(1_000_001, 0, 0), 2),
        (cheap, usage(2_000_000, 7, 0), 2),
        (cheap, usage(2_000_001, 7, 0), 10),
        (PRICE, usage(u64::MAX, u64::MAX, 0), u64::MAX),
    ];
    for (price, usage, micros) in table {
        assert_eq!(price.micros(usage), micros, "{usage:?}");
    }
}

/// Budgets of the model's cost are checked before the second model call.
#[tokio::test]
async fn cost_budgets_are_checked_before_the_model_call() {
    let usd = |micros| UsdBudget {
        micros,
        price: PRICE,
    };
    let base = Budgets::default;
    let table = [
        (
            Budgets {
                tokens: Some(15),
                ..base()
            },
            Some(Budget::Tokens {
                limit: 15,
                used: 15,
            }),
        ),
        (
            Budgets {
                tokens: Some(16),
                ..base()
            },
            None,
        ),
        (
            Budgets {
                usd: Some(usd(76)),
                ..base()
            },
            Some(Budget::Usd {
                limit_micros: 76,
                used_micros: 76,
            }),
        ),
        (
            Budgets {
                usd: Some(usd(77)),
                ..base()
            },
            None,
        ),
    ];
    for (budgets, expected) in table {
        let mut bench = Bench::new(vec![calls(&[("a", "look", "")]), says("done"), says("on")]);
        bench.agent.settings.budgets = budgets.clone();
        assert_eq!(kind(&bench.say("go").await), "needs-more-turns");
        let outcome = bench.turn(AgentInput::Continue).await;
        let Some(expected) = expected else {
            assert_eq!(kind(&outcome), "done", "{budgets:?}");
            continue;
        };
        assert_eq!(budget(outcome), expected);
        assert_eq!(bench.requests().len(), 1);
        bench.agent.settings.budgets = Budgets::default();
        assert_eq!(kind(&bench.turn(AgentInput::Continue).await), "done");
    }
}

#[tokio::test]
async fn budget_of_no_time_calls_no_model() {
    let mut bench = Bench::new(vec![says("never")]);
    bench.agent.settings.budgets.wall_ms = Some(0);
    let Budget::WallClock { limit_ms: 0, .. } = budget(bench.say("go").await) else {
        panic!("another budget");
    };
    assert_eq!(bench.requests(), Vec::new());
}

const NO_MORE: &str = "This call did not run: the budget of 2 tool calls for one message is used up. Answer with what you have.";
const AGAIN: &str = "This call did not run: `look` already ran 2 times with exactly these arguments. Change the arguments, or answer with what you have.";

/// Calls beyond the budget are answered without running, in one batch and over several, and the end
/// names the budget.
#[tokio::test]
async fn calls_beyond_the_budget_do_not_run() {
    let batch = [("a", "look", ""), ("b", "act", ""), ("c", "look", "")];
    let mut bench = Bench::new(vec![calls(&batch), calls(&[("d", "peek", "")]), says("so")]);
    bench.agent.settings.budgets.tool_calls = Some(2);
    assert_eq!(
        budget(bench.say("go").await),
        Budget::ToolCalls { limit: 2 }
    );
    assert_eq!(bench.ran(), ["a", "b"]);
    let expected = [
        ("a", text("look {}")),
        ("b", text("act {}")),
        ("c", denied(NO_MORE)),
    ];
    assert_eq!(bench.results(), pairs(expected));
    // A resumed turn calls the model, which may make no further call.
    let outcome = bench.turn(AgentInput::Continue).await;
    assert_eq!(budget(outcome), Budget::ToolCalls { limit: 2 });
    assert_eq!(bench.results(), pairs([("d", denied(NO_MORE))]));
    assert_eq!(kind(&bench.turn(AgentInput::Continue).await), "done");
}

/// The order of keys does not matter for equal arguments; other arguments are another call.
#[tokio::test]
async fn repeats_beyond_the_budget_do_not_run() {
    let batch = [
        ("a", "look", r#"{"n": 1, "m": 2}"#),
        ("b", "look", r#"{"m": 2, "n": 1}"#),
        ("c", "look", r#"{"n": 2, "m": 2}"#),
        ("d", "look", r#"{"n": 1, "m": 2}"#),
        ("e", "peek", r#"{"n": 1, "m": 2}"#),
    ];
    let mut bench = Bench::new(vec![calls(&batch)]);
    bench.agent.settings.budgets.repeats = Some(2);
    let repeats = Budget::Repeats {
        tool: "look".into(),
        limit: 2,
    };
    assert_eq!(budget(bench.say("go").await), repeats);
    assert_eq!(bench.ran(), ["a", "b", "c", "e"]);
    assert_eq!(bench.results()[3], ("d".to_owned(), denied(AGAIN)));
    // A new message of the user resets the count.
    bench.replies(calls(&[("f", "look", r#"{"n": 1, "m": 2}"#)]));
    assert_eq!(kind(&bench.say("again").await), "needs-more-turns");
}

/// A run interrupted by a crash was within its budget when it started, and its repetition is, too.
#[tokio::test]
async fn run_repeated_after_a_crash_counts_once() {
    let reply = calls(&[("a", "look", ""), ("b", "put", "")]);
    let mut bench = Bench::new(vec![reply]);
    bench.agent.settings.budgets.tool_calls = Some(2);
    bench
        .journal
        .fails_from
        .store(3, std::sync::atomic::Ordering::SeqCst);
    assert_eq!(kind(&bench.say("go").await), "error");
    let tools = vec![
        tool("look", Effect::ReadOnly, Approval::ByEffect),
        tool("put", Effect::Idempotent, Approval::Never),
    ];
    let mut bench = Bench::resume(&bench.journal, Vec::new(), tools).await;
    bench.agent.settings.budgets.tool_calls = Some(2);
    assert_eq!(
        kind(&bench.turn(AgentInput::Continue).await),
        "needs-more-turns"
    );
    // `a` ended before the crash; `b` started and runs again, although the budget is used up.
    assert_eq!(bench.ran(), ["b"]);
}
