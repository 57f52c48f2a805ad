//! Tests what an approval prompt looks like on a screen, and its keys: at several widths, with
//! hostile arguments, and with files that it must not show.

mod editor;
mod scripts;

use agent_host_test_support::{
    Ran, TestEnv, at_once,
    chat::{Answer, ChatServer},
    of_kind,
    terminal::{MARKER, at_a_terminal_of, at_a_terminal_with, drawn, plain},
};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::os::unix::fs::symlink;

const FILES: &str = "[[tool]]\nname = \"files\"\ncomponent = \"builtin:files\"\n";
const WRITING: &str = "[[grants.dir]]\nhost = \".\"\nmode = \"read-write\"\n";
const RUN: &str = "run --quiet --model openai-compat:m go";

fn write(path: &str, content: &str) -> (&'static str, Value) {
    ("write_file", json!({ "path": path, "content": content }))
}

fn env() -> TestEnv {
    let env = TestEnv::new();
    env.configure(format!("{FILES}{WRITING}"));
    std::fs::create_dir_all(env.work().join("src/deep")).unwrap();
    env
}

/// Runs at a terminal of this width, with a model that makes these calls. Types each line at its
/// prompt.
fn at(env: &TestEnv, columns: u16, calls: &[(&str, Value)], keys: &[&str]) -> Ran {
    let server = ChatServer::start(vec![Answer::calls(calls), Answer::text("That is all.")]);
    // A terminal without a name has no colours by itself.
    let mut running = at_a_terminal_with(env, &server, columns, "CLICOLOR_FORCE=1", RUN);
    for (prompts, line) in keys.iter().enumerate() {
        if !running.stdout.says(MARKER, prompts + 1) {
            break;
        }
        running.types(line);
    }
    running.end()
}

fn read(env: &TestEnv, path: &str) -> Option<String> {
    std::fs::read_to_string(env.work().join(path)).ok()
}

/// The rows of the first prompt on a screen.
fn prompt(ran: &Ran, columns: u16) -> Vec<String> {
    let rows = drawn(&ran.stdout, columns);
    let from = rows
        .iter()
        .position(|row| row.contains("model wants to run"))
        .unwrap();
    let to = rows.iter().position(|row| row.starts_with("> ")).unwrap();
    rows[from..to].to_vec()
}

