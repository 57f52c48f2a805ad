//! `agent-host config`: shows the configuration with the origin of each value, begins one, and
//! prints its schema and its paths.

use super::trust::warn_left_out;
use crate::{
    args::{ConfigArgs, ConfigCommand, ConfigCommandArgs, ConfigLayer},
    exit::{Exit, Failure},
    terminal::{DIM, Terminal, json_lines, json_text, path_text},
};
use agent_host_app::{
    Environment, Overrides,
    config::{Effective, STARTER},
    config_schema,
};
use serde_json::json;
use std::{
    fs::File,
    io::{self, Write as _},
    path::PathBuf,
};

/// The name of the configuration in a directory.
const FILE_NAME: &str = "agent.toml";

pub(super) fn config(args: ConfigCommandArgs, terminal: &Terminal) -> Result<Exit, Failure> {
    let environment = Environment::from_process()?;
    match args.command {
        ConfigCommand::Show { json } => show(&args.config, &environment, json, terminal),
        ConfigCommand::Init => init(&environment, terminal),
        ConfigCommand::Schema => {
            terminal.println(&json_lines(&config_schema()));
            Ok(Exit::Done)
        }
        ConfigCommand::Path { layer } => path(args.config, &environment, layer, terminal),
    }
}

fn show(
    args: &ConfigArgs,
    environment: &Environment,
    json: bool,
    terminal: &Terminal,
) -> Result<Exit, Failure> {
    let overrides = args.clone().over(Overrides::default());
    let effective = Effective::load(args.config.as_deref(), &overrides, environment)?;
    if let Some(left_out) = effective.left_out() {
        warn_left_out(left_out, terminal);
    }
    if json {
        for value in effective.values() {
            let line = json!({ "key": value.key, "value": value.value, "origin": value.origin });
            terminal.println(&json_text(&line));
        }
        return Ok(Exit::Done);
    }
    let mut text = effective.to_toml();
    for grant in &args.grants {
        text.push_str(&format!("\n# --grant {}", grant.escape_debug()));
    }
    if args.write {
        text.push_str("\n# --write");
    }
    terminal.println_untrusted(text.trim_end());
    Ok(Exit::Done)
}

fn init(environment: &Environment, terminal: &Terminal) -> Result<Exit, Failure> {
    let path = environment.cwd.join(FILE_NAME);
    let written = File::create_new(&path).and_then(|mut file| {
        file.write_all(STARTER.as_bytes())?;
        file.sync_all()
    });
    written.map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => Failure::usage(format!(
            "{} already exists, and is not overwritten; edit it, or see the current settings with `agent-host config \
             show`",
            path_text(&path)
        )),
        _ => Failure::failed(format!("cannot write {}: {error}", path_text(&path))),
    })?;
    terminal.println(&path_text(&path));
    terminal.note("All of its lines are comments. The current settings: agent-host config show");
    Ok(Exit::Done)
}

fn path(
    args: ConfigArgs,
    environment: &Environment,
    layer: Option<ConfigLayer>,
    terminal: &Terminal,
) -> Result<Exit, Failure> {
    let project = args.config.unwrap_or_else(|| FILE_NAME.into());
    let layers = [
        (
            ConfigLayer::Project,
            "project",
            Some(environment.cwd.join(project)),
        ),
        (ConfigLayer::User, "user", environment.user_config()),
        (ConfigLayer::Machine, "machine", environment.system_config()),
    ];
    let known = layers
        .into_iter()
        .filter_map(|(layer, name, path)| Some((layer, name, path?)));
    let known: Vec<(ConfigLayer, &str, PathBuf)> = known.collect();
    if let Some(layer) = layer {
        let found = known.iter().find(|(known, ..)| *known == layer);
        let (.., path) = found.ok_or_else(|| {
            Failure::usage(
                "there is no such file: neither HOME nor XDG_CONFIG_HOME is set, or \
                AGENT_HOST_SYSTEM_CONFIG is empty",
            )
        })?;
        terminal.println(&path_text(path));
        return Ok(Exit::Done);
    }
    for (_, name, path) in known {
        let absent = match path.is_file() {
            true => String::new(),
            false => format!("  {DIM}(absent){DIM:#}"),
        };
        terminal.println(&format!("{name:<8} {}{absent}", path_text(&path)));
    }
    Ok(Exit::Done)
}
