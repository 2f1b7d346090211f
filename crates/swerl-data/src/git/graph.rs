//! The commit graph in memory, and exact merge bases without a process per question.
//!
//! One `git rev-list --date-order --parents` lists every commit before its parents. A commit's
//! place in that list is therefore a topological number, and walking a heap of the smallest
//! numbers first visits each commit after all its descendants: its marks are final when it is
//! visited. A commit marked from both sides that no other such commit leads to is a best common
//! ancestor. O(c log c) for the c commits between the two ends and their merge base.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::io::BufRead;

use super::Repository;
use crate::error::DataError;
use crate::ids::ObjectId;

const FIRST: u8 = 1;
const SECOND: u8 = 2;
const STALE: u8 = 4;
const QUEUED: u8 = 8;

/// All ancestors of some commits.
#[derive(Debug)]
pub struct CommitGraph {
    ids: Vec<ObjectId>,
    /// Only looked up, never iterated.
    numbers: HashMap<ObjectId, u32>,
    /// `parents[starts[n]..starts[n + 1]]` are the parents of commit `n`.
    starts: Vec<u32>,
    parents: Vec<u32>,
}

/// Marks that a walk leaves behind, kept to spare an allocation per question.
#[derive(Debug, Default)]
pub struct Marks {
    flags: Vec<u8>,
    touched: Vec<u32>,
    heap: BinaryHeap<Reverse<u32>>,
    /// How many commits in the heap are not stale.
    live: usize,
}

impl Marks {
    fn add(&mut self, commit: u32, flags: u8) {
        let slot = &mut self.flags[commit as usize];
        if *slot == 0 {
            self.touched.push(commit);
        }
        let before = *slot;
        *slot |= flags | QUEUED;
        let now_stale = *slot & STALE != 0;
        if before & QUEUED == 0 {
            self.heap.push(Reverse(commit));
            self.live += usize::from(!now_stale);
        } else if now_stale && before & STALE == 0 {
            self.live -= 1;
        }
    }

    fn clear(&mut self, size: usize) {
        for commit in self.touched.drain(..) {
            self.flags[commit as usize] = 0;
        }
        self.heap.clear();
        self.live = 0;
        self.flags.resize(size, 0);
    }
}

impl CommitGraph {
    /// Reads all ancestors of `tips`; each must be a commit of the repository.
    ///
    /// # Errors
    /// If git fails: a commit on the way cannot be read.
    pub fn load(repository: &Repository, tips: &[ObjectId]) -> Result<Self, DataError> {
        let mut graph =
            Self { ids: Vec::new(), numbers: HashMap::new(), starts: vec![0], parents: Vec::new() };
        if tips.is_empty() {
            return Ok(graph);
        }
        let mut input = Vec::with_capacity(tips.len() * 41);
        for tip in tips {
            input.extend_from_slice(format!("{tip}\n").as_bytes());
        }
        let arguments = ["rev-list", "--date-order", "--parents", "--stdin"];
        let mut process = repository.start(&arguments, Some(input))?;
        let mut parent_ids = Vec::new();
        let mut line = Vec::new();
        loop {
            line.clear();
            let read = process.out.read_until(b'\n', &mut line);
            if read.map_err(|source| process.pipe_error(source))? == 0 {
                break;
            }
            let mut ids = line.trim_ascii().split(|&byte| byte == b' ').map(ObjectId::from_hex);
            let Some(Ok(id)) = ids.next() else {
                return Err(repository.unexpected("rev-list", &line));
            };
            graph.numbers.insert(id, narrow(graph.ids.len()));
            graph.ids.push(id);
            for parent in ids {
                parent_ids.push(parent.map_err(|_| repository.unexpected("rev-list", &line))?);
            }
            graph.starts.push(narrow(parent_ids.len()));
        }
        process.finish()?;
        for parent in parent_ids {
            let number = graph.numbers.get(&parent).copied();
            graph.parents.push(
                number.ok_or_else(|| {
                    repository.unexpected("rev-list", parent.to_string().as_bytes())
                })?,
            );
        }
        Ok(graph)
    }

