//! A list that is drawn again at each key, for a security decision that is confirmed elsewhere.

use super::{InputEvent, Key, Keyboard, LineEnd};
use crate::terminal::{DIM, Size, Terminal, fitted};

/// Draws the rows of a list and gives it each key, until a key has a result. Like an
/// [`answer`](super::answer), it takes no key that was typed before it was drawn, and no pasted
/// text; `keys` tells the keys once it takes them. `None`, meaning not now, at the end of the
/// input, or while input arrives without a pause.
pub(in crate::terminal) fn pick<L, T>(
    terminal: &Terminal,
    list: &mut L,
    keys: &str,
    rows: fn(&L, Size) -> Vec<String>,
    press: fn(&mut L, Key) -> Option<T>,
) -> Option<T> {
    let mut keyboard = Keyboard::take(terminal)?;
    let draw = |list: &L, keys: &str| {
        let size = terminal.size();
        let mut rows = rows(list, size);
        if !keys.is_empty() {
            let keys = fitted(keys, size.columns.saturating_sub(1));
            rows.push(format!("{DIM}{keys}{DIM:#}"));
        }
        terminal.note(&rows.join("\n"));
        rows.len()
    };
    let mut drawn = draw(list, "");
    match keyboard.wait_until_quiet(terminal) {
        LineEnd::Complete | LineEnd::Pasted => {}
        LineEnd::Resumed => drawn = 0,
        LineEnd::End => return None,
    }
    let mut is_stale = true;
    loop {
        if std::mem::take(&mut is_stale) {
            if drawn > 0 {
                keyboard.show(&format!("\x1b[{drawn}A\r\x1b[J"));
            }
            drawn = draw(list, keys);
        }
        match keyboard.next(None) {
            InputEvent::Key(Key::End) | InputEvent::End => return None,
            InputEvent::Key(Key::PasteBegins) => {
                if matches!(keyboard.refuse_paste(), LineEnd::End) {
                    return None;
                }
            }
            InputEvent::Key(key) => {
                if let Some(result) = press(list, key) {
                    return Some(result);
                }
            }
            // The rows above may have been wrapped, or are another program's.
            InputEvent::Resumed | InputEvent::Resized => drawn = 0,
            InputEvent::Quiet | InputEvent::Woken => continue,
        }
        is_stale = true;
    }
}
