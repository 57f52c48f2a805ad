//! A hook that keeps private keys out of model calls and tool calls, and e-mail addresses out of
//! what is shown, written and sent.

#[cfg(test)]
mod tests;

mod mask;

use agent_tool::{
    Output,
    hook::{
        CallVerdict, Hook, ModelReply, ModelRequest, ReplyVerdict, RequestVerdict, RequestedCall,
        ResultVerdict,
    },
};
use serde_json::Value;

/// The end of the first line of a private key in PEM.
const PRIVATE_KEY: &str = "PRIVATE KEY-----";

/// The names of files with keys, and the ends of such names, in lower case.
const KEY_FILES: [&str; 6] = [".env", ".netrc", ".pem", ".key", "id_rsa", "id_ed25519"];

/// The names of arguments that are text to write or to send.
const TEXTS: [&str; 2] = ["body", "content"];

struct Guard;

impl Hook for Guard {
    fn before_model(request: ModelRequest) -> RequestVerdict {
        match request.messages.to_string().contains(PRIVATE_KEY) {
            true => RequestVerdict::Block(
                "the conversation has a private key; start a new session without it".to_owned(),
            ),
            false => RequestVerdict::Pass,
        }
    }

    fn after_model(reply: ModelReply) -> ReplyVerdict {
        let mut text = reply.text;
        match mask::text(&mut text) {
            true => ReplyVerdict::Modify(text),
            false => ReplyVerdict::Pass,
        }
    }

    fn before_tool(call: RequestedCall) -> CallVerdict {
        let paths = || call.input.iter().filter_map(path);
        if paths().any(has_keys) {
            return CallVerdict::Block(
                "files with keys are neither read nor written here; continue without them"
                    .to_owned(),
            );
        }
        if paths().any(|path| path.split('/').any(|part| part == "..")) {
            return CallVerdict::Ask;
        }
        let mut input = call.input;
        let texts = input
            .iter_mut()
            .filter(|(name, _)| TEXTS.contains(&name.as_str()));
        match mask::all(texts.map(|(_, value)| value), mask::json) {
            true => CallVerdict::Modify(input),
            false => CallVerdict::Pass,
        }
    }

    fn after_tool(_: RequestedCall, mut output: Output) -> ResultVerdict {
        match mask::output(&mut output) {
            true => ResultVerdict::Modify(output),
            false => ResultVerdict::Pass,
        }
    }
}

agent_tool::export_hook!(Guard);

/// Returns an argument that is a path, by its name.
fn path<'a>((name, value): (&'a String, &'a Value)) -> Option<&'a str> {
    let is_path = name == "path" || name.ends_with("_path");
    value.as_str().filter(|_| is_path)
}

fn has_keys(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path).to_ascii_lowercase();
    KEY_FILES.iter().any(|key| name.ends_with(key))
}
