//! Files, below each directory that the host grants.

use wasip2::filesystem::preopens::get_directories;
use wasip2::filesystem::types::{Descriptor, DescriptorFlags, OpenFlags, PathFlags};

/// The most bytes that are read of a file.
const MAX_READ_BYTES: u64 = 64 * 1024;

pub(crate) fn read(path: &str) -> Result<String, String> {
    let file = open(path, OpenFlags::empty(), DescriptorFlags::READ)?;
    let (bytes, _) = file
        .read(MAX_READ_BYTES, 0)
        .map_err(|code| code.name().to_owned())?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

pub(crate) fn write(path: &str, text: &str) -> Result<String, String> {
    let file = open(path, OpenFlags::CREATE, DescriptorFlags::WRITE)?;
    let written = file
        .write(text.as_bytes(), 0)
        .map_err(|code| code.name().to_owned())?;
    Ok(format!("{written} bytes"))
}

/// Opens the path below the first granted directory that lets it, or returns why each refused.
fn open(path: &str, how: OpenFlags, access: DescriptorFlags) -> Result<Descriptor, String> {
    let mut refusals = Vec::new();
    for (directory, name) in get_directories() {
        match directory.open_at(PathFlags::SYMLINK_FOLLOW, path, how, access) {
            Ok(file) => return Ok(file),
            Err(code) => refusals.push(format!("{name}: {}", code.name())),
        }
    }
    if refusals.is_empty() {
        return Err("no directory is granted".to_owned());
    }
    Err(refusals.join("; "))
}
