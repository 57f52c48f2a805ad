//! Renders one block of Markdown into rows.

use super::{
    MIN_COLUMNS, OPTIONS,
    code::{self, Highlighter},
    table::Table,
    wrap::{Span, TextRow, both, width, wrap, wrap_code},
};
use crate::terminal::{BOLD, DIM, escape, escape_line};
use anstyle::{AnsiColor, Style};
use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Parser, Tag, TagEnd};
use std::ops::Range;

const CODE: Style = AnsiColor::Cyan.on_default();
const ITALIC: Style = Style::new().italic();
const STRIKETHROUGH: Style = Style::new().strikethrough();
const UNDERLINE: Style = Style::new().underline();

/// The mark of the rows of a quote.
const QUOTE: &str = "▎ ";

/// The marks of the items of lists, by their depth.
const BULLETS: [&str; 2] = ["• ", "◦ "];

/// Renders a block. `number` is the number of the first item of an ordered list, if it is another
/// than the source says.
pub(super) fn block(source: &str, number: Option<u64>, columns: usize) -> Vec<TextRow> {
    let mut renderer = Renderer {
        source,
        columns,
        number,
        ..Renderer::default()
    };
    for (event, range) in Parser::new_ext(source, OPTIONS).into_offset_iter() {
        renderer.event(event, range);
    }
    renderer.uncovered(source.len());
    renderer.flush();
    renderer.rows
}

/// A quote or an item around the text.
#[derive(Debug, Default)]
struct Container {
    /// Starts the first row; taken by it.
    first: Option<Span>,
    /// Starts the further rows.
    rest: Span,
}

/// A list around the text.
#[derive(Debug)]
struct List {
    /// The number of the next item; absent for bullets.
    number: Option<u64>,
}

#[derive(Debug, Default)]
struct Renderer<'s> {
    source: &'s str,
    columns: usize,
    number: Option<u64>,
    rows: Vec<TextRow>,
    /// The lines of the paragraph so far.
    lines: Vec<TextRow>,
    styles: Vec<Style>,
    /// The containers around the text, the outermost first.
    containers: Vec<Container>,
    lists: Vec<List>,
    /// The addresses of the open links, and the lengths of the paragraph where they began.
    links: Vec<(String, usize)>,
    table: Option<Table>,
    code: Option<(Highlighter, String)>,
    /// The end of the source that was rendered. What lies between two blocks is the definition of a
    /// link, which the parser does not return.
    covered: usize,
    /// The start of the line before which the last empty row stands.
    separated: usize,
}

