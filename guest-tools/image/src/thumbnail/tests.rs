use agent_tool::{Data, Output, Part};
use image::metadata::Orientation;
use image::{DynamicImage, ImageBuffer, ImageFormat, Luma, LumaA, Rgb, Rgba, RgbaImage};
use pretty_assertions::assert_eq;

use super::{Format, ImageThumbnail, fit, flatten, image_thumbnail, turn};
use crate::decode::tests::{encoded, file, turned_jpeg};

/// The text, the media type, the name and the decoded picture of a thumbnail.
fn thumbnail(
    name: &str,
    bytes: &[u8],
    max: (u32, u32),
    format: Option<Format>,
) -> (String, String, Option<String>, DynamicImage) {
    let (directory, path) = file(name, bytes);
    let output = image_thumbnail(ImageThumbnail {
        path,
        max_width: max.0,
        max_height: max.1,
        format,
    })
    .expect("a thumbnail");
    let Output::Content(parts) = output else {
        panic!("content, not {output:?}")
    };
    let [
        Part::Text(text),
        Part::File {
            media_type,
            data: Data::Bytes(bytes),
            filename,
        },
    ] = parts.as_slice()
    else {
        panic!("two parts, not {parts:?}")
    };
    let root = format!("{}/", directory.path().display());
    let image = image::load_from_memory(bytes).expect("an image");
    (
        text.replace(&root, ""),
        media_type.clone(),
        filename.clone(),
        image,
    )
}

#[test]
fn thumbnails_fit_and_keep_their_format() {
    let rgb = || DynamicImage::new_rgb8(400, 200);
    let cases = [
        (
            "a.png",
            encoded(&rgb(), ImageFormat::Png),
            (100, 100),
            None,
            "a.png: 400x200 -> 100x50",
            "image/png",
            "a-thumbnail.png",
            (100, 50),
        ),
        (
            "a.jpg",
            encoded(&rgb(), ImageFormat::Jpeg),
            (512, 50),
            None,
            "a.jpg: 400x200 -> 100x50",
            "image/jpeg",
            "a-thumbnail.jpg",
            (100, 50),
        ),
        (
            "small.png",
            encoded(&rgb(), ImageFormat::Png),
            (512, 512),
            None,
            "small.png: 400x200 -> 400x200",
            "image/png",
            "small-thumbnail.png",
            (400, 200),
        ),
        (
            "a.gif",
            encoded(&DynamicImage::new_rgba8(40, 20), ImageFormat::Gif),
            (10, 10),
            None,
            "a.gif: 40x20 -> 10x5",
            "image/png",
            "a-thumbnail.png",
            (10, 5),
        ),
        (
            "b",
            encoded(&rgb(), ImageFormat::Png),
            (1, 9),
            Some(Format::Jpeg),
            "b: 400x200 -> 1x1",
            "image/jpeg",
            "b-thumbnail.jpg",
            (1, 1),
        ),
        (
            "t.jpg",
            turned_jpeg(),
            (10, 10),
            Some(Format::Png),
            "t.jpg: 20x40 -> 5x10",
            "image/png",
            "t-thumbnail.png",
            (5, 10),
        ),
        (
            "16.png",
            encoded(&DynamicImage::new_rgba16(8, 8), ImageFormat::Png),
            (4, 4),
            None,
            "16.png: 8x8 -> 4x4",
            "image/png",
            "16-thumbnail.png",
            (4, 4),
        ),
    ];
    for (name, bytes, max, format, text, media_type, filename, size) in cases {
        let (said, kind, saved, image) = thumbnail(name, &bytes, max, format);
        assert_eq!(
            (
                said.as_str(),
                kind.as_str(),
                saved.as_deref(),
                (image.width(), image.height())
            ),
            (text, media_type, Some(filename), size)
        );
    }
}

#[test]
fn transparency_lies_on_white_in_jpeg() {
    let image = RgbaImage::from_fn(3, 1, |x, _| match x {
        0 => Rgba([0, 0, 0, 0]),
        1 => Rgba([200, 0, 0, 255]),
        _ => Rgba([0, 0, 0, 128]),
    });
    assert_eq!(flatten(&image), [255, 255, 255, 200, 0, 0, 127, 127, 127]);
}

