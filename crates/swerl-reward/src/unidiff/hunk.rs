//! A hunk: its header, written anew, and the lines that its header counts.

use super::parse::UnidiffFailure;

/// Reads `@@ -1,2 +3,4 @@ section`: the header with both lengths and LF, and the two lengths.
pub(super) fn header(line: &str) -> Option<(String, (u64, u64))> {
    let (old, rest) = range(line.strip_prefix("@@ -")?)?;
    let (new, rest) = range(rest.strip_prefix(" +")?)?;
    let section = rest.strip_prefix(" @@")?;
    let section = section.strip_suffix('\n').unwrap_or(section);
    let section = section.strip_prefix(' ').unwrap_or(section);
    let blank = if section.is_empty() { "" } else { " " };
    let text = format!(
        "@@ -{},{} +{},{} @@{blank}{section}\n",
        plain(old.0),
        plain(old.1),
        plain(new.0),
        plain(new.1)
    );
    // A length beyond 64 bits is more lines than any text has.
    let length = |digits: &str| plain(digits).parse().unwrap_or(u64::MAX);
    Some((text, (length(old.1), length(new.1))))
}

/// The digits of "N" or "N,L", and the text behind; a length that is not there is 1.
fn range(text: &str) -> Option<((&str, &str), &str)> {
    let (start, rest) = digits(text)?;
    match rest.strip_prefix(',') {
        Some(rest) => digits(rest).map(|(length, rest)| ((start, length), rest)),
        None => Some(((start, "1"), rest)),
    }
}

fn digits(text: &str) -> Option<(&str, &str)> {
    let end = text.bytes().position(|byte| !byte.is_ascii_digit()).unwrap_or(text.len());
    (end > 0).then(|| text.split_at(end))
}

/// Digits without leading zeros.
fn plain(digits: &str) -> &str {
    let rest = digits.trim_start_matches('0');
    if rest.is_empty() { "0" } else { rest }
}

/// Appends the lines of a hunk to `text`: at least one where there is one, as `unidiff` does.
pub(super) fn read_lines<'a>(
    text: &mut String,
    (old_length, new_length): (u64, u64),
    header_line: usize,
    lines: &mut impl Iterator<Item = (&'a str, usize)>,
) -> Result<(), UnidiffFailure> {
    let (mut old, mut new) = (0, 0);
    for (line, number) in lines {
        match line.as_bytes()[0] {
            b' ' => (old, new) = (old + 1, new + 1),
            b'-' => old += 1,
            b'+' => new += 1,
            b'\\' => {}
            // Some tools strip the blank from empty context lines.
            b'\n' | b'\r' => (old, new) = (old + 1, new + 1),
            _ => return Err(UnidiffFailure::BadHunkLine { line: number }),
        }
        if old > old_length || new > new_length {
            return Err(UnidiffFailure::LongHunk { line: number });
        }
        if line.starts_with(['\n', '\r']) {
            // What follows the line end itself (a lone CR inside a line) is not read.
            let end = line.bytes().take(2).take_while(|byte| matches!(byte, b'\n' | b'\r')).count();
            text.push(' ');
            text.push_str(&line[..end]);
        } else {
            text.push_str(line);
        }
        if old == old_length && new == new_length {
            return Ok(());
        }
    }
    if old < old_length || new < new_length {
        return Err(UnidiffFailure::ShortHunk { line: header_line });
    }
    Ok(())
}
