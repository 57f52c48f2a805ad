//! The composer: the user's next message, edited on the terminal between answers. What was typed
//! during an answer, or before a security prompt, is the beginning of it.

use super::{
    InputEvent, Keyboard, MAX_SETTLE, READER,
    completion::{Completer, common_prefix},
    editor::Action,
    history::History,
    images::Images,
    keys::Key,
    screen::{Frame, Screen},
};
use crate::terminal::{Terminal, bytes};
use rustix::process::{Signal, kill_current_process_group};
use std::{path::PathBuf, sync::PoisonError};

/// The notice after the first Ctrl-C.
const LEAVE: &str = "Press Ctrl-C again or Ctrl-D to leave.";

/// The command of a conversation that Ctrl-O stands for.
pub(crate) const SHOW_LAST: &str = "/last";

/// Reads messages, and keeps their history.
#[derive(Debug)]
pub(crate) struct Composer {
    history: History,
    /// Completes words at Tab.
    pub(crate) completer: Completer,
    /// The images of the next message, where it may have some.
    pub(crate) images: Option<Images>,
}

/// How the composer opens.
#[derive(Debug, Default)]
pub(crate) struct Opening {
    /// The line above it.
    pub(crate) question: String,
    /// The text that it begins with, unless something was typed.
    pub(crate) text: Option<String>,
    /// True after an answer that the user stopped: a second Ctrl-C or Escape leaves.
    pub(crate) was_stopped: bool,
    /// True if Enter alone is an answer.
    pub(crate) takes_nothing: bool,
}

/// The result of composing.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Composed {
    /// The user sent this text.
    Message(String),
    /// The user left with Ctrl-D, or the input ended.
    Left,
    /// The user left with Ctrl-C.
    Interrupted,
}

/// One opening of the composer.
struct Session<'a> {
    composer: &'a mut Composer,
    keyboard: Keyboard,
    screen: Screen,
    terminal: &'a Terminal,
    /// The lines below the text until the next key.
    notices: Vec<String>,
    /// The place in the history that is shown, and the text that was typed before.
    recalled: Option<(usize, String)>,
    search: Option<Search>,
    /// True if the next Ctrl-C leaves, and how it came to that.
    may_leave: MayLeave,
    takes_nothing: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MayLeave {
    No,
    /// After a Ctrl-C here.
    ByInterrupt,
    /// After a key that stopped an answer.
    ByAnyStop,
}

/// A search in the history.
#[derive(Debug)]
struct Search {
    text: String,
    /// The place that was found.
    found: Option<usize>,
    /// The text before the search.
    before: String,
}

/// Reads one text outside a conversation, without a history; empty for Enter alone, `None` if the
/// user leaves. Ctrl-C ends the process.
pub(crate) fn compose(terminal: &Terminal, question: &str) -> Option<String> {
    let mut composer = Composer {
        history: History::default(),
        completer: Completer::default(),
        images: None,
    };
    let opening = Opening {
        question: question.to_owned(),
        was_stopped: true,
        takes_nothing: true,
        ..Opening::default()
    };
    match composer.read(terminal, opening) {
        Composed::Message(text) => Some(text),
        Composed::Left => None,
        Composed::Interrupted => {
            let _ = kill_current_process_group(Signal::INT);
            None
        }
    }
}

impl Composer {
    /// Opens the history of a project.
    pub(crate) fn new(history: PathBuf, completer: Completer, images: Images) -> Self {
        Self {
            history: History::open(history),
            completer,
            images: Some(images),
        }
    }

    /// Reads a message. A text that is not sent when the terminal goes away is in the history.
    pub(crate) fn read(&mut self, terminal: &Terminal, opening: Opening) -> Composed {
        let Some(mut keyboard) = Keyboard::take(terminal) else {
            return Composed::Left;
        };
        let editor = &mut keyboard.reader.editor;
        editor.end_paste();
        if let Some(text) = opening.text.filter(|_| editor.text().is_empty()) {
            editor.set(&text);
        }
        terminal.note(&opening.question);
        let mut session = Session {
            composer: self,
            keyboard,
            screen: Screen::default(),
            terminal,
            notices: Vec::new(),
            recalled: None,
            search: None,
            takes_nothing: opening.takes_nothing,
            may_leave: match opening.was_stopped {
                true => MayLeave::ByAnyStop,
                false => MayLeave::No,
            },
        };
        session.read()
    }

