//! Instances of other data sets, as their JSONL rows have them.
//!
//! | format | fields read | change |
//! |---|---|---|
//! | SWE-bench, SWE-Gym | `instance_id`, `repo`, `base_commit`, `patch`, `problem_statement`, `created_at` | `patch` on `base_commit` |
//! | SWE-smith | `instance_id`, `repo` (`owner__name.commit8` of a mirror), `patch`, `problem_statement` | `patch` INDUCES the bug: undone |
//! | R2E-Gym | `repo_name`, `commit_hash`, `problem_statement` | the commit against its parent |
//!
//! `hints_text` is never read: it holds comments from after the fix.

use serde::Deserialize;

use crate::ids::split_repository_name;

/// Which data set a row is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum InstanceFormat {
    /// SWE-bench and its subsets.
    SweBench,
    /// SWE-Gym, which has SWE-bench's fields.
    SweGym,
    /// SWE-smith.
    SweSmith,
    /// R2E-Gym.
    R2eGym,
}

/// What an instance changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InstanceChange {
    /// This patch on `base` is the fix.
    Fix {
        /// The commit before, whole or abbreviated.
        base: String,
        /// A unified diff.
        patch: String,
    },
    /// This patch on `base` makes the bug; `base` is the fixed state.
    Bug {
        /// The commit before, whole or abbreviated.
        base: String,
        /// A unified diff.
        patch: String,
    },
    /// The commit is the fix, its first parent the state before.
    Commit(String),
}

/// One row, made uniform.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instance {
    /// The data set's own id; becomes the seed's.
    pub id: String,
    /// `owner/name`.
    pub repo: String,
    /// The number of the pull request; 0 where none is known.
    pub number: u64,
    /// The problem statement.
    pub problem: String,
    /// When the fix was proposed, as `2016-05-04T12:30:00Z`, where known.
    pub created_at: Option<String>,
    /// What changes.
    pub change: InstanceChange,
}

/// Why a row is no instance.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InstanceProblem {
    /// It is not JSON, or a field is missing or of another type.
    #[error("{0}")]
    Json(#[from] serde_json::Error),
    /// A repository name cannot be made out.
    #[error("the field 'repo' names no repository: '{name}'")]
    Repository {
        /// The name found.
        name: String,
    },
}

#[derive(Deserialize)]
struct SweBenchRow {
    instance_id: String,
    repo: String,
    base_commit: String,
    patch: String,
    problem_statement: String,
    #[serde(default)]
    created_at: Option<serde_json::Value>,
}

#[derive(Deserialize)]
struct SweSmithRow {
    instance_id: String,
    repo: String,
    patch: String,
    #[serde(default)]
    problem_statement: Option<String>,
    #[serde(default)]
    base_commit: Option<String>,
}

#[derive(Deserialize)]
struct R2eGymRow {
    repo_name: String,
    commit_hash: String,
    problem_statement: String,
}

/// Owners of the repositories that R2E-Gym names without one.
const R2E_OWNERS: [(&str, &str); 14] = [
    ("aiohttp", "aio-libs/aiohttp"),
    ("bokeh", "bokeh/bokeh"),
    ("coveragepy", "nedbat/coveragepy"),
    ("datalad", "datalad/datalad"),
    ("mypy", "python/mypy"),
    ("numpy", "numpy/numpy"),
    ("orange3", "biolab/orange3"),
    ("pandas", "pandas-dev/pandas"),
    ("pillow", "python-pillow/Pillow"),
    ("pyramid", "Pylons/pyramid"),
    ("scrapy", "scrapy/scrapy"),
    ("statsmodels", "statsmodels/statsmodels"),
    ("sympy", "sympy/sympy"),
    ("tornado", "tornadoweb/tornado"),
];

