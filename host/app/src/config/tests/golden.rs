//! The outputs of every key at once: `config show`, what an untrusted file asks for, what trust
//! covers, and the errors about wrong values. A change of how keys are declared changes none.
//! `UPDATE_GOLDEN=1 cargo test -p agent-host-app golden` writes the files anew.

use super::Tree;
use crate::config::{
    Config, Effective, Overrides, Untrusted, parse::parse_configuration, raw::RawConfig,
};
use pretty_assertions::assert_eq;
use std::{fmt::Write as _, fs, path::Path};

/// A value for every key, above [`USER`].
const EVERY_KEY: &str = include_str!("golden/every_key.toml");

/// A file of the user with another value for most of them.
const USER: &str = include_str!("golden/user.toml");

/// Wrong values, each after a line of `---`.
const WRONG: &str = include_str!("golden/wrong_values.txt");

/// The public key of RFC 8410, section 10.1.
const KEY: &str = "-----BEGIN PUBLIC KEY-----\n\
    MCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=\n\
    -----END PUBLIC KEY-----\n";

/// Compares a text with the file of this name, or writes it.
fn compare(name: &str, found: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/config/tests/golden");
    let path = path.join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&path, found).unwrap();
    }
    assert_eq!(found, fs::read_to_string(&path).unwrap(), "{name}");
}

/// Creates the files that the keys name, and the user's configuration.
fn tree(user: &str) -> Tree {
    let tree = Tree::new();
    let configuration = tree.home().join(".config/agent-host");
    fs::create_dir_all(&configuration).unwrap();
    fs::write(configuration.join("config.toml"), user).unwrap();
    for directory in [tree.cwd(), configuration.as_path()] {
        fs::create_dir_all(directory.join("skills/pdf")).unwrap();
        fs::create_dir_all(directory.join("data")).unwrap();
        let skill = "---\nname: pdf\ndescription: Reads PDF files.\n---\n";
        fs::write(directory.join("skills/pdf/SKILL.md"), skill).unwrap();
        for name in ["AGENTS.md", "clerk.md"] {
            fs::write(directory.join(name), "Be brief.").unwrap();
        }
        fs::write(directory.join("acme.pub"), KEY).unwrap();
    }
    tree
}

impl Tree {
    fn without_root(&self, text: &str) -> String {
        text.replace(&self.root.display().to_string(), "ROOT")
    }
}

#[test]
fn golden_effective_configuration_of_every_key() {
    for (name, user, project) in [
        ("shown.txt", "", EVERY_KEY),
        ("shown_of_user.txt", USER, "[sandbox]\nguest-threads = 2\n"),
        (
            "shown_of_defaults.txt",
            "",
            "model = \"openai-compat:m\"\n[prices.\"openai-compat:*\"]\ninput = 0\noutput = 0\n\
             [sandbox]\nguest-threads = 2\n",
        ),
    ] {
        let mut tree = tree(user);
        tree.set("AGENT_HOST_MAX_USD", "2.5");
        tree.set("AGENT_HOST_FALLBACK", "openai-compat:a, openai-compat:b");
        tree.set("AGENT_HOST_CACHE_DIR", "cached");
        let file = tree.cwd().join("agent.toml");
        fs::write(&file, project).unwrap();
        let overrides = Overrides {
            max_tool_calls: Some(7),
            ..Overrides::default()
        };
        let shown = Effective::load(Some(&file), &overrides, &tree.environment);
        compare(name, &tree.without_root(&shown.unwrap().to_toml()));
    }
}

#[test]
fn golden_demands_and_authority_of_every_key() {
    let mut text = String::new();
    for user in ["", USER] {
        let tree = tree(user);
        fs::write(tree.cwd().join("agent.toml"), EVERY_KEY).unwrap();
        let found = Untrusted::found(&tree.environment).unwrap().unwrap();
        for demand in found.demands {
            writeln!(text, "{}", tree.without_root(&demand)).unwrap();
        }
        text.push('\n');
    }
    let raw: RawConfig = parse_configuration(Path::new("agent.toml"), EVERY_KEY).unwrap();
    for raw in [raw, RawConfig::default()] {
        let authority = serde_json::to_value(raw).unwrap();
        writeln!(
            text,
            "{}",
            serde_json::to_string_pretty(&authority).unwrap()
        )
        .unwrap();
    }
    compare("demands.txt", &text);
}

#[test]
fn golden_errors_of_wrong_values() {
    let mut text = String::new();
    for toml in WRONG.split("---\n").skip(1) {
        let tree = tree("");
        let file = tree.cwd().join("agent.toml");
        fs::write(&file, toml).unwrap();
        writeln!(text, "---\n{}", toml.trim_end()).unwrap();
        match Config::load(Some(&file), &Overrides::default(), &tree.environment) {
            Ok(_) => text.push_str("=> it is accepted\n"),
            Err(error) => {
                for problem in error.problems() {
                    let excerpt = problem.span.as_ref().and_then(|span| span.excerpt.as_ref());
                    let excerpt = excerpt.map(|excerpt| (&excerpt.text, &excerpt.mark));
                    let (key, value) = (&problem.key, &problem.value);
                    let told = format!("=> {problem}\n   {key:?} {value:?} {excerpt:?}\n");
                    text.push_str(&tree.without_root(&told));
                }
            }
        }
    }
    compare("wrong_errors.txt", &text);
}
