//! Images within what a provider takes. One that is larger is made smaller before the request is encoded; one that cannot be made
//! smaller becomes a note. The conversation in the journal keeps what the person or the tool gave.

#[cfg(test)]
mod tests;

use crate::{media::unseen, provider::Provider};
use agent_host_engine::model::{DeltaSink, ModelDelta};
use agent_host_types::{
    id::Digest,
    media,
    model::ModelRequest,
    output::{ContentPart, FileData, FilePart, ToolResultOutput},
};
use image::{
    DynamicImage, ImageDecoder as _, ImageEncoder as _, ImageFormat, ImageReader, RgbImage,
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

/// The formats that are read here, which are also those that providers read.
const FORMATS: [(&str, ImageFormat); 4] = [
    ("image/png", ImageFormat::Png),
    ("image/jpeg", ImageFormat::Jpeg),
    ("image/gif", ImageFormat::Gif),
    ("image/webp", ImageFormat::WebP),
];

/// The largest image that is decoded, in bytes of memory: 64 megapixels of 4 bytes. A few kilobytes can claim more.
const MAX_DECODED_BYTES: u64 = 256 * 1024 * 1024;

/// The longest PNG that is written, in bytes. One with more is a photo, of which a JPEG has a tenth; every request carries it again.
const MAX_PNG_BYTES: usize = 1024 * 1024;

/// The quality of a JPEG that is written, of 100: text in a photo stays readable.
const JPEG_QUALITY: u8 = 85;

/// The smallest longer side to which an image is brought in order to be few bytes, in pixels.
const MIN_SIDE: u32 = 64;

/// What a provider takes of one image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ImageLimits {
    /// The most bytes, before base64 makes four of three.
    pub(crate) max_bytes: usize,
    /// The longest side, in pixels.
    pub(crate) max_side: u32,
}

impl ImageLimits {
    /// What the provider's servers take, by its documentation in 2026.
    pub(crate) fn of(provider: Provider) -> Self {
        match provider {
            // "Vision" of Anthropic's documentation: 5 MB of base64 an image; 8000 pixels, and 2000 in a request of more than 20
            // images, which a conversation may become. Its servers bring larger ones to 1568 pixels or somewhat more by themselves.
            Provider::Anthropic => Self {
                max_bytes: 5 * 1024 * 1024 / 4 * 3,
                max_side: 2000,
            },
            // "Images and vision" of OpenAI's documentation: 20 MB an image; larger ones than 2048 pixels are brought to that by its
            // servers. Compatible servers and Ollama document nothing, and their models see fewer pixels than that.
            Provider::OpenAi | Provider::OpenAiCompat | Provider::Ollama => Self {
                max_bytes: 20 * 1024 * 1024 / 4 * 3,
                max_side: 2048,
            },
            // "Image understanding" of Google's documentation: 7 MB a file that is part of the request; larger ones than 3072 pixels
            // are brought to that by its servers.
            Provider::Gemini => Self {
                max_bytes: 7 * 1024 * 1024 / 4 * 3,
                max_side: 3072,
            },
        }
    }
}

/// Makes images fit, and remembers how, since every request carries all of them again and has to begin with the same bytes.
#[derive(Debug)]
pub(crate) struct Pictures {
    limits: ImageLimits,
    /// By the digest of the image as it was, what is sent in its place.
    fitted: Mutex<HashMap<Digest, ContentPart>>,
}

impl Pictures {
    pub(crate) fn new(limits: ImageLimits) -> Self {
        Self {
            limits,
            fitted: Mutex::default(),
        }
    }

