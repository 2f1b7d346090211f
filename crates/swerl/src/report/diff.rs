//! Differences of texts as lines for the page, made by the crate similar.
//!
//! Texts above [`MAX_LINES`] lines are not compared: all of the old is shown removed, all of the new added.
//! So the time is bounded and equal texts always give equal lines.

use serde::Serialize;
use similar::{ChangeTag, DiffOp, TextDiff};

/// Most lines of both sides together that are compared.
const MAX_LINES: usize = 4_000;
/// Longest side, in bytes, that is compared within lines.
const MAX_INLINE: usize = 40_000;
/// Unchanged lines around a change.
const CONTEXT: usize = 3;

/// One line: its sign (`' '`, `'-'`, `'+'`, or `'@'` between hunks) and its pieces.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct DiffLine(pub(super) char, pub(super) Vec<(u8, String)>);

/// All lines of both texts.
pub(super) fn whole(old: &str, new: &str) -> Vec<DiffLine> {
    if too_long(old, new) {
        return replaced(old, new);
    }
    let diff = TextDiff::from_lines(old, new);
    let mut lines = Vec::new();
    for op in diff.ops() {
        push(&mut lines, &diff, op, old.len().max(new.len()) <= MAX_INLINE);
    }
    lines
}

/// Changed lines with three lines of context; empty for equal texts.
pub(super) fn hunks(old: &str, new: &str) -> Vec<DiffLine> {
    if old == new {
        return Vec::new();
    }
    if too_long(old, new) {
        return replaced(old, new);
    }
    let diff = TextDiff::from_lines(old, new);
    let mut lines = Vec::new();
    for group in diff.grouped_ops(CONTEXT) {
        let (Some(first), Some(last)) = (group.first(), group.last()) else { continue };
        let range = |from: std::ops::Range<usize>, to: std::ops::Range<usize>| {
            format!("{},{}", from.start + usize::from(to.end > from.start), to.end - from.start)
        };
        lines.push(DiffLine(
            '@',
            vec![(
                0,
                format!(
                    "@@ -{} +{} @@",
                    range(first.old_range(), last.old_range()),
                    range(first.new_range(), last.new_range())
                ),
            )],
        ));
        for op in &group {
            push(&mut lines, &diff, op, old.len().max(new.len()) <= MAX_INLINE);
        }
    }
    lines
}

fn too_long(old: &str, new: &str) -> bool {
    let count = |text: &str| text.bytes().filter(|byte| *byte == b'\n').count();
    count(old) + count(new) > MAX_LINES
}

fn replaced(old: &str, new: &str) -> Vec<DiffLine> {
    let side = |sign, text: &str| {
        text.lines().map(|line| DiffLine(sign, vec![(0, line.to_owned())])).collect::<Vec<_>>()
    };
    let mut lines = side('-', old);
    lines.extend(side('+', new));
    lines
}

fn push(lines: &mut Vec<DiffLine>, diff: &TextDiff<'_, '_, str>, op: &DiffOp, inline: bool) {
    let sign = |tag| match tag {
        ChangeTag::Equal => ' ',
        ChangeTag::Delete => '-',
        ChangeTag::Insert => '+',
    };
    if !inline {
        for change in diff.iter_changes(op) {
            let text = end(change.value()).to_owned();
            lines.push(DiffLine(sign(change.tag()), vec![(0, text)]));
        }
        return;
    }
    // Without a deadline: the result must not depend on the machine's speed.
    for change in diff.iter_inline_changes_deadline(op, None) {
        let mut pieces: Vec<(u8, String)> = change
            .iter_strings_lossy()
            .map(|(emphasized, text)| (u8::from(emphasized), text.into_owned()))
            .collect();
        if let Some(last) = pieces.last_mut() {
            last.1.truncate(end(&last.1).len());
        }
        pieces.retain(|piece| !piece.1.is_empty());
        lines.push(DiffLine(sign(change.tag()), pieces));
    }
}

/// The line without its end.
fn end(line: &str) -> &str {
    line.strip_suffix('\n').unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines as text, emphasis in brackets.
    fn drawn(lines: &[DiffLine]) -> Vec<String> {
        lines
            .iter()
            .map(|DiffLine(sign, pieces)| {
                let text: String = pieces
                    .iter()
                    .map(
                        |(strong, text)| {
                            if *strong == 1 { format!("[{text}]") } else { text.clone() }
                        },
                    )
                    .collect();
                format!("{sign}{text}")
            })
            .collect()
    }

    #[test]
    fn what_changed_within_a_line_is_marked() {
        let lines = whole("a = b ** 2 - c\nx\n", "a = b ** 2 + c\nx\n");
        assert_eq!(drawn(&lines), ["-a = b ** 2 [-] c", "+a = b ** 2 [+] c", " x"]);
        assert_eq!(drawn(&whole("", "new")), ["+new"]);
        assert_eq!(drawn(&whole("", "")), [""; 0]);
    }

    #[test]
    fn hunks_have_context_and_heads() {
        let old: String = (1..=9).map(|n| format!("{n}\n")).collect();
        let new = old.replace("5\n", "five\n");
        let lines = drawn(&hunks(&old, &new));
        assert_eq!(lines[0], "@@@ -2,7 +2,7 @@");
        assert_eq!(lines.len(), 9);
        assert!(hunks(&old, &old).is_empty());
    }

    #[test]
    fn long_texts_are_not_compared() {
        let old = "a\n".repeat(MAX_LINES);
        let lines = whole(&old, "a\nb\n");
        assert_eq!(lines.len(), MAX_LINES + 2);
        assert_eq!((lines[0].0, lines[MAX_LINES + 1].0), ('-', '+'));
    }
}
