//! `agent-host new`: creates a tool's project.

use crate::{
    args::NewArgs,
    exit::{Exit, Failure},
    terminal::Terminal,
};
use agent_host_author as author;

pub(super) fn new(args: &NewArgs, terminal: &Terminal) -> Result<Exit, Failure> {
    let project = author::create(&args.name, args.lang, &args.dir)?;
    let dir = args.dir.join(&args.name);
    terminal.println(&dir.display().to_string());
    terminal.note(&format!(
        "{} is a tool in {}. See its README.md for the contents. Next:\n  cd {}\n  {}\n  agent-host build\n  \
         agent-host test",
        project.name,
        project.language,
        dir.display(),
        author::set_up(project.language)
    ));
    Ok(Exit::Done)
}
