use super::{
    EXTRACT_CHARS, MAX_MATCHES, MAX_PAGES, MAX_SESSIONS, SearchPosition, extract, search_texts,
    words,
};
use agent_host_journal::{
    ImportAs, ImportSource, JournalStore as _, SessionScope, SqliteOptions, SqliteStore, Transcript,
};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::{collections::BTreeSet, path::Path};

async fn open(state_dir: &Path) -> SqliteStore {
    let store = SqliteStore::open(state_dir, SqliteOptions::default());
    store.await.unwrap()
}

/// Stores a session with these texts of its user.
async fn add(store: &SqliteStore, texts: &[&str]) {
    let message = |text: &&str| json!({"role": "user", "content": text});
    let messages: Vec<Value> = texts.iter().map(message).collect();
    let source = ImportSource::Conversation(Transcript::from_json(json!(messages)).unwrap());
    let imported = store.import_owned(source, ImportAs::NewCopy, None);
    imported.await.unwrap();
}

/// Searches to the end of a store, and returns the number of matches of each search.
async fn search_all(store: &SqliteStore, text: &str) -> Vec<usize> {
    let (mut from, mut counts, mut seen) = (SearchPosition::default(), Vec::new(), BTreeSet::new());
    loop {
        let found = search_texts(store, SessionScope::All, text, from);
        let found = found.await.unwrap();
        counts.push(found.matches.len());
        for found in found.matches {
            assert!(seen.insert(found.info.id.to_string()), "{counts:?}");
        }
        match found.next {
            Some(next) => from = next,
            None => return counts,
        }
    }
}

/// Each search reads a bounded part: a long session takes several, and so do many sessions. Each
/// match is found once.
#[tokio::test]
async fn search_reads_a_bounded_part_and_goes_on() {
    let state = tempfile::tempdir().unwrap();
    let store = open(state.path()).await;
    let long = "a".repeat(1024 * 1024);
    let mut texts = vec![long.as_str(); MAX_PAGES + 4];
    texts.push("the needle");
    add(&store, &texts).await;
    let counts = search_all(&store, "needle").await;
    assert_eq!(counts.iter().sum::<usize>(), 1);
    assert!((2..=4).contains(&counts.len()), "{counts:?}");

    let state = tempfile::tempdir().unwrap();
    let store = open(state.path()).await;
    for _ in 0..MAX_SESSIONS + 10 {
        add(&store, &["nothing"]).await;
    }
    for _ in 0..MAX_MATCHES + 1 {
        add(&store, &["hay", "a needle", "needle"]).await;
    }
    let counts = search_all(&store, "needle").await;
    assert_eq!(counts.iter().sum::<usize>(), MAX_MATCHES + 1);
    assert!(counts.len() >= 16, "{counts:?}");
    assert_eq!(search_all(&store, " .,").await, [0]);
}

/// The extract, with matches in brackets.
fn shown(text: &str, search: &str) -> Option<String> {
    let wanted: Vec<String> = words(search).map(|(_, word)| word).collect();
    let parts = extract(text, &wanted)?;
    let parts = parts.into_iter().map(|part| match part.is_match {
        true => format!("[{}]", part.text),
        false => part.text,
    });
    Some(parts.collect())
}

#[test]
fn extract_marks_the_words_that_begin_as_wanted() {
    for (text, search, expected) in [
        ("The Cat sat.", "cat", Some("The [Cat] sat.")),
        ("The Cat\n\n sat.", "SA ca", Some("The [Cat] [sat].")),
        ("The cat sat.", "at", None),
        ("The cat sat.", "cat dog", None),
        (
            "Straße über İstanbul",
            "ÜBER straß",
            Some("[Straße] [über] İstanbul"),
        ),
        ("", "a", None),
        ("\u{202e}cat<b>", "cat", Some("\u{202e}[cat]<b>")),
    ] {
        assert_eq!(shown(text, search).as_deref(), expected, "{text} {search}");
    }
    let long = format!("{}cat {}", "é ".repeat(500), "ü ".repeat(500));
    let extract = shown(&long, "cat").unwrap();
    assert_eq!(extract.chars().count(), EXTRACT_CHARS + 2);
    assert_eq!(extract.find('['), Some(90));
}

#[test]
fn position_of_a_search_is_read_as_written() {
    let position = SearchPosition { offset: 7, seq: 9 };
    assert_eq!(position.to_string().parse(), Ok(position));
    for text in [
        "",
        ".",
        "1",
        "1.",
        "-1.0",
        "1.2.3",
        "99999999999999999999.0",
    ] {
        assert!(text.parse::<SearchPosition>().is_err(), "{text}");
    }
}
