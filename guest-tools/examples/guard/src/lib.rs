//! A hook that keeps files with keys out of calls, and e-mail addresses out of results.

#[cfg(test)]
mod tests;

use agent_tool::{
    Output,
    hook::{CallVerdict, Hook, RequestedCall, ResultVerdict},
};
use serde_json::Value;

/// The names, and the ends of names, of files with keys.
const KEYS: [&str; 6] = [".env", ".netrc", ".pem", ".key", "id_rsa", "id_ed25519"];

/// The text in place of an address.
const MASK: &str = "[address]";

struct Guard;

impl Hook for Guard {
    fn before_tool(call: RequestedCall) -> CallVerdict {
        let mut paths = call.input.iter().filter_map(path);
        let has_keys = |path: &str| {
            let name = path.rsplit('/').next().unwrap_or(path).to_ascii_lowercase();
            KEYS.iter().any(|key| name.ends_with(key))
        };
        if paths.clone().any(has_keys) {
            return CallVerdict::Block("files with keys are no matter of the model".to_owned());
        }
        match paths.any(|path| path.split('/').any(|part| part == "..")) {
            true => CallVerdict::Ask,
            false => CallVerdict::Pass,
        }
    }

    fn after_tool(_: RequestedCall, output: Output) -> ResultVerdict {
        let Output::Text(text) = output else {
            return ResultVerdict::Pass;
        };
        match masked(&text) {
            Some(masked) => ResultVerdict::Modify(Output::Text(masked)),
            None => ResultVerdict::Pass,
        }
    }
}

agent_tool::export_hook!(Guard);

/// Returns an argument that is a path, by its name.
fn path<'a>((name, value): (&'a String, &'a Value)) -> Option<&'a str> {
    let is_path = name == "path" || name.ends_with("_path");
    value.as_str().filter(|_| is_path)
}

/// Masks the e-mail addresses of a text; `None` if it has none.
fn masked(text: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    let mut found = false;
    for word in text.split_inclusive(char::is_whitespace) {
        let bare = word.trim_end();
        if is_address(bare.trim_matches(|c: char| !c.is_alphanumeric())) {
            found = true;
            out.push_str(MASK);
            out.extend(word.chars().skip(bare.chars().count()));
        } else {
            out.push_str(word);
        }
    }
    found.then_some(out)
}

fn is_address(word: &str) -> bool {
    let Some((user, host)) = word.split_once('@') else {
        return false;
    };
    !user.is_empty() && host.contains('.') && !host.contains('@')
}
