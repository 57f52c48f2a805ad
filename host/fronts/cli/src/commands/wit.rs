//! `agent-host wit`: prints the contract that a component implements, or writes it as files or as
//! an artifact for registries.

use super::explain::shell_quoted;
use crate::{
    args::WitArgs,
    exit::{Exit, Failure},
    terminal::{Terminal, path_text},
};
use agent_host_app::oci::{LayoutError, Package, WasmInterface, write_layout};
use agent_host_author as author;
use std::{collections::BTreeMap, path::Path};

/// The name of the contract in a registry, as `wkg` derives it from the package's.
const REPOSITORY: &str = "agent/tool";

pub(super) fn wit(args: &WitArgs, terminal: &Terminal) -> Result<Exit, Failure> {
    match (&args.out, &args.oci) {
        (None, None) => terminal.print(&author::contract_text()?),
        (Some(dir), _) => {
            for path in author::write_contract(dir)? {
                terminal.println(&path_text(&path));
            }
        }
        (None, Some(dir)) => write_oci(dir, terminal)?,
    }
    Ok(Exit::Done)
}

fn write_oci(dir: &Path, terminal: &Terminal) -> Result<(), Failure> {
    let contract = author::contract_package()?;
    let annotation =
        |name: &str, value: &str| (format!("org.opencontainers.image.{name}"), value.to_owned());
    let package = Package {
        component: contract.component.into(),
        interface: WasmInterface {
            exports: contract.exports.into_iter().collect(),
            imports: Vec::new(),
            target: None,
        },
        annotations: BTreeMap::from([
            annotation("description", "The interfaces of tools for agent-host"),
            annotation("licenses", env!("CARGO_PKG_LICENSE")),
            annotation("version", &contract.version),
        ]),
    };
    let version = contract.version;
    write_layout(dir, &version, &package).map_err(|error| match error {
        LayoutError::NotEmpty(_) => Failure::usage(error),
        LayoutError::Disk { .. } | LayoutError::Json(_) => Failure::failed(error),
    })?;
    let layout = format!("oci:{}:{version}", path_text(dir));
    terminal.println(&layout);
    terminal.note(&format!(
        "publish it with a program such as skopeo: `skopeo copy {} docker://HOST/{REPOSITORY}:{version}`",
        shell_quoted(&layout)
    ));
    Ok(())
}
