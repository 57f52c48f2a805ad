//! The docs of a component: a custom section `package-docs`, which wit-parser writes for the WIT
//! that a component was built from. It is JSON after a version byte. Docs are optional, so what
//! cannot be read is ignored.

use super::names::FunctionPath;
use crate::component::section::custom_section;
use serde_json::Value;

const SECTION: &str = "package-docs";

/// The largest section that is read, in bytes. A WIT package of a hundred functions with docs has
/// about 30 KB.
const MAX_BYTES: usize = 256 * 1024;

/// The versions of the section, by its first byte. Both are read in the same way.
const VERSIONS: std::ops::RangeInclusive<u8> = 0..=1;

/// The docs of one WIT package; empty by default.
#[derive(Debug, Default)]
pub(crate) struct Docs(Value);

impl Docs {
    /// Reads the section of a component that was compiled before, so it is well-formed.
    pub(crate) fn read(component: &[u8]) -> Self {
        let found = custom_section(component, SECTION).and_then(|section| {
            let (version, json) = section.split_first()?;
            if section.len() > MAX_BYTES || !VERSIONS.contains(version) {
                tracing::debug!("the docs of a component are too large or have another version");
                return None;
            }
            serde_json::from_slice(json)
                .map_err(|error| tracing::debug!("the docs of a component are not JSON: {error}"))
                .ok()
        });
        Self(found.unwrap_or_default())
    }

    /// Returns the docs of a function.
    pub(super) fn of(&self, path: &FunctionPath) -> Option<&str> {
        let function = path.function.as_str();
        match path.interface_name() {
            None => self
                .worlds()
                .find_map(|world| of_function(world, ["func_exports", "funcs"], function)),
            Some(interface) => {
                let own = self.0.get("interfaces").and_then(|all| all.get(interface));
                let inline = self.worlds().flat_map(|world| {
                    ["interface_exports", "interfaces"]
                        .into_iter()
                        .filter_map(move |key| world.get(key)?.get(interface))
                });
                own.into_iter()
                    .chain(inline)
                    .find_map(|interface| of_function(interface, ["funcs"], function))
            }
        }
    }

    fn worlds(&self) -> impl Iterator<Item = &Value> {
        let worlds = self.0.get("worlds").and_then(Value::as_object);
        worlds.into_iter().flat_map(|worlds| worlds.values())
    }
}

/// Returns the docs of a function in one of these maps: in the first version a text, since then an
/// object.
fn of_function<'a, const N: usize>(
    within: &'a Value,
    keys: [&str; N],
    function: &str,
) -> Option<&'a str> {
    keys.into_iter()
        .filter_map(|key| within.get(key)?.get(function))
        .find_map(|said| said.as_str().or_else(|| said.get("docs")?.as_str()))
}
