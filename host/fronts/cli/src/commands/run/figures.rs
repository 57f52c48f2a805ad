//! The line below an answer: tokens, cost, share of the model's window, and time.

use crate::terminal::{count, dollars, duration};
use agent_host_types::{context::ContextLimits, model::Usage, turn::TurnReport};

/// The figures of the turns that one message led to.
#[derive(Debug, Default)]
pub(super) struct Figures {
    usage: Usage,
    /// The tokens of the last request and its reply.
    last_tokens: u64,
    /// The time of the turns, without that of the user's decisions between them, in milliseconds.
    duration_ms: u64,
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
        parts.push(duration(self.duration_ms));
        Some(parts.join(" · "))
    }
}
