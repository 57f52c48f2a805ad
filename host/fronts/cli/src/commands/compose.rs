//! `agent-host compose`: makes one component of a tool and the filters in front of it.

use super::{explain::shell_quoted, pull};
use crate::{
    args::ComposeArgs,
    exit::{Exit, Failure},
    terminal::{BOLD, DIM, Terminal, bytes, escape_line, path_text, section},
};
use agent_host_author::{self as author, ComposedPart, Part, Pieces};
use agent_host_sandbox::MAX_COMPONENT_BYTES;
use agent_host_types::id::Digest;
use serde_json::json;
use std::{
    fs::File,
    io::Read as _,
    path::{Path, PathBuf},
};

/// The rights of the parts of a composed component, which run in one instance.
const SHARED: &str = "outermost first; they share the grants and limits of the whole, and each uses only what it imports itself";

pub(super) async fn compose(args: ComposeArgs, terminal: &Terminal) -> Result<Exit, Failure> {
    let output = args.output.clone().unwrap_or_else(|| name_for(&args.tool));
    if output.symlink_metadata().is_ok() {
        return Err(Failure::usage(format!(
            "{} already exists, and is not overwritten; remove it, or name another file with `--output`",
            path_text(&output)
        )));
    }
    let tool = read(&args.tool)?;
    let filters = args.filters.iter().map(|path| read(path));
    let filters = filters.collect::<Result<Vec<_>, _>>()?;
    let parts: Vec<_> = filters.iter().chain([&tool]).map(Part::describe).collect();
    // A decoder may panic on malformed bytes.
    let pieces = match args.unfiltered_pieces {
        true => Pieces::Unfiltered,
        false => Pieces::Refused,
    };
    let compose = move || author::compose(&tool, &filters, pieces);
    let composed = tokio::task::spawn_blocking(compose).await;
    let composed = composed
        .map_err(|_| Failure::usage("a component has contents that cannot be parsed"))??;
    pull::write(&output, &composed.bytes)?;
    let digest = Digest::of(&composed.bytes);
    let size = composed.bytes.len() as u64;
    terminal.println_as(
        args.json,
        || {
            json!({
                "component": output,
                "digest": digest,
                "size_bytes": size,
                "parts": parts,
                "leaves_hooks_out": composed.leaves_hooks_out,
            })
        },
        || as_text(&output, digest, size, &parts),
    );
    if composed.leaves_hooks_out {
        terminal.warn("the tool's hooks are not in it, since a filter does not see them");
    }
    if !args.json {
        terminal.note(&format!(
            "{DIM}`agent-host inspect {}` shows its tools and what it may ask for.{DIM:#}",
            escape_line(&shell_quoted(&output.to_string_lossy()))
        ));
    }
    Ok(Exit::Done)
}

/// Returns the default name of the output.
fn name_for(tool: &Path) -> PathBuf {
    let mut name = tool.file_stem().unwrap_or_default().to_owned();
    name.push("-filtered.wasm");
    name.into()
}

fn read(path: &Path) -> Result<Part, Failure> {
    let unreadable = |why: &dyn std::fmt::Display| {
        Failure::usage(format!("cannot read {}: {why}", path_text(path)))
    };
    let metadata = path.metadata().map_err(|error| unreadable(&error))?;
    // Opening a pipe would wait for a writer.
    if !metadata.is_file() {
        return Err(unreadable(&"it is not a regular file"));
    }
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(|error| unreadable(&error))?;
    file.take(MAX_COMPONENT_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| unreadable(&error))?;
    if bytes.len() as u64 > MAX_COMPONENT_BYTES {
        return Err(unreadable(&format!(
            "it has more than {MAX_COMPONENT_BYTES} bytes, the maximum of a component"
        )));
    }
    Ok(Part::of_file(path, bytes))
}

fn as_text(output: &Path, digest: Digest, size: u64, parts: &[ComposedPart]) -> String {
    let mut lines = vec![
        format!("{BOLD}{}{BOLD:#}", path_text(output)),
        format!("  size        {}", bytes(size)),
        format!("  digest      {digest}"),
    ];
    list_parts(&mut lines, parts);
    lines.join("\n")
}

/// Adds the parts of a composed component, if it has some. Their names are what the component says.
pub(super) fn list_parts(lines: &mut Vec<String>, parts: &[ComposedPart]) {
    if parts.is_empty() {
        return;
    }
    let parts = parts.iter().map(|part| {
        let name = match part.name.as_str() {
            "" => "(unnamed)".to_owned(),
            name => escape_line(name),
        };
        let size = bytes(part.size_bytes);
        format!("  {name:<20} {} {DIM}{size}{DIM:#}", part.digest)
    });
    let heading = format!("Parts{BOLD:#} {DIM}({SHARED}){DIM:#}");
    section(lines, &heading, parts);
}
