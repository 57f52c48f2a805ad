//! The tools of `my_tool`. Each is a function: its doc comment is what the model reads, and the
//! type of its input is what the host checks every call against.

use agent_tool::{Json, Output, input, output, state, tool};
use serde_json::json;
use std::error::Error;

/// The width and the height of a swatch, in pixels.
const SIDE: u32 = 64;

#[input]
struct User {
    /// The name of the user to greet.
    name: String,
    /// The tone of the greeting.
    #[serde(default)]
    tone: Tone,
}

#[input]
#[derive(Default)]
#[serde(rename_all = "lowercase")]
enum Tone {
    #[default]
    Friendly,
    Formal,
}

/// Greets a user by name.
#[tool(effect = "read-only")]
fn greet(input: User) -> String {
    match input.tone {
        Tone::Friendly => format!("Hello, {}!", input.name),
        Tone::Formal => format!("Good day, {}.", input.name),
    }
}

#[input]
struct Text {
    /// The text to count in.
    text: String,
}

#[output]
struct Count {
    words: usize,
    characters: usize,
}

/// Counts the words and the characters of a text. Words are separated by white space.
#[tool(effect = "read-only", output = Count)]
fn count_words(input: Text) -> Json<Count> {
    Json(Count {
        words: input.text.split_whitespace().count(),
        characters: input.text.chars().count(),
    })
}

#[input]
struct Colour {
    /// The colour, as #rrggbb.
    colour: String,
}

/// Shows a colour as a small image.
#[tool(effect = "read-only")]
fn swatch(input: Colour) -> Result<Output, Box<dyn Error>> {
    let Some(colour) = parse(&input.colour) else {
        let text = format!(
            "`{}` is no colour; write it as #rrggbb, such as #1e90ff",
            input.colour
        );
        return Ok(Output::error(text));
    };
    let mut image = Vec::new();
    let mut encoder = png::Encoder::new(&mut image, SIDE, SIDE);
    encoder.set_color(png::ColorType::Rgb);
    let pixels = colour.repeat((SIDE * SIDE) as usize);
    encoder.write_header()?.write_image_data(&pixels)?;
    Ok(Output::image("image/png", image))
}

/// Red, green and blue of `#rrggbb`.
fn parse(colour: &str) -> Option<[u8; 3]> {
    let digits = colour.strip_prefix('#')?;
    if digits.len() != 6 || !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return None;
    }
    let [_, red, green, blue] = u32::from_str_radix(digits, 16).ok()?.to_be_bytes();
    Some([red, green, blue])
}

#[input]
struct Note {
    /// The subject of the note.
    title: String,
    /// The note itself.
    text: String,
}

/// Keeps a note for the rest of the session. A note with the same title is replaced.
#[tool(effect = "idempotent")]
fn keep_note(input: Note) -> String {
    let text = format!("Kept the note on {}.", input.title);
    state::merge([("notes", json!({ input.title: input.text }))]);
    text
}

agent_tool::export!(greet, count_words, swatch, keep_note);

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn colour_parses_six_digits_only() {
        assert_eq!(parse("#1e90ff"), Some([0x1e, 0x90, 0xff]));
        for wrong in [
            "", "#", "1e90ff", "#1e90f", "#1e90fff", "#+e90ff", "#1e90fg",
        ] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }
}
