use super::{WAITING, lines, row};
use agent_host_app::{WaitingRequest, WaitingSession};
use agent_host_journal::SessionInfo;
use agent_host_types::session_status::SessionStatus;
use pretty_assertions::assert_eq;

const HOUR: u64 = 3_600_000;

#[test]
fn waiting_row_says_for_what_and_until_when() {
    let info = SessionInfo {
        id: "01980000-0000-7000-8000-0000beef0001".parse().unwrap(),
        status: SessionStatus::WaitingForApproval,
        started_ms: 0,
        last_ms: 9 * HOUR,
        events: 9,
        title: Some("Tidy up".to_owned()),
        directory: Some("/srv".to_owned()),
        outcome: None,
        parent: None,
        name: None,
        model: None,
        ownership: None,
        cost_micros: None,
    };
    let session = WaitingSession {
        info,
        since_ms: 7 * HOUR,
        expires_at_ms: Some(31 * HOUR),
        requests: vec![
            WaitingRequest::Approval {
                tools: vec!["write_file".to_owned(), "rm\u{1b}[2J".to_owned()],
            },
            WaitingRequest::Answer {
                question: "Which one?".to_owned(),
            },
        ],
    };
    let cases = [
        (10 * HOUR, "3 h ago", "in 21 h"),
        (40 * HOUR, "1 day ago", "expired"),
    ];
    for (now_ms, since, expires) in cases {
        let rows = vec![row(&session, "/srv", now_ms, true)];
        let shown = lines(&WAITING, rows, None).join("\n");
        let shown = anstream::adapter::strip_str(&shown).to_string();
        let expected = format!(
            "01980000-0000-7000-8000-0000beef0001  {since}  waiting for approval  \
             write_file, rm\\u{{1b}}[2J and 1 more  {expires}  Tidy up  ."
        );
        assert_eq!(
            shown
                .split("  ")
                .map(str::trim)
                .filter(|cell| !cell.is_empty())
                .collect::<Vec<_>>(),
            expected.split("  ").collect::<Vec<_>>()
        );
    }
}
