//! Hints in errors: the next step, and the name that was probably meant.

/// Splits a message of serde or the TOML parser into a reason and the next step.
pub(super) fn explain(message: &str) -> (String, String) {
    let mut quoted = message.split('`').skip(1).step_by(2);
    let found = quoted.next().unwrap_or_default();
    let known: Vec<&str> = quoted.collect();
    if message.starts_with("unknown field") {
        let reason = format!("unknown key `{found}`");
        return (reason, advice(found, &known, "the keys are"));
    }
    if message.starts_with("unknown variant") {
        let reason = format!("invalid value `{found}`");
        return (reason, advice(found, &known, "the values are"));
    }
    if message.starts_with("missing field") {
        let reason = format!("missing key `{found}`");
        return (reason, "add it".to_owned());
    }
    let lines: Vec<&str> = message.lines().map(str::trim).collect();
    (lines.join(", "), "correct it".to_owned())
}

/// Returns what to do about an unknown name: take the nearest known name, or any of them.
/// `list` begins the sentence that has them all.
pub(crate) fn advice(found: &str, known: &[&str], list: &str) -> String {
    match nearest(found, known) {
        Some(near) => format!("did you mean `{near}`?"),
        None => {
            let known: Vec<String> = known.iter().map(|name| format!("`{name}`")).collect();
            format!("{list} {}", known.join(", "))
        }
    }
}

/// Returns the known name that was probably meant, if one is near: a third of the letters may
/// differ.
#[must_use]
pub fn nearest<'a>(found: &str, known: &[&'a str]) -> Option<&'a str> {
    let plain = |name: &str| name.to_lowercase().replace('_', "-");
    let found = plain(found);
    known
        .iter()
        .map(|name| (strsim::damerau_levenshtein(&found, &plain(name)), *name))
        .filter(|(distance, name)| *distance <= name.chars().count().max(3) / 3)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}
