//! Moments as whole seconds, read from and written as ISO 8601.
//!
//! GH Archive writes `2016-05-04T12:30:00Z`; some hours of 2015 carry an offset instead of the
//! `Z`. Fractions of a second are dropped. Days are counted in the proleptic Gregorian calendar.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer};

/// Seconds since 1970-01-01T00:00:00Z, leap seconds not counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Timestamp(pub i64);

/// A text that is not an ISO 8601 moment.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{text}' is not a moment like 2016-05-04T12:30:00Z")]
pub struct BadTimestamp {
    /// The text.
    pub text: String,
}

/// Days from 1970-01-01 to a date; months and days count from 1.
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * (month + if month > 2 { -3 } else { 9 }) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

/// The inverse of [`days_from_civil`].
fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, day)
}

fn number(text: &str, from: usize, len: usize) -> Option<i64> {
    let digits = text.get(from..from + len)?;
    if digits.bytes().all(|b| b.is_ascii_digit()) { digits.parse().ok() } else { None }
}

fn parse(text: &str) -> Option<i64> {
    let bytes = text.as_bytes();
    let separators = [(4, b'-'), (7, b'-'), (13, b':'), (16, b':')];
    if separators.iter().any(|&(at, byte)| bytes.get(at) != Some(&byte)) {
        return None;
    }
    if !matches!(bytes.get(10), Some(b'T' | b't' | b' ')) {
        return None;
    }
    let (year, month, day) = (number(text, 0, 4)?, number(text, 5, 2)?, number(text, 8, 2)?);
    let (hour, minute, second) = (number(text, 11, 2)?, number(text, 14, 2)?, number(text, 17, 2)?);
    let in_range = (1..=12).contains(&month) && (1..=31).contains(&day) && hour < 24;
    if !in_range || minute > 59 || second > 60 {
        return None;
    }
    let mut rest = text.get(19..)?;
    if let Some(fraction) = rest.strip_prefix('.') {
        rest = fraction.trim_start_matches(|c: char| c.is_ascii_digit());
    }
    let offset = match rest.as_bytes() {
        b"Z" | b"z" => 0,
        [sign @ (b'+' | b'-'), _, _, b':', _, _] => {
            let size = number(rest, 1, 2)? * 3_600 + number(rest, 4, 2)? * 60;
            if *sign == b'+' { size } else { -size }
        }
        _ => return None,
    };
    let days = days_from_civil(year, month, day);
    Some(days * 86_400 + hour * 3_600 + minute * 60 + second - offset)
}

impl FromStr for Timestamp {
    type Err = BadTimestamp;

    fn from_str(text: &str) -> Result<Self, BadTimestamp> {
        parse(text).map(Self).ok_or_else(|| BadTimestamp { text: text.chars().take(40).collect() })
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (year, month, day) = civil_from_days(self.0.div_euclid(86_400));
        let second = self.0.rem_euclid(86_400);
        let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::Timestamp;

    #[test]
    fn reads_and_writes() {
        for (text, seconds) in [
            ("1970-01-01T00:00:00Z", 0),
            ("2000-02-29T23:59:59Z", 951_868_799),
            ("2016-05-04T12:30:00Z", 1_462_365_000),
            ("1969-12-31T23:59:59Z", -1),
        ] {
            assert_eq!(text.parse(), Ok(Timestamp(seconds)), "{text}");
            assert_eq!(Timestamp(seconds).to_string(), text);
        }
        assert_eq!("2015-01-01T00:00:00-08:00".parse(), Ok(Timestamp(1_420_099_200)));
        assert_eq!("1970-01-01T00:00:01.999Z".parse(), Ok(Timestamp(1)));
    }

    #[test]
    fn every_day_of_four_centuries_round_trips() {
        for day in -73_000..73_097_i64 {
            let moment = Timestamp(day * 86_400 + 7);
            assert_eq!(moment.to_string().parse(), Ok(moment));
        }
    }

    #[test]
    fn refuses_other_texts() {
        for text in [
            "",
            "2016",
            "2016-05-04",
            "2016-13-04T12:30:00Z",
            "2016-05-04T12:30:00",
            "é016-05-04T12:30:00Z",
        ] {
            assert!(text.parse::<Timestamp>().is_err(), "{text}");
        }
    }
}
