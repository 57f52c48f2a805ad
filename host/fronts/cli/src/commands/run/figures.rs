//! The line below an answer: tokens, cost, share of the model's window, and time.

use crate::terminal::{count, dollars, duration};
use agent_host_types::{context::ContextLimits, model::Usage, turn::TurnReport};
use std::time::Duration;

/// The shortest wait for the first text that is told.
const TOLD_WAIT: Duration = Duration::from_secs(1);

/// The duration from which an answer rings the terminal's bell, in milliseconds.
const LONG_MS: u64 = 30_000;

/// The figures of the turns that one message led to.
#[derive(Debug, Default)]
pub(super) struct Figures {
    usage: Usage,
    /// The tokens of the last request and its reply.
    last_tokens: u64,
    /// The time of the turns, without that of the user's decisions between them, in milliseconds.
    duration_ms: u64,
    /// The time until the first text of the model, if it took long enough to tell.
    pub(super) first_text: Option<Duration>,
}

impl Figures {
    pub(super) fn add(&mut self, report: &TurnReport) {
        let summary = &report.summary;
        self.usage += summary.turn_usage;
        self.duration_ms = self.duration_ms.saturating_add(summary.duration_ms);
        let tokens = |usage: &Usage| usage.input_tokens.saturating_add(usage.output_tokens);
        let of_agents = summary.children.iter().map(|child| tokens(&child.usage));
        let of_agents = of_agents.fold(0, u64::saturating_add);
        let own = tokens(&summary.turn_usage).saturating_sub(of_agents);
        if own > 0 {
            self.last_tokens = own;
        }
    }

    /// Returns the line; `None` where nothing was counted, as by a script.
    pub(super) fn line(&self, context: Option<&ContextLimits>) -> Option<String> {
        if self.usage.is_none() {
            return None;
        }
        let Usage {
            input_tokens,
            output_tokens,
            cached_input_tokens,
            cost_micros,
            ..
        } = self.usage;
        let cached = match cached_input_tokens {
            0 => String::new(),
            cached => format!(" ({} cached)", count(cached)),
        };
        let mut parts = vec![format!(
            "{} tokens in{cached}, {} out",
            count(input_tokens),
            count(output_tokens)
        )];
        parts.extend(cost_micros.map(dollars));
        let window = context.filter(|context| context.is_known);
        parts.extend(window.map(|context| {
            let percent = self.last_tokens.saturating_mul(100) / context.window_tokens.max(1);
            format!("{percent} % of the window")
        }));
        let first_text = self.first_text.filter(|time| *time >= TOLD_WAIT);
        parts.extend(first_text.map(|time| {
            let millis = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
            format!("first text after {}", duration(millis))
        }));
        parts.push(duration(self.duration_ms));
        Some(parts.join(" · "))
    }

    /// Whether the turns took so long that the user may look elsewhere.
    pub(super) fn took_long(&self) -> bool {
        self.duration_ms >= LONG_MS
    }
}

#[cfg(test)]
mod tests {
    use super::{Figures, Usage};
    use pretty_assertions::assert_eq;
    use std::time::Duration;

    #[test]
    fn waits_that_a_user_notices_are_told() {
        let cases = [
            (0, 29_999, "1 tokens in, 2 out · 29.9 s", false),
            (999, 30_000, "1 tokens in, 2 out · 30.0 s", true),
            (
                1_200,
                61_000,
                "1 tokens in, 2 out · first text after 1.2 s · 1 min 1 s",
                true,
            ),
        ];
        for (first_text, duration_ms, line, rings) in cases {
            let figures = Figures {
                usage: Usage {
                    input_tokens: 1,
                    output_tokens: 2,
                    ..Usage::default()
                },
                last_tokens: 3,
                duration_ms,
                first_text: Some(Duration::from_millis(first_text)),
            };
            assert_eq!(figures.line(None).unwrap(), line);
            assert_eq!(figures.took_long(), rings, "{line}");
        }
    }
}
