//! Git configuration by its content: a scan of a file's bytes, in pieces of any size, that finds a
//! key which makes git run a command. It follows `git_parse_source` of git's config.c and accepts
//! slightly more, so that what it calls no configuration is none for git either.

#[cfg(test)]
mod tests;

/// The keys that execute, by section. After `*.`, in any subsection, and otherwise in none, as git
/// reads them; `*` alone is any key. Before `!`, the value has to begin with that, and before `/`,
/// to contain it: git-mergetool(1) sources the file of a tool's name. From git-config(1) and the
/// sources of git 2.47, with `hook` and `lfs` of git-hook(1) and git-lfs-config(5).
#[rustfmt::skip]
pub(super) const EXECUTING_KEYS: &[(&str, &[&str])] = &[
    ("alias", &["*", "*.*"]),
    ("browser", &["*.cmd", "*.path"]),
    ("core", &["fsmonitor", "sshcommand", "hookspath", "pager", "editor", "askpass", "gitproxy",
        "alternaterefscommand"]),
    ("credential", &["helper", "*.helper"]),
    ("diff", &["external", "tool/", "guitool/", "*.command", "*.textconv"]),
    ("difftool", &["*.cmd", "*.path"]),
    ("filter", &["*.clean", "*.smudge", "*.process"]),
    ("gc", &["recentobjectshook"]),
    ("gpg", &["program", "*.program", "*.defaultkeycommand"]),
    ("guitool", &["*.cmd"]),
    ("help", &["browser"]),
    ("hook", &["*.command"]),
    ("imap", &["tunnel"]),
    ("include", &["path"]),
    ("includeif", &["*.path"]),
    ("init", &["templatedir"]),
    ("instaweb", &["browser", "httpd", "modulepath"]),
    ("interactive", &["difffilter"]),
    ("lfs", &["*.clean", "*.smudge", "*.path"]),
    ("man", &["*.cmd", "*.path"]),
    ("merge", &["tool/", "guitool/", "*.driver"]),
    ("mergetool", &["*.cmd", "*.path"]),
    ("pager", &["*", "*.*"]),
    ("protocol", &["allow", "*.allow"]),
    ("remote", &["*.uploadpack", "*.receivepack", "*.vcs"]),
    ("sendemail", &["tocmd", "cccmd", "headercmd", "sendmailcmd", "smtpserver",
        "*.tocmd", "*.cccmd", "*.headercmd", "*.sendmailcmd", "*.smtpserver"]),
    ("sequence", &["editor"]),
    ("submodule", &["*.update!"]),
    ("tar", &["*.command"]),
    ("trailer", &["*.command", "*.cmd"]),
    ("uploadpack", &["packobjectshook"]),
    ("web", &["browser"]),
];

/// The longest section or key in bytes that is told apart; longer ones are not in the table.
const MAX_NAME_BYTES: usize = 32;

/// The result of a scan so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GitConfigContent {
    /// No key that executes yet; more bytes may bring one.
    Harmless,
    /// Git would refuse to read the file, whatever follows.
    NotConfig,
    /// There is a key that executes.
    Executes,
}

/// The place in the grammar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cursor {
    /// After this many bytes of a byte-order mark.
    Mark(u8),
    Between,
    Comment,
    Section,
    AfterSection,
    Subsection,
    SubsectionEscape,
    SubsectionEnd,
    Key,
    AfterKey,
    /// Before the first byte of a value that matters only if that is `!`.
    ValueStart,
    /// In a value that matters only if it has a `/`.
    ValuePath,
    Value,
    Ended(GitConfigContent),
}

/// A scan of a file from its start.
#[derive(Clone, Debug)]
pub struct GitConfigScan {
    place: Cursor,
    section: String,
    /// The section's name has ended, by a `.` or before a quoted subsection.
    in_subsection: bool,
    key: String,
    is_quoted: bool,
    is_escaped: bool,
    in_comment: bool,
    bytes: u64,
}

impl Default for GitConfigScan {
    fn default() -> Self {
        Self {
            place: Cursor::Mark(0),
            section: String::new(),
            in_subsection: false,
            key: String::new(),
            is_quoted: false,
            is_escaped: false,
            in_comment: false,
            bytes: 0,
        }
    }
}

impl GitConfigScan {
    /// Returns how many bytes of the file decided the result.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the result so far.
    #[must_use]
    pub fn content(&self) -> GitConfigContent {
        match self.place {
            Cursor::Ended(content) => content,
            _ => GitConfigContent::Harmless,
        }
    }

    /// Scans the next bytes of the file, up to the one that decides.
    pub fn feed(&mut self, bytes: &[u8]) -> GitConfigContent {
        for byte in bytes {
            if matches!(self.place, Cursor::Ended(_)) {
                break;
            }
            self.bytes = self.bytes.saturating_add(1);
            self.place = self.after(*byte);
        }
        self.content()
    }

