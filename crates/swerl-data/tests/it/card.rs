//! The data card of a few seeds.

use std::fs;

use swerl_data::{CurateReport, DataCard, DropReason, Note};
use tempfile::TempDir;

use crate::fixture::seed;

#[test]
fn counts_and_pictures() {
    let seeds = vec![seed("acme/tool", 1), seed("acme/tool", 2), seed("acme/lib", 3)];
    let mut report = CurateReport { inputs: 10, kept: 3, ..CurateReport::default() };
    report.dropped = [(DropReason::Bot, 4), (DropReason::NotABug, 3)].into();
    report.notes = [(Note::Rename, 2)].into();
    report.licences = [("MIT".to_owned(), 3)].into();
    let card = DataCard::new("seeds.jsonl", &seeds, &report);
    for part in [
        "| seeds | 3 |",
        "| repositories with seeds | 2 |",
        "| seen | | 10 | |",
        "| bot | 4 | 6 | made by a program",
        "| not_a_bug | 3 | 3 |",
        "| **kept** | | **3** | |",
        "| rename | 2 |",
        "| MIT | 3 |",
        "| Python | 3 |",
        "| 2020 | 3 |",
        "| acme/tool | 2 |\n| acme/lib | 1 |",
    ] {
        assert!(card.markdown.contains(part), "{part} is not in\n{}", card.markdown);
    }
    assert_eq!(DataCard::new("seeds.jsonl", &seeds, &report), card);
    let dir = TempDir::new().unwrap();
    card.write(dir.path().join("card")).unwrap();
    let mut names: Vec<String> = fs::read_dir(dir.path().join("card"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    let expected = [
        "changed-files.svg",
        "changed-lines.svg",
        "context-tokens.svg",
        "data-card.md",
        "languages.svg",
        "years.svg",
    ];
    assert_eq!(names, expected);
    for (name, svg) in &card.pictures {
        assert!(card.markdown.contains(&format!("({name})")), "{name}");
        assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"), "{name}");
        assert_eq!(&fs::read_to_string(dir.path().join("card").join(name)).unwrap(), svg);
    }
}

#[test]
fn no_seed_is_a_card_too() {
    let card = DataCard::new("none", &[], &CurateReport::default());
    assert!(
        card.markdown.contains("| seeds | 0 |") && card.markdown.contains("| first merge | - |")
    );
}
