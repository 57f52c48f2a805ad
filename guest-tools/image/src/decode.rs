//! Opens an image file within bounds. What it is comes from its bytes, never from its name.

use std::fs::File;
use std::io::{Cursor, Read};

use agent_tool::workspace::{explain, locate};
use image::metadata::Orientation;
use image::{DynamicImage, ImageDecoder, ImageError, ImageFormat, ImageReader, Limits};

/// The largest file, in bytes.
const MAX_FILE_BYTES: u64 = 32 * 1024 * 1024;

/// The longest side, in pixels.
const MAX_SIDE: u32 = 20_000;

/// The most pixels. A progressive JPEG takes nine bytes for each while it is decoded, and a call has 256 MiB.
const MAX_PIXELS: u64 = 24_000_000;

/// What the pixels, and besides them a decoder, may take, in bytes each.
const MAX_DECODER_BYTES: u64 = 100 * 1024 * 1024;

/// A file whose header was read.
pub(crate) struct Opened {
    pub(crate) format: ImageFormat,
    pub(crate) file_bytes: u64,
    /// The size as the image is shown: a photo that was taken upright is often stored on its side.
    pub(crate) width: u32,
    pub(crate) height: u32,
    /// The colors as the file has them, such as `rgb`.
    pub(crate) color: &'static str,
    pub(crate) bits_per_channel: u16,
    orientation: Orientation,
    bytes: Vec<u8>,
}

/// Reads the file and its header.
pub(crate) fn open(path: &str) -> Result<Opened, String> {
    let bytes = read(path)?;
    let (format, decoder) = decoder(path, &bytes)?;
    let mut decoder = decoder;
    let orientation = decoder.orientation().unwrap_or(Orientation::NoTransforms);
    let (width, height) = match orientation {
        Orientation::NoTransforms
        | Orientation::Rotate180
        | Orientation::FlipHorizontal
        | Orientation::FlipVertical => decoder.dimensions(),
        Orientation::Rotate90
        | Orientation::Rotate270
        | Orientation::Rotate90FlipH
        | Orientation::Rotate270FlipH => {
            let (width, height) = decoder.dimensions();
            (height, width)
        }
    };
    let color = decoder.original_color_type();
    let channels = u16::from(color.channel_count().max(1));
    let opened = Opened {
        format,
        file_bytes: bytes.len() as u64,
        width,
        height,
        color: match channels {
            1 => "gray",
            2 => "gray-alpha",
            3 => "rgb",
            _ => "rgba",
        },
        bits_per_channel: color.bits_per_pixel() / channels,
        orientation,
        bytes: Vec::new(),
    };
    drop(decoder);
    Ok(Opened { bytes, ..opened })
}

/// The image itself, the right way up. Of an animation, its first frame.
pub(crate) fn decode(path: &str, opened: &Opened) -> Result<DynamicImage, String> {
    let pixels = u64::from(opened.width) * u64::from(opened.height);
    if pixels > MAX_PIXELS {
        let Opened { width, height, .. } = opened;
        return Err(format!(
            "`{path}` is {width}x{height}, which is {pixels} pixels; at most {MAX_PIXELS} can be decoded"
        ));
    }
    let (_, decoder) = decoder(path, &opened.bytes)?;
    // The limits of a decoder are for what it needs besides the pixels it hands out.
    if decoder.total_bytes() > MAX_DECODER_BYTES {
        return Err(too_large(path));
    }
    let mut image = DynamicImage::from_decoder(decoder).map_err(|error| describe(path, &error))?;
    image.apply_orientation(opened.orientation);
    Ok(image)
}

fn read(path: &str) -> Result<Vec<u8>, String> {
    let failure = |error: std::io::Error| explain(&error, "read", path);
    let file = File::open(locate(path).map_err(|error| error.to_string())?).map_err(failure)?;
    let metadata = file.metadata().map_err(failure)?;
    if metadata.is_dir() {
        return Err(explain(
            &std::io::ErrorKind::IsADirectory.into(),
            "read",
            path,
        ));
    }
    // A file can grow after it was measured, so the reading itself is bounded too.
    let mut bytes = Vec::new();
    file.take(MAX_FILE_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(failure)?;
    let size = metadata.len().max(bytes.len() as u64);
    if size > MAX_FILE_BYTES {
        return Err(format!(
            "`{path}` has {size} bytes; images of at most {MAX_FILE_BYTES} bytes can be read"
        ));
    }
    Ok(bytes)
}

fn decoder<'a>(
    path: &str,
    bytes: &'a [u8],
) -> Result<(ImageFormat, impl ImageDecoder + 'a), String> {
    let mut reader = ImageReader::new(Cursor::new(bytes))
        .with_guessed_format()
        .map_err(|error| explain(&error, "read", path))?;
    let format = reader.format().ok_or_else(|| {
        format!("`{path}` is not an image that this tool knows; it reads PNG, JPEG, GIF and WebP")
    })?;
    let mut limits = Limits::default();
    limits.max_image_width = Some(MAX_SIDE);
    limits.max_image_height = Some(MAX_SIDE);
    limits.max_alloc = Some(MAX_DECODER_BYTES);
    reader.limits(limits);
    let decoder = reader
        .into_decoder()
        .map_err(|error| describe(path, &error))?;
    Ok((format, decoder))
}

fn describe(path: &str, error: &ImageError) -> String {
    match error {
        ImageError::Unsupported(_) => format!(
            "`{path}` is an image of a kind that this tool does not read; it reads PNG, JPEG, GIF and WebP"
        ),
        ImageError::Limits(_) => too_large(path),
        ImageError::Decoding(_)
        | ImageError::Encoding(_)
        | ImageError::Parameter(_)
        | ImageError::IoError(_) => {
            format!("`{path}` cannot be decoded, it may be damaged: {error}")
        }
    }
}

fn too_large(path: &str) -> String {
    format!(
        "`{path}` is too large to decode: at most {MAX_SIDE} pixels a side and {MAX_DECODER_BYTES} bytes of memory are allowed"
    )
}

#[cfg(test)]
pub(crate) mod tests;
