//! Names of models, `PROVIDER:NAME`, and their beginnings with a `*`, as keys of the configuration.

use super::{ConfigError, problem::config_error};
use std::collections::BTreeMap;

/// Returns the entry of a model: that of its own name, or else of the longest matching beginning.
pub(super) fn longest_match<'a, V>(
    entries: &'a BTreeMap<String, V>,
    model: &str,
) -> Option<(&'a String, &'a V)> {
    let by_pattern = || {
        let fits = |pattern: &String| {
            pattern
                .strip_suffix('*')
                .is_some_and(|beginning| model.starts_with(beginning))
        };
        let fitting = entries.iter().filter(|(pattern, _)| fits(pattern));
        fitting.max_by_key(|(pattern, _)| pattern.len())
    };
    entries.get_key_value(model).or_else(by_pattern)
}

/// Checks that a key below `table` is a model or the beginning of one.
pub(super) fn check(name: &str, table: &str) -> Result<(), ConfigError> {
    let beginning = name.strip_suffix('*').unwrap_or(name);
    if !beginning.contains('*') && beginning.contains(':') {
        return Ok(());
    }
    let shown = name.escape_debug();
    Err(config_error!(
        "",
        "`{shown}` in [{table}] is not a model",
        "write it like \"openai-compat:llama3.2\", or \"openai-compat:*\" for every model with that prefix"
    ))
}