    /// The request with every image within the limits. The person is told of each image that is changed, once.
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
        // What the conversation no longer holds need not be remembered.
        self.lock().retain(|digest, _| sent.contains(digest));
        request
    }

    async fn change(&self, file: &FilePart, digest: Digest, deltas: DeltaSink<'_>) -> ContentPart {
        let (limits, original) = (self.limits, file.clone());
        // It takes up to seconds of processor time. Whoever no longer waits for it leaves it to end by itself, which it does.
        let work = tokio::task::spawn_blocking(move || shrink(&original, limits));
        let shrunk = work
            .await
            .unwrap_or_else(|_| Err("it is broken".to_owned()));
        let name = name_of(file);
        let part = match shrunk {
            Ok(shrunk) => {
                deltas(ModelDelta::Note(&format!(
                    "{name} is larger than the model takes, so it is made smaller: {}",
                    shrunk.change
                )));
                ContentPart::File(shrunk.file)
            }
            Err(why) => {
                deltas(ModelDelta::Note(&format!(
                    "{name} is larger than the model takes and cannot be made smaller ({why}), so the model does not see it"
                )));
                ContentPart::Text {
                    text: unseen(&ContentPart::File(file.clone())),
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
        // One whose header cannot be read is for the provider to judge.
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

/// The parts of all messages and results.
fn parts(request: &ModelRequest) -> impl Iterator<Item = &ContentPart> {
    request.messages.iter().flat_map(|message| {
        let results = message.tool_results.iter();
        let of_results = results.filter_map(|result| match &result.output {
            ToolResultOutput::Content(parts) => Some(parts),
            _ => None,
        });
        message.content.iter().chain(of_results.flatten())
    })
}

/// The same, to be changed.
fn parts_mut(request: &mut ModelRequest) -> impl Iterator<Item = &mut ContentPart> {
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

/// What is sent in place of an image, under the name of this one: the same image may come under two names.
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
struct CompactionStats {
    file: FilePart,
    /// The size before and after, for people.
    change: String,
}

/// Makes an image fit the limits. A JPEG stays one; everything else becomes a PNG, or a JPEG where that would have too many bytes.
/// Of an animation the first picture stays.
///
/// # Errors
/// Why it cannot be done, as a fragment.
fn shrink(file: &FilePart, limits: ImageLimits) -> Result<CompactionStats, String> {
    let (FileData::Bytes(bytes), Some(format)) = (&file.data, format_of(file)) else {
        return Err("it is no image".to_owned());
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
            return Ok(CompactionStats {
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
            return Err("it would still be too many bytes".to_owned());
        }
    }
}

/// Decodes an image into 8 bits a channel, the right way up.
fn decode(bytes: &[u8], format: ImageFormat) -> Result<DynamicImage, String> {
    let broken = |error: image::ImageError| format!("it cannot be decoded: {error}");
    let mut reader = ImageReader::with_format(Cursor::new(bytes), format);
    let mut limits = image::Limits::default();
    limits.max_alloc = Some(MAX_DECODED_BYTES);
    reader.limits(limits);
    let mut decoder = reader.into_decoder().map_err(broken)?;
    if decoder.total_bytes() > MAX_DECODED_BYTES {
        let (width, height) = decoder.dimensions();
        return Err(format!("it has {width}x{height} pixels"));
    }
    // A camera writes down how it was held. The image that is written here has no such note.
    let orientation = decoder.orientation().unwrap_or(Orientation::NoTransforms);
    let decoded = DynamicImage::from_decoder(decoder).map_err(broken)?;
    let mut image = if decoded.color().has_alpha() {
        DynamicImage::ImageRgba8(decoded.into_rgba8())
    } else {
        DynamicImage::ImageRgb8(decoded.into_rgb8())
    };
    image.apply_orientation(orientation);
    Ok(image)
}

/// The image in the forms that it may be sent in, the best one first.
fn encode(image: &DynamicImage, format: ImageFormat) -> Result<Vec<Vec<u8>>, String> {
    let mut forms = Vec::new();
    let failed = |error: image::ImageError| format!("it cannot be encoded: {error}");
    if format != ImageFormat::Jpeg {
        let mut png = Vec::new();
        let (width, height, color) = (image.width(), image.height(), image.color().into());
        // The encoder's own choice is quick and hardly compresses.
        PngEncoder::new_with_quality(&mut png, CompressionType::Default, PngFilter::Adaptive)
            .write_image(image.as_bytes(), width, height, color)
            .map_err(failed)?;
        if png.len() <= MAX_PNG_BYTES {
            forms.push(png);
        }
    }
    let mut jpeg = Vec::new();
    on_white(image)
        .write_with_encoder(JpegEncoder::new_with_quality(&mut jpeg, JPEG_QUALITY))
        .map_err(failed)?;
    forms.push(jpeg);
    Ok(forms)
}

/// The image on white paper: JPEG knows no transparency.
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
