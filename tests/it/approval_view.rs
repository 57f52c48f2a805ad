//! Tests what an approval prompt looks like on a screen, and its keys: at several widths, with
//! hostile arguments, and with files that it must not show.

mod batch;
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
        .position(|row| row.contains("write_file"))
        .unwrap();
    let to = rows.iter().position(|row| row.starts_with("> ")).unwrap();
    rows[from..to].to_vec()
}

/// A change of one line is one frame, in rows that fit each width.
#[test]
fn write_is_shown_as_a_comparison_at_each_width() {
    let answers = |columns| match columns {
        60 => vec![
            "Allow write_file? [y] once  [a] always for src/**  [n] no",
            "[?] more",
        ],
        _ => vec!["Allow write_file? [y] once  [a] always for src/**  [n] no  [?] more"],
    };
    at_once([60, 80, 200], |columns| {
        let env = env();
        env.write("src/list.txt", "bread\nmilk\nsalt\n");
        let call = [write("src/list.txt", "bread\noat milk\nsalt\n")];
        let ran = at(&env, columns, &call, &["y\n"]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let shown = prompt(&ran, columns);
        let wide = shown
            .iter()
            .find(|row| row.chars().count() > usize::from(columns));
        assert_eq!(wide, None);
        assert_eq!(
            shown[..6],
            [
                "write_file src/list.txt  +1 -1",
                "│ @@ -1,3 +1,3 @@",
                "│  bread",
                "│ -milk",
                "│ +oat milk",
                "│  salt",
            ],
            "{columns}"
        );
        let answers = answers(columns);
        let (reach, asked) = shown[6..].split_at(shown.len() - 6 - answers.len());
        let reach = reach.join(" ");
        assert!(
            reach.starts_with("Sandboxed; at most it can reach: "),
            "{reach}"
        );
        assert!(reach.ends_with(" (read-write); no network."), "{reach}");
        assert_eq!(asked, answers, "{columns}");
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

/// Everything else is behind one key: who offers the tool, why it asks, and each other answer.
#[test]
fn details_and_other_answers_are_behind_a_key() {
    at_once([60, 80, 200], |columns| {
        let env = env();
        let hostile = "a\u{1b}[2Jb\u{202e}c\u{200b}d שלום";
        let calls = [write("a.txt", hostile), write("b.txt", "2")];
        let ran = at(&env, columns, &calls, &["?\n", "n\n", "n\n"]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let shown = prompt(&ran, columns);
        assert_eq!(shown[0], "1 of 2  write_file a.txt  new file +1");
        assert_eq!(shown[1], "│ +a\\u{1b}[2Jb\\u{202e}c\\u{200b}d שלום");
        for injected in ["\u{1b}[2J", "\u{202e}", "\u{200b}"] {
            assert!(!ran.stdout.contains(injected), "{injected:?}");
        }
        let rows = drawn(&ran.stdout, columns);
        let from = rows.iter().position(|row| row == "> ?").unwrap();
        let to = rows.iter().position(|row| row == "> n").unwrap();
        let details = rows[from + 1..to].join("\n");
        for text in [
            "The tool's own title is:\n│ Write a file\nIt comes from:\n│ the component `files`, in the sandbox\n",
            "Asked because of rule effect.effectful, arguments",
            "\n[a GLOB] always, for targets that match a pattern such as",
            "\n[x] always, with exactly these arguments\n[t] always, every call of this tool\n[all] show the \
             remaining 2, and allow them\n[e] edit the arguments\n[n REASON] no, and tell the model why\n[none] no \
             to the remaining 2\n[r TEXT] no, use TEXT as the result\n[v] show all rows\n[j] exact JSON\n[l] decide \
             later\nAllow write_file? ",
        ] {
            assert!(
                details.contains(text),
                "{columns}: no {text:?} in {details}"
            );
        }
    });
}

/// Each row: a text that a new file gets, and the rows in which it is shown.
#[test]
fn new_file_is_shown_with_escapes() {
    let table: [(&str, &[&str]); 4] = [
        ("one\ntwo\n", &["│ +one", "│ +two"]),
        (
            "a\u{1b}[2Jb\u{202e}c\u{200b}d\n",
            &["│ +a\\u{1b}[2Jb\\u{202e}c\\u{200b}d"],
        ),
        // A prompt of its own.
        (
            "x\nAllow write_file? [y] once\n> y\n",
            &["│ +x", "│ +Allow write_file? [y] once", "│ +> y"],
        ),
        ("│ path: other\n", &["│ +\\u{2502} path: other"]),
    ];
    at_once(table, |(content, expected)| {
        let env = env();
        let ran = at(&env, 80, &[write("new.txt", content)], &["j\n", "n\n"]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let shown = prompt(&ran, 80);
        let heading = format!("write_file new.txt  new file +{}", expected.len());
        assert_eq!(shown[0], heading);
        assert_eq!(shown[1..=expected.len()], *expected, "{content:?}");
        let below = &shown[expected.len() + 1..];
        let is_noted = below[0].starts_with("It has characters that are invisible");
        assert_eq!(is_noted, content.contains('\u{202e}'), "{shown:#?}");
        assert!(
            below[usize::from(is_noted)].starts_with("Sandboxed; at most it can reach: "),
            "{shown:#?}"
        );
        let exact = plain(&ran.stdout);
        assert!(
            exact.contains("The arguments are exactly:\r\n│ {\r\n│   \"content\": \""),
            "{exact}"
        );
        assert_eq!(read(&env, "new.txt"), None);
    });
}

/// Of a long text the first rows are shown, what is left out is told, and a key shows all of it.
#[test]
fn large_argument_is_cut_and_shown_whole_on_a_key() {
    let env = env();
    let content: String = (0..20_000)
        .map(|line| format!("line {line} of a long text that continues\n"))
        .collect();
    assert!(content.len() > 800_000);
    let ran = at(&env, 200, &[write("new.txt", &content)], &["v\n", "n\n"]);
    let shown = plain(&ran.stdout);
    let (first, all) = shown.split_once("\r\n> v").unwrap();
    // The name and the heading of the argument are rows, too.
    assert_eq!(first.matches("line 18 of a long").count(), 1, "{first}");
    assert_eq!(first.matches("line 19 of a long").count(), 0, "{first}");
    assert!(
        first.contains("\r\n19982 more rows are not shown; `y` allows them, too.\r\n"),
        "{first}"
    );
    for line in [0, 9_999, 19_999] {
        let row = format!("│   line {line} of a long text that continues\r\n");
        assert_eq!(all.matches(&row).count(), 1, "{line}");
    }
    assert!(
        all.trim_end()
            .contains("Allow write_file? [v] show 19982 more rows  [y] once")
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
        "src/../../outside.txt",
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
            shown
                .contains("The tool could not read the file, and may not be able to write it:\n│ "),
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

/// On a terminal without cursor movements, calls of a batch are counted, and approved together
/// after all of them were shown.
#[test]
fn batch_is_approved_after_it_was_shown() {
    let calls = [
        write("a.txt", "1\n"),
        write("b.txt", "2\n"),
        write("c.txt", "3\n"),
    ];
    at_once([60, 80, 200], |columns| {
        let env = env();
        let ran = at(&env, columns, &calls, &["n no\n", "all\n", "y\n"]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let shown = plain(&ran.stdout);
        for text in [
            "1 of 3  write_file a.txt  new file +1",
            "All of these:\r\n  2. write_file b.txt  new file +1\r\n  3. write_file c.txt  new \
             file +1\r\nAllow all 2 calls? [y] yes",
        ] {
            assert!(shown.contains(text), "no {text:?} in {shown}");
        }
        let last = shown.find("Allow all 2 calls?").unwrap();
        for content in ["│ +2", "│ +3"] {
            assert!(shown.rfind(content).unwrap() < last, "{shown}");
        }
        let written = ["a.txt", "b.txt", "c.txt"].map(|path| read(&env, path));
        let text = |text: &str| Some(text.to_owned());
        assert_eq!(written, [None, text("2\n"), text("3\n")]);
    });
    let env = env();
    let ran = at(&env, 80, &calls, &["y\n", "none too many\n"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let written = ["a.txt", "b.txt", "c.txt"].map(|path| read(&env, path).is_some());
    assert_eq!(written, [true, false, false]);
    let recorded = env.events();
    let decisions = &of_kind(&recorded, "decision-recorded")[0]["decisions"];
    assert_eq!(decisions[1]["reason"], "too many");
    assert_eq!(decisions[2]["reason"], "too many");
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
    for (prompts, line) in ["t\n", "s\n"].iter().enumerate() {
        running.stdout.says(MARKER, prompts + 1);
        running.types(line);
    }
    let ran = running.end();
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(
        plain(&ran.stdout).contains("The rule is:\r\n│ without asking, every call of `write_file`")
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
        "a other/**\n",
        "a ../**\n",
        "a /**\n",
        "a **\n",
        "a ./**\n",
        // The one that is offered.
        "a\n",
        "s\n",
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
    let rule = "without asking, calls of `write_file` whose argument `/path` matches `src/**`";
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

/// A tool whose grants only read is told so, whatever the call would change.
#[test]
fn call_whose_grants_only_read_is_told() {
    let env = env();
    env.configure(format!(
        "{FILES}approval = \"always\"\n[[grants.dir]]\nhost = \".\"\nmode = \"read-only\"\n"
    ));
    env.write("a.txt", "1\n");
    let read = ("read_file", json!({ "path": "a.txt" }));
    let ran = at(&env, 200, &[read], &["n\n"]);
    let shown = drawn(&ran.stdout, 200);
    let row = |text: &str| shown.iter().position(|row| row.starts_with(text)).unwrap();
    let heading = row("read_file a.txt  read-only; the model sees the result");
    let reach = &shown[heading + 1];
    assert_eq!(row("Allow read_file?"), heading + 2, "{shown:?}");
    assert!(
        reach.starts_with("Sandboxed; at most it can read: files in "),
        "{reach}"
    );
    assert!(reach.ends_with(" (read-only); no network."), "{reach}");
}
