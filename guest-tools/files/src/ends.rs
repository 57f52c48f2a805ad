//! The line ends of a text, and the text with one kind of them.

use std::borrow::Cow;

/// The line ends of a text, counted. A carriage return ends a line by itself only in a text without
/// line feeds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ends {
    pub(crate) lf: usize,
    pub(crate) crlf: usize,
    pub(crate) cr: usize,
}

impl Ends {
    pub(crate) fn count(text: &str) -> Self {
        let crlf = text.matches("\r\n").count();
        let lf = text.matches('\n').count() - crlf;
        let cr = if lf + crlf == 0 {
            text.matches('\r').count()
        } else {
            0
        };
        Self { lf, crlf, cr }
    }

    /// The end that most lines have; `None` where there is no line end.
    pub(crate) fn dominant(self) -> Option<&'static str> {
        match self {
            Self { cr: 1.., .. } => Some("\r"),
            Self { lf, crlf, .. } if crlf > lf => Some("\r\n"),
            Self { lf: 1.., .. } => Some("\n"),
            _ => None,
        }
    }

    pub(crate) fn are_mixed(self) -> bool {
        self.lf > 0 && self.crlf > 0
    }
}

/// A text whose lines all end with a line feed, and the way back to the offsets of the original.
pub(crate) struct Unified<'a> {
    pub(crate) text: Cow<'a, str>,
    /// The offsets in `text` of line feeds that have a carriage return before them.
    dropped: Vec<usize>,
}

impl<'a> Unified<'a> {
    pub(crate) fn new(text: &'a str, ends: Ends) -> Self {
        let mut dropped = Vec::new();
        let text = match ends {
            Ends { cr: 1.., .. } => Cow::Owned(text.replace('\r', "\n")),
            Ends { crlf: 0, .. } => Cow::Borrowed(text),
            _ => {
                dropped.reserve(ends.crlf);
                let mut unified = String::with_capacity(text.len());
                let mut parts = text.split("\r\n");
                unified.push_str(parts.next().unwrap_or_default());
                for part in parts {
                    dropped.push(unified.len());
                    unified.push('\n');
                    unified.push_str(part);
                }
                Cow::Owned(unified)
            }
        };
        Self { text, dropped }
    }

    /// The offset in the original text. That of a line end is before its carriage return.
    pub(crate) fn original(&self, offset: usize) -> usize {
        offset + self.dropped.partition_point(|dropped| *dropped < offset)
    }
}

/// Writes a line end as in source code.
pub(crate) fn shown(end: &str) -> &'static str {
    match end {
        "\r\n" => "`\\r\\n`",
        "\r" => "`\\r`",
        _ => "`\\n`",
    }
}
