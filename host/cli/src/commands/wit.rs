//! `agent-host wit`: prints the contract that a component implements, or writes its files.

use crate::{
    args::WitArgs,
    exit::{Exit, Failure},
    terminal::{Terminal, path_text},
};
use agent_host_author as author;

pub(super) fn wit(args: &WitArgs, terminal: &Terminal) -> Result<Exit, Failure> {
    match &args.out {
        None => terminal.print(&author::contract_text()?),
        Some(dir) => {
            for path in author::write_contract(dir)? {
                terminal.println(&path_text(&path));
            }
        }
    }
    Ok(Exit::Done)
}
