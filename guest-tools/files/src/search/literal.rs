//! The text that every match of a regular expression has in it. Finding it is many times as fast as
//! trying the expression, so that lines without it are never tried.

/// A text that is in every match.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Literal {
    pub(super) text: String,
    /// The expression is this text and nothing else.
    pub(super) is_whole: bool,
}

/// Finds the longest text outside of groups, classes and repetitions. It reads a valid expression
/// and gives up at anything that it does not know.
pub(super) fn required(pattern: &str) -> Option<Literal> {
    // Flags can change the meaning of letters, and those of spaces.
    if pattern.contains("(?") {
        return None;
    }
    let mut runs = Runs::default();
    let mut rest = pattern.chars();
    while let Some(character) = rest.next() {
        match character {
            '|' => return None,
            '.' | '^' | '$' => runs.end(),
            '*' | '?' => runs.end_without_last(),
            '{' => {
                runs.end_without_last();
                rest.find(|other| *other == '}')?;
            }
            '+' => {
                runs.end();
                // `b+?` is one `b` at least, but `b+*` and `b+??` may be none.
                let after = rest.as_str();
                if after
                    .strip_prefix('?')
                    .unwrap_or(after)
                    .starts_with(['*', '+', '?', '{'])
                {
                    return None;
                }
            }
            '[' => {
                runs.end();
                skip_class(&mut rest)?;
            }
            '(' => {
                runs.end();
                skip_group(&mut rest)?;
            }
            '\\' => match rest.next()? {
                escaped if escaped.is_ascii_punctuation() => runs.push(escaped),
                'd' | 'D' | 's' | 'S' | 'w' | 'W' | 'A' | 'z' => runs.end(),
                // `\b{start}` and `\x41` have more than one letter.
                _ => return None,
            },
            other => runs.push(other),
        }
    }
    let is_whole = runs.longest.is_empty() && runs.current == pattern;
    runs.end();
    (!runs.longest.is_empty()).then_some(Literal {
        text: runs.longest,
        is_whole,
    })
}

#[derive(Default)]
struct Runs {
    current: String,
    longest: String,
}

impl Runs {
    fn push(&mut self, character: char) {
        self.current.push(character);
    }

    fn end(&mut self) {
        if self.current.len() > self.longest.len() {
            self.longest.clone_from(&self.current);
        }
        self.current.clear();
    }

    /// Ends before a character that is repeated, perhaps not at all.
    fn end_without_last(&mut self) {
        self.current.pop();
        self.end();
    }
}

/// Skips a class, whose first `]` may be a member. Classes nest.
fn skip_class(rest: &mut std::str::Chars<'_>) -> Option<()> {
    if rest.as_str().starts_with('^') {
        rest.next();
    }
    if rest.as_str().starts_with(']') {
        rest.next();
    }
    loop {
        match rest.next()? {
            ']' => return Some(()),
            '[' => skip_class(rest)?,
            '\\' => {
                rest.next()?;
            }
            _ => {}
        }
    }
}

fn skip_group(rest: &mut std::str::Chars<'_>) -> Option<()> {
    let mut depth = 1;
    while depth > 0 {
        match rest.next()? {
            '(' => depth += 1,
            ')' => depth -= 1,
            '[' => skip_class(rest)?,
            '\\' => {
                rest.next()?;
            }
            _ => {}
        }
    }
    Some(())
}

#[cfg(test)]
mod tests;
