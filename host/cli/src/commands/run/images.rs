//! `--image`: pictures that go with a prompt.

use super::read_bytes;
use crate::exit::Failure;
use agent_host_types::{
    media,
    message::{Message, Role},
    output::{ContentPart, FileData, FilePart},
    turn::AgentInput,
};
use std::{
    io::ErrorKind,
    path::{Path, PathBuf},
};

/// The most bytes of all images of one prompt. They are kept in the session, and those that are larger than the model takes are made
/// smaller on their way to it.
const MAX_IMAGE_BYTES: u64 = 64 * 1024 * 1024;

/// What every provider's models see.
const MEDIA_TYPES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/// Reads the files. What they are is what their bytes show, whatever they are called.
pub(super) fn read(files: &[PathBuf]) -> Result<Vec<ContentPart>, Failure> {
    let mut room = MAX_IMAGE_BYTES;
    let mut images = Vec::with_capacity(files.len());
    for file in files {
        let bytes = read_bytes(file, room).map_err(|error| match error.kind() {
            ErrorKind::FileTooLarge => {
                let why = "all images of a prompt together have more than";
                refuse(file, &format!("{why} {MAX_IMAGE_BYTES} bytes"))
            }
            _ => refuse(file, &error.to_string()),
        })?;
        room -= bytes.len() as u64;
        let seen = media::sniff(&bytes).unwrap_or("no image");
        if !MEDIA_TYPES.contains(&seen) {
            return Err(refuse(
                file,
                &format!("it is {seen}; models see PNG, JPEG, GIF and WebP, so convert it"),
            ));
        }
        images.push(ContentPart::File(FilePart {
            media_type: seen.to_owned(),
            data: FileData::Bytes(bytes),
            filename: file
                .file_name()
                .map(|name| name.to_string_lossy().into_owned()),
        }));
    }
    Ok(images)
}

/// The prompt with its images, which come first: a model reads about what it has seen.
pub(super) fn input(text: String, mut images: Vec<ContentPart>) -> AgentInput {
    if images.is_empty() {
        return AgentInput::Text(text);
    }
    images.push(ContentPart::Text { text });
    AgentInput::Message(Message::parts(Role::User, images))
}

fn refuse(file: &Path, why: &str) -> Failure {
    Failure::usage(format!("cannot use the image {}: {why}", file.display()))
}
