//! `agent-host stats`: what all sessions used, as a table, or as one JSON document.

mod sparkline;

use super::{configure, open_journal, sessions::warn_of_lost_events};
use crate::{
    args::StatsArgs,
    exit::{Exit, Failure},
    terminal::{BOLD, DIM, Terminal, YELLOW, count, dollars, json_text, micros, one_line},
};
use agent_host_app::{Overrides, Stats, StatsRow};
use agent_host_journal::SessionScope;
use agent_host_types::stats::{Figures, StatsBy};
use serde_json::json;
use std::time::{SystemTime, UNIX_EPOCH};
use unicode_width::UnicodeWidthStr as _;

/// Separates two columns.
const GAP: &str = "  ";

/// The longest name in the table, in characters: a model may call tools of any name.
const MAX_NAME: usize = 64;

/// The headings; the first one is that of the names.
const HEADINGS: [&str; 10] = [
    "",
    "COST",
    "IN",
    "CACHED",
    "OUT",
    "MODEL CALLS",
    "TOOL CALLS",
    "FAILED",
    "DENIED",
    "TOOL TIME",
];

/// The cells of a row; empty where there is nothing.
type Cells = [String; 10];

pub(super) async fn stats(args: StatsArgs, terminal: &Terminal) -> Result<Exit, Failure> {
    let config = configure(args.config, Overrides::default())?;
    let store = open_journal(&config).await?;
    let store = store.as_ref();
    warn_of_lost_events(store, terminal).await?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now_ms = now.map_or(0, |now| u64::try_from(now.as_millis()).unwrap_or(u64::MAX));
    let since_ms = args.since.map_or(0, |since| since.start_ms(now_ms));
    let stats = Stats::read(store, SessionScope::All, args.by.into(), since_ms).await?;
    for session in &stats.unreadable {
        terminal.note(&format!(
            "{YELLOW}warning:{YELLOW:#} session {session} cannot be read and is not counted; see why: agent-host \
             sessions show {session}"
        ));
    }
    if args.json {
        terminal.println(&json_text(&json!(stats)));
        return Ok(Exit::Done);
    }
    if stats.total.sessions == 0 {
        terminal.note("No usage in this period.");
        return Ok(Exit::Done);
    }
    table(&stats).iter().for_each(|line| terminal.println(line));
    if stats.by == StatsBy::Day
        && let Some(bars) = sparkline::sparkline(&stats.rows)
    {
        terminal.note(&format!("{DIM}{bars}{DIM:#}"));
    }
    if stats.total.unpriced_model_calls > 0 {
        terminal.note(&format!(
            "{DIM}The cost excludes model calls without a known price ({}); set the price for later ones in [prices] \
             of agent.toml.{DIM:#}",
            count(stats.total.unpriced_model_calls)
        ));
    }
    Ok(Exit::Done)
}

/// Lays out the rows and their sum, with the columns that have anything.
fn table(stats: &Stats) -> Vec<String> {
    let heading = match stats.by {
        StatsBy::Day => "DAY",
        StatsBy::Model => "MODEL",
        StatsBy::Tool => "TOOL",
        StatsBy::Agent => "AGENT",
    };
    let mut rows: Vec<Cells> = stats.rows.iter().map(cells).collect();
    // The sum has the model calls, which belong to no tool.
    if stats.by != StatsBy::Tool {
        rows.push(cells(&StatsRow {
            name: "total".to_owned(),
            figures: stats.total,
        }));
    }
    let mut headings = HEADINGS.map(str::to_owned);
    if let Some(first) = headings.first_mut() {
        heading.clone_into(first);
    }
    let widths: [usize; 10] = std::array::from_fn(|column| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        let widest = cells.map(|cell| cell.width()).max().unwrap_or(0);
        let heading = headings.get(column).map_or(0, |heading| heading.width());
        if widest == 0 { 0 } else { widest.max(heading) }
    });
    let mut lines = vec![format!("{BOLD}{}{BOLD:#}", line(&headings, &widths))];
    lines.extend(rows.iter().map(|row| line(row, &widths)));
    lines
}

/// Lays out a row: the name at the left, figures at the right of their columns.
fn line(row: &Cells, widths: &[usize; 10]) -> String {
    let shown = row.iter().zip(widths).filter(|(_, width)| **width > 0);
    let cells = shown.enumerate().map(|(number, (cell, width))| {
        let space = " ".repeat(width.saturating_sub(cell.width()));
        match number {
            0 => format!("{cell}{space}"),
            _ => format!("{space}{cell}"),
        }
    });
    let cells: Vec<String> = cells.collect();
    cells.join(GAP).trim_end().to_owned()
}

fn cells(row: &StatsRow) -> Cells {
    let figure = |number: u64| match number {
        0 => String::new(),
        number => count(number),
    };
    let Figures {
        model_calls,
        input_tokens,
        cached_input_tokens,
        output_tokens,
        cost_micros,
        tool_calls,
        failed,
        denied,
        tool_us,
        ..
    } = row.figures;
    let cost = (cost_micros > 0).then(|| dollars(cost_micros));
    let time = (tool_us > 0).then(|| micros(tool_us));
    [
        one_line(&row.name, MAX_NAME),
        cost.unwrap_or_default(),
        figure(input_tokens),
        figure(cached_input_tokens),
        figure(output_tokens),
        figure(model_calls),
        figure(tool_calls),
        figure(failed),
        figure(denied),
        time.unwrap_or_default(),
    ]
}
