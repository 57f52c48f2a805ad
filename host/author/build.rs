//! Finds the files that the program carries for authors (the interfaces, the authoring crates and libraries, the templates) and
//! writes the list of them. A macro that includes a folder would take what a build left in it, too, and would not see a new file.

use std::{
    env,
    error::Error,
    fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
};

/// What is carried, relative to the repository: these, and the folders of `guest-tools` whose names begin with `sdk`.
const CARRIED: [&str; 3] = ["wit", "guest-tools/templates", "guest-tools/Cargo.toml"];

/// What builds and tests leave in a folder. Nothing below such a name is carried.
const LEFT_BY_BUILDS: [&str; 6] = [
    ".agent-host",
    ".venv",
    "__pycache__",
    "dist",
    "node_modules",
    "target",
];

fn main() -> Result<(), Box<dyn Error>> {
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?).join("../..");
    let root = root.canonicalize()?;
    let mut carried: Vec<PathBuf> = CARRIED.iter().map(|path| root.join(path)).collect();
    for entry in fs::read_dir(root.join("guest-tools"))? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with("sdk") {
            carried.push(entry.path());
        }
    }
    let mut files = Vec::new();
    for path in carried.iter().filter(|path| path.exists()) {
        println!("cargo::rerun-if-changed={}", path.display());
        collect(path, &mut files)?;
    }
    files.sort();

    let list = PathBuf::from(env::var("OUT_DIR")?).join("carried.rs");
    let mut list = io::BufWriter::new(fs::File::create(list)?);
    writeln!(list, "&[")?;
    for file in &files {
        let path = file.strip_prefix(&root)?;
        writeln!(list, "    ({path:?}, include_bytes!({file:?})),")?;
    }
    writeln!(list, "]")?;
    Ok(list.flush()?)
}

/// Adds the file, or the files below the folder.
fn collect(path: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    let left = |name: &str| path.file_name().is_some_and(|own| own == name);
    if LEFT_BY_BUILDS.into_iter().any(left) {
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
