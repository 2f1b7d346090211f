//! The project itself obeys the house rules.

use xtask::{tidy::Project, workspace::Workspace};

#[test]
fn the_project_is_tidy() {
    let workspace = Workspace::locate().unwrap();
    let project = Project::read(&workspace).unwrap();
    let findings = project.findings();
    let listed: Vec<String> = findings.iter().map(ToString::to_string).collect();
    assert!(listed.is_empty(), "broken house rules:\n{}", listed.join("\n"));
}

#[test]
fn the_published_crates_are_those_in_crates() {
    let workspace = Workspace::locate().unwrap();
    for package in workspace.packages().unwrap() {
        assert_eq!(
            package.published(),
            package.dir.starts_with("crates/"),
            "{} in {}",
            package.name,
            package.dir
        );
    }
}
