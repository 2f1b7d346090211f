//! Budgets, file order, and what a prompt says of itself.

use swerl_data::{ContextFile, FileRole, SeedExample};
use swerl_rollout::{
    ChatMarkup, FileTemplate, NoiseKey, PromptBuilder, Stream, Template, TextCodec,
};

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

#[test]
fn built_in_prompts_keep_every_byte() {
    // Trained policies depend on them: a change here makes their prompts another language.
    let builder = |template| PromptBuilder::new(Bytes, template, 10_000);
    let digest = |template| {
        let text = builder(template).build(&seeds(1)[0], None).text;
        text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        })
    };
    assert_eq!(
        builder(Template::Compact).build(&seeds(1)[0], None).text,
        "<issue>\nleft1 adds\n\nIt must subtract.\n</issue>\n### shop/left1.py\ndef left1(a, b):\n    \
         return a + b\n### shop/tax.py\nRATE = 7\n<answer>\n"
    );
    assert_eq!(digest(Template::SweRl), SWE_RL_DIGEST);
}

/// FNV-1a of the prompt of the first test seed.
const SWE_RL_DIGEST: u64 = 13_564_630_370_240_650_224;

#[test]
fn prompts_with_turns_carry_them() {
    let prompt = |template| PromptBuilder::new(Bytes, template, 10_000).build(&seeds(1)[0], None);
    let turns = prompt(Template::SweRl);
    assert_eq!(turns.messages.len(), 2);
    for message in &turns.messages {
        assert!(turns.text.contains(&message.content));
    }
    assert!(prompt(Template::Compact).messages.is_empty());
}

const CONVERSATION: &str = "{% block system %}Repair {{ think_open }}.{% endblock %}\n\
    {% block user %}{{ issue }}\n{% for file in files %}{{ path_prefix }}{{ file.path }}\n\
    {{ file.text }}{% endfor %}Like this:\n{% block example %}{{ example }}{% endblock %}{% endblock %}\n";

#[test]
fn a_template_file_takes_the_place_of_the_built_in_one() {
    let seed = &seeds(1)[0];
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("prompt.jinja");
    std::fs::write(&path, CONVERSATION).expect("writes");
    let template = FileTemplate::from_file(&path).expect("a template");
    let builder = PromptBuilder::new(Bytes, Template::Compact, 1000).with_template_file(template);
    let prompt = builder.build(seed, None);
    assert_eq!(prompt.messages[0].content, "Repair <think>.");
    assert!(prompt.messages[1].content.starts_with(
        "left1 adds\n\nIt must subtract.\n### shop/left1.py\ndef left1(a, b):\n    return a + b\n### \
         shop/tax.py\nRATE = 7\nLike this:\n```python\n### shop/stock.py\n<<<<<<< SEARCH\n"
    ));
    assert_eq!(prompt.ids, Bytes.encode(&prompt.text));
    assert_eq!(
        prompt.text,
        prompt.messages.iter().map(|m| m.content.clone() + "\n\n").collect::<String>()
    );
    // Without turns the text is what is continued, to the last byte.
    let plain =
        "Issue: {{ issue }}\n{% for f in files %}{{ f.path }}\n{{ f.text }}{% endfor %}Answer:\n";
    let template = FileTemplate::from_text("plain", plain).expect("a template");
    let prompt = PromptBuilder::new(Bytes, Template::Compact, 1000)
        .with_template_file(template)
        .build(seed, None);
    assert!(prompt.messages.is_empty());
    assert_eq!(
        prompt.text,
        "Issue: left1 adds\n\nIt must subtract.\nshop/left1.py\ndef left1(a, b):\n    return a + b\n\
         shop/tax.py\nRATE = 7\nAnswer:\n"
    );
}

#[track_caller]
fn refused(text: &str, named: &[&str]) {
    let error = FileTemplate::from_text("own.jinja", text).expect_err("refused").to_string();
    assert!(error.starts_with("own.jinja"), "{error}");
    for part in named {
        assert!(error.contains(part), "{error}");
    }
}

#[test]
fn templates_that_make_no_prompt_are_refused() {
    refused("{{ issue }}\n{% for f in %}", &["line 2"]);
    refused("{{ isue }}", &["line 1", "undefined"]);
    refused("{{ issue }}\n{% for f in files %}{{ f.name }}{% endfor %}", &["line 2"]);
    refused("{{ issue }} alone", &["does not hold", "file.path"]);
    refused("{% for f in files %}{{ f.path }}{{ f.text }}{% endfor %}", &["An issue"]);
    let without = |example: &str| {
        CONVERSATION.replace("{% block example %}{{ example }}{% endblock %}", example)
    };
    refused(&without(""), &["no block `example`"]);
    refused(&without("{% block example %}just fix it{% endblock %}"), &["example"]);
    // The marks in the wrong order; a search that equals its replacement.
    let edit = "```\n### a.py\n=======\nx\n<<<<<<< SEARCH\ny\n>>>>>>> REPLACE\n```";
    refused(&without(&format!("{{% block example %}}{edit}{{% endblock %}}")), &["example"]);
    let edit = "```\n### a.py\n<<<<<<< SEARCH\nx\n=======\nx\n>>>>>>> REPLACE\n```";
    refused(
        &without(&format!("{{% block example %}}{edit}{{% endblock %}}")),
        &["scores -1", "search_equals_replace"],
    );
    // One of the template's own that is right.
    let edit = "```\n### a.py\n<<<<<<< SEARCH\nx\n=======\ny\n>>>>>>> REPLACE\n```";
    let own = without(&format!("{{% block example %}}{edit}{{% endblock %}}"));
    assert!(FileTemplate::from_text("own.jinja", own).is_ok());
    assert!(FileTemplate::from_file(std::path::Path::new("absent.jinja")).is_err());
}
