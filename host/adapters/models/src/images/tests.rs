use super::*;
use agent_host_types::{
    id::CallId,
    message::{Message, Role, ToolResult},
};
use image::RgbaImage;
use pretty_assertions::assert_eq;
use std::io::Write as _;

/// An opaque image, which compresses badly if `noisy`.
fn sample(width: u32, height: u32, noisy: bool) -> DynamicImage {
    let image = RgbaImage::from_fn(width, height, |x, y| {
        let seed = x.wrapping_mul(2_654_435_761) ^ y.wrapping_mul(40_503);
        let [a, b, c, _] = (seed ^ (seed >> 13))
            .wrapping_mul(0x5bd1_e995)
            .to_le_bytes();
        if noisy {
            image::Rgba([a, b, c, 255])
        } else {
            image::Rgba([200, 100, 50, 255])
        }
    });
    DynamicImage::ImageRgba8(image)
}

fn encoded(image: &DynamicImage, format: ImageFormat) -> Vec<u8> {
    let mut bytes = Cursor::new(Vec::new());
    match format {
        ImageFormat::Jpeg => image.to_rgb8().write_to(&mut bytes, format).unwrap(),
        _ => image.write_to(&mut bytes, format).unwrap(),
    }
    bytes.into_inner()
}

fn file(media_type: &str, bytes: Vec<u8>) -> FilePart {
    FilePart {
        media_type: media_type.to_owned(),
        data: FileData::Bytes(bytes),
        filename: Some("p".to_owned()),
    }
}

/// The media type, width and height of a fitted image.
fn seen(shrunk: &ShrunkImage) -> (String, u32, u32) {
    let FileData::Bytes(bytes) = &shrunk.file.data else {
        panic!("{shrunk:?}");
    };
    let image = image::load_from_memory(bytes).unwrap();
    (
        shrunk.file.media_type.clone(),
        image.width(),
        image.height(),
    )
}

#[test]
fn image_is_fitted_to_both_limits() {
    let side = |max_side| ImageLimits {
        max_bytes: 10_000_000,
        max_side,
    };
    let bytes = |max_bytes| ImageLimits {
        max_bytes,
        max_side: 10_000,
    };
    use ImageFormat::{Gif, Jpeg, Png, WebP};
    for (format, noisy, (width, height), limits, expected) in [
        (Png, false, (400, 300), side(200), ("image/png", 200, 150)),
        (Png, false, (300, 400), side(200), ("image/png", 150, 200)),
        (Jpeg, false, (400, 300), side(200), ("image/jpeg", 200, 150)),
        (Gif, false, (400, 300), side(200), ("image/png", 200, 150)),
        (WebP, false, (400, 300), side(200), ("image/png", 200, 150)),
        // A photo is a JPEG, whatever it was.
        (Png, true, (1400, 1400), side(700), ("image/jpeg", 700, 700)),
        // No side becomes 0.
        (Png, false, (1000, 1), side(100), ("image/png", 100, 1)),
        // Noise has more bytes as a PNG than as a JPEG, and fewer only with fewer pixels.
        (
            Png,
            true,
            (200, 200),
            bytes(90_000),
            ("image/jpeg", 200, 200),
        ),
        (
            Png,
            true,
            (200, 200),
            bytes(25_000),
            ("image/jpeg", 100, 100),
        ),
        (
            Jpeg,
            true,
            (200, 200),
            bytes(25_000),
            ("image/jpeg", 100, 100),
        ),
    ] {
        let (media_type, _) = FORMATS.iter().find(|(_, known)| *known == format).unwrap();
        let original = file(media_type, encoded(&sample(width, height, noisy), format));
        let shrunk = shrink(&original, limits).unwrap();
        let (media_type, width, height) = expected;
        assert_eq!(
            seen(&shrunk),
            (media_type.to_owned(), width, height),
            "{format:?} {limits:?}"
        );
        assert_eq!(shrunk.file.filename.as_deref(), Some("p"));
    }
}

/// A PNG whose header claims this size and which has no pixels.
fn claims(width: u32, height: u32) -> Vec<u8> {
    let mut png = encoded(&sample(1, 1, false), ImageFormat::Png);
    png[16..20].copy_from_slice(&width.to_be_bytes());
    png[20..24].copy_from_slice(&height.to_be_bytes());
    let mut crc = crc32(&png[12..29]);
    crc.reverse();
    png[29..33].copy_from_slice(&crc);
    png
}

/// The CRC-32 of a PNG chunk (PNG specification, annex D), least significant byte first.
fn crc32(data: &[u8]) -> [u8; 4] {
    let crc = data.iter().fold(!0_u32, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
            if crc & 1 == 1 {
                0xedb8_8320 ^ (crc >> 1)
            } else {
                crc >> 1
            }
        })
    });
    (!crc).to_le_bytes()
}

#[test]
fn unfittable_image_says_why() {
    let limits = ImageLimits {
        max_bytes: 1000,
        max_side: 100,
    };
    let mut cut = encoded(&sample(400, 300, true), ImageFormat::Png);
    cut.truncate(5000);
    for (bytes, why) in [
        (claims(60_000, 60_000), "it has 60000x60000 pixels"),
        (cut, "it cannot be decoded: "),
        (
            b"\x89PNG\r\n\x1a\nnot at all".to_vec(),
            "it cannot be decoded: ",
        ),
        (
            encoded(&sample(400, 300, true), ImageFormat::Png),
            "it would still be too large",
        ),
    ] {
        let error = shrink(&file("image/png", bytes), limits).unwrap_err();
        assert!(error.to_string().starts_with(why), "{error}");
    }
}

