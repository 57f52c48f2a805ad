//! Pictures of results, below the line of their call, in terminals that draw them. Which protocol a
//! terminal knows is asked of the terminal.
//!
//! A picture is decoded within bounds and encoded again, so that no byte and no name of a tool
//! reaches the terminal.

mod sixel;
#[cfg(test)]
mod tests;

use super::{Terminal, input};
use agent_host_models::decode_image;
use agent_host_types::output::{ContentPart, FileData, FilePart, ToolResultOutput};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use image::{DynamicImage, ImageFormat};
use std::{env, fmt::Write as _, io::Cursor};

/// The maximum number of pictures of one result that are drawn.
const MAX_PICTURES: usize = 4;

/// The longest side of a drawn picture, in pixels.
const MAX_SIDE: u32 = 2_048;

/// The cell of a terminal that does not tell its size, in pixels: that of a VT340.
const USUAL_CELL: (u32, u32) = (10, 20);

/// The length of a piece of a picture in kitty's protocol, in bytes of Base64.
const PIECE: usize = 4_096;

/// Terminals that know iTerm2's protocol and tell their name, at its beginning.
const LIKE_ITERM2: [&str; 3] = ["iTerm2", "WezTerm", "mintty"];

/// How a terminal takes pictures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Protocol {
    /// <https://sw.kovidgoyal.net/kitty/graphics-protocol/>
    Kitty,
    /// <https://iterm2.com/documentation-images.html>
    Iterm2,
    Sixel,
}

/// A terminal that draws pictures.
#[derive(Clone, Copy, Debug)]
pub(super) struct Canvas {
    protocol: Protocol,
    /// The space for a picture, in pixels.
    width: u32,
    height: u32,
    /// The width of a cell, in pixels.
    cell_width: u32,
}

/// Returns the images of a result, with their bytes.
pub(super) fn images(output: &ToolResultOutput) -> Vec<(&FilePart, &[u8])> {
    let ToolResultOutput::Content(parts) = output else {
        return Vec::new();
    };
    let images = parts.iter().filter_map(|part| match part {
        ContentPart::File(file) if file.media_type.starts_with("image/") => match &file.data {
            FileData::Bytes(bytes) => Some((file, bytes.as_slice())),
            FileData::Text(_) | FileData::Blob(_) | FileData::Url(_) => None,
        },
        ContentPart::File(_) | ContentPart::Text { .. } => None,
    });
    images.take(MAX_PICTURES).collect()
}

impl Canvas {
    /// Returns the terminal as a canvas, if it is one. Asks it, which may take a second where it
    /// gives no answer.
    pub(super) fn find(terminal: &Terminal) -> Option<Self> {
        if !(terminal.can_ask() && terminal.shows_markdown()) {
            return None;
        }
        let term = env::var("TERM").unwrap_or_default();
        // The console prints what it does not know.
        if term == "linux" {
            return None;
        }
        // A multiplexer draws sixels, where it says so, but takes kitty's question for a title.
        let is_multiplexed = env::var_os("TMUX").is_some()
            || env::var_os("STY").is_some()
            || ["tmux", "screen"].iter().any(|name| term.starts_with(name));
        let reports = input::reports(terminal, is_multiplexed)?;
        let is_iterm2 = LIKE_ITERM2
            .iter()
            .any(|name| reports.name.starts_with(name));
        let protocol = match (reports.kitty, is_iterm2, reports.sixel) {
            (true, _, _) => Protocol::Kitty,
            (false, true, _) if !is_multiplexed => Protocol::Iterm2,
            (_, _, true) => Protocol::Sixel,
            (_, _, false) => return None,
        };
        let size = terminal.size();
        let (cell_width, cell_height) = reports.cell.unwrap_or(USUAL_CELL);
        let pixels = |cells: usize, side: u32| {
            let cells = u32::try_from(cells).unwrap_or(u32::MAX);
            cells.saturating_mul(side).clamp(1, MAX_SIDE)
        };
        Some(Self {
            protocol,
            width: pixels(size.columns, cell_width),
            height: pixels(size.rows / 2, cell_height),
            cell_width,
        })
    }

    /// Returns what draws an image at the beginning of a row, and goes to the next one; `None` if
    /// the bytes are not one that can be decoded.
    pub(super) fn draw(&self, bytes: &[u8]) -> Option<String> {
        let picture = decode_image(bytes).ok()?;
        let picture = match picture.width() > self.width || picture.height() > self.height {
            true => picture.thumbnail(self.width, self.height),
            false => picture,
        };
        let columns = picture.width().div_ceil(self.cell_width);
        let mut out = match self.protocol {
            Protocol::Kitty => kitty(&png(&picture)?, columns),
            Protocol::Iterm2 => iterm2(&png(&picture)?, columns),
            Protocol::Sixel => sixel::encode(picture.into_rgba8()),
        };
        out.push('\n');
        Some(out)
    }
}

fn png(picture: &DynamicImage) -> Option<Vec<u8>> {
    let mut png = Cursor::new(Vec::new());
    picture.write_to(&mut png, ImageFormat::Png).ok()?;
    Some(png.into_inner())
}

/// Transmits and shows a PNG of this width in cells, and asks for no answer (`q=2`).
fn kitty(png: &[u8], columns: u32) -> String {
    let data = STANDARD.encode(png);
    let mut out = String::new();
    let mut keys = format!("a=T,f=100,q=2,c={columns},");
    let mut pieces = data.as_bytes().chunks(PIECE).peekable();
    while let Some(piece) = pieces.next() {
        let more = u8::from(pieces.peek().is_some());
        let piece = String::from_utf8_lossy(piece);
        let _ = write!(out, "\x1b_G{keys}m={more};{piece}\x1b\\");
        keys.clear();
    }
    out
}

fn iterm2(png: &[u8], columns: u32) -> String {
    let data = STANDARD.encode(png);
    let size = png.len();
    format!("\x1b]1337;File=inline=1;size={size};width={columns}:{data}\x07")
}
