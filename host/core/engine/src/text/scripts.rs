//! Words whose letters are of several scripts, so that a letter may stand for another one that it
//! looks like (Unicode Technical Standard 39, section 5). A word of one script is never one of them,
//! and neither is one of Latin letters with those of Chinese, Japanese or Korean.

use std::fmt::Write as _;
use unicode_script::{Script, UnicodeScript as _};
use unicode_security::mixed_script::AugmentedScriptSet;

/// The longest text that is looked at, in bytes: the longest path that Linux takes. A longer one is
/// no name.
const MAX_NAME_BYTES: usize = 4096;

/// The most letters that are named of a word.
const MAX_LETTERS: usize = 3;

/// Describes each word of a name that mixes scripts, such as
/// `pаth: Latin and Cyrillic (а is U+0430)`. A text on several lines is not a name.
#[must_use]
pub fn mixed_scripts(name: &str) -> Vec<String> {
    if name.is_ascii() || name.len() > MAX_NAME_BYTES || name.contains('\n') {
        return Vec::new();
    }
    let is_of_word = |c: char| c.is_alphanumeric() || c.script() == Script::Inherited;
    let words = name.split(|c: char| !is_of_word(c));
    words
        .filter(|word| !is_ordinary(word))
        .map(described)
        .collect()
}

/// Whether a word is of one script, or of those of a "highly restrictive" identifier (section 5.2).
fn is_ordinary(word: &str) -> bool {
    let mut all = AugmentedScriptSet::default();
    let mut besides_latin = AugmentedScriptSet::default();
    for character in word.chars() {
        let scripts = AugmentedScriptSet::for_char(character);
        all.intersect_with(scripts);
        if !scripts.base.contains_script(Script::Latin) {
            besides_latin.intersect_with(scripts);
        }
    }
    !all.is_empty() || besides_latin.hanb || besides_latin.jpan || besides_latin.kore
}

/// Names the scripts of a word, the one with the most letters first, and letters of the others.
fn described(word: &str) -> String {
    let mut scripts: Vec<(Script, usize)> = Vec::new();
    for script in word.chars().map(|c| c.script()) {
        match scripts.iter_mut().find(|(known, _)| *known == script) {
            Some((_, count)) => *count += 1,
            None if matches!(script, Script::Common | Script::Inherited) => {}
            None => scripts.push((script, 1)),
        }
    }
    scripts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let others = scripts.get(1..).unwrap_or_default();
    let mut letters: Vec<char> = Vec::new();
    for letter in word.chars() {
        let is_other = others.iter().any(|(script, _)| *script == letter.script());
        if is_other && letters.len() < MAX_LETTERS && !letters.contains(&letter) {
            letters.push(letter);
        }
    }
    let names: Vec<&str> = scripts
        .iter()
        .map(|(script, _)| script.full_name())
        .collect();
    let mut text = format!("{word}: {}", names.join(" and "));
    for (position, letter) in letters.iter().enumerate() {
        let before = if position == 0 { " (" } else { ", " };
        let _ = write!(text, "{before}{letter} is U+{:04X}", u32::from(*letter));
    }
    if !letters.is_empty() {
        text.push(')');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::mixed_scripts;
    use pretty_assertions::assert_eq;

    #[test]
    fn words_of_mixed_scripts_are_described() {
        let cases: [(&str, &[&str]); 14] = [
            (
                "src/p\u{430}th.rs",
                &["pаth: Latin and Cyrillic (а is U+0430)"],
            ),
            (
                "\u{440}\u{430}ypal.com",
                &["раypal: Latin and Cyrillic (р is U+0440, а is U+0430)"],
            ),
            (
                "write_f\u{456}le",
                &["fіle: Latin and Cyrillic (і is U+0456)"],
            ),
            ("fil\u{3b5}", &["filε: Latin and Greek (ε is U+03B5)"]),
            ("\u{13a}a\u{5d0}", &["ĺaא: Latin and Hebrew (א is U+05D0)"]),
            // Whole words may each have a script.
            ("docs/файл.txt", &[]),
            ("my-файл_1.txt", &[]),
            ("ελληνικά/readme", &[]),
            // Languages that mix.
            ("Tシャツの画像.png", &[]),
            ("한국어漢字abc", &[]),
            ("ㄅㄆ漢字x", &[]),
            ("naïve café Ångström क्षत्रिय عربي", &[]),
            ("plain ascii", &[]),
            ("p\u{430}th\nof a text", &[]),
        ];
        for (name, expected) in cases {
            assert_eq!(mixed_scripts(name), expected, "{name}");
        }
    }
}
