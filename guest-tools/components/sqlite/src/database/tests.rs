use std::fs;

use pretty_assertions::assert_eq;
use proptest::prelude::*;

use super::{Database, authorize, escaped};
use rusqlite::hooks::{AuthAction, Authorization};

pub(crate) fn fixture(name: &str) -> String {
    format!("{}/tests/fixtures/{name}", env!("CARGO_MANIFEST_DIR"))
}

fn opened(bytes: &[u8]) -> Result<(), String> {
    let file = tempfile::NamedTempFile::new().expect("a file");
    fs::write(file.path(), bytes).expect("a file");
    let path = file.path().to_str().expect("UTF-8");
    let database = Database::open(path);
    database
        .map(drop)
        .map_err(|failure| failure.to_string().replace(path, "PATH"))
}

#[test]
fn file_of_another_kind_is_refused() {
    assert_eq!(opened(b""), Ok(()));
    let other = Err("`PATH` is no SQLite database, or an encrypted one".to_owned());
    assert_eq!(opened(b"SQLite format 3"), other);
    assert_eq!(opened(&[7; 4096]), other);
}

#[test]
fn changes_beside_the_database_are_noted() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("a.db");
    let name = path.to_str().expect("UTF-8");
    fs::copy(fixture("wal.db"), &path).expect("a copy");
    assert_eq!(
        Database::open(name).expect("a database").notes,
        Vec::<String>::new()
    );
    fs::write(directory.path().join("a.db-wal"), b"").expect("a file");
    assert_eq!(
        Database::open(name).expect("a database").notes,
        Vec::<String>::new()
    );
    fs::copy(fixture("wal.db-wal"), directory.path().join("a.db-wal")).expect("a copy");
    fs::write(directory.path().join("a.db-journal"), b"x").expect("a file");
    let notes = [
        format!(
            "the newest changes stand in `{name}-wal` and are not seen here: a program that closes the database puts them into it"
        ),
        format!(
            "`{name}-journal` is there: a program is changing the database, or ended while it did, and what is read may be in between"
        ),
    ];
    assert_eq!(Database::open(name).expect("a database").notes, notes);
}

#[test]
fn name_of_a_file_is_no_part_of_the_address() {
    assert_eq!(escaped("a?mode=rw#b%20c"), "a%3fmode=rw%23b%2520c");
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("a?mode=rwc#%20.db");
    fs::copy(fixture("shop.db"), &path).expect("a copy");
    assert!(Database::open(path.to_str().expect("UTF-8")).is_ok());
    assert_eq!(
        fs::read_dir(directory.path()).expect("a directory").count(),
        1
    );
}

#[test]
fn action_that_does_not_read_is_denied() {
    let pragma = |pragma_name, pragma_value| AuthAction::Pragma {
        pragma_name,
        pragma_value,
    };
    let allowed = [
        AuthAction::Select,
        AuthAction::Recursive,
        AuthAction::Read {
            table_name: "t",
            column_name: "c",
        },
        AuthAction::Function {
            function_name: "length",
        },
        pragma("TABLE_INFO", Some("t")),
        pragma("user_version", None),
    ];
    let denied = [
        AuthAction::Insert { table_name: "t" },
        AuthAction::Update {
            table_name: "t",
            column_name: "c",
        },
        AuthAction::Delete { table_name: "t" },
        AuthAction::Attach { filename: "x" },
        AuthAction::Detach { database_name: "x" },
        AuthAction::CreateTable { table_name: "t" },
        AuthAction::CreateVtable {
            table_name: "t",
            module_name: "m",
        },
        AuthAction::Analyze { table_name: "t" },
        AuthAction::Function {
            function_name: "LOAD_EXTENSION",
        },
        AuthAction::Function {
            function_name: "fts3_tokenizer",
        },
        pragma("user_version", Some("3")),
        pragma("writable_schema", Some("1")),
        pragma("trusted_schema", None),
        pragma("temp_store_directory", Some("/")),
        AuthAction::Unknown {
            code: 99,
            arg1: None,
            arg2: None,
        },
    ];
    for action in allowed {
        assert_eq!(authorize(&action), Authorization::Allow, "{action:?}");
    }
    for action in denied {
        assert_eq!(authorize(&action), Authorization::Deny, "{action:?}");
    }
}

proptest! {
    // Each case runs SQLite on a file.
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn changed_database_is_no_panic_fuzz(
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..20),
        cut in any::<Option<prop::sample::Index>>(),
    ) {
        let mut bytes = fs::read(fixture("shop.db")).expect("a fixture");
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        let file = tempfile::NamedTempFile::new().expect("a file");
        fs::write(file.path(), &bytes).expect("a file");
        let path = file.path().to_str().expect("UTF-8");
        let _ = crate::schema::tests::schema(path, 0);
        for sql in ["SELECT * FROM items", "SELECT * FROM cheap", "SELECT body FROM notes WHERE notes MATCH 'winter'", "PRAGMA integrity_check"] {
            let _ = crate::query::tests::query(path, sql);
        }
        prop_assert_eq!(fs::read(file.path()).expect("a file"), bytes);
    }
}
