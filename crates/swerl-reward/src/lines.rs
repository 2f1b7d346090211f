//! Lines as Python's `str.splitlines` gives them, without their ends.
//!
//! Boundaries: LF, CR, CRLF (one), VT, FF, U+001C to U+001E, U+0085, U+2028, U+2029. A boundary
//! at the end opens no further line. Linear.

/// The lines of a text in Python's sense.
///
/// ```
/// use swerl_reward::split_lines;
/// assert_eq!(split_lines("a\r\nb\u{2028}c\n"), ["a", "b", "c"]);
/// ```
#[must_use]
pub fn split_lines(text: &str) -> Vec<&str> {
    let mut lines = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let Some(at) = rest.find(is_boundary) else {
            lines.push(rest);
            break;
        };
        lines.push(&rest[..at]);
        let boundary = rest[at..].chars().next().map_or(1, char::len_utf8);
        let boundary = if rest[at..].starts_with("\r\n") { 2 } else { boundary };
        rest = &rest[at + boundary..];
    }
    lines
}

fn is_boundary(c: char) -> bool {
    matches!(c, '\n'..='\r' | '\u{1c}'..='\u{1e}' | '\u{85}' | '\u{2028}' | '\u{2029}')
}
