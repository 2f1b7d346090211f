//! How many tokens a text costs, without a tokenizer.
//!
//! An estimate for byte-pair tokenizers of code models: a word of up to six letters is one token,
//! longer ones cost one more per six letters; digits go in threes; a run of white space that is
//! more than the blank before a word is one; of signs two in a row are one; any letter outside
//! ASCII is one. Budgets are kept by whoever tokenizes; this one only keeps contexts from growing
//! out of proportion.

/// The kinds of runs that a text is cut into.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Letters,
    Digits,
    Space,
    Signs,
    Other,
}

fn kind(letter: char) -> Kind {
    match letter {
        'a'..='z' | 'A'..='Z' => Kind::Letters,
        '0'..='9' => Kind::Digits,
        ' ' | '\t' | '\n' | '\r' => Kind::Space,
        letter if letter.is_ascii() => Kind::Signs,
        _ => Kind::Other,
    }
}

/// The estimate; 0 for the empty text. O(n).
#[must_use]
pub fn estimate_tokens(text: &str) -> usize {
    let mut total = 0;
    let mut letters = text.chars().peekable();
    while let Some(first) = letters.next() {
        let run_kind = kind(first);
        let mut len = 1;
        while letters.next_if(|&next| kind(next) == run_kind).is_some() {
            len += 1;
        }
        total += match run_kind {
            Kind::Letters => 1 + (len - 1) / 6,
            Kind::Digits => 1 + (len - 1) / 3,
            Kind::Space => usize::from(first != ' ' || len > 1),
            Kind::Signs => 1 + (len - 1) / 2,
            Kind::Other => len,
        };
    }
    total
}

#[cfg(test)]
mod tests {
    use super::estimate_tokens;

    #[test]
    fn counts_runs() {
        for (text, expected) in [
            ("", 0),
            ("word", 1),
            ("a word", 2),
            ("internationalization", 4),
            ("x = 1\n", 4),
            ("    return f(x)\n", 7),
            ("123456", 2),
            ("é", 1),
        ] {
            assert_eq!(estimate_tokens(text), expected, "{text:?}");
        }
    }
}