impl Renderer<'_> {
    fn event(&mut self, event: Event<'_>, range: Range<usize>) {
        let end = range.end;
        match event {
            Event::Start(tag) => return self.start(tag, range),
            Event::End(tag) => return self.end(tag, end),
            Event::Text(text) if self.code.is_some() => self.code_text(&text),
            Event::Text(text) | Event::Html(text) | Event::InlineHtml(text) => {
                self.text(&text, Style::new());
            }
            Event::Code(text) => self.text(&text, CODE),
            Event::InlineMath(text) | Event::DisplayMath(text) => self.text(&text, CODE),
            Event::FootnoteReference(name) => self.text(&name, Style::new()),
            Event::SoftBreak | Event::HardBreak => self.text("\n", Style::new()),
            Event::TaskListMarker(true) => self.text("[x] ", Style::new()),
            Event::TaskListMarker(false) => self.text("[ ] ", Style::new()),
            Event::Rule => {
                self.separate(range.start);
                let columns = self.text_width();
                self.row(vec![Span::dim("─".repeat(columns))]);
            }
        }
        self.covered = self.covered.max(end);
    }

    fn start(&mut self, tag: Tag<'_>, range: Range<usize>) {
        match tag {
            Tag::Emphasis => self.styles.push(ITALIC),
            Tag::Strong => self.styles.push(BOLD),
            Tag::Strikethrough => self.styles.push(STRIKETHROUGH),
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
                self.links.push((dest_url.into_string(), self.length()));
                self.styles.push(UNDERLINE);
            }
            Tag::TableHead | Tag::TableRow => {
                if let Some(table) = &mut self.table {
                    table.begin_row();
                }
            }
            Tag::TableCell => self.lines.clear(),
            block => {
                self.separate(range.start);
                self.start_block(block);
            }
        }
    }

    fn start_block(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Heading { level, .. } => self.styles.push(match level {
                HeadingLevel::H1 => both(BOLD, UNDERLINE),
                _ => BOLD,
            }),
            Tag::BlockQuote(_) => self.contain(Span::dim(QUOTE), Span::dim(QUOTE)),
            Tag::List(first) => {
                let number = first.map(|first| self.number.take().unwrap_or(first));
                self.lists.push(List { number });
            }
            Tag::Item => {
                let mark = self.mark();
                let rest = Span::plain(" ".repeat(width(std::slice::from_ref(&mark))));
                self.contain(mark, rest);
            }
            Tag::CodeBlock(kind) => self.start_code(&kind),
            Tag::Table(alignments) => {
                self.table = Some(Table {
                    alignments,
                    rows: Vec::new(),
                });
            }
            _ => {}
        }
    }

    /// Returns the mark of the next item of the innermost list.
    fn mark(&mut self) -> Span {
        let depth = self.lists.len();
        match self.lists.last_mut() {
            Some(List {
                number: Some(number),
            }) => {
                let mark = Span::plain(format!("{number}. "));
                *number = number.saturating_add(1);
                mark
            }
            _ => {
                let bullet = BULLETS.get(depth.saturating_sub(1)).or(BULLETS.last());
                Span::plain(bullet.copied().unwrap_or_default())
            }
        }
    }

    fn start_code(&mut self, kind: &CodeBlockKind<'_>) {
        let info = match kind {
            CodeBlockKind::Fenced(info) => {
                self.row(vec![Span::dim(format!("```{}", escape_line(info)))]);
                info.as_ref()
            }
            CodeBlockKind::Indented => "",
        };
        let language = code::language(info);
        self.code = Some((Highlighter::new(language), String::new()));
    }

    fn end(&mut self, tag: TagEnd, end: usize) {
        match tag {
            TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough => {
                self.styles.pop();
                self.covered = end;
            }
            TagEnd::Link | TagEnd::Image => {
                self.end_link();
                self.covered = end;
            }
            TagEnd::TableCell => {
                let cell = std::mem::take(&mut self.lines);
                if let Some(table) = &mut self.table {
                    table.push(cell.into_iter().flatten().collect());
                }
            }
            TagEnd::TableHead | TagEnd::TableRow => {}
            TagEnd::Table => {
                let columns = self.text_width();
                let table = self.table.take().unwrap_or_default();
                for row in table.render(columns) {
                    self.row(row);
                }
                self.covered = end;
            }
            TagEnd::Heading(_) => {
                self.flush();
                self.styles.pop();
                self.covered = end;
            }
            TagEnd::CodeBlock => {
                self.end_code(end);
                self.covered = end;
            }
            TagEnd::Item | TagEnd::BlockQuote(_) => {
                self.flush();
                self.uncovered(end);
                if self
                    .containers
                    .last()
                    .is_some_and(|last| last.first.is_some())
                {
                    self.row(TextRow::new());
                }
                self.containers.pop();
            }
            TagEnd::List(_) => {
                self.flush();
                self.lists.pop();
            }
            _ => {
                self.flush();
                self.covered = end;
            }
        }
    }

    fn end_link(&mut self) {
        self.styles.pop();
        let Some((address, began)) = self.links.pop() else {
            return;
        };
        let text: String = self
            .lines
            .iter()
            .flatten()
            .map(|span| span.text.as_str())
            .collect();
        let shown = text.get(began..).unwrap_or_default();
        let address = escape_line(&address);
        if !address.is_empty() && shown != address && format!("mailto:{shown}") != address {
            self.text(&format!(" ({address})"), DIM);
        }
    }

    /// Returns the length of the paragraph so far, in bytes.
    fn length(&self) -> usize {
        self.lines
            .iter()
            .flatten()
            .map(|span| span.text.len())
            .sum()
    }

    fn code_text(&mut self, text: &str) {
        let Some((_, line)) = &mut self.code else {
            return;
        };
        line.push_str(text);
        while let Some((_, line)) = &mut self.code {
            let Some(end) = line.find('\n') else {
                return;
            };
            let rest = line.split_off(end + 1);
            let whole = std::mem::replace(line, rest);
            self.code_line(whole.trim_end_matches('\n'));
        }
    }

    fn code_line(&mut self, line: &str) {
        let columns = self.text_width();
        let Some((code, _)) = &mut self.code else {
            return;
        };
        for row in wrap_code(&code.line(&escape(line)), columns) {
            self.row(row);
        }
    }

    fn end_code(&mut self, end: usize) {
        let rest = self.code.as_mut().map(|(_, line)| std::mem::take(line));
        if let Some(rest) = rest.filter(|rest| !rest.is_empty()) {
            self.code_line(&rest);
        }
        self.code = None;
        let before = self.source.get(..end).unwrap_or_default().trim_end();
        let last = before.rsplit('\n').next().unwrap_or_default();
        if last.contains("```") || last.contains("~~~") {
            self.row(vec![Span::dim("```")]);
        }
    }

    /// Adds text to the paragraph.
    fn text(&mut self, text: &str, style: Style) {
        let style = self
            .styles
            .iter()
            .fold(style, |one, other| both(*other, one));
        for (number, line) in escape(text).split('\n').enumerate() {
            if number > 0 || self.lines.is_empty() {
                self.lines.push(TextRow::new());
            }
            if let (false, Some(last)) = (line.is_empty(), self.lines.last_mut()) {
                last.push(Span::styled(line.replace('\t', " "), style));
            }
        }
    }

    /// Ends the paragraph.
    fn flush(&mut self) {
        let mut lines = std::mem::take(&mut self.lines);
        // HTML blocks end with a line break.
        if lines.last().is_some_and(Vec::is_empty) {
            lines.pop();
        }
        for line in lines {
            let columns = self.text_width();
            for row in wrap(&line, columns) {
                self.row(row);
            }
        }
    }

    /// Ends the text before a block that starts at `start`, with an empty row if the source has one
    /// there.
    fn separate(&mut self, start: usize) {
        self.flush();
        let before = self.source.get(..start).unwrap_or_default();
        let line = before.rfind('\n').map_or(0, |end| end + 1);
        let above = before.rsplit('\n').nth(1);
        let is_blank = above.is_some_and(|line| line.trim_matches([' ', '\t', '>']).is_empty());
        let has_begun = self
            .containers
            .last()
            .is_none_or(|last| last.first.is_none());
        if is_blank && has_begun && line > self.separated && !self.rows.is_empty() {
            self.separated = line;
            self.row(TextRow::new());
        }
        self.uncovered(start);
    }

    /// Shows the definitions of links between the last block and `end`.
    fn uncovered(&mut self, end: usize) {
        let between = self.source.get(self.covered..end).unwrap_or_default();
        self.covered = self.covered.max(end);
        let Some(text) = between.find('[').and_then(|start| between.get(start..)) else {
            return;
        };
        if text.contains("]:") {
            self.text(text.trim_end(), Style::new());
            self.flush();
        }
    }

    /// Enters a quote or an item. One that is too deep is not indented, and its mark is text.
    fn contain(&mut self, first: Span, rest: Span) {
        if self.text_width()
            < width(std::slice::from_ref(&rest)) + MIN_COLUMNS.max(self.columns / 2)
        {
            self.row(vec![first]);
            self.containers.push(Container::default());
        } else {
            let first = Some(first);
            self.containers.push(Container { first, rest });
        }
    }

    /// Returns the columns that the containers leave.
    fn text_width(&self) -> usize {
        let used: usize = self
            .containers
            .iter()
            .map(|container| width(std::slice::from_ref(&container.rest)))
            .sum();
        self.columns.saturating_sub(used).max(MIN_COLUMNS)
    }

    /// Adds a row in its containers.
    fn row(&mut self, row: TextRow) {
        let prefix = self
            .containers
            .iter_mut()
            .map(|container| match container.first.take() {
                Some(first) => first,
                None => container.rest.clone(),
            });
        let mut whole: TextRow = prefix.collect();
        whole.extend(row);
        while let Some(last) = whole.last_mut() {
            last.text.truncate(last.text.trim_end().len());
            if !last.text.is_empty() {
                break;
            }
            whole.pop();
        }
        self.rows.push(whole);
    }
}
