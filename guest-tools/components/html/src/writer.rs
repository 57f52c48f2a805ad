//! Writes Markdown line by line: blocks with prefixes, words with single spaces, marks that are
//! opened only where a text follows.

/// The most quotes and lists within each other that are shown as such.
const MAX_PREFIXES: usize = 12;

/// The most marks within each other, such as bold in a link.
const MAX_MARKS: usize = 12;

/// The most bytes that are written.
pub(crate) const MAX_MARKDOWN_BYTES: usize = 8 * 1024 * 1024;

/// A mark around words.
struct Mark {
    open: String,
    close: String,
    is_written: bool,
}

/// A prefix of lines.
struct Prefix {
    /// The text of the first line, such as `- `.
    first: Option<String>,
    /// The text of the others.
    rest: String,
}

/// The text so far.
#[derive(Default)]
pub(crate) struct Writer {
    text: String,
    prefixes: Vec<Prefix>,
    /// The prefixes that were not added for their number.
    unshown: usize,
    marks: Vec<Mark>,
    unshown_marks: usize,
    /// The line ends to write before the next text.
    line_ends: usize,
    /// True if the line has nothing but prefixes.
    is_line_start: bool,
    /// True if a space is to be written before the next word.
    space: bool,
    /// The text of a cell of a table, which has no lines.
    cell: Option<String>,
    /// True if something was left out because the text is too long.
    pub(crate) cut: bool,
}

impl Writer {
    /// Ends the block. The next text starts after `line_ends` line ends.
    pub(crate) fn block(&mut self, line_ends: usize) {
        self.suspend_marks();
        self.space = self.cell.is_some();
        if !self.text.is_empty() {
            self.line_ends = self.line_ends.max(line_ends);
        }
    }

    /// Adds words. White space between them becomes a space.
    pub(crate) fn words(&mut self, text: &str) {
        for (index, word) in text.split(is_space).enumerate() {
            self.space |= index > 0;
            if !word.is_empty() {
                self.begin();
                let is_cell = self.cell.is_some();
                let is_line_start = std::mem::take(&mut self.is_line_start) && !is_cell;
                self.push(&escape(word, is_line_start, is_cell));
            }
        }
    }

    /// Adds a text as it is, without lines.
    pub(crate) fn verbatim(&mut self, text: &str) {
        self.begin();
        self.is_line_start &= self.cell.is_some();
        self.push(text);
    }

    /// Adds a line break within a block.
    pub(crate) fn line_break(&mut self) {
        if self.cell.is_some() {
            self.space = true;
        } else if self.line_ends == 0 && !self.text.is_empty() {
            self.suspend_marks();
            self.space = false;
            self.line_ends = 1;
            self.push("\\");
        }
    }

    /// Adds lines as they are, each with the prefixes.
    pub(crate) fn lines(&mut self, lines: &str) {
        for line in lines.split('\n') {
            self.begin();
            self.push(line);
            self.line_ends = 1;
        }
    }

    pub(crate) fn open_prefix(&mut self, first: Option<String>, rest: &str) {
        if self.prefixes.len() >= MAX_PREFIXES {
            self.unshown += 1;
            return;
        }
        let rest = rest.to_owned();
        self.prefixes.push(Prefix { first, rest });
    }

    pub(crate) fn close_prefix(&mut self) {
        if self.unshown > 0 {
            self.unshown -= 1;
            return;
        }
        // An item without a text has its marker all the same.
        if self
            .prefixes
            .last()
            .is_some_and(|prefix| prefix.first.is_some())
        {
            self.begin();
        }
        self.prefixes.pop();
    }

    pub(crate) fn open_mark(&mut self, open: &str, close: String) {
        if self.marks.len() >= MAX_MARKS {
            self.unshown_marks += 1;
            return;
        }
        let open = open.to_owned();
        self.marks.push(Mark {
            open,
            close,
            is_written: false,
        });
    }

    pub(crate) fn close_mark(&mut self) {
        if self.unshown_marks > 0 {
            self.unshown_marks -= 1;
        } else if let Some(mark) = self.marks.pop()
            && mark.is_written
        {
            self.push(&mark.close);
        }
    }

    /// Starts a cell: what is written until [`Writer::close_cell`] becomes its text.
    pub(crate) fn open_cell(&mut self) {
        self.suspend_marks();
        self.space = false;
        self.cell = Some(String::new());
    }

    pub(crate) fn close_cell(&mut self) -> String {
        self.suspend_marks();
        self.space = false;
        self.cell.take().unwrap_or_default()
    }

