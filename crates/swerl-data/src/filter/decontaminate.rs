//! What evaluation needs unseen: repositories, their forks, single instances, everything after a
//! date.
//!
//! A fork under another name is known by its root commit: the first-parent history of every clone
//! of one project ends in the same commit, whatever the clone is called.

use std::collections::BTreeSet;

use super::{DropReason, FilterOptions};
use crate::ids::ObjectId;
use crate::time::Timestamp;

/// The 12 repositories of SWE-bench, which training must not see.
pub const SWE_BENCH_REPOSITORIES: [&str; 12] = [
    "astropy/astropy",
    "django/django",
    "matplotlib/matplotlib",
    "mwaskom/seaborn",
    "pallets/flask",
    "psf/requests",
    "pydata/xarray",
    "pylint-dev/pylint",
    "pytest-dev/pytest",
    "scikit-learn/scikit-learn",
    "sphinx-doc/sphinx",
    "sympy/sympy",
];

/// The root commits of [`SWE_BENCH_REPOSITORIES`], in their order: the last commit of
/// `git rev-list --first-parent HEAD`. Roots of projects merged in later are not among them.
pub const SWE_BENCH_ROOTS: [&str; 12] = [
    "d5b68f2fbddb8587ab8fe56e3069d81821adf222",
    "d6ded0e91bcdd2a8f7a221f6a5552a33fe545359",
    "48111d043ec52f9afb511ac447438877b236e7f3",
    "36dd99374a1d6857af7652a9fb832a712a066e16",
    "33850c0ebd23ae615e6823993d441f46d80b1ff0",
    "e7615cbc6b4af5985c4e0d4848a426e2d35f79c3",
    "f6202cb597237e5ad78904771bcbc03e01f39b27",
    "1edf5101afba0965cb814c548afc22bc3cecb205",
    "5992a8ef21424d7571305a8d7e2a3431ee7e1e23",
    "92fbeab6ad94b6683377e26e8af7dd1cb86d615e",
    "6219bccc477caba671e7c4a3a92a6626b33d5006",
    "99b21ff58ad2e2ba83172512d7f513a7c37e50c3",
];

/// The instance id that SWE-bench and its kin give a pull request: `owner__name-12`.
#[must_use]
pub fn instance_id(repository: &str, number: u64) -> String {
    format!("{}-{number}", repository.replacen('/', "__", 1))
}

/// The first check that a pull request fails by its place and date alone.
#[must_use]
pub fn judge_place(
    repository: &str,
    number: u64,
    merged_at: Option<Timestamp>,
    options: &FilterOptions,
) -> Option<DropReason> {
    if options.excludes(repository) {
        return Some(DropReason::ExcludedRepository);
    }
    let id = instance_id(repository, number);
    if options.excluded_instances.iter().any(|listed| listed.eq_ignore_ascii_case(&id)) {
        return Some(DropReason::ExcludedInstance);
    }
    let too_late = |cut: &Timestamp| merged_at.is_none_or(|at| at >= *cut);
    options.merged_before.as_ref().is_some_and(too_late).then_some(DropReason::AfterDateCut)
}

/// Whether a clone with these root commits is a fork of an excluded repository.
#[must_use]
pub fn is_fork(roots: &[ObjectId], options: &FilterOptions) -> bool {
    let excluded: BTreeSet<&str> = options.excluded_roots.iter().map(String::as_str).collect();
    roots.iter().any(|root| excluded.contains(root.to_string().as_str()))
}

#[cfg(test)]
mod tests {
    use super::{SWE_BENCH_ROOTS, instance_id, is_fork, judge_place};
    use crate::filter::{DropReason, FilterOptions};
    use crate::ids::ObjectId;
    use crate::time::Timestamp;

    #[test]
    fn places_and_dates() {
        let options = FilterOptions {
            excluded_instances: ["acme__tool-3".to_owned()].into(),
            merged_before: Some("2020-01-01T00:00:00Z".parse().unwrap()),
            ..FilterOptions::default()
        };
        let early = Some(Timestamp(0));
        for (repository, number, merged, expected) in [
            ("Django/django", 1, early, Some(DropReason::ExcludedRepository)),
            ("Acme/tool", 3, early, Some(DropReason::ExcludedInstance)),
            ("acme/tool", 4, early, None),
            ("acme/tool", 4, "2020-01-01T00:00:00Z".parse().ok(), Some(DropReason::AfterDateCut)),
            ("acme/tool", 4, None, Some(DropReason::AfterDateCut)),
        ] {
            assert_eq!(judge_place(repository, number, merged, &options), expected, "{repository}");
        }
        assert_eq!(instance_id("a/b-c", 7), "a__b-c-7");
    }

    #[test]
    fn forks() {
        let options = FilterOptions::default();
        let root: ObjectId = SWE_BENCH_ROOTS[1].parse().unwrap();
        let other: ObjectId = "1".repeat(40).parse().unwrap();
        assert!(is_fork(&[other, root], &options) && !is_fork(&[other], &options));
        assert!(SWE_BENCH_ROOTS.iter().all(|root| root.parse::<ObjectId>().is_ok()));
    }
}
