//! The model server: where its address and its key come from, and that a key is not shown.

use super::{Tree, finish};
use crate::config::{ConfigError, ModelConfig, Overrides};
use agent_host_models::Provider;
use pretty_assertions::assert_eq;
use secrecy::ExposeSecret;

/// Base URL, key and the key's source of the endpoint that this configuration opens.
fn open(tree: &Tree, server: &str) -> Result<(String, Option<String>, String), ConfigError> {
    let toml = format!("model = \"openai-compat:m\"\n[openai-compat]\n{server}");
    let config = tree.load(&toml, &Overrides::default())?;
    let Some(ModelConfig::Served { provider, .. }) = config.models.first else {
        panic!("another model");
    };
    let opened = finish(provider.open())?;
    let key = opened.key.map(|key| key.expose_secret().to_owned());
    Ok((opened.base_url, key, opened.key_source))
}

#[test]
fn provider_address_and_key_sources() {
    let mut tree = Tree::new();
    tree.set("MY_KEY", "from-variable");
    tree.set("EMPTY", "");
    std::fs::write(tree.cwd().join("key"), "from-file\n").unwrap();
    std::fs::write(tree.home().join("key"), "from-home").unwrap();
    let url = "base-url = \"http://a/v1\"\n";
    let cwd = tree.cwd().display().to_string();
    let home = tree.home().display().to_string();
    let with = |key: &str| format!("{url}api-key = \"{key}\"");
    let found = |key: &str, source: &str| {
        (
            "http://a/v1".to_owned(),
            Some(key.to_owned()),
            source.to_owned(),
        )
    };
    for (server, expected) in [
        (with("env:MY_KEY"), found("from-variable", "MY_KEY")),
        (with("file:key"), found("from-file", &format!("{cwd}/key"))),
        (
            with("file:~/key"),
            found("from-home", &format!("{home}/key")),
        ),
        (
            with("cmd:echo from-command"),
            found("from-command", "the command in `api-key`"),
        ),
        (
            url.to_owned(),
            (
                "http://a/v1".to_owned(),
                None,
                "OPENAI_COMPAT_API_KEY".to_owned(),
            ),
        ),
    ] {
        assert_eq!(open(&tree, &server).unwrap(), expected, "{server}");
    }
    // The environment is the fallback, for each of the two by itself.
    tree.set("OPENAI_COMPAT_BASE_URL", "http://b/v1");
    tree.set("OPENAI_COMPAT_API_KEY", "fallback");
    let source = "OPENAI_COMPAT_API_KEY".to_owned();
    assert_eq!(
        open(&tree, "").unwrap(),
        (
            "http://b/v1".to_owned(),
            Some("fallback".to_owned()),
            source
        )
    );
    assert_eq!(
        open(&tree, &with("env:MY_KEY")).unwrap(),
        found("from-variable", "MY_KEY")
    );
}

