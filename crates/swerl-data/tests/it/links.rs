//! Closing links by GitHub's rules.

use proptest::prelude::*;
use swerl_data::link::closing_links;

/// Links as texts: `12` for the own repository, `owner/name#12` for another.
#[track_caller]
fn check(text: &str, expected: &[&str]) {
    let found: Vec<String> = closing_links(text, "acme/tool")
        .into_iter()
        .map(|link| match link.repo {
            Some(repo) => format!("{repo}#{}", link.number),
            None => link.number.to_string(),
        })
        .collect();
    assert_eq!(found, expected, "{text:?}");
}

#[test]
fn keywords() {
    for keyword in
        ["close", "closes", "closed", "fix", "fixes", "fixed", "resolve", "resolves", "resolved"]
    {
        check(&format!("{keyword} #12"), &["12"]);
        check(&format!("{}: #12", keyword.to_uppercase()), &["12"]);
    }
    check("closing #12, fixing #13, see #14, addresses #15", &[]);
    check("prefixes #12", &[]);
    check("hotfix #12", &[]);
    check("fix#12", &[]);
    check("fix the #12", &[]);
    check("fix : #12", &[]);
    check("éfix #12", &[]);
    check("(fixes #12)", &["12"]);
    check("Fixes\n#12", &["12"]);
}

#[test]
fn references() {
    check("fixes GH-12", &["12"]);
    check("fixes #12.", &["12"]);
    check("fixes #12a", &[]);
    check("fixes #0", &[]);
    check("fixes #99999999999999999999999", &[]);
    check("fixes other/repo#3", &["other/repo#3"]);
    check("fixes Acme/Tool#3", &["3"]);
    check("fixes https://github.com/acme/tool/issues/3", &["3"]);
    check("fixes http://www.github.com/o/r/issues/3#issuecomment-1", &["o/r#3"]);
    check("fixes https://github.com/acme/tool/pull/3", &[]);
    check("fixes https://example.org/acme/tool/issues/3", &[]);
    check("fixes acme/tool/issues/3", &[]);
    check("fixes a/b", &[]);
}

#[test]
fn several() {
    check("fixes #1, #2", &["1"]);
    check("fixes #1, fixes #2 and resolves #1", &["1", "2"]);
    check("Closes #3.\nCloses o/r#3.", &["3", "o/r#3"]);
}

#[test]
fn hidden_text_does_not_count() {
    check("<!-- fixes #1 -->", &[]);
    check("<!-- fixes #1\nfixes #2 --> fixes #3", &["3"]);
    check("<!-- fixes #1", &[]);
    check("`fixes #1`", &[]);
    check("``a ` fixes #1`` fixes #2", &["2"]);
    check("it's ` open: fixes #1", &["1"]);
    check("```\nfixes #1\n```\nfixes #2", &["2"]);
    check("~~~text\nfixes #1\n```\nfixes #2\n~~~\nfixes #3", &["3"]);
    check("````\nfixes #1\n```\nfixes #2\n````", &[]);
    check("```\nfixes #1", &[]);
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 512,
        failure_persistence: None,
        rng_seed: proptest::test_runner::RngSeed::Fixed(7),
        ..ProptestConfig::default()
    })]

    #[test]
    fn never_panics_and_lists_each_once(text in "(fix(es)?|:| |#|[0-9]{1,3}|[`é/~\n]|a|<!--|-->){0,40}") {
        let links = closing_links(&text, "acme/tool");
        for (at, link) in links.iter().enumerate() {
            prop_assert!(!links[..at].contains(link));
            prop_assert!(text.contains(&link.number.to_string()));
        }
    }

    #[test]
    fn a_link_survives_any_plain_surroundings(before in "[a-z .\n]{0,30}", after in "[ .\n][a-z .\n]{0,30}") {
        let text = format!("{before} fixes #12{after}");
        prop_assert_eq!(closing_links(&text, "acme/tool").len(), 1);
    }
}
