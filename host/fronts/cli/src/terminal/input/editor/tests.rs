//! Keys, and the text and the cursor after them.

use super::{
    Action, Editor,
    Key::{
        self, Alt, Char, Control, Enter, Erase, EraseLine, EraseWord, Escape, PasteBegins,
        PasteEnds,
    },
    MAX_TEXT_BYTES, Named,
};
use pretty_assertions::assert_eq;

fn typed(editor: &mut Editor, text: &str) {
    for character in text.chars() {
        editor.press(match character {
            '\n' => Alt('\n'),
            '\x1b' => Escape,
            character => Char(character),
        });
    }
}

/// The text with `|` at the cursor.
fn shown(editor: &Editor) -> String {
    let (before, after) = editor.text().split_at(editor.cursor());
    format!("{before}|{after}")
}

#[test]
fn emacs_keys_edit_the_text() {
    let named = Key::Named;
    let cases: [(&str, &[Key], &str); 20] = [
        ("ab", &[Erase], "a|"),
        ("a日", &[Erase], "a|"),
        // A letter with its accents, and a family, are one character.
        ("ae\u{301}", &[Erase], "a|"),
        ("x👨‍👩‍👧", &[Erase], "x|"),
        ("one two ", &[EraseWord], "one |"),
        (
            "one two",
            &[EraseLine, Control('y'), Control('y')],
            "one twoone two|",
        ),
        ("one\ntwo", &[EraseLine], "one\n|"),
        ("ab", &[Control('a'), Char('x')], "x|ab"),
        ("ab cd", &[Alt('b'), Alt('u')], "ab CD|"),
        ("ab cd", &[Control('a'), Alt('f'), Control('k')], "ab|"),
        ("ab cd", &[Control('a'), Alt('d')], "| cd"),
        ("ab-cd", &[Alt('\u{7f}')], "ab-|"),
        ("ab", &[Control('b'), Control('t')], "ba|"),
        ("abc", &[named(Named::Left), named(Named::Delete)], "ab|"),
        ("abc", &[named(Named::Home), Key::End], "|bc"),
        ("ab\ncd", &[named(Named::Up), Char('x')], "abx|\ncd"),
        (
            "ab\nc",
            &[named(Named::Up), named(Named::Home), named(Named::Down)],
            "ab\n|c",
        ),
        ("日本\nx", &[named(Named::Up)], "日|本\nx"),
        ("one two", &[Control('_')], "one|"),
        ("ab\\", &[Enter, Char('c')], "ab\nc|"),
    ];
    for (text, keys, expected) in cases {
        let mut editor = Editor::default();
        typed(&mut editor, text);
        for key in keys {
            assert_eq!(editor.press(*key), Action::Edited, "{text:?} {key:?}");
        }
        assert_eq!(shown(&editor), expected, "{text:?} {keys:?}");
    }
}

#[test]
fn keys_beyond_the_text_are_actions() {
    let cases = [
        ("a", Enter, Action::Submit),
        ("a", Key::Tab, Action::Complete),
        ("a", Key::Interrupt, Action::Interrupt),
        ("", Key::End, Action::Leave),
        ("a", Key::Named(Named::Up), Action::Previous),
        ("a\nb", Key::Named(Named::Down), Action::Next),
        ("a", Control('r'), Action::Search),
        ("a", Control('o'), Action::ShowLast),
        ("a", Control('l'), Action::ClearScreen),
        ("a", Escape, Action::Escape),
    ];
    for (text, key, expected) in cases {
        let mut editor = Editor::default();
        typed(&mut editor, text);
        assert_eq!(editor.press(key), expected, "{text:?} {key:?}");
        assert_eq!(editor.text(), text, "{key:?}");
    }
}

/// A paste is text, whatever is in it; only its edges are keys.
#[test]
fn paste_is_text() {
    let mut editor = Editor::default();
    typed(&mut editor, "ad");
    editor.press(Control('b'));
    let pasted = [
        PasteBegins,
        Char('b'),
        Enter,
        Char('\x1b'),
        Char('c'),
        PasteEnds,
    ];
    for key in pasted {
        assert_eq!(editor.press(key), Action::Edited);
    }
    assert_eq!(shown(&editor), "ab\n\x1bc|d");
    assert_eq!(editor.press(Control('_')), Action::Edited);
    assert_eq!(shown(&editor), "a|d");
}

/// Enter of a text that is typed while an answer runs sends nothing.
#[test]
fn typed_ahead_enter_is_a_line_break() {
    let mut editor = Editor::default();
    for key in [Char('a'), Enter, Char('b'), Key::End, Key::Tab] {
        editor.type_ahead(key);
    }
    assert_eq!(editor.take(), "a\nb");
    assert_eq!(editor.text(), "");
}

#[test]
fn text_beyond_the_limit_is_counted() {
    let mut editor = Editor::default();
    editor.set(&"x".repeat(MAX_TEXT_BYTES - 2));
    editor.press(Char('é'));
    editor.press(Char('é'));
    assert_eq!(editor.text().len(), MAX_TEXT_BYTES);
    assert_eq!((editor.take_left_out(), editor.take_left_out()), (2, 0));
}
