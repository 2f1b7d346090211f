//! Numbers for people: four significant digits, thousands apart, small and large ones in powers of ten.

/// `value` as text. Integers stay whole up to a million.
pub(super) fn number(value: f64) -> String {
    let size = value.abs();
    if value == 0.0 {
        return "0".into();
    }
    if value.fract() == 0.0 && size < 1e6 {
        return thousands(&format!("{value:.0}"));
    }
    if !(1e-4..1e7).contains(&size) {
        let text = format!("{value:.2e}");
        let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        return format!("{}e{exponent}", thousands(trimmed(mantissa)));
    }
    let digits = (3 - size.log10().floor() as i64).clamp(0, 7);
    let text = format!("{value:.*}", usize::try_from(digits).unwrap_or(0));
    thousands(trimmed(&text))
}

/// A reward or a similarity with three decimals.
pub(super) fn reward(value: f64) -> String {
    thousands(&format!("{:.3}", value + 0.0))
}

/// A share in per cent with one decimal.
pub(super) fn percent(share: f64) -> String {
    format!("{:.1}%", share * 100.0)
}

fn trimmed(text: &str) -> &str {
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { text }
}

fn thousands(text: &str) -> String {
    let (sign, rest) = text.strip_prefix('-').map_or(("", text), |rest| ("\u{2212}", rest));
    let (whole, fraction) = rest.split_once('.').map_or((rest, None), |(w, f)| (w, Some(f)));
    let mut out = String::from(sign);
    for (at, digit) in whole.chars().enumerate() {
        if at > 0 && (whole.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    if let Some(fraction) = fraction {
        out.push('.');
        out.push_str(fraction);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_digits_that_matter() {
        for (value, text) in [
            (0.0, "0"),
            (24.0, "24"),
            (13_927.0, "13,927"),
            (0.266_000_144, "0.266"),
            (-0.2, "\u{2212}0.2"),
            (12.785_9, "12.79"),
            (3_112.448, "3,112"),
            (7.499_999e-6, "7.5e-6"),
            (0.001_5, "0.0015"),
            (0.000_5, "0.0005"),
            (2.5e9, "2.5e9"),
            (-1e-8, "\u{2212}1e-8"),
            (1e-300, "1e-300"),
        ] {
            assert_eq!(number(value), text);
        }
        assert_eq!(percent(0.7265), "72.7%");
        assert_eq!((reward(-0.093_42), reward(1.0)), ("\u{2212}0.093".into(), "1.000".into()));
    }
}
