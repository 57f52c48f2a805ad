//! The forms in which a value may come back: as it is, in base64, in hexadecimal, URL-encoded, and as a JSON string has it.
//! Upper and lower case are not told apart, which covers both spellings of hexadecimal digits and fields that are lower-cased.
//!
//! Not promised: any other encoding, compression, an encoding of an encoding, lines broken within a value, or a part of it.

use aho_corasick::{AhoCorasick, AhoCorasickKind, Input, MatchKind};
use base64::{
    Engine as _, alphabet,
    engine::{GeneralPurpose, general_purpose::NO_PAD},
};
use percent_encoding::{AsciiSet, CONTROLS, NON_ALPHANUMERIC, percent_encode};
use secrecy::{ExposeSecret as _, SecretString};
use std::collections::BTreeMap;

/// RFC 3986, section 2.3: everything but unreserved characters is encoded.
const UNRESERVED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');
/// What `encodeURIComponent` leaves (ECMA-262, section 19.2.6).
const COMPONENT: &AsciiSet = &UNRESERVED
    .remove(b'!')
    .remove(b'\'')
    .remove(b'(')
    .remove(b')')
    .remove(b'*');
/// The URL standard's `application/x-www-form-urlencoded` set; a space is a `+` there.
const FORM: &AsciiSet = &UNRESERVED.remove(b'*').add(b'~').remove(b' ');
/// The URL standard's special-query set: what a parser encodes in a query that somebody wrote by hand.
const QUERY: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'#')
    .add(b'<')
    .add(b'>')
    .add(b'\'');

/// A form of a value in some bytes.
pub(super) struct Found<'a> {
    pub(super) start: usize,
    pub(super) end: usize,
    /// What takes its place.
    pub(super) mark: &'a str,
}

/// Finds all forms of all values at once.
pub(super) struct Forms {
    matcher: AhoCorasick,
    /// For each pattern, what takes its place.
    marks: Vec<String>,
}

impl Forms {
    /// Prepares the forms of these values; nothing where they are too many for the matcher.
    pub(super) fn new(values: &BTreeMap<String, SecretString>) -> Option<Self> {
        // Where two values share a form, it goes by the first name.
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
            // The longest, so that no rest of a longer form stays behind a shorter one.
            .match_kind(MatchKind::LeftmostLongest)
            // Small: the other kinds take many times the memory for the same answers.
            .kind(Some(AhoCorasickKind::ContiguousNFA))
            .build(&patterns)
            .ok()?;
        Some(Self { matcher, marks })
    }

    /// The first form that begins at `from` or after it, and there the longest.
    pub(super) fn find(&self, bytes: &[u8], from: usize) -> Option<Found<'_>> {
        let found = self.matcher.find(Input::new(bytes).range(from..))?;
        Some(Found {
            start: found.start(),
            end: found.end(),
            mark: self.marks.get(found.pattern().as_usize())?,
        })
    }

    /// Replaces every form that begins before `until`, and returns the text with the number of bytes that it stands for. These
    /// are `until`, or more where a form reaches beyond it.
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

    /// The bytes that have to be known behind a place to tell whether a form begins there, rounded up to a power of two.
    pub(super) fn look_ahead(&self) -> usize {
        self.matcher.max_pattern_len().next_power_of_two()
    }
}

/// All forms of a value.
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

/// The base64 of a value that stands behind this many other bytes (or three more, and so on): those letters that come from
/// the value alone, whatever is before and behind it.
fn in_base64(value: &[u8], alphabet: &alphabet::Alphabet, before: usize) -> Vec<u8> {
    let bytes = [vec![0; before], value.to_vec()].concat();
    let mut letters = GeneralPurpose::new(alphabet, NO_PAD)
        .encode(&bytes)
        .into_bytes();
    // A letter stands for six bits.
    letters.truncate(bytes.len() * 8 / 6);
    letters.split_off((before * 8).div_ceil(6))
}
