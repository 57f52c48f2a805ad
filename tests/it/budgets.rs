//! Tests budgets: each ends a run with exit code 4 and its name, and the session resumes with a
//! larger one.

use agent_host_test_guests::Guest;
use agent_host_test_support::{
    Ran, TestEnv,
    chat::{Answer, ChatServer, ask},
};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

fn list() -> (&'static str, Value) {
    ("list_directory", json!({ "path": "." }))
}

/// Runs until the budget of `toml` and `args` is used up, and returns the budget as JSON has it.
fn used_up(env: &TestEnv, server: &ChatServer, toml: &str, args: &[&str]) -> (Value, Ran) {
    env.write("agent.toml", toml);
    let all = [
        &["--config", "agent.toml", "--output-format", "json"],
        args,
        &["go"],
    ]
    .concat();
    let ran = ask(env, server, &all);
    assert_eq!(ran.code, Some(4), "{ran:?}");
    (ran.json()["outcome"]["budget"].clone(), ran)
}

fn resumes(env: &TestEnv, server: &ChatServer, toml: &str, args: &[&str]) {
    env.write("agent.toml", toml);
    let all = [&["--config", "agent.toml", "--resume", "latest"], args].concat();
    let ran = ask(env, server, &all);
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (Some(0), "Done.\n"),
        "{}",
        ran.stderr
    );
}

/// The server counts 11 input tokens and 7 output tokens for each reply.
#[test]
#[expect(
    clippy::type_complexity,
    reason = "a table, and the columns have names below"
)]
fn tokens_and_dollars() {
    const PRICES: &str = "[prices.\"openai-compat:*\"]\ninput = 100\noutput = 1000\n";
    let table: [(&[&str], &str, Value, &str, &[&str]); 3] = [
        (
            &["--max-total-tokens", "18"],
            "",
            json!({ "name": "tokens", "limit": 18, "used": 18 }),
            "18 tokens were used for this prompt, and the budget is 18 (tokens)",
            &["--max-total-tokens", "19"],
        ),
        (
            &["--max-usd", "0.0081"],
            PRICES,
            json!({ "name": "usd", "limit_micros": 8_100, "used_micros": 8_100 }),
            "0.008100 USD were spent for this prompt, and the budget is 0.008100 USD (usd)",
            &["--max-usd", "0.0082"],
        ),
        (
            &[],
            "[budgets]\ntokens = 5\n",
            json!({ "name": "tokens", "limit": 5, "used": 18 }),
            "18 tokens were used for this prompt, and the budget is 5 (tokens)",
            &["--max-total-tokens", "1000"],
        ),
    ];
    for (args, toml, budget, told, more) in table {
        let env = TestEnv::new();
        let server = ChatServer::start(vec![Answer::calls(&[list()]), Answer::text("Done.")]);
        let (found, ran) = used_up(&env, &server, toml, args);
        assert_eq!(found, budget);
        assert!(ran.stderr.contains(told), "{}", ran.stderr);
        assert_eq!(server.requests().len(), 1);
        resumes(&env, &server, toml, more);
    }
}

/// The cost of each reply and of the session is in the JSON of a run and in `sessions show`.
#[test]
fn cost_is_in_the_output() {
    let env = TestEnv::new();
    env.write(
        "agent.toml",
        "[prices.\"openai-compat:*\"]\ninput = 100\noutput = 1000\n",
    );
    let server = ChatServer::start(vec![Answer::calls(&[list()]), Answer::text("Done.")]);
    let args = ["--config", "agent.toml", "--output-format", "json", "go"];
    let ran = ask(&env, &server, &args);
    let summary = &ran.json()["outcome"]["summary"];
    let usage = |replies: u64| {
        json!({
            "input_tokens": 11 * replies,
            "output_tokens": 7 * replies,
            "cached_input_tokens": 0,
            "cost_micros": 8_100 * replies,
        })
    };
    assert_eq!(summary["total_usage"], usage(2), "{ran:?}");
    let shown = env.run(&[
        "sessions",
        "show",
        "--events",
        "latest",
        "--config",
        "agent.toml",
    ]);
    let lines: Vec<&str> = shown
        .stdout
        .lines()
        .filter_map(|line| line.split_once("(11 tokens in, 7 out, ")?.1.split_once(')'))
        .map(|(cost, _)| cost)
        .collect();
    assert_eq!(lines, ["0.0081 USD", "0.0081 USD"], "{}", shown.stdout);
}

/// A call beyond the budget is answered without running; the model sees that when the run resumes.
#[test]
fn tool_calls() {
    let env = TestEnv::new();
    let calls = Answer::calls(&[list(), list()]);
    let server = ChatServer::start(vec![calls, Answer::calls(&[list()]), Answer::text("Done.")]);
    let (budget, _) = used_up(&env, &server, "", &["--max-tool-calls", "1"]);
    assert_eq!(budget, json!({ "name": "tool-calls", "limit": 1 }));
    resumes(&env, &server, "[budgets]\ntool-calls = 2\n", &[]);
    let requests = server.requests();
    let second = requests[1]["messages"].as_array().unwrap().last().unwrap();
    assert_eq!(
        second["content"],
        "This call did not run: the budget of 1 tool calls for one message is used up. Answer with what you have."
    );
}

#[test]
fn identical_repeats() {
    let env = TestEnv::new();
    let other = Answer::calls(&[("list_directory", json!({ "path": ".", "depth": 2 }))]);
    let again = || Answer::calls(&[list()]);
    let server = ChatServer::start(vec![again(), other, again(), Answer::text("Done.")]);
    let toml = |repeats: u32| format!("[budgets]\nidentical-repeats = {repeats}\n");
    let (budget, ran) = used_up(&env, &server, &toml(1), &[]);
    assert_eq!(
        budget,
        json!({ "name": "repeats", "tool": "list_directory", "limit": 1 })
    );
    assert!(ran.stderr.contains("identical-repeats"), "{}", ran.stderr);
    resumes(&env, &server, &toml(2), &[]);
}

/// A call longer than the budget: the guest never ends by itself, and its deadline is later.
#[test]
fn wall_clock() {
    let env = TestEnv::new();
    let forever = Guest::running("(loop $again (br $again)) (i32.const 0)");
    env.write("forever.wasm", forever.bytes());
    let server = ChatServer::start(vec![
        Answer::calls(&[("echo", json!({}))]),
        Answer::text("Done."),
    ]);
    let toml = |seconds: u32| {
        format!(
            "[budgets]\nwall-clock-seconds = {seconds}\n[limits]\ndeadline-ms = 1100\n\
             [[tool]]\nname = \"forever\"\ncomponent = \"forever.wasm\"\n"
        )
    };
    let (budget, ran) = used_up(&env, &server, &toml(1), &[]);
    assert_eq!(
        (&budget["name"], &budget["limit_ms"]),
        (&json!("wall-clock"), &json!(1_000))
    );
    let used = budget["used_ms"].as_u64().unwrap();
    assert!((1_100..60_000).contains(&used), "{used}");
    assert!(ran.stderr.contains("wall-clock-seconds"), "{}", ran.stderr);
    resumes(&env, &server, &toml(3_600), &[]);
}

#[test]
fn usd_budget_without_price_is_refused_first() {
    let env = TestEnv::new();
    let server = ChatServer::start(Vec::new());
    let ran = ask(&env, &server, &["--max-usd", "1", "go"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(
        ran.stderr.contains(
            "there is a budget in US dollars but no price for the model `openai-compat:m`"
        ),
        "{}",
        ran.stderr
    );
}
