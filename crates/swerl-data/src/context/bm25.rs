//! Files of a tree ranked by the words that they share with a text: Okapi BM25.
//!
//! `score(d, q) = sum over words w of q: idf(w) tf(w, d) (k1 + 1) / (tf(w, d) + k1 (1 - b + b
//! len(d) / mean len))` with `idf(w) = ln(1 + (N - n(w) + 0.5) / (n(w) + 0.5))`, k1 = 1.2, b = 0.75
//! (Robertson and Zaragoza, 2009). Names are cut at case changes and underscores, so that
//! `parseHeader`, `parse_header` and "parse header" meet. Words of the path count as words of the
//! text, [`PATH_WEIGHT`] times.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use crate::ids::ObjectId;

const K1: f64 = 1.2;
const B: f64 = 0.75;
/// How often each word of a path counts.
pub const PATH_WEIGHT: u32 = 4;
/// Distinct words of a query; later ones are left out.
pub const MOST_QUERY_WORDS: usize = 128;
/// Word counts kept in memory, over all texts.
const CACHE_LIMIT: usize = 8 << 20;

/// Words that say nothing.
const STOP: [&str; 44] = [
    "the", "and", "for", "that", "this", "with", "from", "have", "has", "was", "are", "not", "but",
    "you", "can", "when", "will", "would", "should", "there", "which", "what", "then", "than",
    "into", "its", "it", "is", "in", "of", "to", "on", "an", "as", "be", "by", "if", "or", "at",
    "we", "do", "does", "me", "my",
];

/// Word counts of one text, sorted by word.
#[derive(Debug, Default)]
pub struct WordCounts {
    counts: Vec<(u32, u32)>,
    total: u32,
}

/// A word's name here: 32 bits of FNV-1a. Two words that share one are taken for the same.
fn name(word: &str) -> u32 {
    let fold = |hash: u32, byte: u8| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
    word.bytes().fold(0x811c_9dc5, fold)
}

/// The words of a text in order, in lower case: at least two letters or digits, no stop words.
#[must_use]
pub fn words(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut word = String::new();
    let mut last_lower = false;
    let mut close = |word: &mut String| {
        if word.chars().count() > 1 && !STOP.contains(&word.as_str()) {
            found.push(std::mem::take(word));
        }
        word.clear();
    };
    for letter in text.chars() {
        if !letter.is_alphanumeric() {
            close(&mut word);
            last_lower = false;
            continue;
        }
        if letter.is_uppercase() && last_lower {
            close(&mut word);
        }
        last_lower = letter.is_lowercase();
        word.extend(letter.to_lowercase());
    }
    close(&mut word);
    found
}

impl WordCounts {
    /// Counts the words of a text, each `weight` times.
    #[must_use]
    pub fn of(text: &str, weight: u32) -> Self {
        let mut counts: BTreeMap<u32, u32> = BTreeMap::new();
        let mut total = 0_u32;
        for word in words(text) {
            let count = counts.entry(name(&word)).or_default();
            *count = count.saturating_add(weight);
            total = total.saturating_add(weight);
        }
        Self { counts: counts.into_iter().collect(), total }
    }

    fn count(&self, word: u32) -> u32 {
        let found = self.counts.binary_search_by_key(&word, |&(name, _)| name);
        found.map_or(0, |at| self.counts[at].1)
    }
}

/// Word counts by blob: most trees of a history share most of their files.
#[derive(Debug, Default)]
pub struct WordCache {
    /// Only looked up, never iterated.
    blobs: HashMap<ObjectId, Arc<WordCounts>>,
    size: usize,
}

impl WordCache {
    /// The counts of a blob, if known.
    #[must_use]
    pub fn get(&self, blob: ObjectId) -> Option<Arc<WordCounts>> {
        self.blobs.get(&blob).cloned()
    }

    /// Counts a blob's text and keeps the counts.
    pub fn insert(&mut self, blob: ObjectId, text: &str) -> Arc<WordCounts> {
        let counts = Arc::new(WordCounts::of(text, 1));
        if self.size + counts.counts.len() > CACHE_LIMIT {
            self.blobs.clear();
            self.size = 0;
        }
        self.size += counts.counts.len();
        self.blobs.insert(blob, Arc::clone(&counts));
        counts
    }
}

/// The places of the files that share a word with `query`, best first; equal scores in the order
/// given. A file is its path and the counts of its text.
#[must_use]
pub fn rank(query: &str, files: &[(&str, Arc<WordCounts>)]) -> Vec<usize> {
    let mut seen = BTreeSet::new();
    let asked = words(query).into_iter().map(|word| name(&word)).filter(|word| seen.insert(*word));
    let asked: Vec<u32> = asked.take(MOST_QUERY_WORDS).collect();
    let paths: Vec<WordCounts> =
        files.iter().map(|(path, _)| WordCounts::of(path, PATH_WEIGHT)).collect();
    let lengths: Vec<f64> = files
        .iter()
        .zip(&paths)
        .map(|((_, text), path)| f64::from(text.total) + f64::from(path.total))
        .collect();
    // Counts far below 2^53 are exact in an f64.
    #[allow(clippy::cast_precision_loss)]
    let number = files.len() as f64;
    let mean = (lengths.iter().sum::<f64>() / number.max(1.0)).max(1.0);
    let mut scores = vec![0.0_f64; files.len()];
    for word in asked {
        let found: Vec<(usize, f64)> = files
            .iter()
            .zip(&paths)
            .enumerate()
            .map(|(place, ((_, text), path))| (place, text.count(word) + path.count(word)))
            .filter(|&(_, count)| count > 0)
            .map(|(place, count)| (place, f64::from(count)))
            .collect();
        #[allow(clippy::cast_precision_loss)]
        let with = found.len() as f64;
        let idf = (1.0 + (number - with + 0.5) / (with + 0.5)).ln();
        for (place, count) in found {
            let norm = K1 * (1.0 - B + B * lengths[place] / mean);
            scores[place] += idf * count * (K1 + 1.0) / (count + norm);
        }
    }
    let mut places: Vec<usize> = (0..files.len()).filter(|&place| scores[place] > 0.0).collect();
    places.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]).then(a.cmp(&b)));
    places
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{WordCounts, rank, words};

    #[test]
    fn names_are_cut_into_words() {
        assert_eq!(
            words("parseHeader parse_header HTTPServer the x 42"),
            ["parse", "header", "parse", "header", "httpserver", "42"]
        );
    }

    #[test]
    fn shared_rare_words_win() {
        let files = [
            ("src/pager.py", "def next_page(items): return items"),
            ("src/header.py", "def parse_header(line): return line"),
            ("src/other.py", "def page(): return line and items and everything else"),
        ];
        let files: Vec<_> =
            files.iter().map(|(path, text)| (*path, Arc::new(WordCounts::of(text, 1)))).collect();
        assert_eq!(rank("Header is parsed wrongly: parseHeader", &files), [1]);
        assert_eq!(rank("the next page", &files), [0, 2]);
        assert!(rank("nothing shared", &files).is_empty());
        assert!(rank("anything", &[]).is_empty());
    }
}
