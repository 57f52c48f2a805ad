//! A tree as Markdown. The walk has no recursion: it enters and leaves each node by its links.

use std::collections::HashSet;

use crate::element::{Role, role};
use crate::link::Base;
use crate::table::Table;
use crate::tree::{Data, Id, Tree};
use crate::writer::Writer;

/// The columns that one cell may span.
const MAX_SPAN: usize = 100;

/// A page as Markdown, and true if some of it was left out.
pub(crate) fn convert(tree: &Tree, base: Base) -> (String, bool) {
    let mut converter = Converter {
        tree,
        base: page_base(tree, base),
        writer: Writer::default(),
        lists: Vec::new(),
        table: None,
        layout: layout_tables(tree),
    };
    converter.title();
    let root = 0;
    let mut at = tree.first(root);
    while let Some(id) = at {
        let inner = if converter.enter(id) {
            tree.first(id)
        } else {
            None
        };
        at = inner.or_else(|| converter.leave_to_next(id, root));
    }
    let cut = tree.cut || converter.writer.cut;
    (converter.writer.finish(), cut)
}

/// The base of `<base href>`, if the page has one.
fn page_base(tree: &Tree, base: Base) -> Base {
    let own = tree.within(0).find(|id| tree.name(*id) == "base");
    let href = own.and_then(|id| tree.attribute(id, "href"));
    href.and_then(|href| base.join(href)).unwrap_or(base)
}

/// The tables that lay a page out: those with a table in them, and those that say so.
fn layout_tables(tree: &Tree) -> HashSet<Id> {
    let mut layout = HashSet::new();
    for id in tree.within(0).filter(|id| tree.name(*id) == "table") {
        if matches!(tree.attribute(id, "role"), Some("presentation" | "none")) {
            layout.insert(id);
        }
        let mut at = tree.parent(id);
        while let Some(outer) = at {
            // What is above a layout table with a table in it was marked for that one.
            if tree.name(outer) == "table" && !layout.insert(outer) {
                break;
            }
            at = tree.parent(outer);
        }
    }
    layout
}

/// A list that is open.
struct List {
    /// The number of the next item, of a list with numbers.
    number: Option<i64>,
}

struct Converter<'t> {
    tree: &'t Tree,
    base: Base,
    writer: Writer,
    lists: Vec<List>,
    /// The table of data that is open. It has none in it.
    table: Option<(Id, Table)>,
    layout: HashSet<Id>,
}

