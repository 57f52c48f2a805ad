//! `--image` and `--file`: files attached to a prompt.

use super::files::read_bytes;
use crate::{
    exit::Failure,
    terminal::{ImageSource, ReadImage, bytes, shown_name},
};
use agent_host_app::{Config, ModelConfig};
use agent_host_types::{
    media,
    message::{Message, Role},
    output::{ContentPart, FileData, FilePart},
    reason::Reason,
    turn::AgentInput,
};
use image::ImageReader;
use std::{
    io::{Cursor, ErrorKind},
    path::{Path, PathBuf},
};

/// The maximum total size of a prompt's files, in bytes. The session keeps them; images beyond the
/// model's limits are downscaled in each request.
pub(super) const MAX_FILES_BYTES: u64 = 64 * 1024 * 1024;

/// The longest text file that goes to the model whole, in bytes: about half of a window of 128,000
/// tokens.
const MAX_WHOLE_TEXT_BYTES: usize = 256 * 1024;

/// The media types of images that every provider accepts.
const IMAGES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

const PDF: &str = "application/pdf";

/// The media types of recordings as they are recognized, with their registered names.
const RECORDINGS: [(&str, &str); 2] = [("audio/x-wav", "audio/wav"), ("audio/mpeg", "audio/mpeg")];

/// Reads the files of `--image` and of `--file`, in this order; their types come from their bytes,
/// not their names.
pub(super) fn read(images: &[PathBuf], files: &[PathBuf]) -> Result<Vec<ContentPart>, Failure> {
    let mut bytes_left = MAX_FILES_BYTES;
    let mut parts = Vec::with_capacity(images.len() + files.len());
    let images = images.iter().map(|file| ("image", file));
    for (what, file) in images.chain(files.iter().map(|file| ("file", file))) {
        let refuse = |why: &str| refuse(what, file, why);
        let bytes = read_bytes(file, bytes_left).map_err(|error| match error.kind() {
            ErrorKind::FileTooLarge => {
                let why = format!("all {what}s of a prompt together have more than");
                refuse(&format!("{why} {MAX_FILES_BYTES} bytes"))
            }
            _ => refuse(&error.to_string()),
        })?;
        bytes_left -= bytes.len() as u64;
        let seen = media::sniff(&bytes);
        match (what, seen) {
            (_, Some(seen)) if IMAGES.contains(&seen) => parts.push(file_part(file, seen, bytes)),
            ("file", Some(PDF)) => parts.push(file_part(file, PDF, bytes)),
            ("file", seen) => match seen.and_then(recording) {
                Some(recording) => parts.push(file_part(file, recording, bytes)),
                None => {
                    parts.push(text_part(file, seen, bytes).map_err(|why| refuse(why.as_str()))?)
                }
            },
            (_, seen) => {
                let seen = seen.unwrap_or("not an image");
                return Err(refuse(&format!(
                    "it is {seen}; models accept PNG, JPEG, GIF and WebP, so convert it"
                )));
            }
        }
    }
    Ok(parts)
}

/// Reads an image for a message in a conversation, of at most this size in bytes.
///
/// # Errors
/// A sentence that says why it cannot be used.
pub(super) fn image(source: ImageSource<'_>, bytes_left: u64) -> Result<ReadImage, String> {
    let (path, read) = match source {
        // A pipe or a device of that name would be waited for.
        ImageSource::File(file) if !file.is_file() => (file, Err("it is not a file".to_owned())),
        ImageSource::File(file) => {
            let read = read_bytes(file, bytes_left);
            (file, read.map_err(|error| error.to_string()))
        }
        ImageSource::Bytes(bytes) => (Path::new("clipboard.png"), Ok(bytes)),
    };
    let name = shown_name(path);
    let image = read.and_then(|image| {
        if image.len() as u64 > bytes_left {
            let most = bytes(MAX_FILES_BYTES);
            return Err(format!("the images of a message may have {most}"));
        }
        let seen = media::sniff(&image).filter(|seen| IMAGES.contains(seen));
        let media_type = seen.ok_or("it is not a PNG, JPEG, GIF or WebP image")?;
        let reader = ImageReader::new(Cursor::new(&image)).with_guessed_format();
        let size = reader.map_err(|error| error.to_string())?.into_dimensions();
        let (width, height) = size.map_err(|error| error.to_string())?;
        Ok(ReadImage {
            size: image.len() as u64,
            part: file_part(path, media_type, image),
            name: name.clone(),
            width,
            height,
        })
    });
    image.map_err(|why| format!("{name} is not attached: {why}."))
}

