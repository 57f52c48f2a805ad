//! `image_info`: reads the header of an image. No pixels are decoded.

use agent_tool::{Json, input, output, tool};
use image::ImageFormat;

use crate::decode::{Opened, open};

#[input]
pub(crate) struct ImageInfo {
    /// The image file, relative to the workspace or absolute.
    path: String,
}

#[output]
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Info {
    /// The requested path.
    path: String,
    /// png, jpeg or gif.
    format: &'static str,
    /// The width in pixels, as the image is shown: a photo that its EXIF data turns is measured
    /// after the turn.
    width: u32,
    /// The height in pixels, as the image is shown.
    height: u32,
    /// The size of the file.
    bytes: u64,
    /// The channels: gray, gray-alpha, rgb or rgba.
    color: &'static str,
    bits_per_channel: u16,
}

/// Describes an image file without decoding it: format (png, jpeg or gif), width and height in
/// pixels, size of the file in bytes, colors.
#[tool(effect = "read-only", title = "Describe an image", output = Info)]
pub(crate) fn image_info(input: ImageInfo) -> Result<Json<Info>, String> {
    let ImageInfo { path } = input;
    let Opened { header, bytes } = open(&path)?;
    Ok(Json(Info {
        path,
        format: match header.format {
            ImageFormat::Jpeg => "jpeg",
            ImageFormat::Gif => "gif",
            // The enum is the library's and open; no other decoder is compiled in.
            _ => "png",
        },
        width: header.width,
        height: header.height,
        bytes: bytes.len() as u64,
        color: header.color,
        bits_per_channel: header.bits_per_channel,
    }))
}

#[cfg(test)]
mod tests;
