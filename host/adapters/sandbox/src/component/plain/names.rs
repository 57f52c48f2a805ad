//! The names of the tools of a plain component. A tool has the name of its function. If several
//! functions of a component share a name, those in interfaces are called `INTERFACE_FUNCTION`, and
//! those that still share one become `PACKAGE_INTERFACE_FUNCTION`, then
//! `NAMESPACE_PACKAGE_INTERFACE_FUNCTION`, then `NAMESPACE_PACKAGE_INTERFACE_VERSION_FUNCTION`. No
//! WIT name has a `_`, so none of these is a name with fewer parts.

use std::{collections::HashMap, fmt, sync::Arc};

/// The most parts before the name of a function: namespace, package, interface and version.
const MOST_PREFIXES: usize = 4;

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

    /// Returns the name with this many of its prefixes, or with all if it has fewer.
    fn name_at(&self, prefixes: usize) -> String {
        let path = self.interface.as_deref().unwrap_or_default();
        let (path, version) = match path.split_once('@') {
            Some((path, version)) => (path, Some(version)),
            None => (path, None),
        };
        let package = path.rsplit_once('/').map(|(package, _)| package);
        let (namespace, package) = match package.map(|name| name.split_once(':')) {
            Some(Some((namespace, package))) => (Some(namespace), Some(package)),
            Some(None) => (None, package),
            None => (None, None),
        };
        let parts = [namespace, package, self.interface_name()];
        let parts = parts.into_iter().skip(3_usize.saturating_sub(prefixes));
        // A version has `.` and `+`, which no name of a tool may have.
        let version = version.map(|version| version.replace(['.', '+'], "-"));
        let version = version.as_deref().filter(|_| prefixes == MOST_PREFIXES);
        let parts = parts.chain([version, Some(&self.function)]);
        let name: Vec<&str> = parts.flatten().collect();
        name.join("_")
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
pub(super) fn tool_names<'a>(paths: impl Iterator<Item = &'a FunctionPath>) -> Vec<String> {
    let paths: Vec<&FunctionPath> = paths.collect();
    let mut names: Vec<String> = paths.iter().map(|path| path.name_at(0)).collect();
    for level in 1..=MOST_PREFIXES {
        let mut count: HashMap<String, usize> = HashMap::new();
        for name in &names {
            *count.entry(name.to_ascii_lowercase()).or_default() += 1;
        }
        for (name, path) in names.iter_mut().zip(&paths) {
            if count.get(&name.to_ascii_lowercase()) != Some(&1) {
                *name = path.name_at(level);
            }
        }
    }
    names
}
