//! Highlights code by its words alone: comments, strings, numbers and keywords. A grammar of each
//! language would cost more than it shows; `DESIGN.md` has the figures.

use super::wrap::{Span, TextRow};
use crate::terminal::{DIM, GREEN, RED};
use anstyle::{AnsiColor, Style};

const KEYWORD: Style = AnsiColor::Magenta.on_default();
const STRING: Style = GREEN;
const NUMBER: Style = AnsiColor::Cyan.on_default();
const PLAIN: Style = Style::new();
const REMOVED: Style = RED;

/// A longer line is not highlighted, in bytes.
const MAX_LINE_BYTES: usize = 2_000;

/// The words of a language.
#[derive(Debug)]
struct Language {
    /// The names that stand behind the fence, separated by spaces.
    names: &'static str,
    /// Start a comment that ends with the line.
    comments: &'static [&'static str],
    /// Start and end a comment of any length.
    long_comment: Option<(&'static str, &'static str)>,
    /// Start and end a string on a line; those of any length first.
    quotes: &'static [&'static str],
    /// Quotes whose strings go on in the next line.
    long_quotes: &'static [&'static str],
    keywords: &'static str,
}

const C_COMMENT: Option<(&str, &str)> = Some(("/*", "*/"));

const LANGUAGES: [Language; 12] = [
    Language {
        names: "rust rs",
        comments: &["//"],
        long_comment: C_COMMENT,
        quotes: &["\""],
        long_quotes: &["\""],
        keywords: "as async await break const continue crate dyn else enum extern false fn for if impl in let loop match mod \
                   move mut pub ref return self Self static struct super trait true type unsafe use where while",
    },
    Language {
        names: "python py python3",
        comments: &["#"],
        long_comment: None,
        quotes: &["\"\"\"", "'''", "\"", "'"],
        long_quotes: &["\"\"\"", "'''"],
        keywords: "False None True and as assert async await break case class continue def del elif else except finally for \
                   from global if import in is lambda match nonlocal not or pass raise return try while with yield",
    },
    Language {
        names: "javascript js jsx mjs typescript ts tsx",
        comments: &["//"],
        long_comment: C_COMMENT,
        quotes: &["`", "\"", "'"],
        long_quotes: &["`"],
        keywords: "abstract any as async await boolean break case catch class const continue declare default delete do else \
                   enum export extends false finally for from function if implements import in instanceof interface keyof \
                   let namespace never new null number of private protected public readonly return static string super \
                   switch this throw true try type typeof undefined unknown var void while yield",
    },
    Language {
        names: "go golang",
        comments: &["//"],
        long_comment: C_COMMENT,
        quotes: &["`", "\"", "'"],
        long_quotes: &["`"],
        keywords: "break case chan const continue default defer else fallthrough false for func go goto if import interface \
                   iota map nil package range return select struct switch true type var",
    },
    Language {
        names: "c h cpp c++ cc hpp cxx objc arduino",
        comments: &["//"],
        long_comment: C_COMMENT,
        quotes: &["\"", "'"],
        long_quotes: &[],
        keywords: "auto bool break case catch char class const constexpr continue default delete do double else enum explicit \
                   extern false float for friend goto if inline int long namespace new noexcept nullptr operator private \
                   protected public register return short signed sizeof static struct switch template this throw true try \
                   typedef typename union unsigned using virtual void volatile while",
    },
    Language {
        names: "java kotlin kt scala c# cs csharp swift dart groovy php",
        comments: &["//"],
        long_comment: C_COMMENT,
        quotes: &["\"\"\"", "\"", "'"],
        long_quotes: &["\"\"\""],
        keywords: "abstract as async await boolean break byte case catch char class const continue data def default do double \
                   echo else enum extends extension false final finally float for foreach fun func function get guard if \
                   implements import in instanceof int interface internal is lateinit let long match namespace new nil null \
                   object open out override package private protected protocol public readonly record return sealed self \
                   set short static string struct super suspend switch this throw throws trait true try type typeof using \
                   val var virtual void when where while with yield",
    },
    Language {
        names: "sh bash shell zsh console fish dockerfile docker makefile make",
        comments: &["#"],
        long_comment: None,
        quotes: &["\"", "'"],
        long_quotes: &["\"", "'"],
        keywords: "case do done elif else esac exit export fi for function if in local readonly return set then unset until \
                   while ADD ARG CMD COPY ENTRYPOINT ENV EXPOSE FROM LABEL RUN USER VOLUME WORKDIR",
    },
    Language {
        names: "json jsonc json5 yaml yml toml ini",
        comments: &["#", "//"],
        long_comment: None,
        quotes: &["\"\"\"", "\"", "'"],
        long_quotes: &["\"\"\""],
        keywords: "true false null yes no on off",
    },
    Language {
        names: "sql postgresql mysql sqlite",
        comments: &["--"],
        long_comment: C_COMMENT,
        quotes: &["'", "\""],
        long_quotes: &["'"],
        keywords: "add all alter and as asc begin between by case commit create default delete desc distinct drop else end \
                   exists foreign from group having if in index inner insert into is join key left like limit not null on \
                   or order outer primary references returning rollback select set table then union unique update values \
                   view when where with",
    },
    Language {
        names: "lua haskell hs elm",
        comments: &["--"],
        long_comment: None,
        quotes: &["\"", "'"],
        long_quotes: &[],
        keywords: "and break case class data deriving do else elseif end false for function if import in infix instance let \
                   local module newtype nil not of or qualified repeat return then true type until where while",
    },
    Language {
        names: "ruby rb perl pl elixir ex r julia jl",
        comments: &["#"],
        long_comment: None,
        quotes: &["\"\"\"", "\"", "'"],
        long_quotes: &["\"\"\""],
        keywords: "alias and begin break case class def defmodule defp do each else elsif end ensure false fn for function if \
                   import in library module my next nil not or our package print puts raise redo require rescue return self \
                   struct sub super then true undef unless until use using when while yield",
    },
    Language {
        names: "wit wat wasm zig",
        comments: &["//", ";;"],
        long_comment: C_COMMENT,
        quotes: &["\""],
        long_quotes: &[],
        keywords: "world package interface import export include use func resource record variant enum flags type list option \
                   result tuple string bool char borrow own stream future static constructor const var fn pub return if \
                   else while for switch defer try catch struct union",
    },
];

