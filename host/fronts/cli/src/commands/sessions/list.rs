//! `agent-host sessions list`: one row for each session, as wide as the terminal. A pipe gets whole
//! ids and no heading.

#[cfg(test)]
mod tests;

use crate::{
    exit::{Exit, Failure},
    terminal::{BOLD, DIM, Terminal, YELLOW, dollars, fitted, json_text, one_line},
};
use agent_host_engine::session::now_ms;
use agent_host_journal::{JournalStore, LostEvents, SHORT_ID_CHARS, SessionInfo};
use serde_json::json;
use unicode_width::UnicodeWidthStr as _;

/// Separates two columns.
const GAP: &str = "  ";

/// The least width of a title, in columns; less important columns are left out for it.
const MIN_TITLE: usize = 16;

/// The column of the title, which takes what the others leave.
const TITLE: usize = 5;

/// The cells of a row; empty where the column is left out.
pub(super) type Cells = [String; 7];

/// The columns of a list.
pub(super) struct Columns {
    /// The headings, in the order of the row; the one at [`TITLE`] is that of the title.
    pub(super) headings: [&'static str; 7],
    /// The columns that are left out on a narrow terminal, the least important first.
    pub(super) optional: [usize; 4],
}

const ALL: Columns = Columns {
    headings: [
        "ID",
        "LAST",
        "STATUS",
        "MODEL",
        "COST",
        "SESSION",
        "DIRECTORY",
    ],
    optional: [6, 3, 4, 2],
};

pub(super) async fn list(
    store: &dyn JournalStore,
    here: &str,
    as_json: bool,
    terminal: &Terminal,
) -> Result<Exit, Failure> {
    let sessions = store.list().await?;
    if sessions.is_empty() && !as_json {
        terminal.note("There are no sessions yet. Start one with `agent-host run \"...\"`.");
    }
    warn_of_lost_events(store, terminal).await?;
    if as_json {
        for session in &sessions {
            terminal.println(&json_text(&json!(session)));
        }
        return Ok(Exit::Done);
    }
    // `sessions show` of the one that started an agent names the agent's.
    let own: Vec<&SessionInfo> = sessions.iter().filter(|row| row.parent.is_none()).collect();
    if own.is_empty() {
        return Ok(Exit::Done);
    }
    let now_ms = now_ms();
    let columns = terminal.stdout_columns();
    let rows: Vec<Cells> = own
        .iter()
        .map(|session| cells(session, here, now_ms, columns.is_none()))
        .collect();
    for line in lines(&ALL, rows, columns) {
        terminal.println(&line);
    }
    Ok(Exit::Done)
}

/// Warns of each session of which the store has lost events.
pub(in crate::commands) async fn warn_of_lost_events(
    store: &dyn JournalStore,
    terminal: &Terminal,
) -> Result<(), Failure> {
    for lost in store.lost_events().await? {
        let LostEvents {
            session,
            left,
            missing,
        } = lost;
        terminal.note(&format!(
            "{YELLOW}warning:{YELLOW:#} the last {missing} events of session {session} are missing, and {left} are \
             left; restore the journal from a backup, or accept the session as it is: agent-host sessions recover \
             {session}"
        ));
    }
    Ok(())
}

/// Returns the row of a session. Ids are whole if `is_whole`.
pub(super) fn cells(session: &SessionInfo, here: &str, now_ms: u64, is_whole: bool) -> Cells {
    let id = session.id.to_string();
    let skipped = match is_whole {
        true => 0,
        false => id.len().saturating_sub(SHORT_ID_CHARS),
    };
    let id = id.get(skipped..).unwrap_or_default();
    let title = match (&session.name, &session.title) {
        (Some(name), _) => name.as_str(),
        (None, Some(title)) => title.as_str(),
        (None, None) => "",
    };
    let directory = match session.directory.as_deref() {
        Some(directory) if directory == here => ".",
        Some(directory) => directory,
        None => "",
    };
    let line = |text: &str| one_line(text, usize::MAX);
    [
        id.to_owned(),
        age(now_ms.saturating_sub(session.last_ms)),
        session.status.to_string(),
        line(session.model.as_deref().unwrap_or_default()),
        session.cost_micros.map_or_else(String::new, dollars),
        line(title),
        line(directory),
    ]
}

/// Formats the time since an event, in milliseconds.
pub(super) fn age(millis: u64) -> String {
    span(millis).map_or_else(|| "just now".to_owned(), |span| format!("{span} ago"))
}

/// Formats a time in milliseconds in one unit; `None` for less than a minute.
pub(super) fn span(millis: u64) -> Option<String> {
    let seconds = millis / 1_000;
    let (number, unit) = match seconds {
        0..60 => return None,
        60..3_600 => (seconds / 60, "min"),
        3_600..86_400 => (seconds / 3_600, "h"),
        86_400..172_800 => (1, "day"),
        _ => (seconds / 86_400, "days"),
    };
    Some(format!("{number} {unit}"))
}

/// Lays out the heading and the rows. Without a width nothing is cut.
pub(super) fn lines(layout: &Columns, mut rows: Vec<Cells>, columns: Option<usize>) -> Vec<String> {
    let has_heading = columns.is_some();
    rows.insert(0, layout.headings.map(str::to_owned));
    let mut widths: [usize; 7] = std::array::from_fn(|column| {
        let cells = rows.iter().skip(1).filter_map(|row| row.get(column));
        let widest = cells.map(|cell| cell.width()).max().unwrap_or(0);
        // A column without content is left out.
        let heading = layout
            .headings
            .get(column)
            .map_or(0, |heading| heading.len());
        if widest == 0 { 0 } else { widest.max(heading) }
    });
    if let Some(columns) = columns {
        fit(&mut widths, layout.optional, columns);
    }
    let line = |(number, row): (usize, &Cells)| {
        let shown = row.iter().zip(&widths).filter(|(_, width)| **width > 0);
        let cells: Vec<String> = shown.map(|(cell, width)| fitted(cell, *width)).collect();
        let text = cells.join(GAP);
        let text = text.trim_end();
        match (number, text.split_once(GAP)) {
            (0, _) => format!("{DIM}{text}{DIM:#}"),
            (_, Some((id, rest))) => format!("{BOLD}{id}{BOLD:#}{GAP}{rest}"),
            (_, None) => text.to_owned(),
        }
    };
    let skipped = usize::from(!has_heading);
    rows.iter().enumerate().skip(skipped).map(line).collect()
}

/// Leaves out columns until the title has its least width, and gives it the rest.
fn fit(widths: &mut [usize; 7], optional: [usize; 4], columns: usize) {
    let title = widths.get(TITLE).copied().unwrap_or(0);
    let others = |widths: &[usize; 7]| {
        let shown = widths.iter().enumerate();
        let shown = shown.filter(|(column, width)| *column != TITLE && **width > 0);
        shown.map(|(_, width)| width + GAP.len()).sum::<usize>()
    };
    for column in optional {
        if others(widths) + title.min(MIN_TITLE) <= columns {
            break;
        }
        if let Some(width) = widths.get_mut(column) {
            *width = 0;
        }
    }
    let available = columns.saturating_sub(others(widths)).max(1);
    if let Some(width) = widths.get_mut(TITLE) {
        *width = title.min(available);
    }
}
