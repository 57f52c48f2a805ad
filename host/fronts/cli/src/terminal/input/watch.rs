//! The keyboard while an answer runs: what is typed is kept for the composer, and Ctrl-C or Escape
//! stops the answer. A prompt that opens meanwhile gets the keyboard.

use super::{CLAIMS, InputEvent, Keyboard, keys::Key, wake};
use crate::terminal::{Terminal, spinner::show_typed};
use rustix::process::Signal;
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

/// The time for a prompt to take the keyboard that was left to it.
const HANDOVER: Duration = Duration::from_millis(1);

/// Watches the keyboard until it is dropped.
#[derive(Debug)]
pub(crate) struct Watch(Arc<AtomicBool>);

/// Begins to watch; `stop` is called for each Ctrl-C and Escape.
pub(crate) fn watch(terminal: &Terminal, stop: impl Fn() + Send + 'static) -> Watch {
    let ended = Arc::new(AtomicBool::new(false));
    let (watch, terminal) = (Watch(Arc::clone(&ended)), *terminal);
    tokio::task::spawn_blocking(move || {
        while !ended.load(Ordering::SeqCst) {
            let Some(mut keyboard) = Keyboard::lock(&terminal) else {
                return;
            };
            if !read(&mut keyboard, &ended, &stop) {
                return;
            }
            drop(keyboard);
            while CLAIMS.load(Ordering::SeqCst) > 0 && !ended.load(Ordering::SeqCst) {
                thread::sleep(HANDOVER);
            }
        }
    });
    watch
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
        wake();
    }
}

/// Takes keys until a prompt wants the keyboard; returns false at the end of the input.
fn read(keyboard: &mut Keyboard, ended: &AtomicBool, stop: &impl Fn()) -> bool {
    loop {
        if ended.load(Ordering::SeqCst) || CLAIMS.load(Ordering::SeqCst) > 0 {
            return true;
        }
        match keyboard.event(None) {
            InputEvent::Key(Key::Interrupt | Key::Escape) => stop(),
            InputEvent::Key(Key::Suspend) => {
                keyboard.suspend();
            }
            InputEvent::Key(Key::Quit) => {
                keyboard.interrupt(Signal::QUIT);
            }
            InputEvent::Key(key) => {
                keyboard.reader.editor.type_ahead(key);
                if keyboard.reader.unread.is_empty() {
                    show_typed(keyboard.reader.editor.text());
                }
            }
            InputEvent::Quiet | InputEvent::Resumed | InputEvent::Resized | InputEvent::Woken => {}
            InputEvent::End => return false,
        }
    }
}
