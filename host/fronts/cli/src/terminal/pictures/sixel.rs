//! Sixels: the pictures of DEC's terminals (VT330/VT340 Programmer Reference Manual, volume 2,
//! chapter 14). Pure.

use color_quant::NeuQuant;
use image::{RgbaImage, imageops};
use std::fmt::Write as _;

/// The number of colours that every terminal with sixels keeps.
const COLORS: usize = 256;

/// The number of bytes of a picture beyond which one of 10 pixels is looked at for the palette.
const MAX_WHOLE_BYTES: usize = 256 * 1024;

/// The number of rows of pixels in a row of sixels.
const BAND: u32 = 6;

/// The least alpha of a pixel that is drawn.
const OPAQUE: u8 = 128;

/// Returns the control string that draws a picture, which leaves its transparent pixels as they
/// are.
pub(super) fn encode(mut picture: RgbaImage) -> String {
    let sampling = if picture.as_raw().len() > MAX_WHOLE_BYTES {
        10
    } else {
        1
    };
    let palette = NeuQuant::new(sampling, COLORS, picture.as_raw());
    let alpha: Vec<u8> = picture.pixels().map(|pixel| pixel.0[3]).collect();
    let (width, height) = picture.dimensions();
    // `dither` (image 0.25) needs a second column.
    if width > 1 {
        imageops::dither(&mut picture, &palette);
    }
    let colors = imageops::index_colors(&picture, &palette);
    let mut out = format!("\x1bP0;1q\"1;1;{width};{height}");
    for (number, color) in palette.color_map_rgb().chunks(3).enumerate() {
        if let [red, green, blue] = *color {
            let percent = |channel: u8| u32::from(channel) * 100 / 255;
            let (red, green, blue) = (percent(red), percent(green), percent(blue));
            let _ = write!(out, "#{number};2;{red};{green};{blue}");
        }
    }
    let indexes = colors.as_raw().as_slice();
    let row = width as usize * BAND as usize;
    for (pixels, alpha) in indexes.chunks(row).zip(alpha.chunks(row)) {
        band(&mut out, pixels, alpha, width as usize);
        out.push('-');
    }
    out.push_str("\x1b\\");
    out
}

/// Writes up to six rows of pixels: for each of their colours, which pixels have it.
fn band(out: &mut String, pixels: &[u8], alpha: &[u8], width: usize) {
    let mut sixels = vec![Vec::new(); COLORS];
    for (at, (color, alpha)) in pixels.iter().zip(alpha).enumerate() {
        if *alpha < OPAQUE {
            continue;
        }
        if let Some(row) = sixels.get_mut(usize::from(*color)) {
            if row.is_empty() {
                row.resize(width, 0_u8);
            }
            if let Some(sixel) = row.get_mut(at % width) {
                *sixel |= 1 << (at / width);
            }
        }
    }
    for (color, row) in sixels.iter().enumerate().filter(|(_, row)| !row.is_empty()) {
        let _ = write!(out, "#{color}");
        for run in row.chunk_by(|one, next| one == next) {
            let sixel = char::from(b'?' + run.first().unwrap_or(&0));
            match run.len() {
                count @ 4.. => {
                    let _ = write!(out, "!{count}{sixel}");
                }
                count => out.extend(std::iter::repeat_n(sixel, count)),
            }
        }
        out.push('$');
    }
}
