//! Text about a budget that is used up, with the command that resumes with a larger one.

use crate::terminal::tool_name;
use agent_host_types::budget::Budget;

/// Says which budget is used up, and how the session continues with twice as much. `resume` is the
/// command that resumes it; a later flag replaces an earlier one of the same name.
pub(super) fn budget_text(budget: &Budget, resume: &str) -> String {
    let twice = |most: u64| most.max(1).saturating_mul(2);
    let (reached, next) = match budget {
        Budget::Turns { limit } => (
            format!(
                "{limit} model calls were made for this prompt, which is the budget (max-turns)"
            ),
            raise(resume, "--max-turns", &twice(*limit).to_string()),
        ),
        Budget::Tokens { limit, used } => (
            format!("{used} tokens were used for this prompt, and the budget is {limit} (tokens)"),
            raise(
                resume,
                "--max-total-tokens",
                &twice(*used.max(limit)).to_string(),
            ),
        ),
        Budget::Usd {
            limit_micros,
            used_micros,
        } => (
            format!(
                "{} USD were spent for this prompt, and the budget is {} USD (usd)",
                dollars(*used_micros),
                dollars(*limit_micros)
            ),
            raise(
                resume,
                "--max-usd",
                &dollars(twice(*used_micros.max(limit_micros))),
            ),
        ),
        Budget::WallClock { limit_ms, used_ms } => (
            format!("this prompt took {used_ms} ms, and the budget is {limit_ms} ms (wall-clock)"),
            format!("Raise `wall-clock-seconds` in agent.toml. Then resume: {resume}"),
        ),
        Budget::ToolCalls { limit } => (
            format!("{limit} tool calls ran for this prompt, which is the budget (tool-calls)"),
            raise(resume, "--max-tool-calls", &twice(*limit).to_string()),
        ),
        Budget::Repeats { tool, limit } => (
            format!(
                "the model called `{}` again with the same arguments, and the budget is {limit} times (repeats)",
                tool_name(tool)
            ),
            format!("Raise `identical-repeats` in agent.toml. Then resume: {resume}"),
        ),
    };
    format!("Stopped: {reached}.\n{next}")
}

/// Returns the command with one flag raised.
fn raise(resume: &str, flag: &str, value: &str) -> String {
    let kept: Vec<&str> = resume.split(' ').collect();
    let at = kept.iter().position(|word| *word == flag);
    let kept = kept.iter().enumerate();
    let kept = kept.filter(|(index, _)| at.is_none_or(|at| *index != at && *index != at + 1));
    let kept: Vec<&str> = kept.map(|(_, word)| *word).collect();
    format!(
        "To resume with a larger budget: {} {flag} {value}",
        kept.join(" ")
    )
}

/// Formats millionths of a US dollar.
fn dollars(micros: u64) -> String {
    format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000)
}

#[cfg(test)]
mod tests {
    use super::budget_text;
    use agent_host_types::budget::Budget;
    use pretty_assertions::assert_eq;

    #[test]
    fn raised_budget_replaces_the_flag_of_the_run() {
        let usd = Budget::Usd {
            limit_micros: 500_000,
            used_micros: 750_000,
        };
        let table = [
            (
                Budget::Turns { limit: 2 },
                "agent-host run --resume S --max-turns 2 --max-usd 0.5",
                "To resume with a larger budget: agent-host run --resume S --max-usd 0.5 --max-turns 4",
            ),
            (
                usd,
                "agent-host run --resume S --max-usd 0.5",
                "To resume with a larger budget: agent-host run --resume S --max-usd 1.500000",
            ),
            (
                Budget::ToolCalls { limit: 0 },
                "agent-host run --resume S",
                "To resume with a larger budget: agent-host run --resume S --max-tool-calls 2",
            ),
        ];
        for (budget, resume, expected) in table {
            let text = budget_text(&budget, resume);
            assert_eq!(text.lines().last(), Some(expected), "{text}");
        }
    }
}
