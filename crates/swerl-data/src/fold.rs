//! Events to pull requests and issues: a fold whose result does not depend on the order of the
//! events, so files can be read in parallel.

use std::collections::BTreeMap;

use crate::event::Event;
use crate::pull_request::{Issue, PullRequest};

/// A repository's name in lower case, and a number.
type Key = (String, u64);

/// What the events seen so far tell.
#[derive(Debug, Clone, Default)]
pub struct Fold {
    pulls: BTreeMap<Key, PullRequest>,
    issues: BTreeMap<Key, Issue>,
}

impl Fold {
    /// Takes in one event.
    pub fn add(&mut self, event: Event) {
        match event {
            Event::PullRequest(event) => self.add_pull(PullRequest::from_event(event)),
            // Comments on a pull request come as issue events; they are no issue's text.
            Event::Issue(event) if !event.issue.is_pull_request => {
                let key = (event.repo.to_lowercase(), event.issue.number);
                self.issues.entry(key).or_default().add(event);
            }
            Event::Issue(_) | Event::Other => {}
        }
    }

    fn add_pull(&mut self, pull: PullRequest) {
        let key = (pull.repo.to_lowercase(), pull.number);
        let known = self.pulls.remove(&key);
        let best = match known {
            Some(known) => known.or(pull),
            None => pull,
        };
        self.pulls.insert(key, best);
    }

    /// Takes in all that another fold knows.
    pub fn merge(&mut self, other: Self) {
        for (_, pull) in other.pulls {
            self.add_pull(pull);
        }
        for (key, issue) in other.issues {
            self.issues.entry(key).or_default().merge(issue);
        }
    }

    /// All pull requests, by repository (lower case), then number.
    pub fn pull_requests(&self) -> impl Iterator<Item = &PullRequest> {
        self.pulls.values()
    }

    /// The issue `number` of `repo` (any case).
    #[must_use]
    pub fn issue(&self, repo: &str, number: u64) -> Option<&Issue> {
        self.issues.get(&(repo.to_lowercase(), number))
    }
}
