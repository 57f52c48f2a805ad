//! Fits images to the limits of a provider before the request is encoded. An image that cannot be
//! made smaller becomes a note. The journal keeps the original.

#[cfg(test)]
mod tests;

use crate::wire::{ImageLimits, request::omitted};
use agent_host_engine::model::{DeltaSink, ModelDelta};
use agent_host_types::{
    id::Digest,
    media,
    message::Message,
    model::ModelRequest,
    output::{ContentPart, FileData, FilePart, ToolResultOutput},
    reason::Reason,
};
use image::{
    DynamicImage, ImageDecoder as _, ImageEncoder as _, ImageError, ImageFormat, ImageReader,
    RgbImage,
    codecs::{
        jpeg::JpegEncoder,
        png::{CompressionType, FilterType as PngFilter, PngEncoder},
    },
    imageops::FilterType,
    metadata::Orientation,
};
use std::{
    borrow::Cow,
    collections::{HashMap, HashSet},
    io::Cursor,
    sync::{Mutex, PoisonError},
};

/// The formats that are decoded, which are those that providers accept.
const FORMATS: [(&str, ImageFormat); 4] = [
    ("image/png", ImageFormat::Png),
    ("image/jpeg", ImageFormat::Jpeg),
    ("image/gif", ImageFormat::Gif),
    ("image/webp", ImageFormat::WebP),
];

/// The largest image that is decoded, in bytes of memory: 64 megapixels of 4 bytes. A file of a few
/// kilobytes can claim more.
const MAX_DECODED_BYTES: u64 = 256 * 1024 * 1024;

/// The largest PNG that is written, in bytes. A larger one is a photo, which takes a tenth as a
/// JPEG; every request repeats it.
const MAX_PNG_BYTES: usize = 1024 * 1024;

/// The quality of written JPEGs, of 100: text in a photo stays readable.
const JPEG_QUALITY: u8 = 85;

/// The least longer side to which an image is scaled to meet the byte limit, in pixels.
const MIN_SIDE: u32 = 64;

/// Fits images and caches the results: every request repeats all images and must start with the
/// same bytes.
#[derive(Debug)]
pub(crate) struct ImageFitter {
    limits: ImageLimits,
    /// The part that replaces an image, by the digest of the original.
    fitted: Mutex<HashMap<Digest, ContentPart>>,
}

impl ImageFitter {
    pub(crate) fn new(limits: ImageLimits) -> Self {
        Self {
            limits,
            fitted: Mutex::default(),
        }
    }

