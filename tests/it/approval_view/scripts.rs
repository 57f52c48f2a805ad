//! Names in an approval that mix the letters of several scripts.

use super::{at, env, prompt, write};
use agent_host_test_support::{
    at_once,
    chat::{Answer, ChatServer, ask},
};

/// A Cyrillic letter in a path is told in the program's words, on each width and in a list of what
/// waits.
#[test]
fn word_of_mixed_scripts_is_marked_at_each_width() {
    at_once([40, 80, 120], |columns| {
        let env = env();
        let ran = at(&env, columns, &[write("p\u{430}th.txt", "x")], &["n\n"]);
        let rows = prompt(&ran, columns).join(" ");
        assert!(rows.contains("mix alphabets"), "{columns}: {rows}");
        let row = "│ p\u{430}th: Latin and Cyrillic";
        assert!(rows.contains(row), "{columns}: {rows}");
    });
    let env = env();
    let server = ChatServer::start(vec![Answer::calls(&[write("p\u{430}th.txt", "x")])]);
    let ran = ask(&env, &server, &["--permission-prompts", "later", "go"]);
    let mark = "    mixes alphabets: p\u{430}th: Latin and Cyrillic (\u{430} is U+0430)\n";
    assert!(ran.stderr.contains(mark), "{}", ran.stderr);
}
