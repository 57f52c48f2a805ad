//! Names like that of a model which its server does not have.

use crate::terminal::one_line;
use agent_host_app::{Config, ModelConfig, list_models};
use agent_host_types::{
    model::{ModelError, ModelErrorKind},
    turn::{TurnEnd, TurnError},
};
use std::time::Duration;

/// The maximum time for the list of the server's models.
const LIST_TIME: Duration = Duration::from_secs(5);

/// The most names that are shown, and the longest one, in characters.
const MAX_NAMES: usize = 3;
const MAX_NAME_CHARACTERS: usize = 80;

/// The likeness from which a name is shown, from 0 to 1.
const MIN_LIKENESS: f64 = 0.75;

/// Returns what helps after an answer that failed since the server has no such model; empty after
/// any other end.
pub(super) async fn near_models(config: &Config, end: &TurnEnd) -> String {
    let TurnEnd::Error {
        error:
            TurnError::Model {
                error:
                    ModelError {
                        kind: ModelErrorKind::NotFound,
                        ..
                    },
            },
    } = end
    else {
        return String::new();
    };
    let Some(ModelConfig::Served { name, provider, .. }) = &config.models.first else {
        return String::new();
    };
    let named = [provider.name.clone()];
    let listed = tokio::time::timeout(LIST_TIME, list_models(config, &named)).await;
    let listed = listed.ok().and_then(|listed| listed.into_iter().next());
    let Some(Ok(models)) = listed.map(|listed| listed.models) else {
        return String::new();
    };
    let prefix = format!("{}:", provider.name);
    let names = models.iter().map(|listed| listed.name.as_str());
    let names: Vec<&str> = names
        .filter_map(|name| name.strip_prefix(&prefix))
        .collect();
    match like(name, &names).as_slice() {
        [] => format!(
            "\nIt has {} other models: `agent-host models` lists them.",
            names.len()
        ),
        near => {
            let near = near.iter().map(|name| one_line(name, MAX_NAME_CHARACTERS));
            format!("\nIt has: {}.", near.collect::<Vec<_>>().join(", "))
        }
    }
}

/// Returns the names that are most like this one, the most similar first.
fn like<'n>(name: &str, known: &[&'n str]) -> Vec<&'n str> {
    let plain = |name: &str| name.to_lowercase();
    let wanted = plain(name);
    let likeness = |known: &&'n str| {
        let known_plain = plain(known);
        let is_part = known_plain.contains(&wanted) || wanted.contains(&known_plain);
        let likeness = strsim::jaro_winkler(&wanted, &known_plain);
        (if is_part { 1.0 } else { likeness }, *known)
    };
    let mut rated: Vec<(f64, &str)> = known.iter().map(likeness).collect();
    rated.retain(|(likeness, _)| *likeness >= MIN_LIKENESS);
    rated.sort_by(|a, b| b.0.total_cmp(&a.0));
    rated
        .into_iter()
        .take(MAX_NAMES)
        .map(|(_, name)| name)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::like;
    use pretty_assertions::assert_eq;

    #[test]
    fn similar_names_are_found_in_order() {
        let known = [
            "gpt-5",
            "gpt-5-mini",
            "o4",
            "text-embedding-3",
            "llama3.3:70b",
        ];
        let cases: [(&str, &[&str]); 4] = [
            ("gpt5", &["gpt-5", "gpt-5-mini"]),
            ("GPT-5-Mini", &["gpt-5", "gpt-5-mini"]),
            ("llama3.3", &["llama3.3:70b"]),
            ("mistral", &[]),
        ];
        for (name, expected) in cases {
            assert_eq!(like(name, &known), expected, "{name}");
        }
    }
}
