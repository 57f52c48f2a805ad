use agent_tool::Json;
use image::{DynamicImage, ImageFormat};
use pretty_assertions::assert_eq;

use super::{ImageInfo, Info, image_info};
use crate::decode::tests::{encoded, file, turned_jpeg};

#[test]
fn every_format_is_described_by_its_bytes() {
    let rgb = || DynamicImage::new_rgb8(30, 20);
    let cases = [
        (
            "a.png",
            encoded(&rgb(), ImageFormat::Png),
            ("png", 30, 20, "rgb", 8),
        ),
        (
            "a.txt",
            encoded(&DynamicImage::new_rgba16(3, 2), ImageFormat::Png),
            ("png", 3, 2, "rgba", 16),
        ),
        (
            "gray.png",
            encoded(&DynamicImage::new_luma8(3, 2), ImageFormat::Png),
            ("png", 3, 2, "gray", 8),
        ),
        (
            "a.jpg",
            encoded(&rgb(), ImageFormat::Jpeg),
            ("jpeg", 30, 20, "rgb", 8),
        ),
        ("turned.jpg", turned_jpeg(), ("jpeg", 20, 40, "rgb", 8)),
        (
            "a.gif",
            encoded(&DynamicImage::new_rgba8(30, 20), ImageFormat::Gif),
            ("gif", 30, 20, "rgba", 8),
        ),
    ];
    for (name, bytes, (format, width, height, color, bits_per_channel)) in cases {
        let (_directory, path) = file(name, &bytes);
        let expected = Info {
            path: path.clone(),
            format,
            width,
            height,
            bytes: bytes.len() as u64,
            color,
            bits_per_channel,
        };
        assert_eq!(
            image_info(ImageInfo { path }).map(|Json(info)| info),
            Ok(expected)
        );
    }
}
