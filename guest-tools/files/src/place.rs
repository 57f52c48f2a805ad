//! From the path that a model wrote to the path to open. It only joins text: it never decides what may be opened.

use std::path::PathBuf;

use crate::failure::Failure;

/// The folders that the host mounted, as the component sees them.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Mounts {
    /// Where relative paths start.
    base: String,
    /// The absolute names of the mounted folders.
    roots: Vec<String>,
}

impl Mounts {
    /// Relative paths start in the working folder where that is mounted, and else in the first folder.
    fn new(roots: Vec<String>, working_folder: Option<String>) -> Option<Self> {
        let roots: Vec<String> = roots
            .into_iter()
            .filter(|root| root.starts_with('/'))
            .collect();
        let base = working_folder
            .filter(|folder| covering(&roots, folder))
            .or_else(|| roots.first().cloned())?;
        Some(Self { base, roots })
    }

    /// The path to open for the path that the model wrote.
    ///
    /// An absolute path outside every mounted folder is opened through the base: `/etc/passwd` as
    /// `/workspace/../etc/passwd`, which names the same file. The C library would refuse the former by itself, since it
    /// finds no folder to open it in, and the host would never hear of it. The latter is asked of the host, whose policy
    /// denies it and records that it was tried.
    fn locate(&self, path: &str) -> String {
        let path = squeeze(path);
        if covering(&self.roots, &path) {
            path
        } else if let Some(absolute) = path.strip_prefix('/') {
            let up = "/..".repeat(self.base.split('/').filter(|name| !name.is_empty()).count());
            format!("{}{up}/{absolute}", self.base.trim_end_matches('/'))
        } else {
            squeeze(&format!("{}/{path}", self.base))
        }
    }
}

/// Whether the path is one of the folders or lies in one, by its text.
fn covering(roots: &[String], path: &str) -> bool {
    roots.iter().any(|root| {
        let root = root.trim_end_matches('/');
        path.strip_prefix(root)
            .is_some_and(|rest| rest.is_empty() && !root.is_empty() || rest.starts_with('/'))
    })
}

/// Without repeated slashes, `.` and a slash at the end. `..` stays: what it leads to is for the host to say.
fn squeeze(path: &str) -> String {
    let names: Vec<&str> = path
        .split('/')
        .filter(|name| !name.is_empty() && *name != ".")
        .collect();
    let joined = names.join("/");
    if path.starts_with('/') {
        format!("/{joined}")
    } else {
        joined
    }
}

/// The path to open for the path that the model wrote.
pub(crate) fn locate(path: &str) -> Result<PathBuf, Failure> {
    if path.is_empty() {
        return Err(Failure::new(
            "the path is empty; use `.` for the folder itself",
        ));
    }
    if path.contains('\0') {
        return Err(Failure::new(
            "the path contains a zero byte, which no file name can have",
        ));
    }
    let mounts = mounts().ok_or_else(|| {
        Failure::new("no folder is granted to this tool; the operator can grant one")
    })?;
    Ok(PathBuf::from(mounts.locate(path)))
}

#[cfg(target_family = "wasm")]
fn mounts() -> Option<Mounts> {
    let roots = wasip2::filesystem::preopens::get_directories()
        .into_iter()
        .map(|(_, name)| name)
        .collect();
    Mounts::new(roots, wasip2::cli::environment::initial_cwd())
}

/// In tests outside WebAssembly everything is mounted.
#[cfg(not(target_family = "wasm"))]
fn mounts() -> Option<Mounts> {
    let working_folder = std::env::current_dir()
        .ok()
        .map(|folder| folder.to_string_lossy().into_owned());
    Mounts::new(vec!["/".to_owned()], working_folder)
}

#[cfg(test)]
mod tests;