/// The target, the reach and the comparison, in rows that fit each width.
#[test]
fn write_is_shown_as_a_comparison_at_each_width() {
    at_once([60, 80, 200], |columns| {
        let env = env();
        env.write("src/list.txt", "bread\nmilk\nsalt\n");
        let call = [write("src/list.txt", "bread\noat milk\nsalt\n")];
        let ran = at(&env, columns, &call, &["y\n"]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let shown = prompt(&ran, columns);
        assert_eq!(
            shown[0],
            "The model wants to run write_file, which is effectful."
        );
        assert_eq!(shown[1..3], ["Its target is:", "│ src/list.txt"]);
        let from = shown
            .iter()
            .position(|row| row == "The file as it is now would change like this:");
        let from = from.unwrap_or_else(|| panic!("{columns}: {shown:#?}"));
        assert_eq!(
            shown[from + 1..from + 6],
            [
                "│ @@ -1,3 +1,3 @@",
                "│  bread",
                "│ -milk",
                "│ +oat milk",
                "│  salt"
            ],
            "{columns}"
        );
        let wide = shown
            .iter()
            .find(|row| row.chars().count() > usize::from(columns));
        assert_eq!(wide, None);
        assert_eq!(
            read(&env, "src/list.txt").as_deref(),
            Some("bread\noat milk\nsalt\n")
        );
        // Lines that come and go have colours of their own.
        assert!(
            ran.stdout.contains("\u{1b}[32m│ +oat milk"),
            "{}",
            ran.stdout
        );
    });
}

/// The answers stand in rows that fit, each of them whole; so does the host's other text.
#[test]
fn answers_are_broken_between_words() {
    let table: [(u16, &[&str]); 3] = [
        (
            60,
            &[
                "Run write_file, which is effectful? [y] yes",
                "[a] show the remaining 2, and approve them",
                "[t] yes, and each call of this tool in this session",
                "[p GLOB] yes, and calls with a matching target",
                "[m] yes, and do not ask again  [e] with other arguments",
                "[n] no  [n REASON] no, and tell the model why",
                "[r TEXT] no, use TEXT as its result  [l] decide later",
                "[j] show the exact JSON",
            ],
        ),
        (
            80,
            &[
                "Run write_file, which is effectful? [y] yes",
                "[a] show the remaining 2, and approve them",
                "[t] yes, and each call of this tool in this session",
                "[p GLOB] yes, and calls with a matching target  [m] yes, and do not ask again",
                "[e] with other arguments  [n] no  [n REASON] no, and tell the model why",
                "[r TEXT] no, use TEXT as its result  [l] decide later  [j] show the exact JSON",
            ],
        ),
        (
            200,
            &[
                "Run write_file, which is effectful? [y] yes  [a] show the remaining 2, and approve them  [t] yes, \
                 and each call of this tool in this session  [p GLOB] yes, and calls with a matching target",
                "[m] yes, and do not ask again  [e] with other arguments  [n] no  [n REASON] no, and tell the model \
                 why  [r TEXT] no, use TEXT as its result  [l] decide later  [j] show the exact JSON",
            ],
        ),
    ];
    at_once(table, |(columns, answers)| {
        let env = env();
        let hostile = "a\u{1b}[2Jb\u{202e}c\u{200b}d שלום";
        let calls = [write("a.txt", hostile), write("b.txt", "2")];
        let ran = at(&env, columns, &calls, &["n\n", "n\n"]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let shown = prompt(&ran, columns);
        let from = shown.len() - answers.len();
        assert_eq!(shown[from..], *answers, "{columns}");
        let title = shown[..2].join(" ");
        let title = title.trim_end_matches(" Its target is:");
        assert_eq!(
            title,
            "1 of 2: the model wants to run write_file, which is effectful."
        );
        let escaped = "│ content: a\\u{1b}[2Jb\\u{202e}c\\u{200b}d שלום".to_owned();
        assert!(shown.contains(&escaped), "{shown:#?}");
        for injected in ["\u{1b}[2J", "\u{202e}", "\u{200b}"] {
            assert!(!ran.stdout.contains(injected), "{injected:?}");
        }
    });
}

/// Each row: arguments, and the rows in which they are shown.
#[test]
fn arguments_are_text_with_escapes() {
    let table: [(&str, &[&str]); 5] = [
        (
            "one\ntwo",
            &["│ content:", "│   one", "│   two", "│ path: new.txt"],
        ),
        (
            "a\u{1b}[2Jb\u{202e}c\u{200b}d",
            &[
                "│ content: a\\u{1b}[2Jb\\u{202e}c\\u{200b}d",
                "│ path: new.txt",
            ],
        ),
        // A prompt of its own.
        (
            "x\nRun write_file, which is effectful? [y] yes\n> y",
            &[
                "│ content:",
                "│   x",
                "│   Run write_file, which is effectful? [y] yes",
                "│   > y",
                "│ path: new.txt",
            ],
        ),
        ("true", &["│ content: \"true\"", "│ path: new.txt"]),
        (
            "│ path: other",
            &["│ content: \\u{2502} path: other", "│ path: new.txt"],
        ),
    ];
    at_once(table, |(content, expected)| {
        let env = env();
        let ran = at(&env, 80, &[write("new.txt", content)], &["j\n", "n\n"]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let shown = prompt(&ran, 80);
        let from = shown
            .iter()
            .position(|row| row == "The arguments are:")
            .unwrap();
        assert_eq!(
            shown[from + 1..=from + expected.len()],
            *expected,
            "{content:?}"
        );
        let exact = plain(&ran.stdout);
        assert!(
            exact.contains("The arguments are exactly:\r\n│ {\r\n│   \"content\": \""),
            "{exact}"
        );
        assert_eq!(read(&env, "new.txt"), None);
    });
}

/// A large argument is shown whole, and the question stands below it.
#[test]
fn large_argument_is_shown_whole() {
    let env = env();
    let content: String = (0..20_000)
        .map(|line| format!("line {line} of a long text that continues\n"))
        .collect();
    assert!(content.len() > 800_000);
    let ran = at(&env, 200, &[write("new.txt", &content)], &["n\n"]);
    let shown = plain(&ran.stdout);
    for line in [0, 9_999, 19_999] {
        let row = format!("│   line {line} of a long text that continues\r\n");
        assert_eq!(shown.matches(&row).count(), 1, "{line}");
    }
    assert!(
        shown
            .trim_end()
            .contains("Run write_file, which is effectful? [y] yes")
    );
    assert_eq!(read(&env, "new.txt"), None);
}

/// Nothing of a file is shown that the tool itself may not read.
#[test]
fn comparison_shows_no_file_that_is_masked_or_behind_a_link() {
    let grant = "[[grants.dir]]\nhost = \".\"\nmode = \"read-write\"\nmask = [\"hidden.txt\"]\ndeny = [\"denied.txt\"]\n";
    let cases = [
        "hidden.txt",
        "denied.txt",
        "link.txt",
        "../outside.txt",
        "agent.toml",
    ];
    at_once(cases, |path| {
        let env = TestEnv::new();
        env.configure(format!("# TOPSECRET\n{FILES}{grant}"));
        env.write("hidden.txt", "TOPSECRET\n");
        env.write("denied.txt", "TOPSECRET\n");
        std::fs::write(env.outside().join("outside.txt"), "TOPSECRET\n").unwrap();
        symlink(
            env.outside().join("outside.txt"),
            env.work().join("link.txt"),
        )
        .unwrap();
        let ran = at(&env, 80, &[write(path, "new\n")], &["n\n"]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert!(!ran.stdout.contains("TOPSECRET"), "{path}: {}", ran.stdout);
        let shown = prompt(&ran, 80).join("\n");
        assert!(
            shown.contains("The tool says that the file cannot be compared:\n│ "),
            "{path}: {shown}"
        );
        assert!(shown.contains("│ content:\n│   new\n"), "{path}: {shown}");
    });
}

/// A file that changes between the comparison and the answer is compared again.
#[test]
fn file_that_changed_meanwhile_is_shown_again() {
    let env = env();
    env.write("list.txt", "bread\n");
    let server = ChatServer::start(vec![
        Answer::calls(&[write("list.txt", "milk\n")]),
        Answer::text("That is all."),
    ]);
    let mut running = at_a_terminal_of(&env, &server, 80, RUN);
    running.stdout.says(MARKER, 1);
    env.write("list.txt", "salt\n");
    running.types("y\n");
    running.stdout.says(MARKER, 2);
    running.types("n\n");
    let ran = running.end();
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let shown = plain(&ran.stdout);
    assert!(
        shown.contains("A file changed while you were reading"),
        "{shown}"
    );
    let (first, second) = (
        shown.find("│ -bread").unwrap(),
        shown.find("│ -salt").unwrap(),
    );
    assert!(first < second, "{shown}");
    assert_eq!(read(&env, "list.txt").as_deref(), Some("salt\n"));
}

/// Calls of a batch are counted, and approved together after all of them were shown.
#[test]
fn batch_is_approved_after_it_was_shown() {
    let calls = [
        write("a.txt", "1"),
        write("b.txt", "2"),
        write("c.txt", "3"),
    ];
    at_once([60, 80, 200], |columns| {
        let env = env();
        let ran = at(&env, columns, &calls, &["n no\n", "a\n", "y\n"]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let shown = plain(&ran.stdout);
        for text in [
            "1 of 3: the model wants to run write_file",
            "[a] show the remaining 3, and approve them",
            "[a] show the remaining 2, and approve them",
            "All of these:\r\n  2. write_file, which is effectful\r\n  3. write_file, which is effectful\r\nRun all 2 calls? [y] yes",
        ] {
            assert!(shown.contains(text), "no {text:?} in {shown}");
        }
        let last = shown.find("Run all 2 calls?").unwrap();
        for content in ["│ content: \"2\"", "│ content: \"3\""] {
            assert!(shown.rfind(content).unwrap() < last, "{shown}");
        }
        let written = ["a.txt", "b.txt", "c.txt"].map(|path| read(&env, path));
        assert_eq!(written, [None, Some("2".to_owned()), Some("3".to_owned())]);
    });
}

/// Decisions that were made before a later question was put off are kept.
#[test]
fn earlier_decisions_are_kept() {
    let calls = [
        write("a.txt", "1"),
        write("b.txt", "2"),
        write("c.txt", "3"),
    ];
    let env = env();
    let ran = at(&env, 80, &calls, &["y\n", "n not this\n", "l\n"]);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    let events = env.events();
    let kinds = of_kind(&events, "decision-recorded");
    assert_eq!(
        kinds[0]["decisions"],
        json!([
            { "type": "approve", "call_id": "call_0" },
            { "type": "reject", "call_id": "call_1", "reason": "not this" },
        ])
    );
    assert_eq!(of_kind(&events, "call-intended").len(), 0);
    let left = &of_kind(&events, "approval-requested")[1]["calls"];
    assert_eq!(
        (left.as_array().unwrap().len(), &left[0]["call_id"]),
        (1, &json!("call_2"))
    );
    assert!(
        plain(&ran.stdout).contains(" --decide call_2=approve"),
        "{}",
        ran.stdout
    );
}

/// The key for one tool stores the rule of a session, after it was shown.
#[test]
fn tool_is_approved_for_the_session() {
    let env = env();
    let server = ChatServer::start(vec![
        Answer::calls(&[write("a.txt", "1")]),
        Answer::calls(&[write("b.txt", "2")]),
        Answer::text("That is all."),
    ]);
    let mut running = at_a_terminal_of(&env, &server, 80, RUN);
    for (prompts, line) in ["t\n", "y\n"].iter().enumerate() {
        running.stdout.says(MARKER, prompts + 1);
        running.types(line);
    }
    let ran = running.end();
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(
        plain(&ran.stdout).contains(
            "The rule is:\r\n│ in this session, without asking, every call of `write_file`"
        )
    );
    assert_eq!(read(&env, "b.txt").as_deref(), Some("2"));
    let events = env.events();
    assert_eq!(of_kind(&events, "approval-remembered").len(), 1);
}

/// A pattern is shown as a rule and covers what it matches; one that would cover other targets than
/// this one, or all of them, is refused.
#[test]
fn pattern_is_approved_and_never_widens() {
    let env = env();
    let server = ChatServer::start(vec![
        Answer::calls(&[write("src/a.txt", "1")]),
        Answer::calls(&[write("src/deep/b.txt", "2")]),
        Answer::calls(&[write("src/../c.txt", "3")]),
        Answer::text("That is all."),
    ]);
    let keys = [
        "p other/**\n",
        "p ../**\n",
        "p /**\n",
        "p **\n",
        "p ./**\n",
        "p src/**\n",
        "1\n",
        "y\n",
        "n\n",
    ];
    let mut running = at_a_terminal_of(&env, &server, 200, RUN);
    for (prompts, line) in keys.iter().enumerate() {
        running.stdout.says(MARKER, prompts + 1);
        running.types(line);
    }
    let ran = running.end();
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let shown = plain(&ran.stdout);
    let refused = "This pattern does not match the target of this call.";
    assert_eq!(shown.matches(refused).count(), 4, "{shown}");
    assert_eq!(
        shown.matches("This pattern matches every call").count(),
        1,
        "{shown}"
    );
    let rule = "in this session, without asking, calls of `write_file` whose argument `/path` matches `src/**`";
    assert!(shown.contains(rule), "{shown}");
    let written = "│ In agent.toml, for every session:\r\n│ [[rule]]\r\n│ decision = \"allow\"\r\n│ tool = \"write_file\"\r\n\
                   │ arguments = { \"/path\" = \"src/**\" }\r\n";
    assert!(shown.contains(written), "{shown}");
    let written = ["src/a.txt", "src/deep/b.txt", "c.txt"].map(|path| read(&env, path));
    assert_eq!(written, [Some("1".to_owned()), Some("2".to_owned()), None]);
    let events = env.events();
    let remembered = of_kind(&events, "approval-remembered");
    let pattern = json!({ "pointer": "/path", "glob": "src/**" });
    assert_eq!(
        (remembered.len(), &remembered[0]["rule"]["pattern"]),
        (1, &pattern)
    );
    let rules: Vec<&Value> = of_kind(&events, "call-intended")
        .iter()
        .map(|call| &call["rule"])
        .collect();
    // The rule was recorded before the call that it was made for ran.
    assert_eq!(rules, ["approval.remembered", "approval.remembered"]);
}
