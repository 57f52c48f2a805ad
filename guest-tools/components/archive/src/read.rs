//! `read_member`: text as text, by pages; images and all other files as file parts.

use std::io::Read;

use agent_tool::{Output, Part, input, tool};
use agent_tool_bounded::{Failure, page};

use crate::archive::Archive;
use crate::member::{Kind, Member};

/// The largest member that is read, in bytes.
const MAX_MEMBER_BYTES: u64 = 8 * 1024 * 1024;

/// The largest image or other file that is passed to a model, in bytes; providers refuse larger
/// images.
const MAX_PART_BYTES: usize = 5 * 1024 * 1024;

/// The most positions of members of one name that an error lists.
const MAX_SHOWN: usize = 10;

#[input]
pub(crate) struct ReadMember {
    /// The archive, relative to the workspace or absolute.
    path: String,
    /// The name of the member, exactly as list_archive shows it.
    member: String,
    /// The position of the member in the archive, from 0 on. Only where several have the name.
    index: Option<usize>,
    /// The byte of the text to start at. Only for text.
    #[serde(default)]
    offset: usize,
}

/// Reads one member of a ZIP, tar, tar.gz or gzip file. Text is returned as text, long text in
/// pages (use `offset` for the next one); an image as an image, any other file as a file part.
#[tool(effect = "read-only", title = "Read from an archive")]
pub(crate) fn read_member(input: ReadMember) -> Result<Output, Failure> {
    let ReadMember {
        path,
        member: name,
        index,
        offset,
    } = input;
    let mut archive = Archive::open(&path)?;
    let wanted = find(&mut archive, &path, &name, index)?;
    let mut read = None;
    archive.walk(&mut |member, content| {
        if member.index != wanted {
            return Ok(true);
        }
        read = Some(content_of(member, content)?);
        Ok(false)
    })?;
    let bytes = read.ok_or_else(|| missing(&path, &name))?;
    match as_text(bytes) {
        Ok(text) => page(&text, offset).map(Output::Text),
        Err(bytes) => as_part(&name, bytes),
    }
}

/// The position of the one member that is meant.
fn find(
    archive: &mut Archive,
    path: &str,
    name: &str,
    index: Option<usize>,
) -> Result<usize, Failure> {
    let mut found = Vec::new();
    archive.walk(&mut |member, _| {
        if member.name == name && index.is_none_or(|index| index == member.index) {
            found.push(member.index);
        }
        Ok(true)
    })?;
    match found.as_slice() {
        [] => Err(missing(path, name)),
        [only] => Ok(*only),
        several => {
            let shown: Vec<String> = several
                .iter()
                .take(MAX_SHOWN)
                .map(ToString::to_string)
                .collect();
            Err(Failure::new(format!(
                "{} members of `{path}` have the name `{name}`; give `index`, such as {}",
                several.len(),
                shown.join(", ")
            )))
        }
    }
}

fn missing(path: &str, name: &str) -> Failure {
    Failure::new(format!(
        "`{path}` has no member `{name}` there; list_archive shows the names"
    ))
}

fn content_of(member: &Member, content: &mut dyn Read) -> Result<Vec<u8>, Failure> {
    let name = &member.name;
    let target = match &member.target {
        Some(target) => format!(" to `{target}`"),
        None => String::new(),
    };
    let other = match member.kind {
        Kind::File => None,
        Kind::Directory => Some("a directory"),
        Kind::Symlink => Some("a symbolic link"),
        Kind::HardLink => Some("a hard link"),
        Kind::Other => Some("neither a file nor a directory"),
    };
    if let Some(other) = other {
        return Err(Failure::new(format!(
            "`{name}` is {other}{target} and has no content; read a file of the archive"
        )));
    }
    let mut bytes = Vec::new();
    content
        .take(MAX_MEMBER_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| Failure::new(format!("`{name}` cannot be read: {error}")))?;
    if bytes.len() as u64 > MAX_MEMBER_BYTES {
        return Err(Failure::new(format!(
            "`{name}` has more than {MAX_MEMBER_BYTES} bytes; extract_archive writes it to a file, which can be searched"
        )));
    }
    Ok(bytes)
}

/// Text is UTF-8 without zero bytes; PDF files can be all ASCII.
fn as_text(bytes: Vec<u8>) -> Result<String, Vec<u8>> {
    if bytes.contains(&0) || infer::archive::is_pdf(&bytes) {
        return Err(bytes);
    }
    String::from_utf8(bytes).map_err(std::string::FromUtf8Error::into_bytes)
}

fn as_part(name: &str, bytes: Vec<u8>) -> Result<Output, Failure> {
    let media_type = infer::get(&bytes).map_or("application/octet-stream", |kind| kind.mime_type());
    if bytes.len() > MAX_PART_BYTES {
        return Err(Failure::new(format!(
            "`{name}` is {media_type} of {} bytes; at most {MAX_PART_BYTES} can be returned; extract_archive writes it to a file",
            bytes.len()
        )));
    }
    let file_name = name.rsplit('/').next().unwrap_or(name);
    Ok(Output::content([
        Part::bytes(media_type, bytes).named(file_name)
    ]))
}

#[cfg(test)]
mod tests;