    /// Keeps what was typed and never sent, as when the terminal goes away during an answer.
    pub(crate) fn keep_unsent(&mut self) {
        let mut reader = READER.lock().unwrap_or_else(PoisonError::into_inner);
        reader.editor.end_paste();
        self.history.add_unsent(&reader.editor.take());
    }
}

impl Session<'_> {
    fn read(&mut self) -> Composed {
        loop {
            if self.keyboard.reader.unread.is_empty() {
                self.draw();
            }
            let is_pasting = self.keyboard.reader.editor.is_pasting();
            match self.keyboard.key(is_pasting.then_some(MAX_SETTLE)) {
                InputEvent::Key(key) => {
                    if let Some(composed) = self.press(key) {
                        return self.close(composed);
                    }
                }
                // The end of the paste was lost.
                InputEvent::Quiet => self.keyboard.reader.editor.end_paste(),
                InputEvent::Resumed => self.screen.forget(),
                InputEvent::Resized | InputEvent::Woken => {}
                InputEvent::End => return self.close(Composed::Left),
            }
        }
    }

    /// Shows the text as it is now and goes below it; a text that was not sent goes to the history.
    fn close(&mut self, composed: Composed) -> Composed {
        if !matches!(composed, Composed::Message(_)) {
            self.notices.clear();
            self.draw();
            let text = self.keyboard.reader.editor.take();
            self.composer.history.add_unsent(&text);
        }
        let leave = self.screen.leave();
        self.keyboard.show(&leave);
        composed
    }

    fn draw(&mut self) {
        let editor = &mut self.keyboard.reader.editor;
        let left_out = editor.take_left_out();
        if left_out > 0 {
            let size = bytes(left_out as u64);
            self.notices
                .push(format!("The message is full: {size} were dropped."));
        }
        let mut below = std::mem::take(&mut self.notices);
        match &self.search {
            Some(search) => below.push(format!("search: {}", search.text)),
            None if below.is_empty() => below = self.composer.completer.hints(editor.text()),
            None => {}
        }
        let drawn = self.screen.draw(&Frame {
            text: editor.text(),
            cursor: editor.cursor(),
            below: &below,
            size: self.terminal.size(),
        });
        self.keyboard.show(&drawn);
    }

    /// Takes a key; returns the result if it ends the composer.
    fn press(&mut self, key: Key) -> Option<Composed> {
        if self.search.is_some() && self.search_key(key) {
            return None;
        }
        let may_leave = std::mem::replace(&mut self.may_leave, MayLeave::No);
        if self.image_key(key) {
            return None;
        }
        let action = self.keyboard.reader.editor.press(key);
        match action {
            Action::Edited => {}
            Action::PasteImage => self.paste_image(),
            Action::Submit => return self.submit(),
            Action::Complete => self.complete(),
            Action::Previous => self.recall(true),
            Action::Next => self.recall(false),
            Action::Search => {
                self.search = Some(Search {
                    text: String::new(),
                    found: None,
                    before: self.keyboard.reader.editor.text().to_owned(),
                });
            }
            Action::Interrupt if may_leave != MayLeave::No => return Some(Composed::Interrupted),
            Action::Escape if may_leave == MayLeave::ByAnyStop => {
                return Some(Composed::Interrupted);
            }
            Action::Escape => {}
            Action::Interrupt => self.clear(),
            Action::Leave => return Some(Composed::Left),
            Action::ShowLast => return self.show_last(),
            Action::ClearScreen => {
                self.screen.forget();
                self.keyboard.show("\x1b[H\x1b[2J");
            }
            Action::Suspend => {
                self.keyboard.suspend();
                self.screen.forget();
            }
            Action::Quit => {
                self.keyboard.interrupt(Signal::QUIT);
            }
        }
        None
    }

    /// Puts the placeholder of an image in the place of its pasted path, and removes a whole one;
    /// returns false for a key that does something else, too.
    fn image_key(&mut self, key: Key) -> bool {
        let editor = &mut self.keyboard.reader.editor;
        let Some(images) = &mut self.composer.images else {
            return false;
        };
        match (key, editor.pasted()) {
            (Key::PasteEnds, Some(pasted)) => match images.of_paste(pasted, editor.text()) {
                Some(Ok(placeholders)) => editor.set_pasted(placeholders),
                Some(Err(why)) => self.notices.push(why),
                None => {}
            },
            (Key::Erase, None) => {
                if let Some(placeholder) = images.before(editor.text(), editor.cursor()) {
                    editor.replace(placeholder, "");
                    return true;
                }
            }
            _ => {}
        }
        false
    }

    fn paste_image(&mut self) {
        let editor = &mut self.keyboard.reader.editor;
        let images = self.composer.images.as_mut();
        match images.map(|images| images.of_clipboard(editor.text())) {
            Some(Ok(placeholder)) => {
                let cursor = editor.cursor();
                editor.replace(cursor..cursor, &placeholder);
            }
            Some(Err(why)) => self.notices.push(why),
            None => {}
        }
    }

    fn submit(&mut self) -> Option<Composed> {
        let is_empty = self.keyboard.reader.editor.text().trim().is_empty();
        if is_empty && !self.takes_nothing {
            return None;
        }
        let editor = &mut self.keyboard.reader.editor;
        let text = editor.take();
        self.composer.history.add(&text);
        Some(self.sent(text))
    }

    /// Sends the command that shows the last call, where there is one; the text stays for the next
    /// message.
    fn show_last(&mut self) -> Option<Composed> {
        let mut commands = self.composer.completer.commands.iter();
        commands.find(|command| command.name == SHOW_LAST)?;
        Some(self.sent(SHOW_LAST.to_owned()))
    }

    /// Shows what is sent in the place of the text.
    fn sent(&mut self, text: String) -> Composed {
        let drawn = self.screen.draw(&Frame {
            text: &text,
            cursor: text.len(),
            below: &[],
            size: self.terminal.size(),
        });
        self.keyboard.show(&drawn);
        Composed::Message(text)
    }

    /// Empties the text, which the history keeps; the next Ctrl-C leaves.
    fn clear(&mut self) {
        let text = self.keyboard.reader.editor.take();
        self.composer.history.remember(&text);
        self.recalled = None;
        self.may_leave = MayLeave::ByInterrupt;
        self.notices.push(LEAVE.to_owned());
    }

    /// Shows the earlier or the later message of the history.
    fn recall(&mut self, is_earlier: bool) {
        let history = &self.composer.history;
        let editor = &mut self.keyboard.reader.editor;
        let at = self.recalled.as_ref().map_or(history.len(), |(at, _)| *at);
        let to = match is_earlier {
            true => at.checked_sub(1),
            false => Some(at + 1).filter(|to| *to <= history.len()),
        };
        let Some(to) = to else {
            return;
        };
        let typed = match self.recalled.take() {
            Some((_, typed)) => typed,
            None => editor.text().to_owned(),
        };
        match history.get(to) {
            Some(text) => {
                editor.set(text);
                self.recalled = Some((to, typed));
            }
            None => editor.set(&typed),
        }
    }

    /// Completes as far as the candidates agree, and lists them if there are several.
    fn complete(&mut self) {
        let editor = &mut self.keyboard.reader.editor;
        let completion = self
            .composer
            .completer
            .complete(editor.text(), editor.cursor());
        let common = common_prefix(&completion.candidates);
        let may_replace = completion.by_prefix || completion.candidates.len() == 1;
        if may_replace && common.len() > completion.range.len() {
            editor.replace(completion.range, common);
        }
        if completion.candidates.len() > 1 {
            self.notices.push(completion.candidates.join("  "));
        }
    }

    /// Takes a key of a search; returns false for one that ends it and has a meaning of its own.
    fn search_key(&mut self, key: Key) -> bool {
        let Some(search) = &mut self.search else {
            return false;
        };
        let len = self.composer.history.len();
        let end = match key {
            Key::Char(character) => {
                search.text.push(character);
                search.found.map_or(len, |found| found + 1)
            }
            Key::Erase => {
                search.text.pop();
                len
            }
            Key::Control('r') => search.found.unwrap_or(len),
            Key::Escape | Key::Interrupt | Key::Control('g') => {
                let before = std::mem::take(&mut search.before);
                self.search = None;
                self.keyboard.reader.editor.set(&before);
                return true;
            }
            key => {
                self.search = None;
                return key == Key::Enter;
            }
        };
        if let Some(found) = self.composer.history.find(&search.text, end) {
            search.found = Some(found);
            let text = self.composer.history.get(found).unwrap_or_default();
            self.keyboard.reader.editor.set(text);
        }
        true
    }
}
