//! Images of the next message: a pasted or dropped path, or the clipboard. Each stands in the text
//! as a placeholder, such as `[image 1: chart.png, 1200x800]`, and goes with the message while its
//! placeholder does.

mod clipboard;
#[cfg(test)]
mod tests;

use crate::terminal::{escape_line, one_line};
use agent_host_types::output::ContentPart;
use reqwest::Url;
use std::{
    env,
    ops::Range,
    path::{Path, PathBuf},
};

/// The longest paste that is looked at for paths, in bytes.
const MAX_PASTE_BYTES: usize = 16 * 1024;

/// The most images of one paste.
const MAX_IMAGES: usize = 20;

/// The longest name in a placeholder, in characters.
const MAX_NAME: usize = 60;

/// The extensions of images that models accept. Another pasted path stays a text.
const EXTENSIONS: [&str; 5] = ["png", "jpg", "jpeg", "gif", "webp"];

/// The source of an image.
#[derive(Clone, Debug)]
pub(crate) enum ImageSource<'a> {
    File(&'a Path),
    /// Bytes of the clipboard.
    Bytes(Vec<u8>),
}

/// An image as it goes with a message.
#[derive(Clone, Debug)]
pub(crate) struct ReadImage {
    pub(crate) part: ContentPart,
    pub(crate) name: String,
    pub(crate) width: u32,
    pub(crate) height: u32,
    /// In bytes.
    pub(crate) size: u64,
}

/// Reads an image by the rules of attachments, of at most this size in bytes; an error is a
/// sentence.
pub(crate) type ReadsImage = fn(ImageSource<'_>, u64) -> Result<ReadImage, String>;

/// The images that the text of the composer may name.
#[derive(Debug)]
pub(crate) struct Images {
    read: ReadsImage,
    /// The directory of relative paths.
    directory: PathBuf,
    /// The most that all of them may have, in bytes.
    max_bytes: u64,
    /// Placeholders and images. Those that the text names no more may come back with a key, such as
    /// that of undo, until others need their bytes.
    held: Vec<(String, ReadImage)>,
    /// The number of the newest image.
    newest: usize,
}

impl Images {
    pub(crate) fn new(directory: PathBuf, read: ReadsImage, max_bytes: u64) -> Self {
        Self {
            read,
            directory,
            max_bytes,
            held: Vec::new(),
            newest: 0,
        }
    }

    /// Returns the images whose placeholders a text has, in their order.
    pub(crate) fn named_in(&self, text: &str) -> Vec<ContentPart> {
        let named = self.held.iter().filter(|(name, _)| text.contains(name));
        named.map(|(_, image)| image.part.clone()).collect()
    }

    /// Forgets all images, which were sent.
    pub(crate) fn clear(&mut self) {
        self.held.clear();
        self.newest = 0;
    }

    /// Returns the placeholders of a paste into `text` that is nothing but paths of images; `None`
    /// for any other paste, and a sentence if such a file cannot be used.
    pub(super) fn of_paste(&mut self, pasted: &str, text: &str) -> Option<Result<String, String>> {
        let paths = self.paths(pasted)?;
        Some(self.add(paths.iter().map(|path| ImageSource::File(path)), text))
    }

    /// Returns the placeholder of the clipboard's image, which goes into `text`, or a sentence that
    /// says why there is none.
    pub(super) fn of_clipboard(&mut self, text: &str) -> Result<String, String> {
        self.add([ImageSource::Bytes(clipboard::image()?)].into_iter(), text)
    }

    /// Returns the placeholder before the cursor, which one key removes.
    pub(super) fn before(&self, text: &str, cursor: usize) -> Option<Range<usize>> {
        let before = text.get(..cursor)?;
        let mut names = self.held.iter().map(|(name, _)| name);
        let name = names.find(|name| before.ends_with(name.as_str()))?;
        Some(cursor - name.len()..cursor)
    }

    /// Adds images to those that `text` names; if one cannot be used, none of them is.
    fn add<'s>(
        &mut self,
        sources: impl Iterator<Item = ImageSource<'s>>,
        text: &str,
    ) -> Result<String, String> {
        let size = |held: &(String, ReadImage)| held.1.size;
        let named = self.held.iter().filter(|(name, _)| text.contains(name));
        let mut bytes_left = self.max_bytes.saturating_sub(named.map(size).sum());
        let mut added = Vec::new();
        for source in sources {
            let image = (self.read)(source, bytes_left)?;
            bytes_left = bytes_left.saturating_sub(image.size);
            added.push((self.placeholder(&image, added.len() + 1), image));
        }
        let total = self.held.iter().chain(&added).map(size).sum::<u64>();
        let mut excess = total.saturating_sub(self.max_bytes);
        self.held.retain(|(name, image)| {
            let stays = excess == 0 || text.contains(name);
            if !stays {
                excess = excess.saturating_sub(image.size);
            }
            stays
        });
        self.newest += added.len();
        let placeholders = added.iter().map(|(name, _)| format!("{name} ")).collect();
        self.held.append(&mut added);
        Ok(placeholders)
    }

    /// Returns the placeholder of the image that is this many behind the newest.
    fn placeholder(&self, image: &ReadImage, offset: usize) -> String {
        format!(
            "[image {}: {}, {}x{}]",
            self.newest + offset,
            one_line(&image.name, MAX_NAME),
            image.width,
            image.height
        )
    }

    /// Returns the paths of a paste, if it is nothing else: as it is, or as shells quote them.
    fn paths(&self, pasted: &str) -> Option<Vec<PathBuf>> {
        let pasted = pasted.trim();
        if pasted.len() > MAX_PASTE_BYTES {
            return None;
        }
        let whole = (!pasted.contains('\n'))
            .then(|| self.path(pasted))
            .flatten();
        if let Some(path) = whole.filter(|path| path.is_file()) {
            return Some(vec![path]);
        }
        let words = shlex::split(pasted).filter(|words| (1..=MAX_IMAGES).contains(&words.len()))?;
        let paths = words.iter().map(|word| self.path(word));
        let paths = paths.collect::<Option<Vec<PathBuf>>>()?;
        // A word such as `a.png` in a text is a path only if the file exists.
        let is_given = |(word, path): (&String, &PathBuf)| is_rooted(word) || path.is_file();
        words.iter().zip(&paths).all(is_given).then_some(paths)
    }

    /// Returns the path of an image that a word is.
    fn path(&self, word: &str) -> Option<PathBuf> {
        let path = match (word.strip_prefix("~/"), env::home_dir()) {
            _ if word.starts_with("file://") => Url::parse(word).ok()?.to_file_path().ok()?,
            (Some(rest), Some(home)) => home.join(rest),
            _ => self.directory.join(word),
        };
        let extension = path.extension()?.to_str()?.to_ascii_lowercase();
        EXTENSIONS.contains(&extension.as_str()).then_some(path)
    }
}

fn is_rooted(word: &str) -> bool {
    ["/", "~/", "file://"]
        .iter()
        .any(|root| word.starts_with(root))
}

/// Returns the name of a file, for a placeholder.
pub(crate) fn shown_name(file: &Path) -> String {
    let name = file.file_name().unwrap_or_default();
    escape_line(&name.to_string_lossy())
}
