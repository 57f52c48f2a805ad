use agent_tool::{Output, Part};
use pretty_assertions::assert_eq;
use serde_json::json;

use super::{SqliteBlob, sqlite_blob};
use crate::database::tests::fixture;

fn blob(sql: &str) -> Result<Output, String> {
    sqlite_blob(SqliteBlob {
        path: fixture("shop.db"),
        sql: sql.to_owned(),
        params: Some(vec![json!(3)]),
        named: None,
    })
    .map_err(|failure| failure.to_string())
}

#[test]
fn value_is_a_file() {
    let bytes: Vec<u8> = (0..=255).cycle().take(3_072).collect();
    let file = |media_type: &str, bytes: &[u8], name: &str| {
        Ok(Output::content([
            Part::bytes(media_type, bytes.to_vec()).named(name)
        ]))
    };
    let cases = [
        ("SELECT photo FROM items WHERE id = ?", file("application/octet-stream", &bytes, "photo")),
        ("SELECT x'89504e470d0a1a0a0000' AS logo, ?", file("image/png", b"\x89PNG\r\n\x1a\n\0\0", "logo")),
        ("SELECT 'a' || ? AS note", file("text/plain", b"a3", "note")),
        ("SELECT ?", Err("the value is neither a blob nor a text; sqlite_query shows it".to_owned())),
        ("SELECT 'a' WHERE ? = 4", Err("the statement found no row".to_owned())),
        (
            "SELECT zeroblob(6000000), ?",
            Err("the value has 6000000 bytes; at most 5242880 can be returned; select a part with substr()".to_owned()),
        ),
    ];
    for (sql, expected) in cases {
        assert_eq!(blob(sql), expected, "{sql}");
    }
}
