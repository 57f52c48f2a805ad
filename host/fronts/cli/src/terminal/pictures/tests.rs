//! Pictures as each protocol has them, and bytes of tools that are none.

use super::{Canvas, Protocol, images};
use agent_host_types::output::{ContentPart, FileData, FilePart, ToolResultOutput};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use image::{DynamicImage, ImageFormat, Rgba, RgbaImage};
use pretty_assertions::assert_eq;
use std::{collections::HashMap, io::Cursor};

const PROTOCOLS: [Protocol; 3] = [Protocol::Kitty, Protocol::Iterm2, Protocol::Sixel];

fn canvas(protocol: Protocol) -> Canvas {
    Canvas {
        protocol,
        width: 400,
        height: 240,
        cell_width: 10,
    }
}

/// Two halves, red and half transparent.
fn picture(width: u32, height: u32) -> RgbaImage {
    RgbaImage::from_fn(width, height, |x, _| match x < width / 2 {
        true => Rgba([255, 0, 0, 255]),
        false => Rgba([0, 0, 255, 0]),
    })
}

fn encoded(picture: RgbaImage, format: ImageFormat) -> Vec<u8> {
    let mut bytes = Cursor::new(Vec::new());
    let picture = DynamicImage::ImageRgba8(picture);
    let picture = match format {
        ImageFormat::Jpeg => DynamicImage::ImageRgb8(picture.into_rgb8()),
        _ => picture,
    };
    picture.write_to(&mut bytes, format).unwrap();
    bytes.into_inner()
}

/// Returns the bytes of a picture, if what was drawn has nothing but the protocol's own.
fn sent(protocol: Protocol, drawn: &str) -> Option<Vec<u8>> {
    let drawn = drawn.strip_suffix('\n')?;
    let data = match protocol {
        Protocol::Kitty => {
            let pieces = drawn.strip_suffix("\x1b\\")?.split("\x1b\\");
            let pieces = pieces.map(|piece| {
                let (keys, data) = piece.strip_prefix("\x1b_G")?.split_once(';')?;
                let may_be = |it: char| it.is_ascii_alphanumeric() || "=,".contains(it);
                (keys.chars().all(may_be) && data.len() <= 4_096).then_some(data)
            });
            pieces.collect::<Option<String>>()?
        }
        Protocol::Iterm2 => {
            let rest = drawn.strip_prefix("\x1b]1337;File=inline=1;size=")?;
            let (keys, data) = rest.strip_suffix('\x07')?.split_once(':')?;
            let may_be = |it: char| it.is_ascii_alphanumeric() || "=;".contains(it);
            keys.chars().all(may_be).then(|| data.to_owned())?
        }
        Protocol::Sixel => {
            let data = drawn.strip_prefix("\x1bP0;1q")?.strip_suffix("\x1b\\")?;
            let is_sixel = data.bytes().all(|byte| matches!(byte, b'!'..=b'~'));
            return is_sixel.then(|| data.as_bytes().to_vec());
        }
    };
    STANDARD.decode(data).ok()
}

#[test]
fn picture_keeps_its_sides_ratio_within_canvas() {
    let cases = [
        ((40, 20), (40, 20)),
        ((400, 240), (400, 240)),
        ((4_000, 200), (400, 20)),
        ((100, 2_400), (10, 240)),
        ((1, 2_400), (1, 240)),
    ];
    for ((width, height), expected) in cases {
        let bytes = encoded(picture(width, height), ImageFormat::Png);
        for protocol in [Protocol::Kitty, Protocol::Iterm2] {
            let drawn = canvas(protocol).draw(&bytes).unwrap();
            let shown = image::load_from_memory(&sent(protocol, &drawn).unwrap()).unwrap();
            assert_eq!((shown.width(), shown.height()), expected);
            let columns = expected.0.div_ceil(10);
            let key = match protocol {
                Protocol::Kitty => format!("c={columns},"),
                Protocol::Iterm2 | Protocol::Sixel => format!("width={columns}:"),
            };
            assert!(drawn.contains(&key), "{key}");
        }
        let drawn = canvas(Protocol::Sixel).draw(&bytes).unwrap();
        let size = format!("\x1bP0;1q\"1;1;{};{}#", expected.0, expected.1);
        assert!(drawn.starts_with(&size), "{drawn}");
    }
}

#[test]
fn picture_of_each_format_is_drawn() {
    let formats = [
        ImageFormat::Png,
        ImageFormat::Jpeg,
        ImageFormat::Gif,
        ImageFormat::WebP,
    ];
    for format in formats {
        let bytes = encoded(picture(30, 20), format);
        for protocol in PROTOCOLS {
            let drawn = canvas(protocol).draw(&bytes).unwrap();
            assert!(sent(protocol, &drawn).is_some(), "{format:?} {protocol:?}");
        }
    }
}

