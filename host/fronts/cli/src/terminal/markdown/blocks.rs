//! Splits Markdown that arrives in parts into blocks that no further text changes. The items of a
//! list and the lines of a fenced code block are finished one by one.

use super::OPTIONS;
use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag};

/// The maximum size of an unfinished block, in bytes. A longer one is finished where it is, so that
/// parsing it again for each of its lines stays cheap.
const MAX_BYTES: usize = 16 * 1024;

/// The maximum number of lines of an unfinished block.
const MAX_LINES: usize = 200;

/// A finished part of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum FinishedBlock {
    /// An empty line between others.
    Blank,
    /// The source of a block.
    Block {
        source: String,
        /// The number of its item, if it is one of an ordered list.
        number: Option<u64>,
    },
    /// The line that starts a code block.
    CodeStart(String),
    /// A line of a code block.
    Code(String),
    /// The line that ends a code block.
    CodeEnd(String),
}

/// The state of a text so far.
#[derive(Debug, Default)]
pub(super) struct BlockSplitter {
    /// The lines of the unfinished block, and the beginning of its next line.
    text: String,
    /// The length of its whole lines, in bytes.
    whole: usize,
    lines: usize,
    /// The open code block.
    fence: Option<Fence>,
    /// The number of the next item, while an ordered list continues.
    next_number: Option<u64>,
    /// True if something was finished before.
    has_begun: bool,
    /// True if an empty line follows what was finished before.
    blank: bool,
}

/// The line that starts a code block.
#[derive(Clone, Copy, Debug)]
struct Fence {
    mark: char,
    length: usize,
    indent: usize,
}

/// The block that the unfinished text starts with.
#[derive(Debug, Default)]
struct BlockStart {
    kind: BlockKind,
    /// The number of the first item of an ordered list.
    number: Option<u64>,
    /// Where the next block or item starts.
    next: Option<usize>,
    is_item: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum BlockKind {
    /// Ends with an empty line.
    #[default]
    Lines,
    /// Ends with its line.
    Line,
    /// Ends where another block starts.
    Open,
    Fenced,
}

impl BlockSplitter {
    /// Returns the text that is not finished.
    pub(super) fn unfinished(&self) -> &str {
        &self.text
    }

    /// True if an empty line stands before the unfinished text.
    pub(super) fn has_gap(&self) -> bool {
        self.blank && self.has_begun && self.fence.is_none()
    }

    /// Adds text, and returns what it finishes.
    pub(super) fn push(&mut self, text: &str) -> Vec<FinishedBlock> {
        let mut out = Vec::new();
        for part in text.split_inclusive('\n') {
            self.text.push_str(part);
            // A line without an end is cut where it is too long, wherever its parts ended.
            while self.text.len() - self.whole > MAX_BYTES {
                let cut = self.text.floor_char_boundary(self.whole + MAX_BYTES);
                let rest = self.text.split_off(cut);
                self.line(&mut out);
                self.text.push_str(&rest);
            }
            if self.text.ends_with('\n') {
                self.line(&mut out);
            }
        }
        out
    }

    /// Ends the text, and returns what is left.
    pub(super) fn finish(&mut self) -> Vec<FinishedBlock> {
        let mut out = Vec::new();
        if self.text.len() > self.whole {
            self.line(&mut out);
        }
        while !self.text.is_empty() {
            let end = self.start().next.unwrap_or(self.text.len());
            self.emit(end, &mut out);
            self.skip_blank_lines();
        }
        *self = Self::default();
        out
    }

    /// Takes the last line, which is whole, into account.
    fn line(&mut self, out: &mut Vec<FinishedBlock>) {
        if !self.text.ends_with('\n') {
            self.text.push('\n');
        }
        if let Some(fence) = self.fence {
            let line = std::mem::take(&mut self.text);
            self.whole = 0;
            out.push(fence.piece(&line));
            if matches!(out.last(), Some(FinishedBlock::CodeEnd(_))) {
                self.fence = None;
            }
            return;
        }
        self.whole = self.text.len();
        self.lines += 1;
        self.settle(out);
    }

    /// Finishes what no further line changes.
    fn settle(&mut self, out: &mut Vec<FinishedBlock>) {
        loop {
            self.skip_blank_lines();
            if self.text.is_empty() {
                return;
            }
            let start = self.start();
            if start.kind == BlockKind::Fenced {
                self.open_fence(out);
                return;
            }
            let is_full = self.lines >= MAX_LINES || self.text.len() >= MAX_BYTES;
            let is_ended = match start.kind {
                BlockKind::Line => true,
                BlockKind::Lines => ends_blank(&self.text),
                BlockKind::Open | BlockKind::Fenced => false,
            };
            let end = match start.next {
                Some(next) => next,
                None if is_ended || is_full => self.text.len(),
                None => return,
            };
            self.emit_block(&start, end, out);
        }
    }