/// Address, key and the key's source of each provider, from the variables of its own SDK and
/// without any.
#[test]
fn provider_variables_of_the_environment() {
    const COMPAT: &str = "OPENAI_COMPAT_API_KEY";
    // The variables, and what they come to.
    type Case = (
        &'static str,
        &'static [(&'static str, &'static str)],
        Result<(&'static str, Option<&'static str>, &'static str), &'static str>,
    );
    let cases: [Case; 15] = [
        (
            "anthropic",
            &[("ANTHROPIC_API_KEY", "a")],
            Ok(("https://api.anthropic.com", Some("a"), "ANTHROPIC_API_KEY")),
        ),
        (
            "anthropic",
            &[
                ("ANTHROPIC_API_KEY", "a"),
                ("ANTHROPIC_BASE_URL", "http://b"),
            ],
            Ok(("http://b", Some("a"), "ANTHROPIC_API_KEY")),
        ),
        ("anthropic", &[], Err("ANTHROPIC_API_KEY")),
        // A server of one's own may want no key.
        (
            "anthropic",
            &[("ANTHROPIC_BASE_URL", "http://b")],
            Ok(("http://b", None, "ANTHROPIC_API_KEY")),
        ),
        (
            "openai",
            &[("OPENAI_API_KEY", "o"), ("OPENAI_BASE_URL", "http://b/v1")],
            Ok(("http://b/v1", Some("o"), "OPENAI_API_KEY")),
        ),
        (
            "openai",
            &[("OPENAI_API_KEY", "o")],
            Ok(("https://api.openai.com/v1", Some("o"), "OPENAI_API_KEY")),
        ),
        ("openai", &[("OPENAI_API_KEY", "")], Err("OPENAI_API_KEY")),
        (
            "gemini",
            &[("GEMINI_API_KEY", "g"), ("GEMINI_BASE_URL", "http://b")],
            Ok(("http://b", Some("g"), "GEMINI_API_KEY")),
        ),
        (
            "gemini",
            &[("GOOGLE_API_KEY", "g")],
            Ok((
                "https://generativelanguage.googleapis.com",
                Some("g"),
                "GOOGLE_API_KEY",
            )),
        ),
        (
            "gemini",
            &[
                ("GEMINI_API_KEY", "own"),
                ("GOOGLE_API_KEY", "g"),
                ("GEMINI_BASE_URL", "http://own"),
                ("GOOGLE_GEMINI_BASE_URL", "http://b"),
            ],
            Ok(("http://b", Some("g"), "GOOGLE_API_KEY")),
        ),
        ("gemini", &[], Err("GOOGLE_API_KEY")),
        (
            "ollama",
            &[],
            Ok(("http://127.0.0.1:11434", None, "OLLAMA_API_KEY")),
        ),
        (
            "ollama",
            &[("OLLAMA_HOST", "0.0.0.0:8080")],
            Ok(("http://127.0.0.1:8080", None, "OLLAMA_API_KEY")),
        ),
        (
            "openai-compat",
            &[(COMPAT, "c")],
            Err("OPENAI_COMPAT_BASE_URL"),
        ),
        (
            "openai-compat",
            &[("OPENAI_COMPAT_BASE_URL", "http://b/v1")],
            Ok(("http://b/v1", None, COMPAT)),
        ),
    ];
    for (provider, variables, expected) in cases {
        let mut tree = Tree::new();
        for (name, value) in variables {
            tree.set(name, value);
        }
        let config = tree.load(&format!("model = \"{provider}:m\""), &Overrides::default());
        let Some(ModelConfig::Served { provider, .. }) = config.unwrap().models.first else {
            panic!("another model");
        };
        match (finish(provider.open()), expected) {
            (Ok(opened), Ok(expected)) => {
                let key = opened.key.as_ref().map(ExposeSecret::expose_secret);
                let found = (opened.base_url.as_str(), key, opened.key_source.as_str());
                assert_eq!(found, expected, "{variables:?}");
            }
            (Err(error), Err(named)) => assert!(error.to_string().contains(named), "{error}"),
            (opened, expected) => panic!("{opened:?} is not {expected:?}"),
        }
    }
}

#[test]
fn provider_without_server_or_key_is_refused() {
    let mut tree = Tree::new();
    tree.set("EMPTY", "");
    std::fs::write(tree.cwd().join("empty"), " \n").unwrap();
    std::fs::write(tree.cwd().join("lines"), "a\nb\n").unwrap();
    std::fs::write(tree.cwd().join("bytes"), [0xff]).unwrap();
    std::fs::write(tree.cwd().join("long"), "k".repeat(16 * 1024 + 1)).unwrap();
    let refused = |server: &str| tree.portable(&open(&tree, server).unwrap_err());
    assert_eq!(
        refused(""),
        "no address is set for the model server of `openai-compat`; set `base-url` under [openai-compat] in \
         agent.toml, or the variable OPENAI_COMPAT_BASE_URL, to an address like http://127.0.0.1:11434/v1"
    );
    let with = |key: &str| refused(&format!("base-url = \"http://a/v1\"\napi-key = \"{key}\""));
    for name in ["NOT_SET", "EMPTY"] {
        assert_eq!(
            with(&format!("env:{name}")),
            format!(
                "the model server's key should be in the variable {name}, which is not set; set it, or change \
                 `api-key` under [openai-compat]"
            )
        );
    }
    for (source, place, why) in [
        (
            "file:gone",
            "the file ROOT/home/ann/project/gone",
            "No such file or directory (os error 2)",
        ),
        (
            "file:empty",
            "the file ROOT/home/ann/project/empty",
            "it is empty",
        ),
        (
            "file:lines",
            "the file ROOT/home/ann/project/lines",
            "it has more than one line",
        ),
        (
            "file:bytes",
            "the file ROOT/home/ann/project/bytes",
            "it is not text",
        ),
        (
            "file:long",
            "the file ROOT/home/ann/project/long",
            "it has more than 16384 bytes",
        ),
        (
            "cmd:exit 3",
            "the command in `api-key`",
            "it failed (exit status: 3)",
        ),
        ("cmd:true", "the command in `api-key`", "it is empty"),
        (
            "cmd:head -c 70000 /dev/zero",
            "the command in `api-key`",
            "it has more than 16384 bytes",
        ),
        (
            "cmd:yes",
            "the command in `api-key`",
            "it has more than 16384 bytes",
        ),
    ] {
        assert_eq!(
            with(source),
            format!(
                "cannot read the model server's key from {place}: {why}; correct `api-key` under [openai-compat]"
            )
        );
    }
}

#[test]
fn key_in_the_file_is_refused_and_not_repeated() {
    let tree = Tree::new();
    for provider in Provider::ALL.map(Provider::name) {
        for key in ["sk-live-123", "", "env:", "https:sk-live-123", "cmd: "] {
            // Refused whichever model is chosen.
            let toml = format!("[{provider}]\napi-key = \"{key}\"");
            assert_eq!(
                tree.problem(&toml, &Overrides::default()),
                format!(
                    "`api-key` under [{provider}] does not name the source of the model server's key; the value \
                     itself does not belong in a file that is shared and committed; write `env:NAME`, `file:PATH` or \
                     `cmd:COMMAND` (and change the exposed value)"
                )
            );
        }
    }
}

#[test]
fn config_debug_shows_no_keys() {
    for provider in Provider::ALL {
        let mut tree = Tree::new();
        let variable = provider.key_variables()[0];
        tree.set(variable, "sk-live-123");
        let toml = format!("model = \"{}:m\"", provider.name());
        let config = tree.load(&toml, &Overrides::default()).unwrap();
        let printed = format!("{config:?}");
        assert!(
            printed.contains(variable) && !printed.contains("sk-live-123"),
            "{printed}"
        );
    }
}