/// Returns the drawn pixels of sixels of one row or two: column, row and colour in percent.
fn pixels(sixels: &str) -> Vec<(usize, usize, [u32; 3])> {
    let mut palette = HashMap::new();
    let (mut pixels, mut color, mut x, mut top) = (Vec::new(), [0; 3], 0, 0);
    let mut rest = sixels;
    while let Some(byte) = rest.bytes().next() {
        let (_, tail) = rest.split_at(1);
        let end = tail.find(|it: char| !it.is_ascii_digit() && it != ';');
        let (numbers, behind) = tail.split_at(end.unwrap_or(tail.len()));
        let numbers: Vec<u32> = numbers.split(';').flat_map(str::parse).collect();
        let (sixel, count) = match (byte, numbers.as_slice()) {
            (b'"', _) => (b'?', 0),
            (b'#', [number, 2, red, green, blue]) => {
                palette.insert(*number, [*red, *green, *blue]);
                (b'?', 0)
            }
            (b'#', [number]) => {
                color = palette[number];
                (b'?', 0)
            }
            (b'!', [count]) => (behind.as_bytes()[0], *count),
            (b'$', []) => {
                x = 0;
                (b'?', 0)
            }
            (b'-', []) => {
                (x, top) = (0, top + 6);
                (b'?', 0)
            }
            (sixel, []) => (sixel, 1),
            other => panic!("{other:?}"),
        };
        rest = behind.split_at(usize::from(byte == b'!')).1;
        for _ in 0..count {
            let rows = (0..6).filter(|row| (sixel - b'?') >> row & 1 == 1);
            pixels.extend(rows.map(|row| (x, top + row, color)));
            x += 1;
        }
    }
    pixels.sort_unstable();
    pixels
}

#[test]
fn sixels_have_colors_and_leave_out_transparent_pixels() {
    for (width, height) in [(8, 7), (2, 8), (20, 12)] {
        let bytes = encoded(picture(width, height), ImageFormat::Png);
        let drawn = canvas(Protocol::Sixel).draw(&bytes).unwrap();
        let drawn = pixels(str::from_utf8(&sent(Protocol::Sixel, &drawn).unwrap()).unwrap());
        let columns = 0..width as usize / 2;
        let places = columns.flat_map(|x| (0..height as usize).map(move |y| (x, y)));
        let drawn_places: Vec<_> = drawn.iter().map(|(x, y, _)| (*x, *y)).collect();
        assert_eq!(drawn_places, places.collect::<Vec<_>>());
        for (_, _, [red, green, blue]) in drawn {
            assert!(red > 90 && green < 10 && blue < 10, "{red} {green} {blue}");
        }
    }
}

/// A header of this size, and no pixels: a few bytes that claim gigabytes.
fn bomb(width: u32, height: u32) -> Vec<u8> {
    let mut bytes = encoded(picture(1, 1), ImageFormat::Png);
    bytes[16..20].copy_from_slice(&width.to_be_bytes());
    bytes[20..24].copy_from_slice(&height.to_be_bytes());
    bytes
}

#[test]
fn bytes_that_are_no_picture_draw_nothing() {
    let whole = encoded(picture(30, 20), ImageFormat::Png);
    let cases: [&[u8]; 8] = [
        b"",
        b"\x1b]0;title\x07\x1b[2J",
        b"<svg xmlns='http://www.w3.org/2000/svg'/>",
        b"\x89PNG\r\n\x1a\n\x1b_Gi=1;\x1b\\",
        b"BM\x1b[2J",
        &whole[..whole.len() / 2],
        &bomb(0, 0),
        &bomb(60_000, 60_000),
    ];
    for bytes in cases {
        for protocol in PROTOCOLS {
            assert_eq!(canvas(protocol).draw(bytes), None, "{bytes:?}");
        }
    }
}

/// Escapes in an image's own texts, bytes behind its end, and changed bytes anywhere.
#[test]
fn hostile_images_send_only_bytes_of_the_protocol() {
    let escapes = b"\x1b\\\x1b]0;title\x07\x1b[2J\x07y\r\n";
    let behind = [&encoded(picture(9, 7), ImageFormat::Png), &escapes[..]].concat();
    let mut comment = encoded(picture(9, 7), ImageFormat::Jpeg);
    let segment = [b"\xff\xfe\0\x15", &escapes[..19]].concat();
    comment.splice(2..2, segment);
    for bytes in [behind, comment] {
        for protocol in PROTOCOLS {
            let drawn = canvas(protocol).draw(&bytes).unwrap();
            assert!(sent(protocol, &drawn).is_some(), "{protocol:?}: {drawn:?}");
            assert!(!drawn.contains("title"), "{drawn:?}");
        }
    }
    for format in [ImageFormat::Png, ImageFormat::Gif, ImageFormat::Jpeg] {
        let bytes = encoded(picture(9, 7), format);
        for (at, change) in (0..bytes.len()).flat_map(|at| [(at, 1), (at, 0x80)]) {
            let mut changed = bytes.clone();
            changed[at] ^= change;
            for protocol in PROTOCOLS {
                let drawn = canvas(protocol).draw(&changed);
                let is_safe = drawn.is_none_or(|drawn| sent(protocol, &drawn).is_some());
                assert!(is_safe, "{format:?} {at} {change}");
            }
        }
    }
}

/// An image has its declared type and its bytes in the result; at most four are drawn.
#[test]
fn images_of_a_result_are_its_first_four() {
    let file = |media_type: &str, data| {
        ContentPart::File(FilePart {
            media_type: media_type.to_owned(),
            data,
            filename: None,
        })
    };
    let png = |byte| file("image/png", FileData::Bytes(vec![byte]));
    let parts = vec![
        ContentPart::Text {
            text: "a caption".to_owned(),
        },
        file("text/plain", FileData::Bytes(vec![9])),
        file("image/png", FileData::Url("https://example.com".to_owned())),
        png(1),
        png(2),
        png(3),
        png(4),
        png(5),
    ];
    let output = ToolResultOutput::Content(parts);
    let found: Vec<u8> = images(&output).iter().map(|(_, bytes)| bytes[0]).collect();
    assert_eq!(found, [1, 2, 3, 4]);
    assert_eq!(images(&ToolResultOutput::Text("image/png".to_owned())), []);
}
