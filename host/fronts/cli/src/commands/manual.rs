//! `agent-host completions` and `agent-host man`, generated from the clap definitions.

use crate::{
    args::Args,
    exit::{Exit, Failure},
    terminal::Terminal,
};
use clap::CommandFactory as _;
use clap_complete::Shell;

/// Writes a shell's completions to stdout.
pub(super) fn completions(shell: Shell, terminal: &Terminal) -> Result<Exit, Failure> {
    let mut program = Args::command();
    let name = program.get_name().to_owned();
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut program, name, &mut script);
    if shell == Shell::Bash {
        // clap_complete 4.6 takes the hyphen in the program's name for the gap before a command in
        // one half of the script, and not in the other, so that no command's own words are
        // completed.
        let whole = String::from_utf8_lossy(&script).replace("agent__subcmd__host", "agent__host");
        script = whole.into_bytes();
    }
    terminal.write_bytes(&script);
    Ok(Exit::Done)
}

/// Writes a manual page to stdout, as troff.
pub(super) fn page(path: &[String], terminal: &Terminal) -> Result<Exit, Failure> {
    let mut program = Args::command();
    // Fills in what subcommands inherit, such as their full names.
    program.build();
    let mut command = &program;
    for name in path {
        command = command.find_subcommand(name).ok_or_else(|| {
            let of = command.get_bin_name().unwrap_or(command.get_name());
            let known = command.get_subcommands().map(clap::Command::get_name);
            let known = match known.collect::<Vec<_>>().as_slice() {
                [] => "it has no subcommands".to_owned(),
                known => format!("available: {}", known.join(", ")),
            };
            let name = name.escape_debug();
            Failure::usage(format!("`{of}` has no command `{name}`; {known}"))
        })?;
    }
    let mut page = Vec::new();
    clap_mangen::Man::new(command.clone())
        .source(concat!("agent-host ", env!("CARGO_PKG_VERSION")))
        .render(&mut page)
        .map_err(Failure::failed)?;
    terminal.write_bytes(&page);
    Ok(Exit::Done)
}
