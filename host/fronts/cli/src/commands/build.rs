//! `agent-host build`: builds a tool's project into its component.

use super::{configure, explain::shell_quoted, permissions::permissions};
use crate::{
    args::{BuildArgs, ConfigArgs},
    exit::{Exit, Failure},
    terminal::{BOLD, DIM, Terminal, bytes, escape_line, path_text, section},
};
use agent_host_app::Overrides;
use agent_host_author::{self as author, BuildOptions, Built, Project};
use agent_host_types::tool::ToolDefinition;
use serde_json::{Value, json};
use std::{
    fs,
    path::{Path, PathBuf},
};

pub(super) async fn build(args: BuildArgs, terminal: &Terminal) -> Result<Exit, Failure> {
    if let (Some(module), Some(out)) = (&args.module, &args.out) {
        return of_module(module, out, terminal);
    }
    let built = build_project(&args.dir, args.strip_names, args.wasi_sdk, terminal).await?;
    terminal.println_as(args.json, || as_json(&built), || as_text(&built));
    Ok(Exit::Done)
}

/// Makes the component `out` of a core module.
fn of_module(module: &Path, out: &Path, terminal: &Terminal) -> Result<Exit, Failure> {
    let shown = path_text(module);
    let bytes = fs::read(module)
        .map_err(|error| Failure::usage(format!("cannot read the module {shown}: {error}")))?;
    let component = author::component_of_module(bytes)?;
    let shown = path_text(out);
    fs::write(out, component)
        .map_err(|error| Failure::failed(format!("cannot write {shown}: {error}")))?;
    terminal.println(&shown);
    terminal.note(&format!(
        "{DIM}`agent-host inspect {}` shows its tools and what it may ask for.{DIM:#}",
        escape_line(&shell_quoted(&out.to_string_lossy()))
    ));
    Ok(Exit::Done)
}

/// Builds the project in `dir`; prints each step on stderr.
pub(super) async fn build_project(
    dir: &Path,
    strip_names: bool,
    wasi_sdk: Option<PathBuf>,
    terminal: &Terminal,
) -> Result<Built, Failure> {
    let project = Project::find(dir)?;
    let config = configure(ConfigArgs::default(), Overrides::default())?;
    let options = BuildOptions {
        shared: config.cache_dir.join("builds"),
        strip_names,
        wasi_sdk,
    };
    // Blocks this thread; nothing else runs meanwhile.
    let candidate = author::compile(&project, &options, &|step| terminal.note(step))?;
    terminal.note("checking the component");
    Ok(candidate.check(&config).await?)
}

fn as_json(built: &Built) -> Value {
    json!({
        "component": built.component,
        "name": built.project.name,
        "language": built.project.language.as_str(),
        "compilers": built.compilers.iter().cloned().collect::<std::collections::BTreeMap<_, _>>(),
        "size_bytes": built.size_bytes,
        "digest": built.digest,
        "imports": built.imports,
        "permissions": permissions(&built.imports),
        "tools": built.tools,
        "filter": built.is_filter,
        "skill": built.skill.as_ref().map(|skill| json!({
            "skill": skill.name,
            "files": skill.files.keys().collect::<Vec<_>>(),
        })),
    })
}

fn as_text(built: &Built) -> String {
    let mut lines = vec![
        format!("{BOLD}{}{BOLD:#}", path_text(&built.component)),
        format!("  size        {}", bytes(built.size_bytes)),
        format!("  digest      {}", built.digest),
    ];
    if built.is_filter {
        let file = escape_line(&shell_quoted(&built.component.to_string_lossy()));
        lines.push(format!(
            "  filter      `agent-host compose TOOL --with {file}` puts it in front of a tool"
        ));
    }
    let tool = |tool: &ToolDefinition| {
        let name = escape_line(&tool.name);
        format!("  {name} {DIM}{}{DIM:#}", tool.effect.as_str())
    };
    section(&mut lines, "Tools", built.tools.iter().map(tool));
    // It may have more than its author thinks: all scripts of the project.
    if let Some(skill) = &built.skill {
        let files = skill.files.keys();
        let files = files.map(|path| format!("  {}", escape_line(path)));
        section(&mut lines, &format!("Skill {}", skill.name), files);
    }
    let permissions = permissions(&built.imports).into_iter();
    let permissions = permissions.map(|permission| format!("  {permission}"));
    section(&mut lines, "May ask for", permissions);
    lines.join("\n")
}
