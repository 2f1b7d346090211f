//! Issues found in commit messages, issues elsewhere, and what was said before the fix.

use serde_json::json;
use swerl_data::link::{LinkSource, linked_issues};
use swerl_data::{
    BugJudge, CommentOptions, CurateOptions, DropReason, FilterOptions, Judges, Note,
};

use crate::fixture::{Pull, comment, issue};
use crate::world::World;

#[test]
fn sources_in_order_and_repositories_apart() {
    let commits = ["Fix it\n\nCloses #3, closes Other/Repo#9", "fixes #4"];
    let found = linked_issues("acme/tool", "Fix #2", "Resolves other/repo#9 and fixes #1", commits);
    assert_eq!(
        found.own,
        [
            (1, LinkSource::Body),
            (2, LinkSource::Title),
            (3, LinkSource::Commit),
            (4, LinkSource::Commit)
        ]
    );
    assert_eq!(found.elsewhere, [("other/repo".to_owned(), 9, LinkSource::Body)]);
    assert!(linked_issues("acme/tool", "See #2", "", []).is_empty());
}

#[test]
fn a_commit_message_links_the_issue() {
    let mut world = World::new();
    let base = world.repo.git(&["rev-parse", "main"]);
    world.repo.branch("fix", "main").write("tool/sum.py", "A\n");
    world.repo.commit("Correct the sum\n\nFixes #1");
    world.repo.write("tool/sum.py", "B\n");
    let head = world.repo.commit("Tidy up");
    world.repo.checkout("main");
    let merge = world.repo.merge(&["fix"], "Merge fix");
    world.add(&Pull { body: String::new(), ..Pull::new(7, &base, &head, &merge) });
    // The same words in a commit that is not of this branch do not count.
    let (base, head, merge) = world.merged("other", |repo| {
        repo.write("tool/other.py", "C\n");
    });
    world.add(&Pull { body: String::new(), ..Pull::new(8, &base, &head, &merge) });
    world.clone_repo();
    let (seeds, report) = world.curate().unwrap();
    assert_eq!(seeds.len(), 1);
    assert_eq!((seeds[0].pull_request, seeds[0].issue.number), (7, Some(1)));
    assert_eq!(report.notes[&Note::LinkInCommit], 1);
    assert_eq!(report.dropped[&DropReason::NoLinkedIssue], 1);
}

#[test]
fn issues_elsewhere_come_last_and_are_counted() {
    let mut world = World::new();
    let (base, head, merge) = world.merged("fix", |repo| {
        repo.write("tool/sum.py", "A\n");
    });
    let mut other = issue(5, "2020-01-31T00:00:00Z", 9, "Crash elsewhere", "", &["bug"]);
    other["repo"]["name"] = json!("acme/lib");
    world.events.push(other);
    let body = "Fixes acme/lib#9, fixes #1".to_owned();
    world.add(&Pull { body, ..Pull::new(7, &base, &head, &merge) });
    world.clone_repo();
    let (seeds, report) = world.curate().unwrap();
    assert_eq!((seeds[0].issue.number, seeds[0].issue.title.as_str()), (Some(1), "Wrong total"));
    assert_eq!(report.notes[&Note::CrossRepositoryLink], 1);
}

#[test]
fn comments_from_before_the_fix_alone() {
    let mut world = World::new();
    let (base, head, merge) = world.merged("fix", |repo| {
        repo.write("tool/sum.py", "A\n");
    });
    let user = json!({"login": "bob", "type": "User"});
    let robot = json!({"login": "helper", "type": "Bot"});
    let add = |world: &mut World, id, at: &str, what, user, body: &str| {
        world.events.push(comment(id, at, 1, what, user, body));
    };
    add(&mut world, 20, "2020-01-31T10:00:00Z", (1, "created"), &user, "With an empty lst too.");
    add(&mut world, 21, "2020-01-31T11:00:00Z", (1, "edited"), &user, "With an empty list too.");
    add(&mut world, 22, "2020-01-31T12:00:00Z", (2, "created"), &user, "Since 1.2.");
    add(&mut world, 23, "2020-01-31T13:00:00Z", (3, "created"), &user, "Wrong thread.");
    add(&mut world, 24, "2020-01-31T14:00:00Z", (3, "deleted"), &user, "Wrong thread.");
    add(&mut world, 25, "2020-01-31T15:00:00Z", (4, "created"), &robot, "Thanks!");
    // The pull request is opened at 2020-02-01T00:00:00Z.
    add(&mut world, 26, "2020-02-01T00:00:01Z", (5, "created"), &user, "Drop the + 1.");
    add(&mut world, 27, "2020-02-01T12:00:00Z", (2, "edited"), &user, "Drop the + 1.");
    world.add(&Pull::new(7, &base, &head, &merge));
    world.events.reverse();
    world.clone_repo();
    let (seeds, report) = world.curate().unwrap();
    assert_eq!(
        seeds[0].issue.body,
        "It is one too many.\n\nComment by bob:\nWith an empty list too.\n\nComment by bob:\nSince 1.2."
    );
    assert_eq!(report.notes[&Note::IssueComments], 1);
    let none = CurateOptions { comments: CommentOptions { max_bytes: 0 }, ..Default::default() };
    let (seeds, _) = world.curate_by(&none, &Judges::default()).unwrap();
    assert_eq!(seeds[0].issue.body, "It is one too many.");
}

/// Says no to everything that names a total.
struct Strict;

impl BugJudge for Strict {
    fn reports_bug(&self, title: &str, _: &str, _: &[String]) -> Option<bool> {
        title.contains("total").then_some(false)
    }
}

#[test]
fn a_judge_decides_before_the_rule() {
    let mut world = World::new();
    let (base, head, merge) = world.merged("fix", |repo| {
        repo.write("tool/sum.py", "A\n");
    });
    world.add(&Pull::new(7, &base, &head, &merge));
    world.clone_repo();
    let judges = Judges { bug: Some(&Strict), ..Judges::default() };
    let (_, report) = world.curate_by(&CurateOptions::default(), &judges).unwrap();
    assert_eq!(report.dropped[&DropReason::NotABug], 1);
    let filters = FilterOptions { require_bug: false, ..FilterOptions::default() };
    let any = CurateOptions { filters, ..CurateOptions::default() };
    assert_eq!(world.curate_by(&any, &judges).unwrap().1.kept, 1);
}
