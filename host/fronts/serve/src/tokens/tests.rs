//! Tokens that were changed past the program.

use super::TokenFile;
use crate::access::{AccessRole, ServerAccess};
use agent_host_http::Token;
use agent_host_journal::{SqliteOptions, SqliteStore};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::{fs, path::Path};
use tempfile::TempDir;

fn file(state: &Path) -> Value {
    serde_json::from_slice(&fs::read(state.join("serve-tokens.json")).unwrap()).unwrap()
}

fn write(state: &Path, document: &Value) {
    fs::write(state.join("serve-tokens.json"), document.to_string()).unwrap();
}

fn create(file: &TokenFile, name: &str) -> Token {
    let text = file.create(name.parse().unwrap(), AccessRole::User, None);
    Token::new(&text.unwrap()).unwrap()
}

/// Takes a file to the version in which no entry was signed.
fn unsign(document: &mut Value) {
    let signed = document["entries"].as_array().unwrap().iter();
    let entries: Vec<Value> = signed.map(|known| known["entry"].clone()).collect();
    *document = json!({"version": 2, "tokens": entries});
}

/// Returns the names that are believed, and those that are ignored.
fn names(file: &TokenFile) -> [Vec<String>; 2] {
    let entries = file.read().unwrap();
    let believed = entries.believed.iter().map(|known| known.name.to_string());
    let ignored = entries
        .ignored
        .iter()
        .map(|known| known.entry.name.to_string());
    [believed.collect(), ignored.collect()]
}

/// Of two tokens, the first one is changed in each way that is possible past the program.
#[tokio::test]
async fn token_is_believed_only_as_it_was_written() {
    type Case = (&'static str, fn(&mut Value), [&'static [&'static str]; 2]);
    let table: [Case; 11] = [
        ("valid", |_| (), [&["a", "b"], &[]]),
        (
            "without signature",
            |all| {
                drop(
                    all["entries"][0]
                        .as_object_mut()
                        .unwrap()
                        .remove("signature"),
                )
            },
            [&["b"], &["a"]],
        ),
        (
            "another text",
            |all| all["entries"][0]["signature"] = json!("00"),
            [&["b"], &["a"]],
        ),
        (
            "signature of another name",
            |all| all["entries"][0]["signature"] = all["entries"][1]["signature"].clone(),
            [&["b"], &["a"]],
        ),
        (
            "name",
            |all| all["entries"][0]["entry"]["name"] = json!("c"),
            [&["b"], &["c"]],
        ),
        (
            "role",
            |all| all["entries"][0]["entry"]["role"] = json!("operator"),
            [&["b"], &["a"]],
        ),
        (
            "hash",
            |all| all["entries"][0]["entry"]["hash"] = all["entries"][1]["entry"]["hash"].clone(),
            [&["b"], &["a"]],
        ),
        (
            "created-at-ms",
            |all| all["entries"][0]["entry"]["created-at-ms"] = json!(1),
            [&["b"], &["a"]],
        ),
        (
            "sessions",
            |all| all["entries"][0]["entry"]["sessions"] = json!("project"),
            [&["b"], &["a"]],
        ),
        ("older version", unsign, [&[], &["a", "b"]]),
        (
            "other state directory",
            |all| {
                // The entries are the same; the key is another one.
                let other = TempDir::new().unwrap();
                write(other.path(), all);
                let _ = create(&TokenFile::in_state_dir(other.path()), "c");
                let theirs = file(other.path());
                let signed = theirs["entries"].as_array().unwrap().iter();
                let mut of_c = signed.filter(|known| known["entry"]["name"] == "c");
                all["entries"][0] = of_c.next().unwrap().clone();
            },
            [&["b"], &["c"]],
        ),
    ];
    for (name, by, expected) in table {
        let directory = TempDir::new().unwrap();
        let state = directory.path();
        let tokens = TokenFile::in_state_dir(state);
        let (a, _) = (create(&tokens, "a"), create(&tokens, "b"));
        let mut document = file(state);
        // A new field needs a row above.
        let fields = document["entries"][0]["entry"].as_object().unwrap().keys();
        let known = ["created-at-ms", "hash", "name", "role", "sessions"];
        assert_eq!(fields.collect::<Vec<_>>(), known);
        by(&mut document);
        write(state, &document);
        assert_eq!(names(&tokens), expected.map(<[&str]>::to_vec), "{name}");
        let access = ServerAccess::new(Token::generate().unwrap().0, tokens.clone());
        let is_admitted = access.caller(a).await.is_ok();
        assert_eq!(is_admitted, name == "valid", "{name}");
        // A change of another entry keeps what is ignored; one of its own replaces or removes it.
        create(&tokens, "d");
        tokens.revoke("d".parse().unwrap()).unwrap();
        assert_eq!(names(&tokens)[1], expected[1], "{name}");
        for ignored in expected[1] {
            let again = create(&tokens, ignored);
            assert!(access.caller(again).await.is_ok(), "{name}");
        }
        assert_eq!(names(&tokens)[1], Vec::<String>::new(), "{name}");
    }
}

/// A file of before the signatures is believed as it was when the key was made, until one with
/// signatures replaces it.
#[tokio::test]
async fn tokens_of_an_older_version_are_believed_until_replaced() {
    let directory = TempDir::new().unwrap();
    let state = directory.path();
    let tokens = TokenFile::in_state_dir(state);
    create(&tokens, "a");
    let mut old = file(state);
    unsign(&mut old);
    write(state, &old);
    fs::remove_file(state.join("rows.key")).unwrap();
    // Whichever part of the program makes the key.
    drop(
        SqliteStore::open(state, SqliteOptions::default())
            .await
            .unwrap(),
    );
    assert_eq!(names(&tokens), [vec!["a"], vec![]]);
    let mut changed = old.clone();
    changed["tokens"][0]["role"] = json!("operator");
    write(state, &changed);
    assert_eq!(names(&tokens), [vec![], vec!["a"]]);
    write(state, &old);
    create(&tokens, "b");
    assert_eq!(names(&tokens), [vec!["a", "b"], vec![]]);
    write(state, &old);
    assert_eq!(names(&tokens), [vec![], vec!["a"]]);
}

/// One that was not there when the key was made is not believed.
#[tokio::test]
async fn tokens_of_an_older_version_beside_a_key_are_ignored() {
    let directory = TempDir::new().unwrap();
    let tokens = TokenFile::in_state_dir(directory.path());
    create(&tokens, "a");
    let mut old = file(directory.path());
    unsign(&mut old);
    fs::remove_file(directory.path().join("serve-tokens.json")).unwrap();
    fs::remove_file(directory.path().join("rows.key")).unwrap();
    let store = SqliteStore::open(directory.path(), SqliteOptions::default());
    drop(store.await.unwrap());
    write(directory.path(), &old);
    assert_eq!(names(&tokens), [vec![], vec!["a"]]);
}
