//! The keys of Emacs, as in bash.

use super::{
    Action, Editor,
    motion::{self, Motion, Word},
};
use crate::terminal::input::keys::{Key, Named};

/// Takes a key other than a character.
pub(super) fn press(editor: &mut Editor, key: Key) -> Action {
    match key {
        Key::Named(key) => return editor.named(key),
        Key::Control('p') => return editor.named(Named::Up),
        Key::Control('n') => return editor.named(Named::Down),
        Key::Control('r') => return Action::Search,
        Key::Control('o') => return Action::ShowLast,
        Key::Control('v') => return Action::PasteImage,
        Key::Control('l') => return Action::ClearScreen,
        Key::Erase => {
            editor.save();
            editor.erase(Motion::Left);
        }
        Key::EraseWord => editor.remove(Motion::WordBack(Word::Blanks)),
        Key::EraseLine => editor.remove(Motion::LineStart),
        Key::End => return editor.named(Named::Delete),
        Key::Control('a') => editor.go(Motion::LineStart),
        Key::Control('e') => editor.go(Motion::LineEnd),
        Key::Control('b') => editor.go(Motion::Left),
        Key::Control('f') => editor.go(Motion::Right),
        Key::Control('k') => editor.remove(Motion::LineEnd),
        Key::Control('y') => editor.insert_removed(),
        Key::Control('_') => editor.undo(),
        Key::Control('t') => transpose(editor),
        Key::Alt('b') => return editor.named(Named::WordLeft),
        Key::Alt('f') => return editor.named(Named::WordRight),
        Key::Alt('<') => editor.go(Motion::Start),
        Key::Alt('>') => editor.go(Motion::End),
        Key::Alt('d') => editor.remove(Motion::WordBehind(Word::Letters)),
        Key::Alt('\u{7f}') => editor.remove(Motion::WordBack(Word::Letters)),
        Key::Alt('u') => change_word(editor, str::to_uppercase),
        Key::Alt('l') => change_word(editor, str::to_lowercase),
        Key::Alt('c') => change_word(editor, capitalized),
        _ => {}
    }
    Action::Edited
}

/// Exchanges the characters on both sides of the cursor, or the last two at the end.
fn transpose(editor: &mut Editor) {
    let text = editor.text();
    let right = match motion::place(text, editor.cursor(), Motion::Right) {
        right if right == editor.cursor() => motion::place(text, right, Motion::Left),
        _ => editor.cursor(),
    };
    let end = motion::place(text, right, Motion::Right);
    let left = motion::place(text, right, Motion::Left);
    let (Some(one), Some(other)) = (text.get(left..right), text.get(right..end)) else {
        return;
    };
    let exchanged = format!("{other}{one}");
    editor.replace(left..end, &exchanged);
}

/// Changes the rest of the word, or the next one.
fn change_word(editor: &mut Editor, change: impl Fn(&str) -> String) {
    let word = Motion::WordBehind(Word::Letters);
    let range = motion::span(editor.text(), editor.cursor(), word);
    let changed = change(editor.text().get(range.clone()).unwrap_or_default());
    editor.replace(range, &changed);
}

fn capitalized(text: &str) -> String {
    let first = text.find(char::is_alphanumeric).unwrap_or(text.len());
    let (before, word) = text.split_at(first);
    let mut characters = word.chars();
    let first = characters.next().map(char::to_uppercase);
    let rest = characters.as_str().to_lowercase();
    before
        .chars()
        .chain(first.into_iter().flatten())
        .chain(rest.chars())
        .collect()
}
