//! Tables of requests and rulings.

mod address;
mod artifact;
mod calls;
mod ceiling;
mod files;
mod fuzz;
mod http;
mod http_grant;
mod paths;
mod rule;
mod run_later;
mod secret;

use super::{PathRules, Ruling};

/// Returns the decision and the rule of a ruling.
fn short(ruling: Ruling) -> String {
    match ruling {
        Ruling::Allow { rule } => format!("allow {rule}"),
        Ruling::Deny { rule, .. } => format!("deny {rule}"),
        Ruling::Ask { rule } => format!("ask {rule}"),
    }
}

fn rules(patterns: &[&str]) -> PathRules {
    PathRules::new(patterns).unwrap()
}
