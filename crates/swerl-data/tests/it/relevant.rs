//! Related files by shared words, and by a model.

use std::collections::BTreeSet;

use swerl_data::context::AskModel;
use swerl_data::{
    ContextOptions, CurateOptions, FileRole, Judges, NoProgress, RelevantFiles, RelevantRequest,
    RepositoryOptions, SeedExample, curate_repository_with,
};

use crate::fixture::TestRepo;

fn related(repo: &TestRepo, options: ContextOptions, judges: &Judges<'_>) -> Vec<String> {
    let options = CurateOptions { context: options, ..CurateOptions::default() };
    let from = RepositoryOptions::default();
    let (seeds, _) =
        curate_repository_with(repo.path(), &from, &options, judges, &NoProgress).unwrap();
    let seed: &SeedExample = seeds.last().unwrap();
    let files = seed.files.iter().filter(|file| file.role == FileRole::Relevant);
    files.map(|file| file.path.clone()).collect()
}

/// A fix of `app/edited.py` whose message speaks of headers, far from the file that parses them.
fn repository() -> TestRepo {
    let repo = TestRepo::new();
    repo.write("app/edited.py", "x = 0\n");
    for number in 0..6 {
        repo.write(&format!("app/other{number}.py"), format!("NUMBER = {number}\n"));
    }
    repo.write(
        "library/deep/below/wire.py",
        "def parse_header(line):\n    return line.split(':')\n\ndef fold_header(line): ...\n",
    );
    repo.write("library/deep/below/unrelated.py", "def draw(canvas): ...\n");
    repo.write("library/deep/below/notes.md", "parse header parse header\n");
    repo.write("vendor/header.py", "def parse_header(): ...\n");
    repo.commit("Start");
    repo.write("app/edited.py", "x = 1\n");
    repo.commit("Wrong result when parseHeader folds a header (#2)");
    repo
}

#[test]
fn words_of_the_issue_find_files_far_away() {
    let repo = repository();
    let limits = ContextOptions { max_files: 2, max_tokens: 1_000 };
    let found = related(&repo, limits, &Judges::default());
    assert_eq!(found, ["library/deep/below/wire.py", "app/other0.py"]);
    assert_eq!(related(&repo, limits, &Judges::default()), found, "the same choice again");
}

/// Answers with fixed paths and checks what it was asked.
struct Fixed(Option<Vec<&'static str>>);

impl RelevantFiles for Fixed {
    fn choose(&self, request: &RelevantRequest<'_>) -> Option<Vec<String>> {
        assert!(request.changed.contains("app/edited.py"));
        assert!(!request.tree.iter().any(|path| path == "app/edited.py" || path.ends_with(".md")));
        let sorted: BTreeSet<&String> = request.tree.iter().collect();
        assert_eq!(sorted.into_iter().collect::<Vec<_>>(), request.tree.iter().collect::<Vec<_>>());
        Some(self.0.as_ref()?.iter().map(|&path| path.to_owned()).collect())
    }
}

#[test]
fn a_model_chooses_within_the_same_limits() {
    let repo = repository();
    let limits = ContextOptions { max_files: 2, max_tokens: 1_000 };
    let choose = |model: &dyn RelevantFiles| {
        related(&repo, limits, &Judges { relevant: Some(model), ..Judges::default() })
    };
    // What does not exist, is edited, vendored or chosen twice is passed over.
    let odd = vec![
        "no/such.py",
        "app/edited.py",
        "../../etc/passwd",
        "vendor/header.py",
        "app/other5.py",
        "app/other5.py",
        "library/deep/below/unrelated.py",
        "app/other1.py",
    ];
    assert_eq!(choose(&Fixed(Some(odd))), ["app/other5.py", "library/deep/below/unrelated.py"]);
    let rule = related(&repo, limits, &Judges::default());
    assert_eq!(choose(&Fixed(None)), rule);
    assert_eq!(choose(&Fixed(Some(vec!["no/such.py"]))), rule);
    let asked = AskModel(|prompt: &str| {
        assert!(prompt.contains("- app/edited.py\n") && prompt.contains("parseHeader"));
        Some("- `app/other3.py`".to_owned())
    });
    assert_eq!(choose(&asked), ["app/other3.py"]);
}
