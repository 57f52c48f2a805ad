//! `agent-host search`: the components of an index.

use super::{configure, pull::parse};
use crate::{
    args::SearchArgs,
    exit::{Exit, Failure},
    terminal::{BOLD, DIM, Terminal, escape_line, json_text, one_line},
};
use agent_host_app::{
    IndexSource, Overrides,
    oci::{IndexEntry, Remote},
    read_index,
};
use serde_json::json;

/// The maximum of components that are shown as text.
const MAX_SHOWN: usize = 50;

/// The longest line of a description or of tools, in characters.
const MAX_LINE: usize = 96;

pub(super) async fn search(args: SearchArgs, terminal: &Terminal) -> Result<Exit, Failure> {
    let sources = args.index.iter().map(|text| index_source(text));
    let sources = sources.collect::<Result<Vec<_>, _>>()?;
    let config = configure(args.config, Overrides::default())?;
    let term = args.term.join(" ");
    let mut found = Vec::new();
    for source in &sources {
        let index = read_index(&config, source).await?;
        found.extend(index.search(&term).into_iter().cloned());
    }
    if args.json {
        terminal.println(&json_text(&json!({ "components": found })));
        return Ok(Exit::Done);
    }
    for entry in found.iter().take(MAX_SHOWN) {
        lines(entry).iter().for_each(|line| terminal.println(line));
    }
    terminal.note(&match found.len() {
        0 => "Nothing was found.".to_owned(),
        more if more > MAX_SHOWN => {
            format!("{} more are not shown; search for more words.", more - MAX_SHOWN)
        }
        _ => "An index contains only its publisher's claims. `agent-host add REFERENCE` shows what a component \
            really is, and who signed it.".to_owned(),
    });
    Ok(Exit::Done)
}

/// Parses where an index is: a registry or a directory.
pub(super) fn index_source(text: &str) -> Result<IndexSource, Failure> {
    match Remote::is_meant(text) {
        true => parse(text).map(IndexSource::Registry),
        false => Ok(IndexSource::Directory(text.into())),
    }
}

/// Returns a component as lines. All text in them is untrusted.
fn lines(entry: &IndexEntry) -> Vec<String> {
    let version = entry.version.as_deref().map(|it| format!("  {it}"));
    let mut lines = vec![format!(
        "{BOLD}{}{BOLD:#}{}",
        escape_line(&entry.reference),
        one_line(&version.unwrap_or_default(), MAX_LINE)
    )];
    let description = entry.description.as_deref();
    lines.extend(description.map(|it| format!("  {}", one_line(it, MAX_LINE))));
    if !entry.tools.is_empty() {
        let tools = one_line(&entry.tools.join(", "), MAX_LINE);
        lines.push(format!("  {DIM}tools: {tools}{DIM:#}"));
    }
    lines
}