impl InstanceFormat {
    /// All formats with their names on the command line.
    pub const ALL: [(&'static str, Self); 4] = [
        ("swe-bench", Self::SweBench),
        ("swe-gym", Self::SweGym),
        ("swe-smith", Self::SweSmith),
        ("r2e-gym", Self::R2eGym),
    ];

    /// Reads one row.
    ///
    /// # Errors
    /// If it is not JSON, lacks a field of the format, or names no repository.
    pub fn read(self, line: &[u8]) -> Result<Instance, InstanceProblem> {
        match self {
            Self::SweBench | Self::SweGym => swe_bench(serde_json::from_slice(line)?),
            Self::SweSmith => swe_smith(serde_json::from_slice(line)?),
            Self::R2eGym => r2e_gym(serde_json::from_slice(line)?),
        }
    }
}

fn checked(name: String) -> Result<String, InstanceProblem> {
    match split_repository_name(&name) {
        Some(_) => Ok(name),
        None => Err(InstanceProblem::Repository { name }),
    }
}

/// The number at the end of `owner__name-12`.
fn number_of(id: &str) -> u64 {
    id.rsplit_once('-').and_then(|(_, number)| number.parse().ok()).unwrap_or(0)
}

fn swe_bench(row: SweBenchRow) -> Result<Instance, InstanceProblem> {
    let moment = row.created_at.as_ref().and_then(serde_json::Value::as_str);
    let moment = moment.and_then(|text| text.parse::<crate::time::Timestamp>().ok());
    Ok(Instance {
        repo: checked(row.repo)?,
        number: number_of(&row.instance_id),
        id: row.instance_id,
        problem: row.problem_statement,
        created_at: moment.map(|moment| moment.to_string()),
        change: InstanceChange::Fix { base: row.base_commit, patch: row.patch },
    })
}

fn swe_smith(row: SweSmithRow) -> Result<Instance, InstanceProblem> {
    // `swesmith/owner__name.1fd52536`, or the plain name beside a `base_commit`.
    let mirror = row.repo.rsplit('/').next().unwrap_or("");
    let parts = mirror.split_once("__").and_then(|(owner, rest)| {
        let (name, commit) = rest.rsplit_once('.')?;
        Some((format!("{owner}/{name}"), commit.to_owned()))
    });
    let (repo, base) = match (parts, row.base_commit) {
        (Some((repo, _)), Some(commit)) if !commit.is_empty() => (repo, commit),
        (Some((repo, commit)), _) => (repo, commit),
        (None, Some(commit)) if !commit.is_empty() => (row.repo, commit),
        (None, _) => return Err(InstanceProblem::Repository { name: row.repo }),
    };
    Ok(Instance {
        repo: checked(repo)?,
        number: 0,
        id: row.instance_id,
        problem: row.problem_statement.unwrap_or_default(),
        created_at: None,
        change: InstanceChange::Bug { base, patch: row.patch },
    })
}

fn r2e_gym(row: R2eGymRow) -> Result<Instance, InstanceProblem> {
    let lower = row.repo_name.to_lowercase();
    let known = R2E_OWNERS.iter().find(|(name, _)| *name == lower);
    let repo = match known {
        Some((_, full)) => (*full).to_owned(),
        None if row.repo_name.contains('/') => row.repo_name.clone(),
        None => format!("r2e-gym/{}", row.repo_name),
    };
    let problem = row.problem_statement.trim();
    let problem = problem.strip_prefix("[ISSUE]").unwrap_or(problem);
    let problem = problem.strip_suffix("[/ISSUE]").unwrap_or(problem);
    Ok(Instance {
        id: format!("{}-{}", repo.replacen('/', "__", 1), row.commit_hash),
        repo: checked(repo)?,
        number: 0,
        problem: problem.trim().to_owned(),
        created_at: None,
        change: InstanceChange::Commit(row.commit_hash),
    })
}

#[cfg(test)]
mod tests {
    use super::{InstanceChange, InstanceFormat};

    #[test]
    fn rows_of_every_format() {
        let row = br#"{"instance_id":"o__r-7","repo":"o/r","base_commit":"abc","patch":"p",
            "problem_statement":"t","created_at":"2020-01-02T03:04:05Z","extra":1}"#;
        let found = InstanceFormat::SweBench.read(row).unwrap();
        assert_eq!((found.number, found.created_at.as_deref()), (7, Some("2020-01-02T03:04:05Z")));
        assert_eq!(InstanceFormat::SweGym.read(row).unwrap(), found);
        let row = br#"{"instance_id":"i","repo":"swesmith/o__r.py.1fd52536","patch":"p",
            "image_name":"x","problem_statement":"t"}"#;
        let found = InstanceFormat::SweSmith.read(row).unwrap();
        assert_eq!(found.repo, "o/r.py");
        let base = "1fd52536".to_owned();
        assert_eq!(found.change, InstanceChange::Bug { base, patch: "p".to_owned() });
        let row = br#"{"repo_name":"pillow","commit_hash":"abc","docker_image":"x",
            "problem_statement":"[ISSUE]\nIt fails\n[/ISSUE]"}"#;
        let found = InstanceFormat::R2eGym.read(row).unwrap();
        assert_eq!(
            (found.repo.as_str(), found.problem.as_str()),
            ("python-pillow/Pillow", "It fails")
        );
    }

    #[test]
    fn faults_name_the_field() {
        for (format, row, expected) in [
            (InstanceFormat::SweBench, r#"{"repo":"o/r"}"#, "instance_id"),
            (InstanceFormat::R2eGym, r#"{"repo_name":"x"}"#, "commit_hash"),
            (
                InstanceFormat::SweSmith,
                r#"{"instance_id":"i","repo":"plain","patch":""}"#,
                "names no repository: 'plain'",
            ),
            (InstanceFormat::SweBench, "nothing", "expected ident"),
        ] {
            let error = format.read(row.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