    fn after(&mut self, byte: u8) -> Cursor {
        const NO: Cursor = Cursor::Ended(GitConfigContent::NotConfig);
        let is_space = matches!(byte, b' ' | b'\t' | b'\r');
        match self.place {
            Cursor::Mark(0) if byte == 0xef => Cursor::Mark(1),
            Cursor::Mark(1) if byte == 0xbb => Cursor::Mark(2),
            Cursor::Mark(2) if byte == 0xbf => Cursor::Between,
            Cursor::Mark(1 | 2) => NO,
            Cursor::Mark(_) | Cursor::Between => self.between(byte),
            Cursor::Comment if byte == b'\n' => Cursor::Between,
            Cursor::Comment => Cursor::Comment,
            Cursor::Section => self.section(byte),
            Cursor::AfterSection if is_space => Cursor::AfterSection,
            Cursor::AfterSection if byte == b'"' => {
                self.in_subsection = true;
                Cursor::Subsection
            }
            Cursor::AfterSection => NO,
            Cursor::Subsection => match byte {
                b'"' => Cursor::SubsectionEnd,
                b'\\' => Cursor::SubsectionEscape,
                b'\n' => NO,
                _ => Cursor::Subsection,
            },
            Cursor::SubsectionEscape if byte != b'\n' => Cursor::Subsection,
            Cursor::SubsectionEnd if byte == b']' => Cursor::Between,
            Cursor::SubsectionEscape | Cursor::SubsectionEnd => NO,
            Cursor::Key if byte.is_ascii_alphanumeric() || byte == b'-' => {
                push(&mut self.key, byte);
                Cursor::Key
            }
            Cursor::Key | Cursor::AfterKey => match byte {
                b'\n' => Cursor::Between,
                b'=' => self.start_value(),
                _ if is_space => Cursor::AfterKey,
                _ => NO,
            },
            Cursor::ValueStart | Cursor::ValuePath | Cursor::Value => self.value(byte),
            ended @ Cursor::Ended(_) => ended,
        }
    }

    fn between(&mut self, byte: u8) -> Cursor {
        match byte {
            b' ' | b'\t' | b'\r' | b'\n' => Cursor::Between,
            b'#' | b';' => Cursor::Comment,
            b'[' => {
                self.section.clear();
                self.in_subsection = false;
                Cursor::Section
            }
            _ if byte.is_ascii_alphabetic() => {
                self.key.clear();
                push(&mut self.key, byte);
                Cursor::Key
            }
            _ => Cursor::Ended(GitConfigContent::NotConfig),
        }
    }

    fn section(&mut self, byte: u8) -> Cursor {
        match byte {
            b']' => Cursor::Between,
            b' ' | b'\t' | b'\r' => Cursor::AfterSection,
            b'.' => {
                self.in_subsection = true;
                Cursor::Section
            }
            _ if byte.is_ascii_alphanumeric() || byte == b'-' => {
                if !self.in_subsection {
                    push(&mut self.section, byte);
                }
                Cursor::Section
            }
            _ => Cursor::Ended(GitConfigContent::NotConfig),
        }
    }

    /// Decides by the name of the key whose value begins.
    fn start_value(&mut self) -> Cursor {
        (self.is_quoted, self.is_escaped, self.in_comment) = (false, false, false);
        let of_section = EXECUTING_KEYS
            .iter()
            .find(|(name, _)| *name == self.section);
        let keys = of_section.map_or(&[][..], |(_, keys)| keys);
        let is_this = |pattern: &str| {
            let in_subsection = pattern.strip_prefix("*.");
            let key = in_subsection.unwrap_or(pattern);
            in_subsection.is_some() == self.in_subsection && (key == "*" || key == self.key)
        };
        let has = |mark: &str| {
            let mut keys = keys.iter();
            keys.any(|key| {
                let name = key.trim_end_matches(['!', '/']);
                key.strip_prefix(name) == Some(mark) && is_this(name)
            })
        };
        if has("") {
            Cursor::Ended(GitConfigContent::Executes)
        } else if has("!") {
            Cursor::ValueStart
        } else if has("/") {
            Cursor::ValuePath
        } else {
            Cursor::Value
        }
    }

    fn value(&mut self, byte: u8) -> Cursor {
        const NO: Cursor = Cursor::Ended(GitConfigContent::NotConfig);
        if self.is_escaped {
            return match byte {
                // Before the line feed of a continued line.
                b'\r' => self.place,
                b'\n' => {
                    self.is_escaped = false;
                    self.place
                }
                b't' | b'b' | b'n' | b'\\' | b'"' => {
                    self.is_escaped = false;
                    self.after_value_byte()
                }
                _ => NO,
            };
        }
        match byte {
            b'\n' if self.is_quoted => NO,
            b'\n' => Cursor::Between,
            _ if self.in_comment => self.place,
            b' ' | b'\t' | b'\r' => self.place,
            b'#' | b';' if !self.is_quoted => {
                self.in_comment = true;
                Cursor::Value
            }
            b'\\' => {
                self.is_escaped = true;
                self.place
            }
            b'"' => {
                self.is_quoted = !self.is_quoted;
                self.place
            }
            b'!' if self.place == Cursor::ValueStart => Cursor::Ended(GitConfigContent::Executes),
            b'/' if self.place == Cursor::ValuePath => Cursor::Ended(GitConfigContent::Executes),
            _ => self.after_value_byte(),
        }
    }

    /// Returns the place after a byte of the value that decides nothing.
    fn after_value_byte(&self) -> Cursor {
        match self.place {
            Cursor::ValueStart => Cursor::Value,
            other => other,
        }
    }
}

fn push(name: &mut String, byte: u8) {
    if name.len() < MAX_NAME_BYTES {
        name.push(char::from(byte.to_ascii_lowercase()));
    }
}
