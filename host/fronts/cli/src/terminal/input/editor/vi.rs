//! The keys of vi: the mode in which letters are commands.

use super::{
    Action, Editor,
    motion::{self, Motion, Search, Word},
};
use crate::terminal::input::keys::{Key, Named};

/// The maximum of a count; longer numbers are bounded by it.
const MAX_COUNT: usize = 10_000;

/// The part of a command that was typed.
#[derive(Debug, Default)]
pub(super) struct State {
    is_in_commands: bool,
    count: Option<usize>,
    /// `d`, `c` or `y`, which waits for a motion.
    operator: Option<char>,
    /// `f`, `F`, `t`, `T`, `r` or `g`, which waits for a character.
    waiting: Option<char>,
    last_search: Option<Search>,
}

impl State {
    pub(super) fn is_in_commands(&self) -> bool {
        self.is_in_commands
    }
}

/// Ends insertion.
pub(super) fn begin_commands(editor: &mut Editor) {
    editor.vi = State {
        is_in_commands: true,
        last_search: editor.vi.last_search,
        ..State::default()
    };
    if editor.cursor() > editor.line().start {
        editor.go(&Motion::Left(1));
    }
}

fn begin_insertion(editor: &mut Editor) {
    editor.vi.is_in_commands = false;
}

/// Takes a key of a command; `None` for one that is the same while it inserts.
pub(super) fn press(editor: &mut Editor, key: Key) -> Option<Action> {
    let action = press_command(editor, key);
    // The cursor of commands is on a character, and not behind the last one.
    let line = editor.line();
    if editor.vi.is_in_commands && !line.is_empty() && editor.cursor() == line.end {
        editor.go(&Motion::Left(1));
    }
    action
}

fn press_command(editor: &mut Editor, key: Key) -> Option<Action> {
    let character = match key {
        Key::Char(character) => character,
        Key::Erase => 'h',
        Key::Escape => {
            let idle = editor.vi.count.is_none()
                && editor.vi.operator.is_none()
                && editor.vi.waiting.is_none();
            clear(editor);
            return Some(if idle { Action::Escape } else { Action::Edited });
        }
        Key::Broken => return Some(Action::Edited),
        _ => return None,
    };
    if let Some(waiting) = editor.vi.waiting.take() {
        with_character(editor, waiting, character);
        return Some(Action::Edited);
    }
    if let Some(digit) = character.to_digit(10)
        && (digit != 0 || editor.vi.count.is_some())
    {
        let digit = usize::try_from(digit).unwrap_or_default();
        let count = editor.vi.count.unwrap_or_default();
        let count = count.saturating_mul(10).saturating_add(digit);
        editor.vi.count = Some(count.min(MAX_COUNT));
        return Some(Action::Edited);
    }
    match character {
        'f' | 'F' | 't' | 'T' | 'r' | 'g' => editor.vi.waiting = Some(character),
        'd' | 'c' | 'y' if editor.vi.operator.is_none() => editor.vi.operator = Some(character),
        'd' | 'c' | 'y' => whole_line(editor, character),
        _ => return Some(command(editor, character)),
    }
    Some(Action::Edited)
}

fn clear(editor: &mut Editor) {
    editor.vi.count = None;
    editor.vi.operator = None;
    editor.vi.waiting = None;
}

/// Runs a command that ends with any character.
fn with_character(editor: &mut Editor, waiting: char, character: char) {
    match waiting {
        'f' | 'F' | 't' | 'T' => {
            let search = Search {
                character,
                is_back: matches!(waiting, 'F' | 'T'),
                stops_before: matches!(waiting, 't' | 'T'),
            };
            editor.vi.last_search = Some(search);
            let count = editor.vi.count.unwrap_or(1);
            apply(editor, &Motion::Find(count, search));
        }
        'g' if character == 'g' => apply(editor, &Motion::Start),
        'r' => {
            let range = motion::span(editor.text(), editor.cursor(), &Motion::Right(1));
            if !range.is_empty() {
                editor.replace(range.clone(), character.encode_utf8(&mut [0; 4]));
                editor.cursor = range.start;
            }
            clear(editor);
        }
        _ => clear(editor),
    }
}

/// Moves, or has the operator act on what is moved over.
fn apply(editor: &mut Editor, to: &Motion) {
    match editor.vi.operator {
        None => editor.go(to),
        Some('y') => {
            let range = motion::span(editor.text(), editor.cursor(), to);
            editor.removed = editor.text().get(range).unwrap_or_default().to_owned();
        }
        Some(operator) => {
            editor.remove(to);
            if operator == 'c' {
                begin_insertion(editor);
            }
        }
    }
    clear(editor);
}

