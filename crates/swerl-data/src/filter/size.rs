//! How much of a text a change touches.

use std::collections::HashMap;

/// Lines removed plus lines added between two texts, compared as multisets: a moved line does
/// not count, so this is at most the size of a diff. O(n).
#[must_use]
pub fn changed_lines(old: &str, new: &str) -> usize {
    // Only a sum of absolute values is taken from the map: its order cannot matter.
    let mut surplus: HashMap<&str, i64> = HashMap::new();
    for line in old.split_inclusive('\n') {
        *surplus.entry(line).or_default() -= 1;
    }
    for line in new.split_inclusive('\n') {
        *surplus.entry(line).or_default() += 1;
    }
    let total: u64 = surplus.values().map(|count| count.unsigned_abs()).sum();
    usize::try_from(total).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::changed_lines;

    #[test]
    fn counts_lines() {
        for (old, new, expected) in [
            ("", "", 0),
            ("a\n", "a\n", 0),
            ("a\n", "b\n", 2),
            ("a\nb\n", "b\na\n", 0),
            ("", "a\nb\n", 2),
            ("a\na\n", "a\n", 1),
            ("a", "a\n", 2),
        ] {
            assert_eq!(changed_lines(old, new), expected, "{old:?} {new:?}");
        }
    }
}
