//! Dates of the Gregorian calendar.

/// The date of a day since 1970-01-01 as ISO 8601. It counts by eras of 400 years that start in
/// March, so that a leap day is the last of its year.
#[must_use]
pub fn iso_date(unix_day: i64) -> String {
    let shifted = unix_day.saturating_add(719_468);
    let (era, day) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let of_year = day - (365 * year + year / 4 - year / 100);
    let shifted_month = (5 * of_year + 2) / 153;
    let of_month = of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 {
        shifted_month + 3
    } else {
        shifted_month - 9
    };
    let year = year + era * 400 + i64::from(month <= 2);
    format!("{year:04}-{month:02}-{of_month:02}")
}
