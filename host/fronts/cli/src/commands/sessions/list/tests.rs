use super::{ALL, age, cells, lines};
use agent_host_journal::SessionInfo;
use agent_host_types::session_status::SessionStatus;
use pretty_assertions::assert_eq;

fn sessions() -> Vec<SessionInfo> {
    let session = |id: &str, last_ms: u64| SessionInfo {
        id: id.parse().unwrap(),
        status: SessionStatus::Done,
        started_ms: 0,
        last_ms,
        events: 9,
        title: Some("What is in this directory, and who put the lamp there?".to_owned()),
        directory: Some("/home/ann/photos".to_owned()),
        outcome: Some("done".to_owned()),
        parent: None,
        name: None,
        model: Some("anthropic:claude-sonnet".to_owned()),
        cost_micros: Some(12_300),
        ownership: None,
    };
    vec![
        session("01980000-0000-7000-8000-0000beef0001", 10_000_000),
        SessionInfo {
            name: Some("\u{65e5}\u{672c}\u{1b}x".to_owned()),
            directory: Some("/srv".to_owned()),
            status: SessionStatus::WaitingForApproval,
            outcome: Some("awaiting-confirmation".to_owned()),
            cost_micros: None,
            ..session("01980000-0000-7000-8000-0000beef0002", 9_800_000)
        },
    ]
}

fn shown(columns: Option<usize>) -> String {
    let sessions = sessions();
    let rows = sessions
        .iter()
        .map(|session| cells(session, "/srv", 10_000_500, columns.is_none()));
    let lines = lines(&ALL, rows.collect(), columns);
    let plain = |line: &String| {
        let parts = ["\u{1b}[1m", "\u{1b}[2m", "\u{1b}[0m"];
        parts
            .iter()
            .fold(line.clone(), |line, part| line.replace(part, ""))
    };
    lines.iter().map(plain).collect::<Vec<_>>().join("\n")
}

#[test]
fn list_fits_the_terminal() {
    assert_eq!(
        shown(Some(60)),
        "ID        LAST       STATUS                SESSION\n\
         beef0001  just now   done                  What is in this …\n\
         beef0002  3 min ago  waiting for approval  \u{65e5}\u{672c}\\u{1b}x"
    );
    assert_eq!(
        shown(Some(80)),
        "ID        LAST       STATUS                COST        SESSION\n\
         beef0001  just now   done                  0.0123 USD  What is in this director…\n\
         beef0002  3 min ago  waiting for approval              \u{65e5}\u{672c}\\u{1b}x"
    );
    let whole = "ID        LAST       STATUS                MODEL                    COST        SESSION                                                 \
                 DIRECTORY\n\
                 beef0001  just now   done                  anthropic:claude-sonnet  0.0123 USD  What is in this directory, and who put the lamp there?  \
                 /home/ann/photos\n\
                 beef0002  3 min ago  waiting for approval  anthropic:claude-sonnet              \u{65e5}\u{672c}\\u{1b}x                                             .";
    assert_eq!(shown(Some(200)), whole);
    let (_, rows) = whole.split_once('\n').unwrap();
    assert_eq!(
        shown(None),
        rows.replace("beef", "01980000-0000-7000-8000-0000beef")
    );
}

#[test]
fn age_has_one_unit() {
    let minute = 60_000;
    let ages = [
        0,
        59_999,
        minute,
        59 * minute,
        60 * minute,
        24 * 60 * minute,
        72 * 60 * minute,
    ]
    .map(age);
    assert_eq!(
        ages,
        [
            "just now",
            "just now",
            "1 min ago",
            "59 min ago",
            "1 h ago",
            "1 day ago",
            "3 days ago"
        ]
    );
}
