use super::render;
use agent_host_app::{ConfigError, config::parse};
use pretty_assertions::assert_eq;
use std::{collections::BTreeMap, io::Write as _, path::Path};

fn plain(error: &ConfigError) -> String {
    let mut stripped = anstream::StripStream::new(Vec::new());
    stripped.write_all(render(error).as_bytes()).unwrap();
    String::from_utf8(stripped.into_inner()).unwrap()
}

#[test]
fn problem_with_span_is_shown_with_caret() {
    for (text, expected) in [
        (
            "# Ours.\ndeadline = \"5 s\"\n",
            "error: invalid type: string \"5 s\", expected u64
 --> a.toml:2:12
  |
2 | deadline = \"5 s\"
  |            ^^^^^
  |
  = help: correct it",
        ),
        // A value that may be a secret is not shown, and neither are control characters.
        (
            "# Ours.\ndeadline = \"5\u{1b}[31m s\"\n",
            "error: invalid basic string, expected non-double-quote visible characters, `\\`
 --> a.toml:2:14
  |
2 | deadline = ......
  |              ^
  |
  = help: correct it",
        ),
    ] {
        let error = parse::<BTreeMap<String, u64>>(Path::new("a.toml"), text);
        assert_eq!(plain(&error.unwrap_err()), expected);
    }
}

#[test]
fn problem_without_span_is_one_escaped_paragraph() {
    let error = ConfigError::new(
        "--grant",
        "the grant `\u{1b}[31m` is unknown",
        "write `dir:PATH`",
    );
    assert_eq!(
        plain(&error),
        "error: the grant `\\u{1b}[31m` is unknown; write `dir:PATH`"
    );
}
