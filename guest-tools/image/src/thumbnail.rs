//! `image_thumbnail`.

use std::io::Cursor;

use agent_tool::{Output, Part, input, tool};
use image::codecs::jpeg::JpegEncoder;
use image::codecs::png::PngEncoder;
use image::{DynamicImage, ImageFormat, RgbImage, RgbaImage, imageops};

use crate::decode::{decode, open};

/// The longest side of a thumbnail, in pixels.
const MAX_SIDE: u32 = 2048;

/// The side of a thumbnail when the model does not say, in pixels.
const DEFAULT_SIDE: u32 = 512;

/// The largest thumbnail, in bytes; providers refuse larger images.
const MAX_BYTES: usize = 5 * 1024 * 1024;

/// The JPEG quality: artefacts are hard to see and the size is a tenth of PNG's.
const JPEG_QUALITY: u8 = 82;

/// What transparent pixels lie on in JPEG, which has no transparency.
const BACKGROUND: u8 = 255;

/// The format of a thumbnail.
#[input]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Format {
    Png,
    Jpeg,
}

#[input]
pub(crate) struct ImageThumbnail {
    /// The image file, relative to the workspace or absolute.
    path: String,
    /// The greatest width in pixels.
    #[serde(default = "default_side")]
    #[schemars(range(min = 1, max = 2048))]
    max_width: u32,
    /// The greatest height in pixels.
    #[serde(default = "default_side")]
    #[schemars(range(min = 1, max = 2048))]
    max_height: u32,
    /// The format of the thumbnail. Without it: jpeg for photos, png for images that can be transparent or have few colors.
    #[serde(default)]
    format: Option<Format>,
}

fn default_side() -> u32 {
    DEFAULT_SIDE
}

/// Shows an image file, made smaller to fit a width and a height. The proportions stay, and a small image is not enlarged. Of
/// an animation, the first frame is shown.
#[tool(effect = "read-only", title = "Show an image")]
pub(crate) fn image_thumbnail(input: ImageThumbnail) -> Result<Output, String> {
    let ImageThumbnail {
        path,
        max_width,
        max_height,
        format,
    } = input;
    let opened = open(&path)?;
    let image = decode(&path, &opened)?;
    let format = format.unwrap_or(match opened.format {
        ImageFormat::Jpeg => Format::Jpeg,
        _ if !image.color().has_alpha() && opened.format == ImageFormat::WebP => Format::Jpeg,
        _ => Format::Png,
    });
    let (width, height) = fit(
        (opened.width, opened.height),
        (max_width.clamp(1, MAX_SIDE), max_height.clamp(1, MAX_SIDE)),
    );
    let (media_type, bytes) = match format {
        Format::Png => ("image/png", encode_png(image, width, height)?),
        Format::Jpeg => ("image/jpeg", encode_jpeg(image, width, height)?),
    };
    if bytes.len() > MAX_BYTES {
        return Err(format!(
            "the thumbnail has {} bytes and at most {MAX_BYTES} can be returned; ask for a smaller one, or for jpeg",
            bytes.len()
        ));
    }
    let what = format!(
        "{path}: {}x{} -> {width}x{height}",
        opened.width, opened.height
    );
    let name = path.rsplit('/').next().unwrap_or(&path);
    Ok(Output::content([
        Part::text(what),
        Part::bytes(media_type, bytes).named(file_name(name, format)),
    ]))
}

/// The largest size within the bounds that keeps the proportions and is not larger than the image.
fn fit((width, height): (u32, u32), (max_width, max_height): (u32, u32)) -> (u32, u32) {
    let scale = (f64::from(max_width) / f64::from(width.max(1)))
        .min(f64::from(max_height) / f64::from(height.max(1)));
    if scale >= 1.0 {
        return (width, height);
    }
    // A float cast saturates, and the product is below the bound, so no size is lost here.
    let side = |length: u32, max: u32| ((f64::from(length) * scale).round() as u32).clamp(1, max);
    (side(width, max_width), side(height, max_height))
}

/// The name that a thumbnail is saved under.
fn file_name(name: &str, format: Format) -> String {
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    let extension = match format {
        Format::Png => "png",
        Format::Jpeg => "jpg",
    };
    format!("{stem}-thumbnail.{extension}")
}

/// Two kinds of pixels are enough for every image here; each further kind would be another copy of the scaler.
fn encode_png(image: DynamicImage, width: u32, height: u32) -> Result<Vec<u8>, String> {
    let mut bytes = Cursor::new(Vec::new());
    let encoder = PngEncoder::new(&mut bytes);
    let result = if image.color().has_alpha() {
        scale_rgba(image.into_rgba8(), width, height).write_with_encoder(encoder)
    } else {
        scale_rgb(image.into_rgb8(), width, height).write_with_encoder(encoder)
    };
    result.map_err(|error| format!("the thumbnail cannot be written: {error}"))?;
    Ok(bytes.into_inner())
}

fn encode_jpeg(image: DynamicImage, width: u32, height: u32) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let encoder = JpegEncoder::new_with_quality(&mut bytes, JPEG_QUALITY);
    let image = if image.color().has_alpha() {
        flatten(&scale_rgba(image.into_rgba8(), width, height))
    } else {
        scale_rgb(image.into_rgb8(), width, height)
    };
    image
        .write_with_encoder(encoder)
        .map_err(|error| format!("the thumbnail cannot be written: {error}"))?;
    Ok(bytes)
}

fn scale_rgba(image: RgbaImage, width: u32, height: u32) -> RgbaImage {
    if image.dimensions() == (width, height) {
        image
    } else {
        imageops::thumbnail(&image, width, height)
    }
}

fn scale_rgb(image: RgbImage, width: u32, height: u32) -> RgbImage {
    if image.dimensions() == (width, height) {
        image
    } else {
        imageops::thumbnail(&image, width, height)
    }
}

/// Lays the image on the background.
fn flatten(image: &RgbaImage) -> RgbImage {
    let mut flat = RgbImage::new(image.width(), image.height());
    for (to, from) in flat.pixels_mut().zip(image.pixels()) {
        let [.., alpha] = from.0;
        for (to, from) in to.0.iter_mut().zip(from.0) {
            let mixed = (u32::from(from) * u32::from(alpha)
                + u32::from(BACKGROUND) * u32::from(255 - alpha)
                + 127)
                / 255;
            *to = u8::try_from(mixed).unwrap_or(u8::MAX);
        }
    }
    flat
}

#[cfg(test)]
mod tests;
