//! Values of cells, and the names of columns.

use serde_json::{Number, Value};

/// The largest integer up to which every integer is a number of 64 bits with a fraction, as
/// JavaScript and Excel have them: 2^53.
const MAX_EXACT_INTEGER: u64 = 1 << 53;

/// The digits that every decimal number keeps as such a number.
const EXACT_DIGITS: usize = 15;

/// The digits that tell such numbers apart: programs write no more of one.
const BINARY_DIGITS: usize = 17;

/// The last column of a workbook: XFD.
pub(crate) const MAX_COLUMNS: usize = 16_384;

/// The value of a text of a CSV file: a number where the text is the number's usual form and JSON
/// keeps it exactly, null where it is empty, or else the text.
pub(crate) fn of_csv(text: &str) -> Value {
    if text.is_empty() {
        return Value::Null;
    }
    let number = Decimal::parse(text).filter(|number| {
        // An identifier such as 007 is no number.
        let padded = number.integer.len() > 1 && number.integer.starts_with('0');
        !padded && number.exponent.is_none()
    });
    number
        .and_then(|number| number.exact(EXACT_DIGITS, text))
        .map_or_else(|| Value::String(text.to_owned()), Value::Number)
}

/// The value of a number in a workbook. One that programs with 64 bits do not keep, which another
/// program wrote, is text.
pub(crate) fn of_number(text: &str) -> Value {
    Decimal::parse(text)
        .and_then(|number| number.exact(BINARY_DIGITS, text))
        .map_or_else(|| Value::String(text.to_owned()), Value::Number)
}

/// A number in decimal form.
struct Decimal<'a> {
    negative: bool,
    integer: &'a str,
    fraction: &'a str,
    exponent: Option<&'a str>,
}

impl<'a> Decimal<'a> {
    /// Parses `-12.50E+3`: digits before a point, and with a point also after it.
    fn parse(text: &'a str) -> Option<Self> {
        let (mantissa, exponent) = match text.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, Some(exponent)),
            None => (text, None),
        };
        let unsigned = mantissa.strip_prefix('-').unwrap_or(mantissa);
        let (integer, fraction) = match unsigned.split_once('.') {
            Some((integer, fraction)) if !fraction.is_empty() => (integer, fraction),
            Some(_) => return None,
            None => (unsigned, ""),
        };
        let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        let power = exponent.map_or("0", |power| power.trim_start_matches(['+', '-']));
        let fits = !integer.is_empty() && digits(integer) && digits(fraction);
        (fits && !power.is_empty() && power.len() <= 3 && digits(power)).then_some(Self {
            negative: unsigned.len() < mantissa.len(),
            integer,
            fraction,
            exponent,
        })
    }

    /// The number, if it has at most `most_digits` significant digits, or is an integer up to
    /// [`MAX_EXACT_INTEGER`].
    fn exact(&self, most_digits: usize, text: &str) -> Option<Number> {
        if self.fraction.is_empty() && self.exponent.is_none() {
            let integer: u64 = self.integer.parse().ok()?;
            let signed = i64::try_from(integer).ok()?;
            return match (integer <= MAX_EXACT_INTEGER, self.negative) {
                (false, _) => None,
                (true, false) => Some(integer.into()),
                // JSON has no negative zero for integers.
                (true, true) => (signed != 0).then(|| (-signed).into()),
            };
        }
        let digits = format!("{}{}", self.integer, self.fraction);
        let significant = digits.trim_start_matches('0').trim_end_matches('0').len();
        if significant > most_digits {
            return None;
        }
        let number: f64 = text.parse().ok()?;
        // What is too small would become zero.
        if number == 0.0 && significant > 0 {
            return None;
        }
        integral(number).or_else(|| Number::from_f64(number))
    }
}

/// An integer as JSON has one: 2 and not 2.0.
fn integral(number: f64) -> Option<Number> {
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        reason = "the bound is a number of 64 bits with a fraction, and below it the cast is exact"
    )]
    (number.fract() == 0.0 && number.abs() <= MAX_EXACT_INTEGER as f64)
        .then(|| Number::from(number as i64))
}

/// The letters of a column from 0 on: A to Z, AA, and so on.
pub(crate) fn letters(column: usize) -> String {
    let mut letters = Vec::new();
    let mut left = column + 1;
    while left > 0 {
        left -= 1;
        letters.push(char::from(b'A' + u8::try_from(left % 26).unwrap_or(0)));
        left /= 26;
    }
    letters.iter().rev().collect()
}

/// The column, from 0 on, of letters up to XFD.
pub(crate) fn column_of(letters: &str) -> Option<usize> {
    if letters.is_empty() || letters.len() > 3 {
        return None;
    }
    let mut column = 0;
    for byte in letters.bytes() {
        let digit = byte
            .to_ascii_uppercase()
            .checked_sub(b'A')
            .filter(|digit| *digit < 26)?;
        column = column * 26 + usize::from(digit) + 1;
    }
    (column <= MAX_COLUMNS).then(|| column - 1)
}

/// The row, from 1 on, and the column, from 0 on, of a reference such as `B12`.
pub(crate) fn place_of(reference: &str) -> Option<(u64, usize)> {
    let digits = reference.find(|letter: char| letter.is_ascii_digit())?;
    let (letters, row) = reference.split_at_checked(digits)?;
    let row: u64 = row.parse().ok()?;
    (row > 0).then_some((row, column_of(letters)?))
}

#[cfg(test)]
mod tests;
