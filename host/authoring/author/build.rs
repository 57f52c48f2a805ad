//! Lists the files to embed for tool authors: interfaces, SDKs, templates. A macro that includes a
//! directory would embed build artifacts and miss new files.

use std::{
    env,
    error::Error,
    fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
};

/// The embedded paths, relative to the repository, besides `guest-tools/sdk*`.
const EMBEDDED: [&str; 3] = ["wit", "guest-tools/templates", "guest-tools/Cargo.toml"];

/// The directory of the copies of these files in a published crate.
const COPIES: &str = "embedded";

/// The ending of a copied file that cargo would leave out.
const COPIED: &str = ".copy";

/// Artifacts of builds and tests; nothing below such a name is embedded.
const ARTIFACTS: [&str; 6] = [
    ".agent-host",
    ".venv",
    "__pycache__",
    "dist",
    "node_modules",
    "target",
];

fn main() -> Result<(), Box<dyn Error>> {
    let own = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?);
    // A published crate has copies (`packaging/crates`), since it has nothing of the repository.
    let root = match own.join(COPIES) {
        copies if copies.is_dir() => copies,
        _ => own.join("../../.."),
    };
    let root = root.canonicalize()?;
    let or_copy = |path: &&str| [root.join(path), root.join(format!("{path}{COPIED}"))];
    let mut embedded: Vec<PathBuf> = EMBEDDED.iter().flat_map(or_copy).collect();
    for entry in fs::read_dir(root.join("guest-tools"))? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with("sdk") {
            embedded.push(entry.path());
        }
    }
    let mut files = Vec::new();
    for path in embedded.iter().filter(|path| path.exists()) {
        println!("cargo::rerun-if-changed={}", path.display());
        collect(path, &mut files)?;
    }
    let mut named = Vec::new();
    for file in &files {
        let path = file.strip_prefix(&root)?.to_string_lossy();
        // Cargo leaves out directories that have a `Cargo.toml`, and each `.gitignore`.
        let path = path.strip_suffix(COPIED).unwrap_or(&path).to_owned();
        named.push((path, file));
    }
    named.sort();

    let list = PathBuf::from(env::var("OUT_DIR")?).join("embedded.rs");
    let mut list = io::BufWriter::new(fs::File::create(list)?);
    writeln!(list, "&[")?;
    for (path, file) in named {
        writeln!(list, "    ({path:?}, include_bytes!({file:?})),")?;
    }
    writeln!(list, "]")?;
    Ok(list.flush()?)
}

/// Adds a file or the files below a directory.
fn collect(path: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    let left = |name: &str| path.file_name().is_some_and(|own| own == name);
    if ARTIFACTS.into_iter().any(left) {
        return Ok(());
    }
    if !path.is_dir() {
        files.push(path.to_path_buf());
        return Ok(());
    }
    for entry in fs::read_dir(path)? {
        collect(&entry?.path(), files)?;
    }
    Ok(())
}
