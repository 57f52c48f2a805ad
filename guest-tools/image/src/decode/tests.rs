use std::fs;
use std::io::Cursor;

use image::metadata::Orientation;
use image::{DynamicImage, ImageFormat};
use pretty_assertions::assert_eq;

use super::{MAX_FILE_BYTES, decode, open};

/// A file with these bytes, and its path.
pub(crate) fn file(name: &str, bytes: &[u8]) -> (tempfile::TempDir, String) {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join(name);
    fs::write(&path, bytes).expect("a file");
    let path = path.to_str().expect("UTF-8").to_owned();
    (directory, path)
}

pub(crate) fn encoded(image: &DynamicImage, format: ImageFormat) -> Vec<u8> {
    let mut bytes = Cursor::new(Vec::new());
    image.write_to(&mut bytes, format).expect("an image");
    bytes.into_inner()
}

/// The header of a PNG that claims this size, with a correct checksum.
fn png_header(width: u32, height: u32) -> Vec<u8> {
    let mut header = b"IHDR".to_vec();
    header.extend(width.to_be_bytes());
    header.extend(height.to_be_bytes());
    header.extend([8, 6, 0, 0, 0]);
    let crc = crc_of(&header);
    let mut png = b"\x89PNG\r\n\x1a\n\0\0\0\x0d".to_vec();
    png.extend(header);
    png.extend(crc);
    png.extend(b"\0\0\0\0IDAT\x35\xaf\x06\x1e\0\0\0\0IEND\xae\x42\x60\x82");
    png
}

/// A JPEG with an Exif segment that says: turn this by 90 degrees.
pub(crate) fn turned_jpeg() -> Vec<u8> {
    let jpeg = encoded(&DynamicImage::new_rgb8(40, 20), ImageFormat::Jpeg);
    let mut exif =
        b"Exif\0\0MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x06\0\0\0\0\0\0".to_vec();
    let length = u16::try_from(exif.len() + 2)
        .expect("a short segment")
        .to_be_bytes();
    let mut turned = jpeg[..2].to_vec();
    turned.extend([0xFF, 0xE1]);
    turned.extend(length);
    turned.append(&mut exif);
    turned.extend(&jpeg[2..]);
    turned
}

fn failure(bytes: &[u8]) -> String {
    let (_directory, path) = file("x", bytes);
    let result = open(&path).and_then(|opened| decode(&path, &opened));
    result.expect_err("no image").replace(&path, "PATH")
}

#[test]
fn undecodable_images_are_explained() {
    let png = encoded(&DynamicImage::new_rgb8(40, 20), ImageFormat::Png);
    let cases: &[(&[u8], &str)] = &[
        (
            b"just text",
            "`PATH` is not an image that this tool knows; it reads PNG, JPEG and GIF",
        ),
        (
            b"",
            "`PATH` is not an image that this tool knows; it reads PNG, JPEG and GIF",
        ),
        (
            b"BM\0\0\0\0",
            "`PATH` is an image of a kind that this tool does not decode; it reads PNG, JPEG and GIF, and read_file returns others as they are",
        ),
        (
            b"RIFF\x10\0\0\0WEBPVP8L\x04\0\0\0\x2f\0\0\0",
            "`PATH` is an image of a kind that this tool does not decode; it reads PNG, JPEG and GIF, and read_file returns others as they are",
        ),
        (
            &png_header(30_000, 1),
            "`PATH` is too large to decode: at most 20000 pixels a side and 104857600 bytes of memory are allowed",
        ),
        (
            &png_header(5_000, 5_000),
            "`PATH` is 5000x5000, which is 25000000 pixels; at most 24000000 can be decoded",
        ),
    ];
    for (bytes, expected) in cases {
        assert_eq!(failure(bytes), *expected);
    }
    let cut = failure(&png[..png.len() / 2]);
    assert!(
        cut.starts_with("`PATH` cannot be decoded, it may be damaged: "),
        "{cut}"
    );
}

#[test]
fn decoder_is_bounded_in_memory() {
    // 16 bits a channel: fewer pixels than allowed, but eight bytes for each.
    let mut png = png_header(4_800, 4_900);
    png[24] = 16;
    let crc = crc_of(&png[12..29]);
    png[29..33].copy_from_slice(&crc);
    assert_eq!(
        failure(&png),
        "`PATH` is too large to decode: at most 20000 pixels a side and 104857600 bytes of memory are allowed"
    );
}

fn crc_of(bytes: &[u8]) -> [u8; 4] {
    let mut crc = u32::MAX;
    for byte in bytes {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = if crc & 1 == 1 {
                (crc >> 1) ^ 0xEDB8_8320
            } else {
                crc >> 1
            };
        }
    }
    (!crc).to_be_bytes()
}

#[test]
fn large_files_directories_and_missing_files_are_explained() {
    let (directory, path) = file("large.png", b"");
    fs::File::options()
        .write(true)
        .open(&path)
        .and_then(|file| file.set_len(MAX_FILE_BYTES + 1))
        .expect("a large file");
    let root = directory.path().to_str().expect("UTF-8");
    let cases = [
        (
            path.clone(),
            format!("`{path}` has 33554433 bytes; images of at most 33554432 bytes can be read"),
        ),
        (
            root.to_owned(),
            format!(
                "`{root}` is a directory and cannot be read as a file; use list_directory to see what it has"
            ),
        ),
        (
            format!("{root}/none.png"),
            format!(
                "no such file or directory `{root}/none.png`; the directory `{root}` has: large.png"
            ),
        ),
    ];
    for (path, expected) in cases {
        assert_eq!(open(&path).map(|opened| opened.header.width), Err(expected));
    }
}

#[test]
fn rotated_photo_reports_its_displayed_size() {
    let (_directory, path) = file("turned.jpg", &turned_jpeg());
    let opened = open(&path).expect("an image");
    assert_eq!(
        (
            opened.header.width,
            opened.header.height,
            opened.header.orientation
        ),
        (20, 40, Orientation::Rotate90)
    );
    let stored = decode(&path, &opened).expect("an image").pixels;
    assert_eq!(stored.dimensions(), (40, 20));
}
