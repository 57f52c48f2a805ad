//! Pastes that are paths of images, and the images that a text names.

use super::{ImageSource, Images, ReadImage};
use agent_host_types::output::ContentPart;
use pretty_assertions::assert_eq;
use std::fs;

/// Reads files by their names; one named `bad.png` cannot be used.
fn read(source: ImageSource<'_>, bytes_left: u64) -> Result<ReadImage, String> {
    let name = match source {
        ImageSource::File(file) => file.file_name().unwrap().to_string_lossy().into_owned(),
        ImageSource::Bytes(bytes) => String::from_utf8(bytes).unwrap(),
    };
    if name == "bad.png" {
        return Err("bad.png is not attached.".to_owned());
    }
    if bytes_left < 10 {
        return Err(format!("{name} is too large."));
    }
    Ok(ReadImage {
        part: ContentPart::Text {
            text: format!("{name} in {bytes_left}"),
        },
        name,
        width: 3,
        height: 2,
        size: 10,
    })
}

fn images() -> (tempfile::TempDir, Images) {
    let directory = tempfile::tempdir().unwrap();
    for name in [
        "a.png",
        "with space.JPG",
        "it's.gif",
        "notes.txt",
        "bad.png",
    ] {
        fs::write(directory.path().join(name), "").unwrap();
    }
    let images = Images::new(directory.path().to_owned(), read, 30);
    (directory, images)
}

#[test]
fn paste_of_image_paths_becomes_placeholders() {
    let (directory, _) = images();
    let at = directory.path().display();
    let one = |name: &str| Some(Ok(format!("[image 1: {name}, 3x2] ")));
    let cases = [
        ("a.png\n".to_owned(), one("a.png")),
        ("./a.png".to_owned(), one("a.png")),
        (format!("{at}/a.png"), one("a.png")),
        (
            format!("file://{at}/with%20space.JPG"),
            one("with space.JPG"),
        ),
        (format!("'{at}/with space.JPG' "), one("with space.JPG")),
        (format!("{at}/with\\ space.JPG"), one("with space.JPG")),
        (format!("{at}/with space.JPG"), one("with space.JPG")),
        (format!("{at}/it's.gif"), one("it's.gif")),
        (
            format!("{at}/a.png \"{at}/it's.gif\""),
            Some(Ok(
                "[image 1: a.png, 3x2] [image 2: it's.gif, 3x2] ".to_owned()
            )),
        ),
        (
            format!("{at}/a.png {at}/bad.png"),
            Some(Err("bad.png is not attached.".to_owned())),
        ),
        // A path that names no file is told; a word of a text is not.
        (format!("{at}/gone.png"), one("gone.png")),
        ("gone.png".to_owned(), None),
        ("look at a.png".to_owned(), None),
        (format!("{at}/notes.txt"), None),
        ("file://elsewhere/a.png".to_owned(), None),
        (String::new(), None),
        ("a.png ".repeat(30), None),
        (format!("/{}.png", "a".repeat(20_000)), None),
    ];
    for (pasted, expected) in cases {
        let mut images = Images::new(directory.path().to_owned(), read, 30);
        assert_eq!(images.of_paste(&pasted, ""), expected, "{pasted:.200}");
    }
}

#[test]
fn message_has_the_images_that_its_text_names() {
    let (_directory, mut images) = images();
    let mut typed = String::new();
    for name in ["a.png", "a.png", "it's.gif"] {
        let pasted = format!("'./{}'", name.replace('\'', "'\\''"));
        typed += &images.of_paste(&pasted, &typed).unwrap().unwrap();
    }
    let refused = images.of_paste("a.png bad.png", "").unwrap();
    assert_eq!(refused, Err("bad.png is not attached.".to_owned()));
    let text = |text: &str| ContentPart::Text {
        text: text.to_owned(),
    };
    let message = "[image 3: it's.gif, 3x2] and [image 1: a.png, 3x2]";
    let expected = [text("a.png in 30"), text("it's.gif in 10")];
    assert_eq!(images.named_in(message), expected);
    assert_eq!(images.named_in("[image 1: a.png, 3x2"), []);
    let end = message.len();
    assert_eq!(images.before(message, end), Some(end - 21..end));
    assert_eq!(images.before(message, end - 1), None);
    images.clear();
    assert_eq!(images.named_in(message), []);
}

#[test]
fn removed_image_gives_its_bytes_to_another() {
    let (_directory, mut images) = images();
    let mut paste = |pasted: &str, text: &str| images.of_paste(pasted, text).unwrap();
    let three = paste("a.png a.png a.png", "").unwrap();
    assert_eq!(
        paste("a.png", &three),
        Err("a.png is too large.".to_owned())
    );
    let third = "[image 3: a.png, 3x2] ";
    assert_eq!(
        paste("a.png a.png a.png", third),
        Err("a.png is too large.".to_owned())
    );
    let fourth = paste("a.png", third).unwrap();
    assert_eq!(fourth, "[image 4: a.png, 3x2] ");
    // The oldest one that the text does not name went; the second can still come back.
    let count = |images: &Images, text: &str| images.named_in(text).len();
    assert_eq!(count(&images, &three), 2);
    assert_eq!(count(&images, &format!("{third}{fourth}")), 2);
}
