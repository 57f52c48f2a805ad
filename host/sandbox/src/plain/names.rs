//! What the tools of a plain component are called. A tool has the name of its function. Where several functions of a component
//! have the same, those in interfaces are called `INTERFACE_FUNCTION`; no WIT name has a `_`, so that is no function's own name.

use std::{collections::HashMap, fmt, sync::Arc};

/// Where a component has a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FunctionPath {
    /// The interface as it is exported, such as `acme:math/ops@1.0.0`; absent for a function at the root.
    pub(super) interface: Option<Arc<str>>,
    /// The name of the function.
    pub(super) function: String,
}

impl FunctionPath {
    /// The interface's own name: `ops` of `acme:math/ops@1.0.0`.
    pub(super) fn interface_name(&self) -> Option<&str> {
        let path = self.interface.as_deref()?;
        let name = path.rsplit_once('/').map_or(path, |(_, name)| name);
        Some(name.split_once('@').map_or(name, |(name, _)| name))
    }

    /// Whether hosts of other kinds call it, such as the main function of a program.
    pub(super) fn is_of_wasi(&self) -> bool {
        let interface = self.interface.as_deref().unwrap_or_default();
        interface.starts_with("wasi:")
    }

    /// Whether it is a method, a constructor or a function of a resource. The binary format marks those by `[..]`.
    pub(super) fn is_of_a_resource(&self) -> bool {
        self.function.starts_with('[')
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

/// The names of tools, for functions in their order. Names that differ in capital letters only are the same.
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
