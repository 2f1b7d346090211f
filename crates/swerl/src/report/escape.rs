//! Text of anybody, made safe for the page.
//!
//! Everything that a model, a repository or a user wrote reaches the page through [`html`] or
//! [`json`], or is put there by the page's script as a text node. No other way exists.

use std::fmt;

use serde::Serialize;

/// Displays `text` for an element's content or a quoted attribute.
pub(super) fn html(text: &str) -> impl fmt::Display + '_ {
    Html(text)
}

struct Html<'a>(&'a str);

impl fmt::Display for Html<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.0;
        while let Some(at) = rest.find(['&', '<', '>', '"', '\'', '\0']) {
            f.write_str(&rest[..at])?;
            f.write_str(match rest.as_bytes()[at] {
                b'&' => "&amp;",
                b'<' => "&lt;",
                b'>' => "&gt;",
                b'"' => "&quot;",
                b'\'' => "&#39;",
                _ => "\u{fffd}",
            })?;
            rest = &rest[at + 1..];
        }
        f.write_str(rest)
    }
}

/// `value` as JSON that can stand in a `<script>` element: no `<`, `>`, `&`, and no line separator that
/// older scripts take for a line's end. Such characters occur in JSON inside strings alone, where their
/// escape means the same.
pub(super) fn json(value: &impl Serialize) -> serde_json::Result<String> {
    let text = serde_json::to_string(value)?;
    let mut out = String::with_capacity(text.len() + text.len() / 16);
    for c in text.chars() {
        match c {
            '<' => out.push_str("\\u003c"),
            '>' => out.push_str("\\u003e"),
            '&' => out.push_str("\\u0026"),
            '\u{2028}' => out.push_str("\\u2028"),
            '\u{2029}' => out.push_str("\\u2029"),
            c => out.push(c),
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn html_has_no_markup_left() {
        let hostile = "</title><img src=x onerror=\"a('1')\">&amp;\0é";
        assert_eq!(
            html(hostile).to_string(),
            "&lt;/title&gt;&lt;img src=x onerror=&quot;a(&#39;1&#39;)&quot;&gt;&amp;amp;\u{fffd}é"
        );
        assert_eq!(html("plain").to_string(), "plain");
    }

    #[test]
    fn json_ends_no_script_and_reads_back() {
        let hostile = "</script><!--<script>\u{2028}\u{2029}&lt;\"\\é";
        let text = json(&hostile).unwrap();
        assert!(!text.contains(['<', '>', '&', '\u{2028}', '\u{2029}']), "{text}");
        assert_eq!(serde_json::from_str::<String>(&text).unwrap(), hostile);
    }
}