/// Returns the registered name of the media type of a recording.
fn recording(seen: &str) -> Option<&'static str> {
    let known = RECORDINGS.iter().find(|(known, _)| *known == seen);
    known.map(|(_, registered)| *registered)
}

fn name(file: &Path) -> Option<String> {
    let name = file.file_name()?;
    Some(name.to_string_lossy().into_owned())
}

fn file_part(file: &Path, media_type: &str, bytes: Vec<u8>) -> ContentPart {
    ContentPart::File(FilePart {
        media_type: media_type.to_owned(),
        data: FileData::Bytes(bytes),
        filename: name(file),
    })
}

/// Returns the whole of a text file with its name, in a fence that the text cannot end, or a long
/// one as a file, which the session keeps and the model reads in pages; or why it cannot be one.
/// `seen` is its media type by its first bytes.
fn text_part(file: &Path, seen: Option<&str>, bytes: Vec<u8>) -> Result<ContentPart, Reason> {
    let accepted =
        "a prompt accepts PNG, JPEG, GIF, WebP, PDF, WAV, MP3 and UTF-8 text, so convert it";
    if let Some(seen) = seen.filter(|seen| !seen.starts_with("text/")) {
        return Err(format!("it is {seen}; {accepted}").into());
    }
    let text = String::from_utf8(bytes).ok();
    let text = text.filter(|text| !text.contains('\0'));
    let text = text.ok_or_else(|| format!("its type is unknown; {accepted}"))?;
    let name = name(file);
    if text.len() > MAX_WHOLE_TEXT_BYTES {
        return Ok(ContentPart::File(FilePart {
            media_type: "text/plain".to_owned(),
            data: FileData::Text(text),
            filename: name,
        }));
    }
    let name = name.unwrap_or_default();
    let text = format!("The file {name:?}:\n{}", fenced(&text));
    Ok(ContentPart::Text { text })
}

/// Returns a text in a fence that it cannot end.
pub(super) fn fenced(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max();
    let fence = "`".repeat(longest.unwrap_or(0).max(2) + 1);
    let text = text.strip_suffix('\n').unwrap_or(text);
    format!("{fence}\n{text}\n{fence}")
}

/// Refuses a PDF or a recording for a first model that takes none. A fallback model gets a note
/// instead of it.
pub(super) fn check(parts: &[ContentPart], config: &Config) -> Result<(), Failure> {
    let Some(model @ ModelConfig::Served { provider, .. }) = &config.models.first else {
        return Ok(());
    };
    let has = |wanted: &str| {
        parts.iter().any(
            |part| matches!(part, ContentPart::File(file) if file.media_type.starts_with(wanted)),
        )
    };
    let capabilities = provider.capabilities;
    let (what, fix) = if !capabilities.documents && has(PDF) {
        (
            "PDF documents",
            "convert the PDF to text, or set `documents = true`",
        )
    } else if !capabilities.audio && has("audio/") {
        ("audio recordings", "or set `audio = true`")
    } else {
        return Ok(());
    };
    Err(Failure::usage(format!(
        "`{model}` is not known to accept {what}; choose another model with `--model`, {fix} for `{}` in agent.toml \
         if its model accepts them",
        provider.name
    )))
}

/// Builds the input, with files before the text: a model reads about what it has seen.
pub(super) fn input(text: String, mut parts: Vec<ContentPart>) -> AgentInput {
    if parts.is_empty() {
        return AgentInput::Text(text);
    }
    parts.push(ContentPart::Text { text });
    AgentInput::Message(Message::parts(Role::User, parts))
}

fn refuse(what: &str, file: &Path, why: &str) -> Failure {
    Failure::usage(format!("cannot use the {what} {}: {why}", file.display()))
}
