//! Suggests the command line that was probably meant, where one cannot be parsed.

use crate::commands::shell_quoted;
use clap::{
    Error,
    error::{ContextKind, ContextValue, ErrorKind},
};

/// Returns the command line that was probably meant: a prompt of several words without quotes, or a
/// prompt without `run`.
pub(crate) fn suggestion(error: &Error, arguments: &[String]) -> Option<String> {
    match error.kind() {
        ErrorKind::UnknownArgument => {
            let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidArg) else {
                return None;
            };
            unquoted(word, arguments)
        }
        ErrorKind::InvalidSubcommand if !is_typo(error) => {
            let is_prompt = |words: &[String]| {
                words.len() > 1 || words.iter().any(|word| word.contains(char::is_whitespace))
            };
            let words = arguments.get(..plain(arguments))?;
            let options = arguments.get(words.len()..)?;
            is_prompt(words).then(|| line(&[], words, options))
        }
        _ => None,
    }
}

/// Returns whether the first word is a subcommand but for one letter. clap takes words that differ
/// more for similar ones, and a prompt begins with such words, too.
fn is_typo(error: &Error) -> bool {
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand) else {
        return false;
    };
    let is_near = |name: &String| strsim::osa_distance(word, name) <= 1;
    match error.get(ContextKind::SuggestedSubcommand) {
        Some(ContextValue::String(name)) => is_near(name),
        Some(ContextValue::Strings(names)) => names.iter().any(is_near),
        _ => false,
    }
}

/// Returns whether a command line that cannot be parsed asks `run` for one JSON document.
pub(crate) fn asks_for_json(arguments: &[String]) -> bool {
    let is_format = |pair: &[String]| pair == ["--output-format", "json"];
    let options = arguments.split(|argument| argument == "--").next();
    let options = options.unwrap_or_default();
    options.contains(&"--output-format=json".to_owned()) || options.windows(2).any(is_format)
}

/// Quotes the words around `word`, the first one that is no argument of `run`.
fn unquoted(word: &str, arguments: &[String]) -> Option<String> {
    let (command, rest) = arguments.split_first()?;
    let at = rest.iter().position(|argument| argument == word)?;
    if command != "run" || word.starts_with('-') {
        return None;
    }
    // The word before it was taken for the prompt.
    let start = at.checked_sub(1)?;
    let words = rest.get(start..)?;
    let words = words.get(..plain(words))?;
    let options = rest.get(start + words.len()..)?;
    Some(line(rest.get(..start)?, words, options))
}

/// Returns the number of words before the first option.
fn plain(words: &[String]) -> usize {
    let end = words.iter().position(|word| word.starts_with('-'));
    end.unwrap_or(words.len())
}

fn line(before: &[String], words: &[String], after: &[String]) -> String {
    let quoted = |words: &[String]| {
        let words = words.iter().map(|word| shell_quoted(word));
        words.collect::<Vec<_>>()
    };
    let mut all = vec!["agent-host run".to_owned()];
    all.extend(quoted(before));
    all.push(shell_quoted(&words.join(" ")));
    all.extend(quoted(after));
    all.join(" ")
}

#[cfg(test)]
mod tests {
    use super::suggestion;
    use crate::args::Args;
    use clap::Parser as _;
    use pretty_assertions::assert_eq;

    /// The suggestion for a command line.
    fn suggested(line: &str) -> Option<String> {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let all = std::iter::once("agent-host".to_owned()).chain(words.iter().cloned());
        let error = Args::try_parse_from(all).unwrap_err();
        suggestion(&error, &words)
    }

    #[test]
    fn unquoted_prompt_is_suggested_in_quotes() {
        for (line, expected) in [
            ("run what is here", Some("agent-host run 'what is here'")),
            (
                "run --model ollama:m what is it? --quiet",
                Some("agent-host run --model ollama:m 'what is it?' --quiet"),
            ),
            ("what is here", Some("agent-host run 'what is here'")),
            ("run --no-such what", None),
            ("doctr", None),
            ("sesions list", None),
            ("nonsense", None),
            ("trust a b", None),
        ] {
            assert_eq!(suggested(line).as_deref(), expected, "{line}");
        }
    }
}
