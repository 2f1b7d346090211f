//! Budgets, file order, and what a prompt says of itself.

use swerl_data::{ContextFile, FileRole, SeedExample};
use swerl_rollout::{ChatMarkup, NoiseKey, PromptBuilder, Stream, Template, TextCodec};

use crate::support::{Bytes, seed, seeds};

/// Files named by letter, of so many bytes of text each.
fn with_files(files: &[(&str, FileRole, usize)]) -> SeedExample {
    let file = |&(path, role, bytes): &(&str, FileRole, usize)| ContextFile {
        path: path.to_owned(),
        role,
        text: "x".repeat(bytes - 1) + "\n",
    };
    SeedExample { files: files.iter().map(file).collect(), ..seed(1) }
}

#[track_caller]
fn check(files: &[(&str, FileRole, usize)], room: usize, shown: &[&str], over: bool) {
    let seed = with_files(files);
    let bare = SeedExample { files: Vec::new(), ..seed.clone() };
    let empty = PromptBuilder::new(Bytes, Template::Compact, usize::MAX).build(&bare, None);
    let builder = PromptBuilder::new(Bytes, Template::Compact, empty.ids.len() + room);
    let prompt = builder.build(&seed, None);
    assert_eq!(prompt.files, shown);
    assert_eq!(prompt.over_budget, over);
    assert_eq!(prompt.files.len() + prompt.skipped.len(), files.len());
    assert_eq!(prompt.ids, Bytes.encode(&prompt.text));
    for (path, _, bytes) in files {
        let whole = format!("### {path}\n{}\n", "x".repeat(bytes - 1));
        assert_eq!(prompt.text.contains(&whole), shown.contains(path), "{path}");
    }
}

#[test]
fn files_are_whole_and_chosen_greedily_edited_ones_first() {
    use FileRole::{Edit, Relevant};
    // A file costs its bytes and 6 for "### a\n".
    let files = [("r", Relevant, 50), ("e", Edit, 60), ("s", Relevant, 20), ("f", Edit, 30)];
    check(&files, 184, &["r", "e", "s", "f"], false);
    check(&files, 183, &["r", "e", "f"], false);
    check(&files, 157, &["e", "s", "f"], false);
    check(&files, 128, &["e", "s", "f"], false);
    check(&files, 127, &["e", "f"], false);
    check(&files, 66, &["e"], false);
    check(&files, 65, &["s", "f"], false);
    check(&files, 26, &["s"], false);
    // None fits: the first to be edited, alone.
    check(&files, 25, &["e"], true);
    check(&[], 0, &[], false);
}

#[test]
fn the_order_of_files_is_drawn_by_counter() {
    use FileRole::{Edit, Relevant};
    let seed = with_files(&[("a", Edit, 5), ("b", Relevant, 5), ("c", Relevant, 5)]);
    let builder = PromptBuilder::new(Bytes, Template::SweRl, 10_000);
    let key = |step| NoiseKey { stream: Stream::FileOrder, seed: 1, step, prompt: 0, sample: 0 };
    let order = |step| builder.build(&seed, Some(key(step))).files.concat();
    assert_eq!(order(3), order(3));
    let seen: std::collections::BTreeSet<String> = (0..60).map(order).collect();
    assert_eq!(seen.len(), 6);
    // The place of the edited file says nothing of its role.
    let first = (0..300).filter(|&step| order(step).starts_with('a')).count();
    assert!((70..130).contains(&first), "{first}");
}

#[test]
fn seeds_over_budget_are_sorted_out_by_name() {
    let mut all = seeds(3);
    all[1].files[0].text = "x = 1\n".repeat(1000);
    let builder = PromptBuilder::new(Bytes, Template::Compact, 400);
    // The second still shows its other file, so it keeps the budget; its edited file is skipped.
    let prompt = builder.build(&all[1], None);
    assert_eq!((prompt.files, prompt.over_budget), (vec!["shop/tax.py".to_owned()], false));
    all[1].files[1].text = "x = 1\n".repeat(1000);
    let (kept, dropped) = builder.split_by_budget(all);
    assert_eq!(kept.len(), 2);
    assert_eq!(dropped, ["shop/left#2"]);
}

#[test]
fn marks_that_the_tokenizer_lacks_are_refused() {
    let builder = PromptBuilder::new(Bytes, Template::SweRl, 100);
    assert!(builder.with_markup(ChatMarkup::llama3()).is_err());
}
