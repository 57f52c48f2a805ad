//! Contents of files, each in one piece and byte by byte.

use super::{EXECUTING_KEYS, GitConfigContent, GitConfigScan};
use pretty_assertions::assert_eq;

use GitConfigContent::{Executes, Harmless, NotConfig};

fn scanned(text: &str) -> GitConfigContent {
    let whole = GitConfigScan::default().feed(text.as_bytes());
    let mut scan = GitConfigScan::default();
    for byte in text.bytes() {
        scan.feed(&[byte]);
    }
    assert_eq!(scan.content(), whole, "{text:?}");
    whole
}

/// The texts that give a key without and with a subsection.
fn texts(section: &str, key: &str, value: &str) -> (Vec<String>, Vec<String>) {
    let plain = vec![
        format!("[{section}]\n{key} = {value}\n"),
        format!(
            "[x \"y\"]\n[{}]{} ={value}",
            section.to_uppercase(),
            key.to_uppercase()
        ),
    ];
    let below = vec![
        format!("[{section} \"a]\\\"b\"] {} ={value}", key.to_uppercase()),
        format!(
            "\u{feff}# x\n;\n[other]\na = \"b # \\\n c\" # \"\n[{section}.sub]\r\n\t{key}\t= {value}"
        ),
        format!("[{section}.sub \"x\"]{key}={value}"),
        format!("[{section} \"\"]\n{key} = \\\n {value}"),
    ];
    (plain, below)
}

#[test]
fn git_config_key_of_the_table_executes() {
    for (section, keys) in EXECUTING_KEYS {
        for key in *keys {
            let value = match key.chars().last() {
                Some('!') => "!run",
                Some('/') => r#""r#/"un"#,
                _ => "run",
            };
            let key = key.trim_end_matches(['!', '/']);
            let name = key.strip_prefix("*.").unwrap_or(key).replace('*', "status");
            let (plain, below) = texts(section, &name, value);
            let texts = if key.starts_with("*.") { below } else { plain };
            for text in texts {
                assert_eq!(scanned(&text), Executes, "{text:?}");
            }
            let harmless = format!("[{section}x]\n{name} = {value}\n[{section}]\n{name}x-y = 1\n");
            if *section != "pager" && *section != "alias" {
                assert_eq!(scanned(&harmless), Harmless, "{harmless:?}");
            }
        }
    }
}

#[test]
fn git_config_key_in_another_kind_of_section_is_harmless() {
    for (section, keys) in EXECUTING_KEYS {
        for key in *keys {
            let key = key.trim_end_matches(['!', '/']);
            let (name, other) = match key.strip_prefix("*.") {
                Some(name) => (name, name.to_owned()),
                None => (key, format!("*.{key}")),
            };
            let has_both = keys
                .iter()
                .any(|key| key.trim_end_matches(['!', '/']) == other);
            if has_both {
                continue;
            }
            let (plain, below) = texts(section, name, "!run");
            let texts = if key.starts_with("*.") { plain } else { below };
            for text in texts {
                assert_eq!(scanned(&text), Harmless, "{text:?}");
            }
        }
    }
}

#[test]
fn git_config_without_such_a_key_is_harmless() {
    for text in [
        "",
        "# only\n; comments\n",
        "[core]\n\tbare = true\n\trepositoryformatversion = 0\n",
        "[user]\n name = \"core # editor = x\" ; [core] editor = x\n",
        "[user]\n name = a \\\n editor = x\n",
        "[core]\n editor",
        "[diff]\n tool = vimdiff # /\n[merge]\n tool = \"meld\" \\\n\n[a]\n b = /x\n",
        "[submodule \"a\"]\n path = a\n url = https://example.com/a\n update = merge\n",
    ] {
        assert_eq!(scanned(text), Harmless, "{text:?}");
    }
}

#[test]
fn git_config_value_counts_from_its_first_byte() {
    for text in [
        "[submodule \"a\"]\nupdate = !run",
        "[submodule \"a\"]\nupdate = \"!run\"",
        "[submodule \"a\"]\nupdate = \"\"\\\r\n \"!run",
        // An alias may run a command without `!`, by an option of the command that it is.
        "[alias]\nx = !run",
        "[alias]\nx = ls-remote --upload-pack=run .",
    ] {
        assert_eq!(scanned(text), Executes, "{text:?}");
    }
}

#[test]
fn other_text_is_no_git_config() {
    for text in [
        "fn main() {}\n",
        "import os\n[core]\neditor = x\n",
        "# A page\n\nSet this:\n\n[core]\neditor = x\n",
        "{\n  \"a\": 1\n}\n",
        "key_x=1\n[core]\neditor = x\n",
        "[core\n]\neditor = x\n",
        "[core \"a\nb\"]\neditor = x\n",
        "[tool.poetry.group_x]\n",
        "[user]\nname = \"a\n[core]\neditor = x\n",
        "[user]\nname = \\x\n[core]\neditor = x\n",
        "\0[core]\neditor = x\n",
    ] {
        assert_eq!(scanned(text), NotConfig, "{text:?}");
    }
}
