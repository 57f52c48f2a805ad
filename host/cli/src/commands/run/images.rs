//! `--image`: images attached to a prompt.

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

/// The maximum total size of a prompt's images, in bytes. The session keeps them; those beyond the
/// model's limits are downscaled in each request.
const MAX_IMAGE_BYTES: u64 = 64 * 1024 * 1024;

/// The media types that every provider accepts.
const MEDIA_TYPES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/// Reads the files; their types come from their bytes, not their names.
pub(super) fn read(files: &[PathBuf]) -> Result<Vec<ContentPart>, Failure> {
    let mut bytes_left = MAX_IMAGE_BYTES;
    let mut images = Vec::with_capacity(files.len());
    for file in files {
        let bytes = read_bytes(file, bytes_left).map_err(|error| match error.kind() {
            ErrorKind::FileTooLarge => {
                let why = "all images of a prompt together have more than";
                refuse(file, &format!("{why} {MAX_IMAGE_BYTES} bytes"))
            }
            _ => refuse(file, &error.to_string()),
        })?;
        bytes_left -= bytes.len() as u64;
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

/// Builds the input, with images before the text: a model reads about what it has seen.
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
