//! `call --output`: writes the files of a result into a directory, or into one file. The name that
//! a tool gives a file becomes one plain component of a path, and nothing is overwritten.

use crate::{
    exit::Failure,
    terminal::{bytes, full_text, path_text},
};
use agent_host_types::{
    media::extension,
    output::{ContentPart, FileData, FilePart, ToolResultOutput},
};
use std::{
    ffi::OsString,
    fs::File,
    io::{self, Write as _},
    path::{Path, PathBuf},
};

/// The longest name that is taken from a tool, in bytes.
const MAX_NAME_BYTES: usize = 100;

/// The most files of one name; a result has at most 256 parts.
const MAX_SAME_NAME: u32 = 1_000;

/// Where the files of a result go.
#[derive(Debug)]
pub(super) enum Target {
    Directory(PathBuf),
    File(PathBuf),
}

impl Target {
    /// Checks the target before the call runs.
    ///
    /// # Errors
    /// The file exists, or its directory does not.
    pub(super) fn check(path: PathBuf) -> Result<Self, Failure> {
        if path.is_dir() {
            return Ok(Self::Directory(path));
        }
        let refused =
            |why: &str| Failure::usage(format!("cannot write {}: {why}", path_text(&path)));
        let is_directory = path.as_os_str().as_encoded_bytes().ends_with(b"/");
        let parent = path
            .parent()
            .filter(|parent| !parent.as_os_str().is_empty());
        if is_directory || parent.is_some_and(|parent| !parent.is_dir()) {
            return Err(refused(
                "the directory does not exist; create it with `mkdir -p`",
            ));
        }
        if path.symlink_metadata().is_ok() {
            return Err(refused(
                "it already exists; choose a new file, or a directory",
            ));
        }
        Ok(Self::File(path))
    }

    /// Writes the files of a result, or the result itself into a file if it has none.
    /// Returns a line for each file, and whether the result itself was written.
    ///
    /// # Errors
    /// A file cannot be written. Those before it are kept.
    pub(super) fn save(&self, output: &ToolResultOutput) -> Result<(Vec<String>, bool), Failure> {
        let parts = match output {
            ToolResultOutput::Content(parts) => parts.as_slice(),
            _ => &[],
        };
        let files = parts.iter().filter_map(|part| match part {
            ContentPart::File(file) => Some((file, content(file)?)),
            ContentPart::Text { .. } => None,
        });
        let mut lines = Vec::new();
        for (number, (file, content)) in (1_usize..).zip(files) {
            let path = self.path(file, number);
            let (path, size) = (write_new(&path, content)?, content.len() as u64);
            let (path, size) = (path_text(&path), bytes(size));
            lines.push(format!("saved {path} ({}, {size})", file.media_type));
        }
        match self {
            Self::File(path) if lines.is_empty() => {
                let text = format!("{}\n", full_text(output));
                let path = write_new(path, text.as_bytes())?;
                Ok((vec![format!("saved {}", path_text(&path))], true))
            }
            Self::Directory(_) if lines.is_empty() => {
                Ok((vec!["The result has no files to save.".to_owned()], false))
            }
            Self::Directory(_) | Self::File(_) => Ok((lines, false)),
        }
    }

    /// Returns the path of the file with this number in its result.
    fn path(&self, file: &FilePart, number: usize) -> PathBuf {
        match self {
            Self::File(path) => path.clone(),
            Self::Directory(directory) => directory.join(name(file, number)),
        }
    }
}

/// Returns the content of a file; absent for one that the result only names.
fn content(file: &FilePart) -> Option<&[u8]> {
    match &file.data {
        FileData::Bytes(bytes) => Some(bytes),
        FileData::Text(text) => Some(text.as_bytes()),
        FileData::Url(_) | FileData::Blob(_) => None,
    }
}

/// Returns the name of a file in the directory: the tool's, of plain characters, or one with its
/// number.
fn name(file: &FilePart, number: usize) -> String {
    let plain = |c: char| {
        if c.is_alphanumeric() || "._- ".contains(c) {
            c
        } else {
            '_'
        }
    };
    let given: String = file
        .filename
        .iter()
        .flat_map(|name| name.chars())
        .map(plain)
        .collect();
    let given = given.trim_matches([' ', '.']);
    let given = given
        .get(..given.floor_char_boundary(MAX_NAME_BYTES))
        .unwrap_or_default();
    match (given, extension(&file.media_type)) {
        ("", Some(extension)) => format!("file-{number}.{extension}"),
        ("", None) => format!("file-{number}"),
        (given, _) => given.to_owned(),
    }
}

