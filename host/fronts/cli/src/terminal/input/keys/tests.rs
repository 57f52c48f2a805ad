//! Bytes of terminals, and the keys that they are.

use super::{
    Key::{
        self, Alt, Broken, Char, Control, End, Enter, Erase, EraseLine, Escape, Interrupt, Named,
        Other, PasteBegins, PasteEnds, Suspend, Tab,
    },
    KeyDecoder,
    Named::{Delete, Home, Up, WordLeft, WordRight},
};
use pretty_assertions::assert_eq;
use std::collections::VecDeque;

fn decode(decoder: &mut KeyDecoder, bytes: &[u8]) -> VecDeque<Key> {
    let mut keys = VecDeque::new();
    for &byte in bytes {
        decoder.feed(byte, &mut keys);
    }
    keys
}

#[test]
fn terminal_bytes_decode_into_keys() {
    let cases: [(&[u8], &[Key]); 19] = [
        (b"y\r", &[Char('y'), Enter]),
        (b"n\n\x7f\x15", &[Char('n'), Enter, Erase, EraseLine]),
        (
            b"\x03\x1a\x04\t\x01",
            &[Interrupt, Suspend, End, Tab, Control('a')],
        ),
        ("é日👍".as_bytes(), &[Char('é'), Char('日'), Char('👍')]),
        // Arrows, function keys, a key with Alt: none of them is a letter.
        (
            b"\x1b[A\x1b[15;5~\x1bOPy",
            &[Named(Up), Other, Other, Char('y')],
        ),
        (
            b"\x1b[H\x1bOH\x1b[3~\x1b[1;5D\x1b[1;3C",
            &[
                Named(Home),
                Named(Home),
                Named(Delete),
                Named(WordLeft),
                Named(WordRight),
            ],
        ),
        (b"\x1by\x1b\x7f", &[Alt('y'), Alt('\u{7f}')]),
        (b"\x1b\r\x1b[\x03", &[Alt('\n'), Interrupt]),
        // Broken and hidden characters.
        (b"\xffy", &[Broken, Char('y')]),
        (b"\xc3y", &[Broken, Char('y')]),
        (b"\xe9\xc3\xa9\xe9\xe9", &[Broken, Char('é'), Broken]),
        ("\u{9b}y".as_bytes(), &[Other, Char('y')]),
        (b"\0", &[Other]),
        (
            b"\x1b[200~y\x15\x03\r\t\x1b[201~\x15",
            &[
                PasteBegins,
                Char('y'),
                Char('\x15'),
                Interrupt,
                Enter,
                Char('\t'),
                PasteEnds,
                EraseLine,
            ],
        ),
        // Sequences in a paste are its text, and so are the beginnings of its end.
        (
            b"\x1b[200~\x1b[20\x1b[2A\x1b[201~",
            &[
                PasteBegins,
                Char('\x1b'),
                Char('['),
                Char('2'),
                Char('0'),
                Char('\x1b'),
                Char('['),
                Char('2'),
                Char('A'),
                PasteEnds,
            ],
        ),
        (
            b"\x1b[200~a\r\nb\n\nc\x1b[201~",
            &[
                PasteBegins,
                Char('a'),
                Enter,
                Char('b'),
                Enter,
                Enter,
                Char('c'),
                PasteEnds,
            ],
        ),
        (b"\x1b[200~\xff\x1b[201~", &[PasteBegins, Broken, PasteEnds]),
        (b"\x1b[201~y", &[PasteEnds, Char('y')]),
        (b"\x1b[2000000000000000000000000~y", &[Other, Char('y')]),
    ];
    for (bytes, expected) in cases {
        let mut decoder = KeyDecoder::default();
        let keys = decode(&mut decoder, bytes);
        assert_eq!(keys, expected, "{:?}", bytes.escape_ascii().to_string());
        assert!(!decoder.in_paste());
    }
}

/// An Escape is a key when nothing follows it, which only time can tell.
#[test]
fn escape_by_itself_is_a_key() {
    let mut decoder = KeyDecoder::default();
    assert_eq!(decode(&mut decoder, b"\x1b"), []);
    assert!(decoder.in_escape());
    assert_eq!(decoder.end_escape(), Escape);
    assert_eq!(decode(&mut decoder, b"y"), [Char('y')]);
}

/// The answers of terminals, whole, with keys around them, and torn anywhere: they are no keys.
#[test]
fn terminal_answers_are_no_keys() {
    let kitty = "\x1b_Gi=31;OK\x1b\\\x1bP>|kitty(0.40.1)\x1b\\\x1b[6;20;10t\x1b[?62;52;c";
    let iterm2 = "\x1bP>|iTerm2 3.5.4\x1b\\\x1b[6;17;8t\x1b[?62;4c";
    let xterm = "\x1bP>|XTerm(390)\x1b\\\x1b[?64;1;2;4;6;9;15;16;17;18;21;22;28;29c";
    let refusing = "\x1b_Gi=31;ENOTSUP:no\x07\x1b[6;0;10t\x1b[?1;2c";
    let cases = [
        (kitty, true, false, "kitty(0.40.1)", Some((10, 20))),
        (iterm2, false, true, "iTerm2 3.5.4", Some((8, 17))),
        (xterm, false, true, "XTerm(390)", None),
        (refusing, false, false, "", None),
    ];
    for (answers, kitty, sixel, name, cell) in cases {
        let typed = format!("a{answers}b");
        for torn in 0..typed.len() {
            let mut decoder = KeyDecoder::default();
            let (first, rest) = typed.as_bytes().split_at(torn);
            let mut keys = decode(&mut decoder, first);
            keys.extend(decode(&mut decoder, rest));
            assert_eq!(keys, [Char('a'), Char('b')], "{torn}");
            let reports = decoder.reports();
            assert_eq!(
                (reports.kitty, reports.sixel, reports.name.as_str()),
                (kitty, sixel, name)
            );
            assert_eq!(reports.cell, cell);
        }
    }
}

/// Alt with the keys that begin an answer, and an answer that never ends.
#[test]
fn keys_like_answers_stay_keys() {
    let mut decoder = KeyDecoder::default();
    assert_eq!(decode(&mut decoder, b"\x1bPy"), [Alt('P'), Char('y')]);
    assert_eq!(decode(&mut decoder, b"\x1b__"), [Alt('_'), Char('_')]);
    assert_eq!(decode(&mut decoder, b"\x1bP"), []);
    assert!(decoder.in_escape());
    assert_eq!(decoder.end_escape(), Alt('P'));
    let endless = [b"\x1bP>".as_slice(), &[b'y'; 10_000], b"\ry"].concat();
    assert_eq!(decode(&mut decoder, &endless), [Enter, Char('y')]);
    assert_eq!(
        decode(&mut decoder, b"\x1b_Gy\x03\x1b_Gn\x1b\x1b[A"),
        [Interrupt, Named(Up)]
    );
}
