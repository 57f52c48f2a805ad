//! `image_thumbnail`.

use agent_tool::{Output, Part, input, tool};
use image::codecs::jpeg::JpegEncoder;
use image::codecs::png::PngEncoder;
use image::metadata::Orientation;
use image::{ExtendedColorType, ImageEncoder, ImageFormat, RgbaImage, imageops};

use crate::decode::{Decoded, decode, lies_on_its_side, open};

/// The longest side of a thumbnail, in pixels.
const MAX_SIDE: u32 = 2048;

/// The default side of a thumbnail, in pixels.
const DEFAULT_SIDE: u32 = 512;

/// The largest thumbnail, in bytes; providers refuse larger images.
const MAX_BYTES: usize = 5 * 1024 * 1024;

/// The JPEG quality: artefacts are hard to see and the size is a tenth of PNG's.
const JPEG_QUALITY: u8 = 82;

/// The background of transparent pixels in JPEG, which has no transparency.
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
    /// The format of the thumbnail. Without it: jpeg for photos, png for images that can be
    /// transparent or have few colors.
    #[serde(default)]
    format: Option<Format>,
}

fn default_side() -> u32 {
    DEFAULT_SIDE
}

/// Shows an image file, made smaller to fit a width and a height. The proportions stay, and a small
/// image is not enlarged. Of an animation, the first frame is shown.
#[tool(effect = "read-only", title = "Show an image")]
pub(crate) fn image_thumbnail(input: ImageThumbnail) -> Result<Output, String> {
    let ImageThumbnail {
        path,
        max_width,
        max_height,
        format,
    } = input;
    let opened = open(&path)?;
    let Decoded { pixels, has_alpha } = decode(&path, &opened)?;
    let format = format.unwrap_or(match opened.header.format {
        ImageFormat::Jpeg => Format::Jpeg,
        // An open enum of the image crate; of what is compiled in, PNG and GIF are left.
        _ => Format::Png,
    });
    let (width, height) = fit(
        (opened.header.width, opened.header.height),
        (max_width.clamp(1, MAX_SIDE), max_height.clamp(1, MAX_SIDE)),
    );
    let small = turn(
        scale(pixels, opened.header.orientation, width, height),
        opened.header.orientation,
    );
    let (media_type, bytes) = encode(&small, has_alpha, format)?;
    if bytes.len() > MAX_BYTES {
        return Err(format!(
            "the thumbnail has {} bytes and at most {MAX_BYTES} can be returned; ask for a smaller one, or for jpeg",
            bytes.len()
        ));
    }
    let what = format!(
        "{path}: {}x{} -> {width}x{height}",
        opened.header.width, opened.header.height
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

/// The file name of a thumbnail.
fn file_name(name: &str, format: Format) -> String {
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    let extension = match format {
        Format::Png => "png",
        Format::Jpeg => "jpg",
    };
    format!("{stem}-thumbnail.{extension}")
}

/// Scales the stored pixels so that they have the given size once oriented.
fn scale(image: RgbaImage, orientation: Orientation, width: u32, height: u32) -> RgbaImage {
    let (width, height) = if lies_on_its_side(orientation) {
        (height, width)
    } else {
        (width, height)
    };
    if image.dimensions() == (width, height) {
        image
    } else {
        imageops::thumbnail(&image, width, height)
    }
}

/// Applies the orientation. It runs after scaling, since orienting a large image takes as much
/// memory again.
fn turn(image: RgbaImage, orientation: Orientation) -> RgbaImage {
    match orientation {
        Orientation::NoTransforms => image,
        Orientation::Rotate90 => imageops::rotate90(&image),
        Orientation::Rotate180 => imageops::rotate180(&image),
        Orientation::Rotate270 => imageops::rotate270(&image),
        Orientation::FlipHorizontal => imageops::flip_horizontal(&image),
        Orientation::FlipVertical => imageops::flip_vertical(&image),
        Orientation::Rotate90FlipH => imageops::flip_horizontal(&imageops::rotate90(&image)),
        Orientation::Rotate270FlipH => imageops::flip_horizontal(&imageops::rotate270(&image)),
    }
}

/// The file: its media type and its bytes.
fn encode(
    image: &RgbaImage,
    has_alpha: bool,
    format: Format,
) -> Result<(&'static str, Vec<u8>), String> {
    let (width, height) = image.dimensions();
    let mut bytes = Vec::new();
    let written = match format {
        Format::Png if has_alpha => {
            PngEncoder::new(&mut bytes).write_image(image, width, height, ExtendedColorType::Rgba8)
        }
        Format::Png => PngEncoder::new(&mut bytes).write_image(
            &flatten(image),
            width,
            height,
            ExtendedColorType::Rgb8,
        ),
        Format::Jpeg => JpegEncoder::new_with_quality(&mut bytes, JPEG_QUALITY).encode(
            &flatten(image),
            width,
            height,
            ExtendedColorType::Rgb8,
        ),
    };
    written.map_err(|error| format!("the thumbnail cannot be written: {error}"))?;
    let media_type = match format {
        Format::Png => "image/png",
        Format::Jpeg => "image/jpeg",
    };
    Ok((media_type, bytes))
}

/// Three bytes for every pixel, with transparent ones laid on the background.
fn flatten(image: &RgbaImage) -> Vec<u8> {
    let mut flat = Vec::with_capacity(image.len() / 4 * 3);
    for pixel in image.pixels() {
        let [red, green, blue, alpha] = pixel.0;
        for sample in [red, green, blue] {
            let mixed = (u32::from(sample) * u32::from(alpha)
                + u32::from(BACKGROUND) * u32::from(255 - alpha)
                + 127)
                / 255;
            flat.push(u8::try_from(mixed).unwrap_or(u8::MAX));
        }
    }
    flat
}

#[cfg(test)]
mod tests;