/// Writes a new file: with a number before its extension if there is one of its name.
fn write_new(path: &Path, content: &[u8]) -> Result<PathBuf, Failure> {
    let failed =
        |error: io::Error| Failure::failed(format!("cannot write {}: {error}", path_text(path)));
    for number in 1..=MAX_SAME_NAME {
        let numbered = numbered(path, number);
        match File::create_new(&numbered) {
            Ok(mut file) => {
                let written = file.write_all(content).and_then(|()| file.sync_all());
                if let Err(error) = written {
                    // Part of a file is worse than none.
                    let _ = std::fs::remove_file(&numbered);
                    return Err(failed(error));
                }
                return Ok(numbered);
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(failed(error)),
        }
    }
    Err(failed(io::ErrorKind::AlreadyExists.into()))
}

fn numbered(path: &Path, number: u32) -> PathBuf {
    if number == 1 {
        return path.to_owned();
    }
    let mut name = path.file_stem().map_or_else(OsString::new, OsString::from);
    name.push(format!("-{number}"));
    if let Some(extension) = path.extension() {
        name.push(".");
        name.push(extension);
    }
    path.with_file_name(name)
}

#[cfg(test)]
mod tests {
    use super::Target;
    use agent_host_types::output::{ContentPart, FileData, FilePart, ToolResultOutput};
    use pretty_assertions::assert_eq;
    use std::{collections::BTreeMap, fs, path::Path};

    fn file(name: Option<&str>, media_type: &str, content: &str) -> ContentPart {
        ContentPart::File(FilePart {
            media_type: media_type.to_owned(),
            data: FileData::Bytes(content.as_bytes().to_vec()),
            filename: name.map(str::to_owned),
        })
    }

    fn files(directory: &Path) -> BTreeMap<String, String> {
        let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap());
        let read = entries.map(|entry| {
            let name = entry.file_name().into_string().unwrap();
            (name, fs::read_to_string(entry.path()).unwrap())
        });
        read.collect()
    }

    #[test]
    fn files_get_plain_names_and_overwrite_nothing() {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("a.png"), "kept").unwrap();
        let output = ToolResultOutput::Content(vec![
            ContentPart::Text {
                text: "words".to_owned(),
            },
            file(Some("a.png"), "image/png", "1"),
            file(Some("../../etc/passwd"), "text/plain", "2"),
            file(Some(".."), "image/png", "3"),
            file(None, "application/x-unknown", "4"),
            ContentPart::File(FilePart {
                media_type: "image/png".to_owned(),
                data: FileData::Url("https://a.example/b.png".to_owned()),
                filename: None,
            }),
        ]);
        let target = Target::check(directory.path().to_owned()).unwrap();
        let (lines, is_whole) = target.save(&output).unwrap();
        assert_eq!((lines.len(), is_whole), (4, false), "{lines:?}");
        let expected = [
            ("_.._etc_passwd", "2"),
            ("a-2.png", "1"),
            ("a.png", "kept"),
            ("file-3.png", "3"),
            ("file-4", "4"),
        ];
        let expected = expected.map(|(name, text)| (name.to_owned(), text.to_owned()));
        assert_eq!(files(directory.path()), BTreeMap::from(expected));
    }

    #[test]
    fn file_takes_a_result_without_files() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("out.txt");
        let target = Target::check(path.clone()).unwrap();
        let (lines, is_whole) = target
            .save(&ToolResultOutput::Text("hello".to_owned()))
            .unwrap();
        assert_eq!(
            (lines, is_whole),
            (vec![format!("saved {}", path.display())], true)
        );
        assert_eq!(fs::read_to_string(&path).unwrap(), "hello\n");
        let refused = Target::check(path.clone()).unwrap_err();
        let path = path.display();
        assert_eq!(
            refused.text(),
            format!("cannot write {path}: it already exists; choose a new file, or a directory")
        );
        let absent = directory.path().join("absent/a.png");
        let refused = Target::check(absent.clone()).unwrap_err();
        let absent = absent.display();
        assert_eq!(
            refused.text(),
            format!(
                "cannot write {absent}: the directory does not exist; create it with `mkdir -p`"
            )
        );
    }
}
