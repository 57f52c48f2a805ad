//! Files, below each directory that the host grants.

use std::ffi::CStr;
use wasi::{
    Ciovec, Errno, Fd, Iovec, LOOKUPFLAGS_SYMLINK_FOLLOW, OFLAGS_CREAT, Oflags, RIGHTS_FD_READ,
    RIGHTS_FD_WRITE, Rights, fd_prestat_dir_name, fd_prestat_get, fd_read, fd_write, path_open,
};

/// The most bytes that are read of a file.
const MAX_READ_BYTES: usize = 64 * 1024;

/// The first descriptor of a granted directory.
const FIRST: Fd = 3;

pub(crate) fn read(path: &str) -> Result<String, String> {
    let file = open(path, 0, RIGHTS_FD_READ)?;
    let mut bytes = vec![0; MAX_READ_BYTES];
    let buffer = Iovec {
        buf: bytes.as_mut_ptr(),
        buf_len: bytes.len(),
    };
    // SAFETY: the buffer is alive, and has that length.
    let read = unsafe { fd_read(file, &[buffer]) }.map_err(|code| code.name().to_owned())?;
    Ok(String::from_utf8_lossy(&bytes[..read]).into_owned())
}

pub(crate) fn write(path: &str, text: &str) -> Result<String, String> {
    let file = open(path, OFLAGS_CREAT, RIGHTS_FD_WRITE)?;
    let buffer = Ciovec {
        buf: text.as_ptr(),
        buf_len: text.len(),
    };
    // SAFETY: the buffer is alive, and has that length.
    let written = unsafe { fd_write(file, &[buffer]) }.map_err(|code| code.name().to_owned())?;
    Ok(format!("{written} bytes"))
}

/// Opens the path below the first granted directory that lets it, or returns why each refused.
fn open(path: &str, how: Oflags, rights: Rights) -> Result<Fd, String> {
    let mut refusals = Vec::new();
    for directory in FIRST.. {
        let Ok(name) = name(directory) else { break };
        let follow = LOOKUPFLAGS_SYMLINK_FOLLOW;
        // SAFETY: the call has no pointers but the path.
        match unsafe { path_open(directory, follow, path, how, rights, 0, 0) } {
            Ok(file) => return Ok(file),
            Err(code) => refusals.push(format!("{name}: {}", code.name())),
        }
    }
    if refusals.is_empty() {
        return Err("no directory is granted".to_owned());
    }
    Err(refusals.join("; "))
}

fn name(directory: Fd) -> Result<String, Errno> {
    // SAFETY: the host writes at most as many bytes as the buffer has.
    unsafe {
        let length = fd_prestat_get(directory)?.u.dir.pr_name_len;
        let mut name = vec![0; length + 1];
        fd_prestat_dir_name(directory, name.as_mut_ptr(), length)?;
        let name = CStr::from_bytes_until_nul(&name).unwrap_or_default();
        Ok(name.to_string_lossy().into_owned())
    }
}
