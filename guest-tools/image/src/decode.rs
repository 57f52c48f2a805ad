//! Opens an image file within bounds. Its format is determined by its bytes, never by its name.

use std::fs::File;
use std::io::{Cursor, Read};

use agent_tool::workspace::{explain, locate};
use image::metadata::Orientation;
use image::{ColorType, ImageDecoder, ImageError, ImageFormat, ImageReader, Limits, RgbaImage};

/// The largest file, in bytes.
const MAX_FILE_BYTES: u64 = 32 * 1024 * 1024;

/// The longest side, in pixels.
const MAX_SIDE: u32 = 20_000;

/// The most pixels. A progressive JPEG takes nine bytes for each while it is decoded, and a call
/// has 256 MiB.
const MAX_PIXELS: u64 = 24_000_000;

/// The memory limit of the pixels, and the same again of a decoder, in bytes.
const MAX_DECODER_BYTES: usize = 100 * 1024 * 1024;

/// A file whose header was read.
pub(crate) struct Opened {
    pub(crate) header: Header,
    /// The whole file.
    pub(crate) bytes: Vec<u8>,
}

/// The header of an image file.
pub(crate) struct Header {
    pub(crate) format: ImageFormat,
    /// The width as the image is shown: a photo that was taken upright is often stored on its side.
    pub(crate) width: u32,
    /// The height as the image is shown.
    pub(crate) height: u32,
    /// The channels as the file has them, such as `rgb`.
    pub(crate) color: &'static str,
    pub(crate) bits_per_channel: u16,
    /// The orientation of the stored pixels.
    pub(crate) orientation: Orientation,
}

/// Reads the file and its header.
pub(crate) fn open(path: &str) -> Result<Opened, String> {
    let bytes = read(path)?;
    let header = header(path, &bytes)?;
    Ok(Opened { header, bytes })
}

fn header(path: &str, bytes: &[u8]) -> Result<Header, String> {
    let (format, mut decoder) = decoder(path, bytes)?;
    // An unreadable orientation counts as none: the image itself may still be intact.
    let orientation = decoder.orientation().unwrap_or(Orientation::NoTransforms);
    let (width, height) = match (lies_on_its_side(orientation), decoder.dimensions()) {
        (true, (width, height)) => (height, width),
        (false, size) => size,
    };
    let color = decoder.original_color_type();
    let channels = u16::from(color.channel_count().max(1));
    Ok(Header {
        format,
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
    })
}

/// True if the orientation swaps width and height.
pub(crate) fn lies_on_its_side(orientation: Orientation) -> bool {
    match orientation {
        Orientation::NoTransforms
        | Orientation::Rotate180
        | Orientation::FlipHorizontal
        | Orientation::FlipVertical => false,
        Orientation::Rotate90
        | Orientation::Rotate270
        | Orientation::Rotate90FlipH
        | Orientation::Rotate270FlipH => true,
    }
}

/// The pixels of an image with their properties.
#[derive(Debug)]
pub(crate) struct Decoded {
    /// The pixels as stored, before the orientation is applied.
    pub(crate) pixels: RgbaImage,
    /// True if pixels can be transparent.
    pub(crate) has_alpha: bool,
}

/// The image itself. Of an animation, its first frame.
pub(crate) fn decode(path: &str, opened: &Opened) -> Result<Decoded, String> {
    let Header { width, height, .. } = opened.header;
    let count = u64::from(width) * u64::from(height);
    if count > MAX_PIXELS {
        return Err(format!(
            "`{path}` is {width}x{height}, which is {count} pixels; at most {MAX_PIXELS} can be decoded"
        ));
    }
    let (_, decoder) = decoder(path, &opened.bytes)?;
    let color = decoder.color_type();
    let (width, height) = decoder.dimensions();
    // The limits of a decoder are for what it needs besides the pixels it hands out.
    let size = usize::try_from(decoder.total_bytes()).unwrap_or(usize::MAX);
    if size > MAX_DECODER_BYTES {
        return Err(too_large(path));
    }
    let mut bytes = vec![0; size];
    decoder
        .read_image(&mut bytes)
        .map_err(|error| describe(path, &error))?;
    let pixels =
        RgbaImage::from_raw(width, height, rgba(&bytes, color)).ok_or_else(|| too_large(path))?;
    Ok(Decoded {
        pixels,
        has_alpha: color.has_alpha(),
    })
}

/// Four bytes for every pixel, whatever the decoder gave. One kind of pixel is enough here; the
/// image crate's own conversions know ten, and each would be in the component.
fn rgba(bytes: &[u8], color: ColorType) -> Vec<u8> {
    let channels = usize::from(color.channel_count());
    let width = usize::from(color.bytes_per_pixel()) / channels;
    // Samples of more than a byte are in the byte order of the machine; their most significant byte
    // is enough for a screen.
    let high = if cfg!(target_endian = "little") {
        width - 1
    } else {
        0
    };
    let sample = |pixel: &[u8], channel: usize| {
        pixel
            .get(channel * width + high)
            .copied()
            .unwrap_or_default()
    };
    let mut out = Vec::with_capacity(bytes.len() / (channels * width) * 4);
    for pixel in bytes.chunks_exact(channels * width) {
        let gray = channels < 3;
        let at = |channel: usize| sample(pixel, if gray { 0 } else { channel });
        let alpha = if color.has_alpha() {
            sample(pixel, channels - 1)
        } else {
            u8::MAX
        };
        out.extend([at(0), at(1), at(2), alpha]);
    }
    out
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
    // A file can grow after its size was read, so the read itself is bounded too.
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
        format!("`{path}` is not an image that this tool knows; it reads PNG, JPEG and GIF")
    })?;
    let mut limits = Limits::default();
    limits.max_image_width = Some(MAX_SIDE);
    limits.max_image_height = Some(MAX_SIDE);
    limits.max_alloc = Some(MAX_DECODER_BYTES as u64);
    reader.limits(limits);
    let decoder = reader
        .into_decoder()
        .map_err(|error| describe(path, &error))?;
    Ok((format, decoder))
}

fn describe(path: &str, error: &ImageError) -> String {
    match error {
        ImageError::Unsupported(_) => format!(
            "`{path}` is an image of a kind that this tool does not decode; it reads PNG, JPEG and GIF, and read_file returns others as they are"
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