    /// Returns the request with every image within the limits. Emits a note for each changed image,
    /// once.
    pub(crate) async fn fit<'a>(
        &self,
        request: &'a ModelRequest,
        deltas: DeltaSink<'_>,
    ) -> Cow<'a, ModelRequest> {
        let mut request = Cow::Borrowed(request);
        if !parts(&request).any(|part| self.is_too_large(part)) {
            return request;
        }
        let mut sent = HashSet::new();
        for part in parts_mut(request.to_mut()) {
            if !self.is_too_large(part) {
                continue;
            }
            let ContentPart::File(file) = part else {
                continue;
            };
            let FileData::Bytes(bytes) = &file.data else {
                continue;
            };
            let digest = Digest::of(bytes);
            sent.insert(digest);
            let known = self.lock().get(&digest).cloned();
            let fitted = match known {
                Some(known) => renamed(known, file),
                None => self.change(file, digest, deltas).await,
            };
            *part = fitted;
        }
        // Images that left the conversation are dropped from the cache.
        self.lock().retain(|digest, _| sent.contains(digest));
        request
    }

    async fn change(&self, file: &FilePart, digest: Digest, deltas: DeltaSink<'_>) -> ContentPart {
        let (limits, original) = (self.limits, file.clone());
        // It takes up to seconds of processor time and finishes by itself if the caller is dropped.
        let work = tokio::task::spawn_blocking(move || shrink(&original, limits));
        let shrunk = work.await.unwrap_or_else(|_| Err("it is broken".into()));
        let name = name_of(file);
        let part = match shrunk {
            Ok(shrunk) => {
                deltas(ModelDelta::Note(&format!(
                    "{name} is larger than the model accepts, so it was reduced: {}",
                    shrunk.change
                )));
                ContentPart::File(shrunk.file)
            }
            Err(error) => {
                deltas(ModelDelta::Note(&format!(
                    "{name} is larger than the model accepts and cannot be reduced ({error}), so the model does not \
                     see it"
                )));
                ContentPart::Text {
                    text: omitted(&ContentPart::File(file.clone())),
                }
            }
        };
        self.lock().insert(digest, part.clone());
        part
    }

    fn is_too_large(&self, part: &ContentPart) -> bool {
        let ContentPart::File(file) = part else {
            return false;
        };
        let (FileData::Bytes(bytes), Some(format)) = (&file.data, format_of(file)) else {
            return false;
        };
        let ImageLimits {
            max_bytes,
            max_side,
        } = self.limits;
        // The provider judges images whose header cannot be read.
        let side = || {
            let reader = ImageReader::with_format(Cursor::new(bytes), format);
            let (width, height) = reader.into_dimensions().unwrap_or_default();
            width.max(height)
        };
        bytes.len() > max_bytes || side() > max_side
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<Digest, ContentPart>> {
        self.fitted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the parts of all messages and results.
pub(crate) fn parts(request: &ModelRequest) -> impl Iterator<Item = &ContentPart> {
    request.messages.iter().flat_map(parts_of)
}

/// Returns the parts of a message and its results.
pub(crate) fn parts_of(message: &Message) -> impl Iterator<Item = &ContentPart> {
    let results = message.tool_results.iter();
    let of_results = results.filter_map(|result| match &result.output {
        ToolResultOutput::Content(parts) => Some(parts),
        _ => None,
    });
    message.content.iter().chain(of_results.flatten())
}

/// Returns the parts of all messages and results, mutably.
pub(crate) fn parts_mut(request: &mut ModelRequest) -> impl Iterator<Item = &mut ContentPart> {
    request.messages.iter_mut().flat_map(|message| {
        let results = message.tool_results.iter_mut();
        let of_results = results.filter_map(|result| match &mut result.output {
            ToolResultOutput::Content(parts) => Some(parts),
            _ => None,
        });
        message.content.iter_mut().chain(of_results.flatten())
    })
}

fn format_of(file: &FilePart) -> Option<ImageFormat> {
    let known = FORMATS.iter().find(|(name, _)| *name == file.media_type);
    known.map(|(_, format)| *format)
}

/// Gives a cached part the name of this file: the same image may occur under two names.
fn renamed(part: ContentPart, file: &FilePart) -> ContentPart {
    match part {
        ContentPart::File(fitted) => ContentPart::File(FilePart {
            filename: file.filename.clone(),
            ..fitted
        }),
        text @ ContentPart::Text { .. } => text,
    }
}

fn name_of(file: &FilePart) -> String {
    file.filename.as_ref().map_or_else(
        || format!("an image ({})", file.media_type),
        |name| format!("the image `{}`", name.escape_debug()),
    )
}

/// An image that was made smaller.
#[derive(Debug, PartialEq)]
struct ShrunkImage {
    file: FilePart,
    /// The size before and after, for the user.
    change: String,
}

/// Fits an image to the limits; an error is a fragment of a sentence. A JPEG stays one; other images become a PNG, or a JPEG if that is
/// too large. Of an animation the first frame is kept.
fn shrink(file: &FilePart, limits: ImageLimits) -> Result<ShrunkImage, Reason> {
    let (FileData::Bytes(bytes), Some(format)) = (&file.data, format_of(file)) else {
        return Err("it is not an image".into());
    };
    let original = decode(bytes, format)?;
    let mut side = original.width().max(original.height()).min(limits.max_side);
    loop {
        let image = if original.width().max(original.height()) > side {
            Cow::Owned(original.resize(side, side, FilterType::CatmullRom))
        } else {
            Cow::Borrowed(&original)
        };
        let fitting = encode(&image, format)?
            .into_iter()
            .find(|encoded| encoded.len() <= limits.max_bytes);
        if let Some(encoded) = fitting {
            let media_type = media::sniff(&encoded).unwrap_or(media::OCTET_STREAM);
            let size = |image: &DynamicImage| format!("{}x{}", image.width(), image.height());
            let change = format!(
                "from {} in {} bytes to {} in {} bytes",
                size(&original),
                bytes.len(),
                size(&image),
                encoded.len()
            );
            return Ok(ShrunkImage {
                file: FilePart {
                    media_type: media_type.to_owned(),
                    data: FileData::Bytes(encoded),
                    filename: file.filename.clone(),
                },
                change,
            });
        }
        side /= 2;
        if side < MIN_SIDE {
            return Err("it would still be too large".into());
        }
    }
}

/// Returns the conversion of the error of a step, such as "decoded".
fn cannot_be(step: &str) -> impl Fn(ImageError) -> Reason {
    move |error| format!("it cannot be {step}: {error}").into()
}

/// Decodes an image of a format that providers accept, by its first bytes, into 8 bits per channel,
/// upright; of an animation the first frame.
///
/// # Errors
/// The bytes are not such an image, or one of more than 256 MiB when it is decoded.
pub fn decode_image(bytes: &[u8]) -> Result<DynamicImage, Reason> {
    let format = image::guess_format(bytes).map_err(cannot_be("decoded"))?;
    let is_accepted = FORMATS.iter().any(|(_, accepted)| *accepted == format);
    match is_accepted {
        true => decode(bytes, format),
        false => Err("it is not a PNG, JPEG, GIF or WebP image".into()),
    }
}

fn decode(bytes: &[u8], format: ImageFormat) -> Result<DynamicImage, Reason> {
    let mut reader = ImageReader::with_format(Cursor::new(bytes), format);
    let mut limits = image::Limits::default();
    limits.max_alloc = Some(MAX_DECODED_BYTES);
    reader.limits(limits);
    let mut decoder = reader.into_decoder().map_err(cannot_be("decoded"))?;
    if decoder.total_bytes() > MAX_DECODED_BYTES {
        let (width, height) = decoder.dimensions();
        return Err(format!("it has {width}x{height} pixels").into());
    }
    // Cameras store their orientation, which the written image lacks.
    let orientation = decoder.orientation().unwrap_or(Orientation::NoTransforms);
    let decoded = DynamicImage::from_decoder(decoder).map_err(cannot_be("decoded"))?;
    let mut image = if decoded.color().has_alpha() {
        DynamicImage::ImageRgba8(decoded.into_rgba8())
    } else {
        DynamicImage::ImageRgb8(decoded.into_rgb8())
    };
    image.apply_orientation(orientation);
    Ok(image)
}

/// Encodes an image in each format that it may be sent in, the best first.
fn encode(image: &DynamicImage, format: ImageFormat) -> Result<Vec<Vec<u8>>, Reason> {
    let mut forms = Vec::new();
    if format != ImageFormat::Jpeg {
        let mut png = Vec::new();
        let (width, height, color) = (image.width(), image.height(), image.color().into());
        // The encoder's default is fast and hardly compresses.
        PngEncoder::new_with_quality(&mut png, CompressionType::Default, PngFilter::Adaptive)
            .write_image(image.as_bytes(), width, height, color)
            .map_err(cannot_be("encoded"))?;
        if png.len() <= MAX_PNG_BYTES {
            forms.push(png);
        }
    }
    let mut jpeg = Vec::new();
    on_white(image)
        .write_with_encoder(JpegEncoder::new_with_quality(&mut jpeg, JPEG_QUALITY))
        .map_err(cannot_be("encoded"))?;
    forms.push(jpeg);
    Ok(forms)
}

/// Blends an image onto white: JPEG has no transparency.
fn on_white(image: &DynamicImage) -> RgbImage {
    let DynamicImage::ImageRgba8(image) = image else {
        return image.to_rgb8();
    };
    RgbImage::from_fn(image.width(), image.height(), |x, y| {
        let [red, green, blue, alpha] = image.get_pixel(x, y).0;
        let alpha = u16::from(alpha);
        let mix = |channel: u8| {
            let sum = u16::from(channel) * alpha + 255 * (255 - alpha);
            u8::try_from(sum / 255).unwrap_or(u8::MAX)
        };
        image::Rgb([mix(red), mix(green), mix(blue)])
    })
}
