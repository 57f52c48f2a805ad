//! `image_info`: what the header of an image says. No pixels are decoded.

use agent_tool::{Json, input, output, tool};
use image::ImageFormat;

use crate::decode::open;

#[input]
pub(crate) struct ImageInfo {
    /// The image file, relative to the workspace or absolute.
    path: String,
}

#[output]
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Info {
    /// The file, as it was asked for.
    path: String,
    /// png, jpeg, gif or webp.
    format: &'static str,
    /// The width in pixels, as the image is shown: a photo that its EXIF data turns is measured after the turn.
    width: u32,
    /// The height in pixels, as the image is shown.
    height: u32,
    /// The size of the file.
    bytes: u64,
    /// The channels: gray, gray-alpha, rgb or rgba.
    color: &'static str,
    bits_per_channel: u16,
}

/// Tells the format, the width and height in pixels, the size in bytes and the colors of an image file: PNG, JPEG, GIF or WebP.
#[tool(effect = "read-only", title = "Describe an image", output = Info)]
pub(crate) fn image_info(input: ImageInfo) -> Result<Json<Info>, String> {
    let ImageInfo { path } = input;
    let opened = open(&path)?;
    Ok(Json(Info {
        format: match opened.format {
            ImageFormat::Jpeg => "jpeg",
            ImageFormat::Gif => "gif",
            ImageFormat::WebP => "webp",
            // The enum is the library's and open; no other decoder is compiled in.
            _ => "png",
        },
        width: opened.width,
        height: opened.height,
        bytes: opened.file_bytes,
        color: opened.color,
        bits_per_channel: opened.bits_per_channel,
        path,
    }))
}

#[cfg(test)]
mod tests;
