//! Configurations that are refused, each with its whole text.

use super::Tree;
use crate::config::{Config, ConfigError, Environment, MAX_CONFIG_BYTES, Overrides};
use pretty_assertions::assert_eq;
use std::path::Path;

#[test]
fn config_of_wrong_form_is_refused_with_a_hint() {
    let tree = Tree::new();
    for (toml, expected) in [
        (
            "modle = \"script:tour\"",
            "line 1, column 1: unknown key `modle`; did you mean `model`?",
        ),
        (
            "\n\nmax_turns = 3",
            "line 3, column 1: unknown key `max_turns`; did you mean `max-turns`?",
        ),
        (
            "[openai-compat]\nbase-url = \"x\"\ntemperature = 1",
            "line 3, column 1: unknown key `temperature`; the keys are `name`, `kind`, `base-url`, `api-key`, \
             `key-header`, `headers`, `query`, `vision`, `documents`, `audio`, `files-in-results`, `parallel-calls`, \
             `denied-is-error`, `send`, `max-output-tokens`, `connect-timeout-seconds`, \
             `first-chunk-timeout-seconds`, `idle-chunk-timeout-seconds`, `total-timeout-seconds`, `retries`",
        ),
        (
            "[ollama]\ntotal-timeout-seconds = 0",
            "line 2, column 25: 0 seconds cannot be used here; correct it",
        ),
        (
            "[[grants.dir]]\nhost = \".\"\nmode = \"readwrite\"",
            "line 3, column 8: invalid value `readwrite`; did you mean `read-write`?",
        ),
        (
            "permission-prompts = \"maybe\"",
            "line 1, column 22: invalid value `maybe`; the values are `ask`, `none`",
        ),
        (
            "[[tool]]\nname = \"é\"\n\n[[tool]]\nnäme = 1",
            "line 5, column 2: ",
        ),
        (
            "[limits]\ndeadline_ms = 5",
            "line 2, column 1: unknown key `deadline_ms`; did you mean `deadline-ms`?",
        ),
        (
            "[[tool]]\ncomponent = \"x.wasm\"",
            "line 1, column 1: missing key `name`; add it",
        ),
        (
            "max-turns = \"five\"",
            "line 1, column 13: invalid type: string \"five\", expected u64; correct it",
        ),
        (
            "max-turns = -1",
            "line 1, column 13: invalid value: integer `-1`, expected u64; correct it",
        ),
        (
            "[[grants.http]]\nhost = \"a\"\nport = 70000",
            "line 3, column 8: invalid value: integer `70000`, expected u16; correct it",
        ),
        (
            "[[tool]]\nname = \"a\"\ncomponent = \"builtin:files\"\nconcurrent-calls = 0",
            "line 4, column 20: invalid value: integer `0`, expected a nonzero usize; correct it",
        ),
        (
            "model = \"a\"\nmodel = \"b\"",
            "line 2, column 1: duplicate key; correct it",
        ),
        ("model = ", "line 1, column 9: "),
    ] {
        let text = tree.refusal(toml, &Overrides::default());
        let whole = format!("cannot use ROOT/home/ann/project/agent.toml: {expected}");
        if expected.ends_with(": ") {
            // The rest is in the words of the TOML reader.
            assert!(
                text.starts_with(&whole) && text.len() > whole.len(),
                "{text}"
            );
        } else {
            assert_eq!(text, whole);
        }
    }
}

#[test]
fn config_with_bad_value_is_refused() {
    let tree = Tree::new();
    for (toml, expected) in [
        (
            "max-turns = 0",
            "`max-turns` is 0, so the model would never be called; set it to at least 1, or leave it out",
        ),
        (
            "[limits]\ndeadline-ms = 0",
            "`deadline-ms` in [limits] is 0, so no call could run; set it to what a call needs, or leave it out",
        ),
        (
            "[[tool]]\nname = \"a\"\ncomponent = \"builtin:files\"\n[tool.limits]\nmemory-bytes = 0",
            "`memory-bytes` in [tool.limits] of `a` is 0, so no call could run; set it to what a call needs, or \
             leave it out",
        ),
        (
            "state-dir = \"\"",
            "a path in the configuration is empty; write `.` for the directory of agent.toml, or remove the key",
        ),
        (
            "model = \"llama3.2\"",
            "the model `llama3.2` does not name both a provider and a model; write it like `ollama:llama3.2` or \
             `script:tour`; `agent-host models` lists what your providers have",
        ),
        (
            "model = \"gpt-5\"",
            "the model `gpt-5` does not name both a provider and a model; did you mean `openai:gpt-5`?",
        ),
        (
            "model = \"claude-of-tomorrow\"",
            "the model `claude-of-tomorrow` does not name both a provider and a model; did you mean \
             `anthropic:claude-of-tomorrow`?",
        ),
        (
            "model = \"script:\"",
            "the model `script:` does not name both a provider and a model; write it like `ollama:llama3.2` or \
             `script:tour`; `agent-host models` lists what your providers have",
        ),
        (
            "model = \"openai_compat:x\"",
            "unknown model provider `openai_compat`; did you mean `openai-compat:x`?",
        ),
        (
            "model = \"nowhere:x\"",
            "unknown model provider `nowhere`; the providers are `anthropic`, `openai`, `openai-compat`, `gemini`, \
             `ollama`, `openrouter`, `deepseek`, `groq`, `mistral`, `together`, `azure`, `vllm`, `llama-cpp`, \
             `lm-studio`, `script`, `replay`",
        ),
        (
            "fallback = [\"script:tour\", \"opnai:x\"]",
            "unknown model provider `opnai`; did you mean `openai:x`?",
        ),
        (
            "[[tool]]\nname = \"my tool\"\ncomponent = \"x.wasm\"",
            "the tool name `my tool` is invalid: names have 1 to 64 letters (A to Z), digits, `_` and `-`; change \
             `name` under [[tool]]",
        ),
        (
            "[[tool]]\nname = \"a\"\ncomponent = \"x.wasm\"\n[[tool]]\nname = \"a\"\ncomponent = \"y.wasm\"",
            "two tools are named `a`, and `agent.lock` could not tell them apart; rename one of them",
        ),
    ] {
        assert_eq!(tree.problem(toml, &Overrides::default()), expected);
    }
}

