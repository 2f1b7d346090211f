//! What an edit changes, in one line: the words that differ with one neighbour on each side, or the
//! first of the lines that are inserted, dropped or rewritten.

/// One line that says how `search` becomes `replace`; none for an empty search text.
pub(super) fn change(search: &str, replace: &str) -> Option<String> {
    if search.is_empty() {
        return None;
    }
    let (old, new): (Vec<&str>, Vec<&str>) =
        (search.split('\n').collect(), replace.split('\n').collect());
    let (before, after) = common_ends(&old, &new);
    let (old, new) = (&old[before..old.len() - after], &new[before..new.len() - after]);
    Some(match (old, new) {
        (old, []) => format!("drop `{}`", old.first()?.trim()),
        ([], new) => format!("insert `{}`", new.first()?.trim()),
        ([old], [new]) => {
            let (old, new) = (words(old), words(new));
            let (before, after) = common_ends(&old, &new);
            let (start, after) = (before.saturating_sub(1), after.saturating_sub(1));
            let shown = |line: &[&str]| line[start..line.len() - after].concat().trim().to_owned();
            format!("replace `{}` by `{}`", shown(&old), shown(&new))
        }
        (old, new) => format!("replace `{}` by `{}`", old.first()?.trim(), new.first()?.trim()),
    })
}

/// Lengths of the longest equal beginning, and of the longest equal end beside it.
fn common_ends<T: PartialEq>(a: &[T], b: &[T]) -> (usize, usize) {
    let before = a.iter().zip(b).take_while(|(a, b)| a == b).count();
    let after =
        a[before..].iter().rev().zip(b[before..].iter().rev()).take_while(|(a, b)| a == b).count();
    (before, after)
}

/// A line cut into words and single other characters, each with the blanks before it.
fn words(line: &str) -> Vec<&str> {
    let in_word = |c: char| c.is_alphanumeric() || c == '_';
    let (mut out, mut start, mut last) = (Vec::new(), 0, ' ');
    for (at, c) in line.char_indices() {
        let goes_on = last.is_whitespace() || (in_word(last) && in_word(c));
        if !goes_on {
            out.push(&line[start..at]);
            start = at;
        }
        last = c;
    }
    if start < line.len() {
        out.push(&line[start..]);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes() {
        let same = |a: &str, b: &str, said: &str| assert_eq!(change(a, b).as_deref(), Some(said));
        same("    x = a - b", "    x = a + b", "replace `a - b` by `a + b`");
        same("    return x", "    return x[1:]", "replace `x` by `x[1:]`");
        same("    if a<b:", "    if a<=b:", "replace `<b` by `<=b`");
        same("a", "b", "replace `a` by `b`");
        same("  x\n  y", "  x\n  z\n  y", "insert `z`");
        same("  x\n  y", "  y", "drop `x`");
        same("  x", "  if x:\n    x", "replace `x` by `if x:`");
        same("x ", "x", "replace `x` by `x`");
        assert_eq!(change("", "new"), None);
    }
}