    /// Finishes the first `end` bytes.
    fn emit(&mut self, end: usize, out: &mut Vec<FinishedBlock>) {
        let start = self.start();
        if start.kind == BlockKind::Fenced {
            self.open_fence(out);
        } else {
            self.emit_block(&start, end, out);
        }
    }

    fn emit_block(&mut self, start: &BlockStart, end: usize, out: &mut Vec<FinishedBlock>) {
        let rest = self.text.split_off(end);
        let source = std::mem::replace(&mut self.text, rest);
        let number = start.number.map(|first| self.next_number.unwrap_or(first));
        self.next_number = match start.is_item {
            true => number.map(|number| number.saturating_add(1)),
            false => None,
        };
        self.begin(out);
        self.blank = ends_blank(&source);
        self.measure();
        out.push(FinishedBlock::Block { source, number });
    }

    /// Finishes the line that starts a code block, and takes the lines behind it as code.
    fn open_fence(&mut self, out: &mut Vec<FinishedBlock>) {
        let end = self.text.find('\n').map_or(self.text.len(), |end| end + 1);
        let rest = self.text.split_off(end);
        let line = std::mem::take(&mut self.text);
        self.fence = Some(Fence::of(&line));
        self.next_number = None;
        self.begin(out);
        self.measure();
        out.push(FinishedBlock::CodeStart(line.trim().to_owned()));
        for line in rest.split_inclusive('\n') {
            self.text.push_str(line);
            self.line(out);
        }
    }

    /// Adds the empty line before a piece.
    fn begin(&mut self, out: &mut Vec<FinishedBlock>) {
        if std::mem::take(&mut self.blank) && self.has_begun {
            out.push(FinishedBlock::Blank);
        }
        self.has_begun = true;
    }

    fn skip_blank_lines(&mut self) {
        let mut length = 0;
        for line in self.text.split_inclusive('\n') {
            if !line.ends_with('\n') || !line.trim().is_empty() {
                break;
            }
            length += line.len();
        }
        if length > 0 {
            self.text.drain(..length);
            self.blank = true;
            self.measure();
        }
    }

    /// Counts the lines, all of which are whole.
    fn measure(&mut self) {
        self.whole = self.text.len();
        self.lines = self.text.matches('\n').count();
    }

    /// Parses the first block.
    fn start(&self) -> BlockStart {
        let mut start = BlockStart::default();
        let (mut depth, mut items, mut is_list) = (0_usize, 0, false);
        let mut blocks = 0;
        for (event, range) in Parser::new_ext(&self.text, OPTIONS).into_offset_iter() {
            let is_block = depth == 0 && matches!(event, Event::Start(_) | Event::Rule);
            let is_item = depth == 1 && is_list && matches!(event, Event::Start(Tag::Item));
            blocks += usize::from(is_block);
            items += usize::from(is_item);
            if is_block && blocks == 1 {
                (start.kind, start.number) = kind(&event);
                is_list = matches!(event, Event::Start(Tag::List(_)));
            }
            if blocks == 2 || items == 2 {
                let before = self.text.get(..range.start).unwrap_or_default();
                start.next = before.rfind('\n').map(|end| end + 1);
                start.is_item = items == 2;
                return start;
            }
            match event {
                Event::Start(_) => depth += 1,
                Event::End(_) => depth = depth.saturating_sub(1),
                _ => {}
            }
        }
        start
    }
}

/// Returns how a block ends, and the number of its first item.
fn kind(event: &Event<'_>) -> (BlockKind, Option<u64>) {
    match event {
        Event::Rule | Event::Start(Tag::Heading { .. }) => (BlockKind::Line, None),
        Event::Start(Tag::List(number)) => (BlockKind::Open, *number),
        Event::Start(Tag::CodeBlock(CodeBlockKind::Indented)) => (BlockKind::Open, None),
        Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(_))) => (BlockKind::Fenced, None),
        _ => (BlockKind::Lines, None),
    }
}

/// True if the last line is empty.
fn ends_blank(text: &str) -> bool {
    let text = text.strip_suffix('\n').unwrap_or(text);
    let last = text.rsplit('\n').next().unwrap_or_default();
    last.trim().is_empty()
}

impl Fence {
    fn of(line: &str) -> Self {
        let text = line.trim_start();
        let mark = text.chars().next().unwrap_or('`');
        Self {
            mark,
            length: text.chars().take_while(|c| *c == mark).count(),
            indent: line.len() - text.len(),
        }
    }

    /// Returns a line as code or as the end (CommonMark, section 4.5).
    fn piece(self, line: &str) -> FinishedBlock {
        let line = line.strip_suffix('\n').unwrap_or(line);
        let text = line.trim_start_matches(' ');
        let indent = line.len() - text.len();
        let behind = text.trim_start_matches(self.mark);
        let is_end = text.len() - behind.len() >= self.length;
        if indent < 4 && is_end && behind.trim().is_empty() {
            return FinishedBlock::CodeEnd(text.trim_end().to_owned());
        }
        let indent = indent.min(self.indent);
        FinishedBlock::Code(line.get(indent..).unwrap_or_default().to_owned())
    }
}