#[test]
fn overrides_with_bad_value_are_refused() {
    let tree = Tree::new();
    let zero = Overrides {
        max_turns: Some(0),
        ..Overrides::default()
    };
    assert_eq!(
        tree.refusal("", &zero),
        "`max-turns` is 0, so the model would never be called; set it to at least 1, or leave it out"
    );
    let tools = Overrides {
        tools: vec!["missing.wasm".to_owned()],
        ..Overrides::default()
    };
    assert_eq!(
        tree.refusal("", &tools),
        "there is no component file `missing.wasm` and no configured tool with this name (the tools are: files, \
         fetch, image); name a file, a configured tool, or a built-in one like `builtin:files`"
    );
    let write = Overrides {
        write: true,
        ..Overrides::default()
    };
    assert_eq!(
        tree.refusal("[[grants.dir]]\nhost = \"data\"", &write),
        "`--write` makes the granted working directory writable, but ROOT/home/ann/project is not granted; pass \
         `--grant dir:PATH:read-write` for the directory that tools may write to"
    );
}

#[test]
fn config_file_unreadable_is_named() {
    let tree = Tree::new();
    let load = |path: &Path| -> ConfigError {
        Config::load(Some(path), &Overrides::default(), &tree.environment).unwrap_err()
    };
    assert_eq!(
        tree.portable(&load(Path::new("other.toml"))),
        "cannot read the configuration ROOT/home/ann/project/other.toml: No such file or directory (os error 2); check the \
         path and its permissions"
    );
    let path = tree.cwd().join("large.toml");
    std::fs::write(
        &path,
        " ".repeat(usize::try_from(MAX_CONFIG_BYTES).unwrap() + 1),
    )
    .unwrap();
    assert_eq!(
        tree.portable(&load(&path)),
        "cannot read the configuration ROOT/home/ann/project/large.toml: it is longer than 1048576 bytes; is it the right \
         file?"
    );
    std::fs::write(&path, [0xff, 0xfe]).unwrap();
    assert_eq!(
        tree.portable(&load(&path)),
        "cannot read the configuration ROOT/home/ann/project/large.toml: it is not UTF-8 text; save it as UTF-8"
    );
    // A link that leads nowhere is not the same as no file.
    std::os::unix::fs::symlink("nowhere", tree.cwd().join("agent.toml")).unwrap();
    let dangling = Config::load(None, &Overrides::default(), &tree.environment).unwrap_err();
    assert_eq!(
        tree.portable(&dangling),
        "ROOT/home/ann/project/agent.toml is a link to nowhere, which cannot be opened; replace it with a file, or \
         remove it"
    );
}

#[test]
fn state_dir_without_home_has_to_be_named() {
    let mut tree = Tree::new();
    tree.environment.variables.clear();
    let expected = "no directory for sessions: neither HOME nor XDG_STATE_HOME is set; set `state-dir` in \
                    agent.toml, or pass `--state-dir DIR`";
    assert_eq!(tree.refusal("", &Overrides::default()), expected);
    // Empty and relative values are not directories.
    tree.set("HOME", "");
    tree.set("XDG_STATE_HOME", "state");
    assert_eq!(tree.refusal("", &Overrides::default()), expected);
    assert_eq!(
        tree.problem("state-dir = \"~/state\"", &Overrides::default()),
        "the path `~/state` starts with the home directory, but HOME is not set; write the full path"
    );
}

#[test]
fn environment_debug_shows_no_values() {
    let environment = Environment {
        cwd: "/w".into(),
        variables: [("KEY".to_owned(), "secret".to_owned())].into(),
    };
    assert_eq!(
        format!("{environment:?}"),
        "Environment { cwd: \"/w\", variables: [\"KEY\"] }"
    );
}
