//! The names of the tools of a plain component. A tool has the name of its function. If several
//! functions of a component share a name, those in interfaces are called `INTERFACE_FUNCTION`; no
//! WIT name has a `_`, so that is no function's own name.

use std::{collections::HashMap, fmt, sync::Arc};

/// The path of a function in a component.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FunctionPath {
    /// The exported name, such as `acme:math/ops@1.0.0`; absent for a function at the root.
    pub(super) interface: Option<Arc<str>>,
    pub(super) function: String,
}

impl FunctionPath {
    /// Returns the interface's own name: `ops` of `acme:math/ops@1.0.0`.
    pub(super) fn interface_name(&self) -> Option<&str> {
        let path = self.interface.as_deref()?;
        let name = path.rsplit_once('/').map_or(path, |(_, name)| name);
        Some(name.split_once('@').map_or(name, |(name, _)| name))
    }
}

impl fmt::Display for FunctionPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.interface {
            Some(interface) => write!(f, "{interface}#{}", self.function),
            None => f.write_str(&self.function),
        }
    }
}

/// Returns the names of tools, in the order of their functions. Names that differ in case only are
/// the same.
pub(super) fn tool_names<'a>(paths: impl Iterator<Item = &'a FunctionPath> + Clone) -> Vec<String> {
    let mut count: HashMap<String, usize> = HashMap::new();
    for path in paths.clone() {
        *count.entry(path.function.to_ascii_lowercase()).or_default() += 1;
    }
    paths
        .map(|path| {
            let alone = count.get(&path.function.to_ascii_lowercase()) == Some(&1);
            match path.interface_name() {
                Some(interface) if !alone => format!("{interface}_{}", path.function),
                _ => path.function.clone(),
            }
        })
        .collect()
}
