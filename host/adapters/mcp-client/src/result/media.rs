//! Media within the JSON of a result. Servers repeat an image in `structuredContent`, or return it
//! there alone: as text it would cost a model tens of thousands of tokens and show it nothing, so it
//! becomes a file, and a mark stays in its place.

use agent_host_types::{
    media,
    output::{ContentPart, FileData, FilePart},
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::Value;
use std::collections::HashSet;

/// A shorter string is not looked at: as text it costs little.
const MIN_CHARS: usize = 1024;

/// The most files that are taken out of a result. Further media are left out.
const MAX_FILES: usize = 16;

/// The keys beside a string that name its media type, as servers write them.
const TYPE_KEYS: [&str; 4] = ["mimeType", "mime_type", "mediaType", "media_type"];

/// Takes media out of the JSON of a result. The time is linear in the size of the JSON.
pub(super) struct Media<'a> {
    /// The base64 of the result's own blocks.
    blocks: HashSet<&'a str>,
    /// The files that were taken out, in the order of the JSON.
    pub(super) files: Vec<FilePart>,
}

impl<'a> Media<'a> {
    /// Knows the media of these blocks, which need no second copy.
    pub(super) fn of_blocks(blocks: &'a [Value]) -> Self {
        let data = blocks.iter().filter_map(|block| {
            let data = ["/data", "/resource/blob"].map(|place| block.pointer(place));
            data.into_iter().flatten().find_map(Value::as_str)
        });
        Self {
            blocks: data.collect(),
            files: Vec::new(),
        }
    }

    /// Replaces media in a value by marks; true if there were some.
    pub(super) fn take(&mut self, value: &mut Value) -> bool {
        self.take_declared(value, None)
    }

    fn take_declared(&mut self, value: &mut Value, declared: Option<&str>) -> bool {
        match value {
            Value::String(text) => match self.mark(text, declared) {
                Some(mark) => {
                    *text = mark;
                    true
                }
                None => false,
            },
            Value::Array(items) => {
                let mut found = false;
                for item in items {
                    found |= self.take_declared(item, declared);
                }
                found
            }
            Value::Object(fields) => {
                let declared = TYPE_KEYS.iter().find_map(|key| fields.get(*key)?.as_str());
                let declared = declared.map(str::to_owned);
                let mut found = false;
                for field in fields.values_mut() {
                    found |= self.take_declared(field, declared.as_deref());
                }
                found
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => false,
        }
    }

    /// Returns the part for a text, in which media may be the whole or strings of its JSON.
    pub(super) fn part_of_text(&mut self, text: String) -> ContentPart {
        if text.len() < MIN_CHARS {
            return ContentPart::Text { text };
        }
        if let Some(file) = file(&text, None) {
            return ContentPart::File(file);
        }
        let is_json = text.starts_with(['{', '[']);
        let json = is_json.then(|| serde_json::from_str::<Value>(&text).ok());
        let marked = json.flatten().and_then(|mut value| {
            let has_media = self.take(&mut value);
            has_media.then(|| value.to_string())
        });
        let text = marked.unwrap_or(text);
        ContentPart::Text { text }
    }

    /// Returns what stands for a string that is media, and keeps the file, unless a block has it.
    fn mark(&mut self, text: &str, declared: Option<&str>) -> Option<String> {
        if text.len() < MIN_CHARS {
            return None;
        }
        if self.blocks.contains(text) {
            return Some("[the data of the file above]".to_owned());
        }
        let file = file(text, declared)?;
        let FileData::Bytes(bytes) = &file.data else {
            return None;
        };
        let what = format!("{}, {} bytes", file.media_type, bytes.len());
        if self.files.len() == MAX_FILES {
            return Some(format!("[{what}, left out]"));
        }
        self.files.push(file);
        Some(format!("[{what}: file {} below]", self.files.len()))
    }
}

/// Returns the file that a string is: a `data:` URL, or base64 that is declared as media or begins
/// as media do. Other base64 is data like any other, which a tool may have been asked for.
pub(super) fn file(text: &str, declared: Option<&str>) -> Option<FilePart> {
    if text.len() < MIN_CHARS {
        return None;
    }
    let url = text.strip_prefix("data:");
    let (declared, base64) = match url.and_then(|rest| rest.split_once(";base64,")) {
        Some((declared, base64)) => (Some(declared), base64),
        None => (declared, text),
    };
    // The beginning tells most texts apart without decoding them.
    let start = base64.get(..64)?;
    let start = STANDARD.decode(start).ok()?;
    let seen = media::sniff(&start);
    let declared = declared.filter(|declared| !declared.starts_with("text/"));
    let media_type = seen.or(declared)?.to_owned();
    let data = FileData::Bytes(STANDARD.decode(base64).ok()?);
    let mut file = FilePart {
        media_type,
        data,
        filename: None,
    };
    media::correct(&mut file);
    Some(file)
}
