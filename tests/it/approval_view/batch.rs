//! The calls of a batch in one list with a cursor.

use super::{env, read, write};
use agent_host_test_support::{
    at_once,
    chat::{Answer, ChatServer},
    of_kind,
    screen::OnScreen,
};
use pretty_assertions::assert_eq;
use serde_json::json;

const DOWN: &str = "\u{1b}[B";
const RUN: [&str; 5] = ["run", "--quiet", "--model", "openai-compat:m", "go"];
const KEYS: &str = "[space] select  [a] all  [enter] decide";

/// Waits until the list takes keys.
fn until_ready(screen: &mut OnScreen) {
    screen.until(|rows| rows.last().is_some_and(|row| row.starts_with(KEYS)));
}

/// The list at each width: what is selected is shown and confirmed, a call that was opened keeps
/// its own decision, and what is neither does not run.
#[test]
fn selected_calls_run_after_they_were_shown() {
    at_once([60, 100, 200], |columns| {
        let env = env();
        env.write("src/b.txt", "old\n");
        let calls = [
            write("a b.txt", "1\n"),
            write("src/b.txt", "new\n"),
            write("c.txt", "3\n"),
        ];
        let server = ChatServer::start(vec![Answer::calls(&calls), Answer::text("That is all.")]);
        let mut screen = OnScreen::start(&env, &server, columns, &RUN);
        until_ready(&mut screen);
        let rows = screen.rows();
        let from = rows.iter().position(|row| row == "3 calls need approval");
        let from = from.unwrap_or_else(|| panic!("{rows:#?}"));
        assert_eq!(
            rows[from + 1..from + 4],
            [
                "> [ ] write_file  new file +1  │ path: a b.txt",
                "  [ ] write_file src/b.txt  +1 -1",
                "  [ ] write_file c.txt  new file +1",
            ],
            "{columns}"
        );
        screen.types(" ");
        screen.until_row("> [x] write_file  new file +1  │ path: a b.txt");
        screen.types(DOWN);
        screen.until_row("> [ ] write_file src/b.txt  +1 -1");
        screen.types("d");
        screen.until_last_row(">");
        screen.types("n keep it\r");
        screen.until_row("  [-] write_file src/b.txt  +1 -1");
        until_ready(&mut screen);
        screen.types("\r");
        screen.until_last_row(">");
        let rows = screen.rows();
        let shown = rows.iter().rposition(|row| row == "│ +1").unwrap();
        let asked = rows
            .iter()
            .rposition(|row| row.starts_with("Run 1 of 3 calls, as listed?"));
        assert!(shown < asked.unwrap(), "{rows:#?}");
        assert_eq!(
            rows[asked.unwrap() - 3..asked.unwrap()],
            [
                "allow   write_file  new file +1  │ path: a b.txt",
                "deny    write_file src/b.txt  +1 -1",
                "deny    write_file c.txt  new file +1",
            ]
        );
        screen.types("y\r");
        screen.until_row("That is all.");
        assert_eq!(screen.end(), Some(0));
        let written = ["a b.txt", "src/b.txt", "c.txt"].map(|path| read(&env, path));
        let text = |text: &str| Some(text.to_owned());
        assert_eq!(written, [text("1\n"), text("old\n"), None]);
        let events = env.events();
        assert_eq!(
            of_kind(&events, "decision-recorded")[0]["decisions"],
            json!([
                { "type": "approve", "call_id": "call_0" },
                { "type": "reject", "call_id": "call_1", "reason": "keep it" },
                { "type": "reject", "call_id": "call_2" },
            ])
        );
    });
}

/// A flood of calls ends with one key, and a list that is left decides nothing.
#[test]
fn one_key_ends_a_flood_and_another_decides_nothing() {
    let calls: Vec<_> = (0..60)
        .map(|number| write(&format!("{number}.txt"), "x"))
        .collect();
    at_once(
        [("n", Some(0), 1), ("l", Some(3), 0)],
        |(key, code, decided)| {
            let env = env();
            let server =
                ChatServer::start(vec![Answer::calls(&calls), Answer::text("That is all.")]);
            let mut screen = OnScreen::start(&env, &server, 80, &RUN);
            until_ready(&mut screen);
            screen.types(key);
            assert_eq!(screen.end(), code);
            let events = env.events();
            assert_eq!(
                of_kind(&events, "decision-recorded").len(),
                decided,
                "{key}"
            );
            assert_eq!(of_kind(&events, "call-intended").len(), 0, "{key}");
        },
    );
}
