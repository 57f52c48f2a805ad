//! The redacted forms of a value: plain, base64, hexadecimal, URL-encoded, and escaped as in a JSON
//! string. Matching ignores case, which covers both spellings of hexadecimal digits and lower-cased
//! fields.
//!
//! Not covered: other encodings, compression, nested encodings, line breaks within a value, and
//! parts of a value.

use aho_corasick::{AhoCorasick, AhoCorasickKind, Input, MatchKind};
use base64::{
    Engine as _, alphabet,
    engine::{GeneralPurpose, general_purpose::NO_PAD},
};
use percent_encoding::{AsciiSet, CONTROLS, NON_ALPHANUMERIC, percent_encode};
use secrecy::{ExposeSecret as _, SecretString};
use std::collections::BTreeMap;

/// Encodes everything but unreserved characters ([RFC 3986, section
/// 2.3](https://www.rfc-editor.org/rfc/rfc3986#section-2.3)).
const UNRESERVED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');
/// The set of `encodeURIComponent` (ECMA-262, section 19.2.6).
const COMPONENT: &AsciiSet = &UNRESERVED
    .remove(b'!')
    .remove(b'\'')
    .remove(b'(')
    .remove(b')')
    .remove(b'*');
/// The URL standard's `application/x-www-form-urlencoded` set; a space is a `+` there.
const FORM: &AsciiSet = &UNRESERVED.remove(b'*').add(b'~').remove(b' ');
/// The URL standard's special-query set, by which a parser encodes a hand-written query.
const QUERY: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'#')
    .add(b'<')
    .add(b'>')
    .add(b'\'');

/// An occurrence of a form in some bytes.
pub(super) struct FormMatch<'a> {
    pub(super) start: usize,
    pub(super) end: usize,
    /// The replacement.
    pub(super) mark: &'a str,
}

/// Finds all forms of all values at once.
pub(super) struct Forms {
    matcher: AhoCorasick,
    /// The replacement of each pattern.
    marks: Vec<String>,
}

impl Forms {
    /// Builds the matcher; `None` if the values are too many for it.
    pub(super) fn new(values: &BTreeMap<String, SecretString>) -> Option<Self> {
        // A form that two values share has the first name.
        let mut known: BTreeMap<Vec<u8>, String> = BTreeMap::new();
        for (name, value) in values {
            for form in forms(value.expose_secret().as_bytes()) {
                known
                    .entry(form.to_ascii_lowercase())
                    .or_insert_with(|| format!("[secret:{name}]"));
            }
        }
        let (patterns, marks): (Vec<_>, Vec<_>) = known.into_iter().unzip();
        let matcher = AhoCorasick::builder()
            .ascii_case_insensitive(true)
            // The longest, so that no rest of a longer form remains behind a shorter one.
            .match_kind(MatchKind::LeftmostLongest)
            // The other kinds take many times the memory.
            .kind(Some(AhoCorasickKind::ContiguousNFA))
            .build(&patterns)
            .ok()?;
        Some(Self { matcher, marks })
    }

    /// Returns the first form at or after `from`; of several there, the longest.
    pub(super) fn find(&self, bytes: &[u8], from: usize) -> Option<FormMatch<'_>> {
        let found = self.matcher.find(Input::new(bytes).range(from..))?;
        Some(FormMatch {
            start: found.start(),
            end: found.end(),
            mark: self.marks.get(found.pattern().as_usize())?,
        })
    }

    /// Replaces every form that begins before `until`. Returns the redacted bytes and the number of
    /// input bytes that they cover: `until`, or more if a form extends beyond it.
    pub(super) fn redact(&self, bytes: &[u8], until: usize) -> (Vec<u8>, usize) {
        let mut out = Vec::with_capacity(until);
        let mut done = 0;
        while let Some(found) = self.find(bytes, done).filter(|found| found.start < until) {
            out.extend_from_slice(bytes.get(done..found.start).unwrap_or_default());
            out.extend_from_slice(found.mark.as_bytes());
            done = found.end;
        }
        out.extend_from_slice(bytes.get(done..until).unwrap_or_default());
        (out, done.max(until))
    }

    /// Returns the bytes needed after a position to decide whether a form begins there, rounded up
    /// to a power of two.
    pub(super) fn look_ahead(&self) -> usize {
        self.matcher.max_pattern_len().next_power_of_two()
    }
}

/// Returns all forms of a value.
fn forms(value: &[u8]) -> Vec<Vec<u8>> {
    let mut forms = vec![value.to_vec(), hex::encode(value).into_bytes()];
    for set in [UNRESERVED, COMPONENT, QUERY] {
        forms.push(percent_encode(value, set).to_string().into_bytes());
    }
    let form = percent_encode(value, FORM).to_string().replace(' ', "+");
    forms.push(form.into_bytes());
    let every: String = value.iter().map(|byte| format!("%{byte:02x}")).collect();
    forms.push(every.into_bytes());
    let quoted = String::from_utf8_lossy(value)
        .replace('\\', "\\\\")
        .replace('"', "\\\"");
    forms.push(quoted.replace('/', "\\/").into_bytes());
    forms.push(quoted.into_bytes());
    for alphabet in [&alphabet::STANDARD, &alphabet::URL_SAFE] {
        forms.extend((0..3).map(|before| in_base64(value, alphabet, before)));
    }
    forms
}

/// Returns the base64 letters that depend on the value alone if `before` bytes (modulo 3) precede
/// it.
fn in_base64(value: &[u8], alphabet: &alphabet::Alphabet, before: usize) -> Vec<u8> {
    let bytes = [vec![0; before], value.to_vec()].concat();
    let mut letters = GeneralPurpose::new(alphabet, NO_PAD)
        .encode(&bytes)
        .into_bytes();
    // A letter stands for six bits.
    letters.truncate(bytes.len() * 8 / 6);
    letters.split_off((before * 8).div_ceil(6))
}