impl Converter<'_> {
    /// The title of a page that has no first heading.
    fn title(&mut self) {
        let names = |name: &'static str| {
            let tree = self.tree;
            tree.within(0).find(move |id| tree.name(*id) == name)
        };
        if names("h1").is_some() {
            return;
        }
        if let Some(title) = names("title") {
            let text = self.text_of(title);
            if !text.trim().is_empty() {
                self.writer.open_prefix(Some("# ".to_owned()), "");
                self.writer.words(text.trim());
                self.writer.close_prefix();
                self.writer.block(2);
            }
        }
    }

    /// Enters a node; false if what is in it is not to be walked.
    fn enter(&mut self, id: Id) -> bool {
        match self.tree.data(id) {
            Data::Text(text) => {
                // White space between blocks and cells is none of a text.
                if self.table.is_none() || self.in_cell() {
                    self.writer.words(text);
                }
                false
            }
            Data::Element { .. } => self.enter_element(id),
            Data::Document => true,
            Data::Other => false,
        }
    }

    fn in_cell(&self) -> bool {
        self.writer.is_in_cell()
    }

    fn enter_element(&mut self, id: Id) -> bool {
        let name = self.tree.name(id);
        match role(self.tree, id) {
            Role::Hidden => return false,
            Role::Inline => return self.enter_inline(id, name),
            Role::Block => self.writer.block(1),
            Role::Paragraph => self.writer.block(self.distance(name)),
        }
        match name {
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => {
                let level = name.trim_start_matches('h').parse().unwrap_or(1);
                self.writer.open_prefix(Some("#".repeat(level) + " "), "");
            }
            "hr" => {
                self.writer.verbatim("---");
                self.writer.block(2);
            }
            "blockquote" => self.writer.open_prefix(Some("> ".to_owned()), "> "),
            "ul" | "menu" | "dir" => self.lists.push(List { number: None }),
            "ol" => {
                let start = self
                    .tree
                    .attribute(id, "start")
                    .and_then(|start| start.trim().parse().ok());
                self.lists.push(List {
                    number: Some(start.unwrap_or(1)),
                });
            }
            "li" => self.item(),
            "dt" => self.writer.open_mark("**", "**".to_owned()),
            "dd" => self.writer.open_prefix(Some("- ".to_owned()), "  "),
            "pre" if !self.in_cell() => {
                self.preformatted(id);
                return false;
            }
            "table" if self.table.is_none() && !self.layout.contains(&id) => {
                self.table = Some((id, Table::default()));
            }
            "tr" => {
                if let Some((_, table)) = &mut self.table {
                    table.start_row();
                }
            }
            "td" | "th" | "caption" if self.table.is_some() && !self.in_cell() => {
                self.writer.open_cell()
            }
            _ => {}
        }
        true
    }

    /// Enters a part of a line.
    fn enter_inline(&mut self, id: Id, name: &str) -> bool {
        match name {
            "b" | "strong" => self.writer.open_mark("**", "**".to_owned()),
            "i" | "em" | "cite" | "dfn" | "var" => self.writer.open_mark("*", "*".to_owned()),
            "s" | "del" | "strike" => self.writer.open_mark("~~", "~~".to_owned()),
            "a" => {
                let href = self.tree.attribute(id, "href");
                match href.and_then(|href| self.base.resolve(href)) {
                    Some(address) => self.writer.open_mark("[", format!("]({address})")),
                    None => self.writer.open_mark("", String::new()),
                }
            }
            "br" => self.writer.line_break(),
            "img" => self.image(id),
            "input" if self.tree.attribute(id, "type") == Some("checkbox") => {
                let is_checked = self.tree.attribute(id, "checked").is_some();
                self.writer.verbatim(if is_checked { "[x]" } else { "[ ]" });
            }
            "code" | "kbd" | "samp" | "tt" => {
                let text = self.text_of(id);
                let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
                if !text.is_empty() {
                    let fence = fence_of(&text, 1);
                    let pad = if text.starts_with('`') || text.ends_with('`') {
                        " "
                    } else {
                        ""
                    };
                    let text = if self.in_cell() {
                        text.replace('|', "\\|")
                    } else {
                        text
                    };
                    self.writer
                        .verbatim(&format!("{fence}{pad}{text}{pad}{fence}"));
                }
                return false;
            }
            _ => {}
        }
        true
    }

    /// Leaves a node and those around it that end with it, up to the next one.
    fn leave_to_next(&mut self, id: Id, root: Id) -> Option<Id> {
        let mut at = id;
        while at != root {
            self.leave(at);
            if let Some(next) = self.tree.next(at) {
                return Some(next);
            }
            at = self.tree.parent(at)?;
        }
        None
    }

    fn leave(&mut self, id: Id) {
        let Data::Element { .. } = self.tree.data(id) else {
            return;
        };
        let name = self.tree.name(id);
        let role = role(self.tree, id);
        match (role, name) {
            (Role::Hidden, _) | (_, "hr") => return,
            (
                Role::Inline,
                "b" | "strong" | "i" | "em" | "cite" | "dfn" | "var" | "s" | "del" | "strike" | "a",
            ) => {
                self.writer.close_mark();
                return;
            }
            (Role::Inline, _) => return,
            (_, "pre") if !self.in_cell() => {}
            (_, "h1" | "h2" | "h3" | "h4" | "h5" | "h6") => self.writer.close_heading(),
            (_, "blockquote" | "li" | "dd") => self.writer.close_prefix(),
            (_, "ul" | "menu" | "dir" | "ol") => drop(self.lists.pop()),
            (_, "dt") => self.writer.close_mark(),
            (_, "td" | "th" | "caption") => self.leave_cell(id, name),
            (_, "table") => self.leave_table(id),
            _ => {}
        }
        match role {
            Role::Paragraph => self.writer.block(self.distance(name)),
            Role::Block | Role::Inline | Role::Hidden => self.writer.block(1),
        }
    }

    /// The line ends around a paragraph: a list within an item stands right below it.
    fn distance(&self, name: &str) -> usize {
        let is_list = matches!(name, "ul" | "ol" | "menu" | "dir" | "div");
        if is_list && !self.lists.is_empty() {
            1
        } else {
            2
        }
    }

    fn item(&mut self) {
        let marker = match self.lists.last_mut().and_then(|list| list.number.as_mut()) {
            Some(number) => {
                let marker = format!("{number}. ");
                *number = number.saturating_add(1);
                marker
            }
            None => "- ".to_owned(),
        };
        let indent = " ".repeat(marker.len());
        self.writer.open_prefix(Some(marker), &indent);
    }

    fn image(&mut self, id: Id) {
        let alt = self.tree.attribute(id, "alt").unwrap_or_default();
        let alt = alt.split_whitespace().collect::<Vec<_>>().join(" ");
        let source = self.tree.attribute(id, "src");
        match source.and_then(|source| self.base.resolve(source)) {
            Some(address) => {
                self.writer.open_mark("![", format!("]({address})"));
                if alt.is_empty() {
                    self.writer.verbatim("");
                } else {
                    self.writer.words(&alt);
                }
                self.writer.close_mark();
            }
            None => self.writer.words(&alt),
        }
    }

    /// Lines of code, with the language that a class names.
    fn preformatted(&mut self, id: Id) {
        let text = self.text_of(id);
        let text = text.trim_end_matches('\n');
        if text.trim().is_empty() {
            return;
        }
        let code = self
            .tree
            .within(id)
            .find(|inner| self.tree.name(*inner) == "code");
        let class = [Some(id), code]
            .into_iter()
            .flatten()
            .find_map(|id| self.tree.attribute(id, "class"));
        let language = class
            .into_iter()
            .flat_map(str::split_whitespace)
            .find_map(|class| {
                let language = class
                    .strip_prefix("language-")
                    .or_else(|| class.strip_prefix("lang-"))?;
                let is_name = language
                    .chars()
                    .all(|letter| letter.is_ascii_alphanumeric() || "+-#_.".contains(letter));
                is_name.then_some(language)
            });
        let fence = fence_of(text, 3);
        let language = language.unwrap_or_default();
        self.writer
            .lines(&format!("{fence}{language}\n{text}\n{fence}"));
    }

    /// The text in a node as it is, with line ends for `<br>`, without what is hidden.
    fn text_of(&self, id: Id) -> String {
        let mut text = String::new();
        let mut at = self.tree.first(id);
        while let Some(inner) = at {
            let mut is_shown = true;
            match self.tree.data(inner) {
                Data::Text(part) => text.push_str(part),
                Data::Element { .. } if self.tree.name(inner) == "br" => text.push('\n'),
                Data::Element { .. } => is_shown = role(self.tree, inner) != Role::Hidden,
                Data::Document | Data::Other => {}
            }
            let below = if is_shown {
                self.tree.first(inner)
            } else {
                None
            };
            at = below.or_else(|| self.tree.after(inner, id));
        }
        text
    }

    fn leave_cell(&mut self, id: Id, name: &str) {
        // A cell in a layout table is a block.
        let is_inner = self
            .table
            .as_ref()
            .is_some_and(|(table, _)| self.owner(id) == Some(*table));
        if !is_inner || !self.in_cell() {
            return;
        }
        let text = self.writer.close_cell();
        let Some((_, table)) = &mut self.table else {
            return;
        };
        if name == "caption" {
            self.writer.block(2);
            if !text.is_empty() {
                self.writer.verbatim(&text);
                self.writer.block(2);
            }
            return;
        }
        let span = self
            .tree
            .attribute(id, "colspan")
            .and_then(|span| span.trim().parse().ok());
        table.add(text, span.unwrap_or(1).min(MAX_SPAN));
    }

    /// The table that a cell is in.
    fn owner(&self, id: Id) -> Option<Id> {
        let mut at = self.tree.parent(id);
        while let Some(outer) = at {
            if self.tree.name(outer) == "table" {
                return Some(outer);
            }
            at = self.tree.parent(outer);
        }
        None
    }

    fn leave_table(&mut self, id: Id) {
        if self.table.as_ref().is_none_or(|(table, _)| *table != id) {
            return;
        }
        if let Some((_, table)) = self.table.take()
            && let Some(lines) = table.lines()
        {
            self.writer.block(2);
            self.writer.lines(&lines);
        }
    }
}

/// Backquotes, at least `least`, that do not occur in the text.
fn fence_of(text: &str, least: usize) -> String {
    let longest = text
        .split(|letter| letter != '`')
        .map(str::len)
        .max()
        .unwrap_or(0);
    let count = if longest >= least { longest + 1 } else { least };
    "`".repeat(count)
}

#[cfg(test)]
mod tests;
