//! `agent-host schema`: the JSON Schemas of the documents that programs read.

use crate::{
    exit::{Exit, Failure},
    terminal::{BOLD, Terminal, escape_line},
};
use agent_host_engine::documents::DOCUMENTS;

pub(super) fn schema(name: Option<&str>, terminal: &Terminal) -> Result<Exit, Failure> {
    let Some(name) = name else {
        for document in DOCUMENTS {
            terminal.println(&format!(
                "{BOLD}{:<20}{BOLD:#} {}",
                document.name, document.place
            ));
        }
        return Ok(Exit::Done);
    };
    let document = DOCUMENTS.iter().find(|document| document.name == name);
    let document = document.ok_or_else(|| {
        let names = DOCUMENTS.map(|document| document.name).join(", ");
        Failure::usage(format!(
            "unknown document `{}`; the documents are {names}",
            escape_line(name)
        ))
    })?;
    terminal.println(&format!("{:#}", document.schema()));
    Ok(Exit::Done)
}
