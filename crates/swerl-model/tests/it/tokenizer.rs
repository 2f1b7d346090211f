//! Byte-level BPE: lossless on any text, special spellings are text.

use proptest::prelude::*;
use swerl_model::Tokenizer;

fn trained() -> Tokenizer {
    let texts = [
        "def parse_header(line):\n    return line.split(\":\")\n",
        "fn parse_header(line: &str) -> usize {\n    line.len()\n}\n",
        "### src/parse_header.py\n<<<<<<< SEARCH\n    return 1\n=======\n    return 2\n>>>>>>> REPLACE\n",
    ];
    Tokenizer::train(texts.into_iter().cycle().take(60), 400, &["<|end|>", "<|pad|>"]).unwrap()
}

#[test]
fn words_and_indents_become_single_tokens() {
    let tokenizer = trained();
    let pieces = |text: &str| tokenizer.encode(text).len();
    assert_eq!(pieces("parse"), 1);
    assert_eq!(pieces("_header"), 1);
    assert_eq!(pieces("\n    "), 1);
    assert_eq!(pieces(" SEARCH"), 1);
    assert_eq!(tokenizer.eos_ids(), [0]);
    assert_eq!(tokenizer.token_id("<|end|>"), Some(0));
}

#[test]
fn a_special_spelling_in_a_text_is_text() {
    let tokenizer = trained();
    let ids = tokenizer.encode("a <|end|> b");
    assert!(!ids.contains(&0) && !ids.contains(&1), "{ids:?}");
    assert_eq!(tokenizer.decode(&ids), "a <|end|> b");
    assert_eq!(tokenizer.decode(&[0, 1, 999_999]), "");
}

#[test]
fn a_folder_gives_the_same_tokenizer_back() {
    let tokenizer = trained();
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("tokenizer.json"), tokenizer.to_json().unwrap()).unwrap();
    let missing = Tokenizer::from_folder(dir.path()).unwrap_err().to_string();
    assert!(missing.contains("eos_token_id"), "{missing}");
    std::fs::write(dir.path().join("config.json"), r#"{"eos_token_id": [0, 1]}"#).unwrap();
    let again = Tokenizer::from_folder(dir.path()).unwrap();
    assert_eq!(again.eos_ids(), [0, 1]);
    let text = "def x(a):\n    return <|end|> é\n";
    assert_eq!(again.encode(text), tokenizer.encode(text));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn any_text_comes_back(text in any::<String>()) {
        let tokenizer = trained_once();
        prop_assert_eq!(tokenizer.decode(&tokenizer.encode(&text)), text);
    }
}

fn trained_once() -> &'static Tokenizer {
    static ONCE: std::sync::OnceLock<Tokenizer> = std::sync::OnceLock::new();
    ONCE.get_or_init(trained)
}