#[test]
fn sizes_keep_proportions_and_are_never_zero() {
    let cases = [
        ((100, 50), (512, 512), (100, 50)),
        ((1000, 500), (512, 512), (512, 256)),
        ((500, 1000), (512, 512), (256, 512)),
        ((20_000, 1), (512, 512), (512, 1)),
        ((3, 3), (2, 512), (2, 2)),
    ];
    for (size, max, expected) in cases {
        assert_eq!(fit(size, max), expected, "{size:?} in {max:?}");
    }
}

#[test]
fn thumbnail_too_large_error_suggests_a_remedy() {
    // Noise does not compress.
    let mut seed = 1_u32;
    let noise = RgbaImage::from_fn(1400, 1400, |_, _| {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        Rgba(seed.rotate_left(9).to_le_bytes())
    });
    let (_directory, path) = file(
        "noise.png",
        &encoded(&DynamicImage::from(noise), ImageFormat::Png),
    );
    let failure = image_thumbnail(ImageThumbnail {
        path,
        max_width: 2048,
        max_height: 2048,
        format: None,
    })
    .expect_err("too large");
    assert!(
        failure.ends_with(
            "bytes and at most 5242880 can be returned; ask for a smaller one, or for jpeg"
        ),
        "{failure}"
    );
}

#[test]
fn pixels_of_every_kind_keep_their_color() {
    let corner = |image: DynamicImage| {
        let (.., image) = thumbnail(
            "a.png",
            &encoded(&image, ImageFormat::Png),
            (1, 1),
            Some(Format::Png),
        );
        image.into_rgba8().get_pixel(0, 0).0
    };
    let cases = [
        (
            DynamicImage::from(ImageBuffer::from_pixel(2, 2, Luma([9_u8]))),
            [9, 9, 9, 255],
        ),
        (
            DynamicImage::from(ImageBuffer::from_pixel(2, 2, LumaA([9_u8, 7]))),
            [9, 9, 9, 7],
        ),
        (
            DynamicImage::from(ImageBuffer::from_pixel(2, 2, Rgb([1_u8, 2, 3]))),
            [1, 2, 3, 255],
        ),
        (
            DynamicImage::from(ImageBuffer::from_pixel(2, 2, Rgba([1_u8, 2, 3, 4]))),
            [1, 2, 3, 4],
        ),
        (
            DynamicImage::from(ImageBuffer::from_pixel(2, 2, Luma([0x0901_u16]))),
            [9, 9, 9, 255],
        ),
        (
            DynamicImage::from(ImageBuffer::from_pixel(2, 2, LumaA([0x0901_u16, 0x0701]))),
            [9, 9, 9, 7],
        ),
        (
            DynamicImage::from(ImageBuffer::from_pixel(
                2,
                2,
                Rgb([0x01FF_u16, 0x0200, 0x0300]),
            )),
            [1, 2, 3, 255],
        ),
        (
            DynamicImage::from(ImageBuffer::from_pixel(
                2,
                2,
                Rgba([0x0100_u16, 0x0200, 0x0300, 0x0400]),
            )),
            [1, 2, 3, 4],
        ),
    ];
    for (image, expected) in cases {
        let color = image.color();
        assert_eq!(corner(image), expected, "{color:?}");
    }
}

#[test]
fn every_orientation_is_shown_the_right_way_up() {
    // Stored as 1 2 over 3 4.
    let stored = RgbaImage::from_fn(2, 2, |x, y| {
        Rgba([u8::try_from(1 + x + 2 * y).expect("small"), 0, 0, 255])
    });
    let cases = [
        (1, [1, 2, 3, 4]),
        (2, [2, 1, 4, 3]),
        (3, [4, 3, 2, 1]),
        (4, [3, 4, 1, 2]),
        (5, [1, 3, 2, 4]),
        (6, [3, 1, 4, 2]),
        (7, [4, 2, 3, 1]),
        (8, [2, 4, 1, 3]),
    ];
    for (exif, expected) in cases {
        let orientation = Orientation::from_exif(exif).expect("an orientation");
        let shown: Vec<u8> = turn(stored.clone(), orientation)
            .pixels()
            .map(|pixel| pixel.0[0])
            .collect();
        assert_eq!(shown, expected, "{exif}");
    }
}