#[test]
fn transparent_pixels_become_white_in_jpeg() {
    let image = RgbaImage::from_fn(2, 1, |x, _| {
        image::Rgba([0, 0, 0, if x == 0 { 0 } else { 255 }])
    });
    let flat = on_white(&DynamicImage::ImageRgba8(image));
    assert_eq!(flat.into_raw(), [255, 255, 255, 0, 0, 0]);
}

/// Exif orientation 6 (rotate right by 90 degrees) is applied.
#[test]
fn photo_orientation_is_applied() {
    let jpeg = encoded(&sample(400, 200, false), ImageFormat::Jpeg);
    let mut turned = jpeg[..2].to_vec();
    // One APP1 segment: little-endian TIFF with the one tag 0x0112.
    let mut exif = b"Exif\0\0II*\0\x08\0\0\0\x01\0".to_vec();
    exif.extend([0x12, 0x01, 3, 0, 1, 0, 0, 0, 6, 0, 0, 0, 0, 0, 0, 0]);
    turned.extend([0xff, 0xe1]);
    turned.extend(u16::try_from(exif.len() + 2).unwrap().to_be_bytes());
    turned.write_all(&exif).unwrap();
    turned.extend(&jpeg[2..]);
    let limits = ImageLimits {
        max_bytes: 1_000_000,
        max_side: 100,
    };
    let shrunk = shrink(&file("image/jpeg", turned), limits).unwrap();
    assert_eq!(seen(&shrunk), ("image/jpeg".to_owned(), 50, 100));
}

/// Each request has the same bytes, and each image is noted once; images in results are treated as
/// those in messages.
#[tokio::test]
async fn fitted_requests_are_stable_and_noted_once() {
    let large = encoded(&sample(400, 300, false), ImageFormat::Png);
    let small = encoded(&sample(40, 30, false), ImageFormat::Png);
    let part = |name: &str, media_type: &str, bytes: &[u8]| {
        ContentPart::File(FilePart {
            filename: Some(name.to_owned()),
            ..file(media_type, bytes.to_vec())
        })
    };
    let request = ModelRequest {
        system: None,
        messages: vec![
            Message::parts(
                Role::User,
                vec![
                    part("small", "image/png", &small),
                    part("large", "image/png", &large),
                    part("claim", "image/png", &claims(60_000, 60_000)),
                    // Its size cannot be read.
                    part("odd", "image/png", b"\x89PNG\r\n\x1a\n"),
                    part("text", "text/plain", &[b'a'; 20_000]),
                ],
            ),
            Message::results(vec![ToolResult {
                call_id: CallId("c".to_owned()),
                name: "t".to_owned(),
                output: ToolResultOutput::Content(vec![part("again", "image/png", &large)]),
                whole: None,
            }]),
        ],
        tools: Vec::new(),
        answer_schema: None,
    };
    let fitter = ImageFitter::new(ImageLimits {
        max_bytes: 10_000,
        max_side: 100,
    });
    let notes = Mutex::new(Vec::new());
    let sink = |delta: ModelDelta<'_>| match delta {
        ModelDelta::Note(text) => notes.lock().unwrap().push(text.to_owned()),
        other => panic!("{other:?}"),
    };
    let fitted = fitter.fit(&request, &sink).await.into_owned();

    let shrunk = shrink(&file("image/png", large.clone()), fitter.limits).unwrap();
    let FileData::Bytes(sent) = &shrunk.file.data else {
        panic!("{shrunk:?}");
    };
    let mut expected = request.clone();
    expected.messages[0].content[1] = part("large", "image/png", sent);
    expected.messages[0].content[2] = ContentPart::Text {
        text: format!(
            "[image/png, {} bytes, `claim`; its content cannot be shown to this model]",
            claims(60_000, 60_000).len()
        ),
    };
    expected.messages[1].tool_results[0].output =
        ToolResultOutput::Content(vec![part("again", "image/png", sent)]);
    assert_eq!(fitted, expected);
    let expected_notes = [
        format!(
            "the image `large` is larger than the model accepts, so it was reduced: from 400x300 in {} bytes to \
             100x75 in {} bytes",
            large.len(),
            sent.len()
        ),
        "the image `claim` is larger than the model accepts and cannot be reduced (it has 60000x60000 pixels), so \
         the model does not see it"
            .to_owned(),
    ];
    assert_eq!(*notes.lock().unwrap(), expected_notes);
    assert_eq!(fitter.fit(&request, &sink).await.into_owned(), expected);
    assert_eq!(notes.lock().unwrap().len(), expected_notes.len());
}

/// A request without a too large image is not copied.
#[tokio::test]
async fn fitting_request_is_not_copied() {
    let image = file(
        "image/png",
        encoded(&sample(100, 100, false), ImageFormat::Png),
    );
    let FileData::Bytes(bytes) = &image.data else {
        panic!("{image:?}");
    };
    let fitter = ImageFitter::new(ImageLimits {
        max_bytes: bytes.len(),
        max_side: 100,
    });
    let request = ModelRequest {
        system: None,
        messages: vec![Message::parts(Role::User, vec![ContentPart::File(image)])],
        tools: Vec::new(),
        answer_schema: None,
    };
    let fitted = fitter.fit(&request, &|delta| panic!("{delta:?}")).await;
    assert!(matches!(fitted, Cow::Borrowed(_)));
}