/// Has an operator act on the line of the cursor.
fn whole_line(editor: &mut Editor, operator: char) {
    if editor.vi.operator != Some(operator) {
        return clear(editor);
    }
    let line = editor.line();
    match operator {
        'y' => editor.removed = editor.text().get(line).unwrap_or_default().to_owned(),
        'c' => {
            editor.remove_range(line);
            begin_insertion(editor);
        }
        _ => {
            let has_next = line.end < editor.text().len();
            let start = line.start.saturating_sub(usize::from(!has_next));
            editor.remove_range(start..line.end + usize::from(has_next));
            editor.go(&Motion::LineStart);
        }
    }
    clear(editor);
}

/// Runs a command of one character.
fn command(editor: &mut Editor, character: char) -> Action {
    if let Some(to) = motion(editor, character) {
        apply(editor, &to);
        return Action::Edited;
    }
    let count = editor.vi.count.unwrap_or(1);
    clear(editor);
    match character {
        'j' => return editor.named(Named::Down),
        'k' => return editor.named(Named::Up),
        '/' => return Action::Search,
        'i' => begin_insertion(editor),
        'a' => {
            editor.go(&Motion::Right(1));
            begin_insertion(editor);
        }
        'I' => {
            editor.go(&Motion::LineStart);
            begin_insertion(editor);
        }
        'A' => {
            editor.go(&Motion::LineEnd);
            begin_insertion(editor);
        }
        'o' | 'O' => open_line(editor, character == 'o'),
        'x' => editor.remove(&Motion::Right(count)),
        'X' => editor.remove(&Motion::Left(count)),
        'D' => editor.remove(&Motion::LineEnd),
        'C' | 's' | 'S' => {
            match character {
                'C' => editor.remove(&Motion::LineEnd),
                's' => editor.remove(&Motion::Right(count)),
                _ => editor.remove_range(editor.line()),
            }
            begin_insertion(editor);
        }
        'p' | 'P' => {
            if character == 'p' {
                editor.go(&Motion::Right(1));
            }
            editor.insert_removed();
        }
        'u' => editor.undo(),
        '~' => change_case(editor),
        _ => {}
    }
    Action::Edited
}

fn open_line(editor: &mut Editor, is_below: bool) {
    editor.save();
    if is_below {
        editor.go(&Motion::LineEnd);
        editor.insert("\n");
    } else {
        editor.go(&Motion::LineStart);
        editor.insert("\n");
        editor.go(&Motion::Left(1));
    }
    begin_insertion(editor);
}

fn change_case(editor: &mut Editor) {
    let range = motion::span(editor.text(), editor.cursor(), &Motion::Right(1));
    let text = editor.text().get(range.clone()).unwrap_or_default();
    let changed = match text.chars().next() {
        Some(first) if first.is_lowercase() => text.to_uppercase(),
        _ => text.to_lowercase(),
    };
    editor.replace(range, &changed);
}

/// Returns the motion of a character.
fn motion(editor: &Editor, character: char) -> Option<Motion> {
    let count = editor.vi.count.unwrap_or(1);
    // An operator acts on the last character of a word, too, and `cw` leaves the space behind it.
    let word_end: fn(usize, Word) -> Motion = match editor.vi.operator {
        Some(_) => Motion::WordBehind,
        None => Motion::WordEnd,
    };
    let word_start: fn(usize, Word) -> Motion = match editor.vi.operator {
        Some('c') => Motion::WordBehind,
        _ => Motion::WordStart,
    };
    let search = editor.vi.last_search;
    Some(match character {
        'h' => Motion::Left(count),
        'l' | ' ' => Motion::Right(count),
        'w' => word_start(count, Word::Vi),
        'W' => word_start(count, Word::Blanks),
        'e' => word_end(count, Word::Vi),
        'E' => word_end(count, Word::Blanks),
        'b' => Motion::WordBack(count, Word::Vi),
        'B' => Motion::WordBack(count, Word::Blanks),
        '0' | '^' => Motion::LineStart,
        '$' => Motion::LineEnd,
        'G' => Motion::End,
        ';' => Motion::Find(count, search?),
        ',' => {
            let search = search?;
            let is_back = !search.is_back;
            Motion::Find(count, Search { is_back, ..search })
        }
        _ => return None,
    })
}