    /// How many commits there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Whether there is no commit.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// The parents of a commit in order; `None` if it is not in the graph.
    #[must_use]
    pub fn parents(&self, commit: ObjectId) -> Option<Vec<ObjectId>> {
        let number = *self.numbers.get(&commit)?;
        Some(self.parent_numbers(number).iter().map(|&parent| self.ids[parent as usize]).collect())
    }

    /// The commits from `tip` along first parents to the root, newest first.
    pub fn first_parents(&self, tip: ObjectId) -> impl Iterator<Item = ObjectId> + '_ {
        let first = self.numbers.get(&tip).copied();
        let line =
            std::iter::successors(first, |&number| self.parent_numbers(number).first().copied());
        line.map(|number| self.ids[number as usize])
    }

    /// The commits without parents, newest first: where histories begin, or a shallow clone ends.
    #[must_use]
    pub fn roots(&self) -> Vec<ObjectId> {
        let numbers = (0..narrow(self.ids.len())).filter(|&n| self.parent_numbers(n).is_empty());
        numbers.map(|number| self.ids[number as usize]).collect()
    }

    fn parent_numbers(&self, number: u32) -> &[u32] {
        let at = number as usize;
        &self.parents[self.starts[at] as usize..self.starts[at + 1] as usize]
    }

    /// The commits of `tip` that `base` does not have, newest first, `most` of them at most; empty
    /// if one of the two is not in the graph.
    #[must_use]
    pub fn between(
        &self,
        base: ObjectId,
        tip: ObjectId,
        most: usize,
        marks: &mut Marks,
    ) -> Vec<ObjectId> {
        let (Some(&base), Some(&tip)) = (self.numbers.get(&base), self.numbers.get(&tip)) else {
            return Vec::new();
        };
        marks.clear(self.ids.len());
        marks.add(tip, FIRST);
        marks.add(base, STALE);
        let mut found = Vec::new();
        while marks.live > 0 && found.len() < most {
            let Some(Reverse(commit)) = marks.heap.pop() else { break };
            let flags = marks.flags[commit as usize] & !QUEUED;
            if flags & STALE == 0 {
                marks.live -= 1;
                found.push(self.ids[commit as usize]);
            }
            for &parent in self.parent_numbers(commit) {
                marks.add(parent, flags);
            }
        }
        found
    }

    /// All best common ancestors of two commits: common ancestors that no other common ancestor
    /// descends from. The same set as `git merge-base --all a b`; empty if the two are unrelated
    /// or not in the graph.
    #[must_use]
    pub fn merge_bases(&self, a: ObjectId, b: ObjectId, marks: &mut Marks) -> Vec<ObjectId> {
        let (Some(&a), Some(&b)) = (self.numbers.get(&a), self.numbers.get(&b)) else {
            return Vec::new();
        };
        marks.clear(self.ids.len());
        marks.add(a, FIRST);
        marks.add(b, SECOND);
        let mut found = Vec::new();
        while marks.live > 0 {
            let Some(Reverse(commit)) = marks.heap.pop() else { break };
            let mut flags = marks.flags[commit as usize] & !QUEUED;
            if flags & STALE == 0 {
                marks.live -= 1;
                if flags == FIRST | SECOND {
                    found.push(self.ids[commit as usize]);
                    flags |= STALE;
                }
            }
            for &parent in self.parent_numbers(commit) {
                marks.add(parent, flags);
            }
        }
        found
    }

    /// Exactly what `git merge-base a b` answers. Git is asked only where there are several best
    /// common ancestors (criss-cross merges), to break the tie as it does.
    ///
    /// # Errors
    /// If git is asked and fails.
    pub fn merge_base(
        &self,
        repository: &Repository,
        a: ObjectId,
        b: ObjectId,
        marks: &mut Marks,
    ) -> Result<Option<ObjectId>, DataError> {
        match self.merge_bases(a, b, marks).as_slice() {
            [] => Ok(None),
            [one] => Ok(Some(*one)),
            _ => repository.merge_base(a, b),
        }
    }
}

/// Commit and edge counts fit 32 bits: the largest known histories have a few million.
fn narrow(count: usize) -> u32 {
    u32::try_from(count).expect("a history has fewer than 2^32 commits and edges")
}