/// Returns the name of the language of a code block: the first word behind the fence.
pub(super) fn language(fence: &str) -> &str {
    let info = fence.trim_start_matches(['`', '~']).trim_start();
    let is_end = |c: char| c.is_whitespace() || matches!(c, ',' | '{');
    info.split(is_end).next().unwrap_or_default()
}

/// The state of a code block between its lines.
#[derive(Debug)]
pub(super) struct Highlighter {
    language: Option<&'static Language>,
    is_diff: bool,
    /// Ends what an earlier line began, and its style.
    open: Option<(&'static str, Style)>,
}

impl Highlighter {
    pub(super) fn new(name: &str) -> Self {
        let name = name.to_ascii_lowercase();
        let is_named = |language: &&Language| language.names.split(' ').any(|other| other == name);
        Self {
            language: LANGUAGES.iter().find(is_named),
            is_diff: matches!(name.as_str(), "diff" | "patch"),
            open: None,
        }
    }

    /// Highlights the next line.
    pub(super) fn line(&mut self, line: &str) -> TextRow {
        if self.is_diff {
            return vec![Span::styled(line, diff_style(line))];
        }
        let Some(language) = self.language.filter(|_| line.len() <= MAX_LINE_BYTES) else {
            return vec![Span::plain(line)];
        };
        let (mut row, mut rest) = (TextRow::new(), line);
        let mut before = ' ';
        while !rest.is_empty() {
            let (length, style) = match self.open {
                Some((end, style)) => (self.close(rest, end), style),
                None => self.token(language, rest, before),
            };
            let (text, next) = rest.split_at_checked(length.max(1)).unwrap_or((rest, ""));
            before = text.chars().last().unwrap_or(' ');
            row.push(Span::styled(text, style));
            rest = next;
        }
        row
    }

    /// Returns the length up to the end of what is open.
    fn close(&mut self, rest: &str, end: &str) -> usize {
        let found = end_of_quote(rest, end);
        if found.is_some() {
            self.open = None;
        }
        found.unwrap_or(rest.len())
    }

    /// Returns the length and the style of the first token.
    fn token(&mut self, language: &'static Language, rest: &str, before: char) -> (usize, Style) {
        let first = rest.chars().next().unwrap_or(' ');
        let is_comment = |start: &&&str| {
            // In shells and YAML a comment starts a word.
            rest.starts_with(**start) && (**start != "#" || before.is_whitespace())
        };
        if language.comments.iter().any(|start| is_comment(&start)) {
            return (rest.len(), DIM);
        }
        if let Some((start, end)) = language.long_comment
            && let Some(inside) = rest.strip_prefix(start)
        {
            self.open = Some((end, DIM));
            return (start.len() + self.close(inside, end), DIM);
        }
        if let Some(quote) = language
            .quotes
            .iter()
            .find(|quote| rest.starts_with(**quote))
        {
            let inside = rest.get(quote.len()..).unwrap_or_default();
            let end = end_of_quote(inside, quote);
            if end.is_none() && language.long_quotes.contains(quote) {
                self.open = Some((quote, STRING));
            }
            return (quote.len() + end.unwrap_or(inside.len()), STRING);
        }
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        if !is_word(first) {
            return (first.len_utf8(), PLAIN);
        }
        let length = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
        let word = rest.get(..length).unwrap_or_default();
        let is_sql = language.names.starts_with("sql");
        let is_keyword =
            |keyword: &str| keyword == word || is_sql && keyword.eq_ignore_ascii_case(word);
        let style = if first.is_ascii_digit() {
            NUMBER
        } else if language.keywords.split_whitespace().any(is_keyword) {
            KEYWORD
        } else {
            PLAIN
        };
        (length, style)
    }
}

/// Returns the length up to and with the end of a string or comment; a backslash escapes a quote.
fn end_of_quote(inside: &str, end: &str) -> Option<usize> {
    let mut escaped = false;
    for (at, character) in inside.char_indices() {
        if !escaped && inside.get(at..).is_some_and(|rest| rest.starts_with(end)) {
            return Some(at + end.len());
        }
        escaped = !escaped && character == '\\' && end != "*/";
    }
    None
}

/// Returns the style of a line of a patch.
fn diff_style(line: &str) -> Style {
    match line.as_bytes().first() {
        Some(b'+') => GREEN,
        Some(b'-') => REMOVED,
        Some(b'@') => NUMBER,
        _ => PLAIN,
    }
}