    pub(crate) fn is_in_cell(&self) -> bool {
        self.cell.is_some()
    }

    /// Ends a heading. One without a text is none.
    pub(crate) fn close_heading(&mut self) {
        if self.unshown == 0
            && let Some(prefix) = self.prefixes.last_mut()
        {
            prefix.first = None;
        }
        self.close_prefix();
    }

    /// The whole text.
    pub(crate) fn finish(mut self) -> String {
        self.suspend_marks();
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        self.text
    }

    /// Closes marks around a text that ends here; they open again before the next one.
    fn suspend_marks(&mut self) {
        let mut closing = String::new();
        for mark in self.marks.iter_mut().rev().filter(|mark| mark.is_written) {
            closing.push_str(&mark.close);
            mark.is_written = false;
        }
        self.push(&closing);
    }

    /// Writes all that is due before a text.
    fn begin(&mut self) {
        if self.cell.is_none() {
            self.begin_line();
        }
        let is_start = match &self.cell {
            Some(cell) => cell.is_empty(),
            None => self.is_line_start,
        };
        if std::mem::take(&mut self.space) && !is_start {
            self.push(" ");
        }
        let mut opening = String::new();
        for mark in self.marks.iter_mut().filter(|mark| !mark.is_written) {
            opening.push_str(&mark.open);
            mark.is_written = true;
        }
        self.push(&opening);
    }

    fn begin_line(&mut self) {
        let line_ends = std::mem::take(&mut self.line_ends);
        let is_first = self.text.is_empty();
        if line_ends == 0 && !is_first && self.prefixes.iter().all(|prefix| prefix.first.is_none())
        {
            return;
        }
        if !is_first {
            let count = line_ends.max(1);
            for _ in 1..count {
                let blank: String = self.line_prefixes();
                self.push("\n");
                self.push(blank.trim_end());
            }
            self.push("\n");
        }
        let mut starts = String::new();
        for prefix in &mut self.prefixes {
            starts.push_str(&prefix.first.take().unwrap_or_else(|| prefix.rest.clone()));
        }
        self.push(&starts);
        self.is_line_start = true;
    }

    /// The prefixes of an empty line: those of blocks that began before it.
    fn line_prefixes(&self) -> String {
        let begun = self
            .prefixes
            .iter()
            .take_while(|prefix| prefix.first.is_none());
        begun.map(|prefix| prefix.rest.as_str()).collect()
    }

    fn push(&mut self, text: &str) {
        if self.text.len() + text.len() > MAX_MARKDOWN_BYTES {
            self.cut = true;
            return;
        }
        match &mut self.cell {
            Some(cell) if cell.len() + text.len() > MAX_MARKDOWN_BYTES => self.cut = true,
            Some(cell) => cell.push_str(text),
            None => self.text.push_str(text),
        }
    }
}

/// The white space of HTML. A no-break space is a character.
fn is_space(letter: char) -> bool {
    matches!(letter, ' ' | '\t' | '\n' | '\r' | '\u{c}')
}

/// A word with backslashes before what Markdown would read as its own.
fn escape(word: &str, is_line_start: bool, is_cell: bool) -> String {
    let mut escaped = String::new();
    if is_line_start {
        let digits = word.trim_start_matches(|letter: char| letter.is_ascii_digit());
        let is_block = matches!(word, "-" | "+")
            || word.starts_with(['#', '>', '='])
            || word.starts_with("---")
            || word.starts_with("~~~");
        if is_block {
            escaped.push('\\');
        } else if digits.len() < word.len() && matches!(digits, "." | ")") {
            let number = word.trim_end_matches(['.', ')']);
            return format!("{number}\\{digits}");
        }
    }
    let mut previous = None;
    let mut letters = word.chars().peekable();
    while let Some(letter) = letters.next() {
        let next = letters.peek().copied();
        let in_word = |letter: Option<char>| letter.is_some_and(char::is_alphanumeric);
        let is_own = match letter {
            '`' | '*' | '[' | ']' => true,
            '<' => next.is_some_and(|next| next.is_ascii_alphabetic() || "/!?".contains(next)),
            '_' => !(in_word(previous) && in_word(next)),
            '\\' => next.is_none_or(|next| next.is_ascii_punctuation()),
            '|' => is_cell,
            _ => false,
        };
        if is_own {
            escaped.push('\\');
        }
        escaped.push(letter);
        previous = Some(letter);
    }
    escaped
}
