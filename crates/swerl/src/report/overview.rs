//! The parts of the page above the rollouts: figures at a glance, notes, held-out evaluations, curves,
//! configuration.

use std::{collections::BTreeMap, fmt::Write as _};

use super::{
    catalogue::charts,
    chart::{Chart, Kind},
    config::Config,
    escape::html,
    evaluation::Evaluation,
    number::{number, percent, reward},
    run::Run,
};

/// Values longer than this are folded.
const LONG: usize = 160;
/// Longest value written, in characters.
const LONGEST: usize = 20_000;

/// All parts in their order.
pub(super) fn sections(run: &Run) -> String {
    let mut out = notes(&run.notes.lines());
    tiles(run, &mut out);
    evaluations(run, &mut out);
    curves(run, &mut out);
    configs(run, &mut out);
    out
}

/// Notes as a box; nothing without one.
pub(super) fn notes(lines: &[String]) -> String {
    if lines.is_empty() {
        return String::new();
    }
    let mut out = String::from("<aside class=\"notes\" aria-label=\"notes\"><b>Left out</b><ul>");
    for line in lines {
        let _ = write!(out, "<li>{}</li>", html(line));
    }
    out.push_str("</ul></aside>\n");
    out
}

fn tile(out: &mut String, label: &str, value: &str, more: &str) {
    let _ = write!(
        out,
        "<div class=\"tile\"><span>{}</span><b>{}</b><small>{}</small></div>",
        html(label),
        html(value),
        html(more)
    );
}

fn tiles(run: &Run, out: &mut String) {
    let mut tiles = String::new();
    if let (Some(before), Some(after)) = (run.evaluation("before"), run.evaluation("after")) {
        let from = |text: String| format!("{text} before GRPO");
        tile(&mut tiles, "Held-out reward", &reward(after.reward), &from(reward(before.reward)));
        tile(
            &mut tiles,
            "Held-out format valid",
            &percent(after.valid),
            &from(percent(before.valid)),
        );
        tile(&mut tiles, "Held-out exact", &percent(after.exact), &from(percent(before.exact)));
    }
    for stage in &run.stages {
        let column =
            ["reward_mean", "loss"].into_iter().find(|column| stage.ends(column).is_some());
        let Some((column, (first, last))) = column.and_then(|c| Some((c, stage.ends(c)?))) else {
            continue;
        };
        let (what, text): (_, fn(f64) -> String) =
            if column == "loss" { ("loss", number) } else { ("reward", reward) };
        let short = if stage.name == "sft" { "SFT".into() } else { title(&stage.name) };
        tile(
            &mut tiles,
            &format!("{short} {what}, last step"),
            &text(last),
            &format!("{} at the first of {} steps", text(first), stage.steps.len()),
        );
    }
    let _ = writeln!(out, "<section class=\"tiles\" aria-label=\"at a glance\">{tiles}</section>");
}

fn evaluations(run: &Run, out: &mut String) {
    if run.evaluations.is_empty() {
        return;
    }
    out.push_str(
        "<section id=\"held-out\"><h2>Held-out evaluations</h2><div class=\"scroll\"><table><thead><tr>\
         <th class=\"t\">Evaluation</th><th>Mean reward</th><th>Format valid</th><th>Exact</th>\
         <th>Similarity of valid</th><th>Tokens, mean</th><th>Cut by length</th><th>Outputs</th>",
    );
    // Weights that were read from a file do not know their step.
    let versions = run.evaluations.iter().any(|e| e.weights_version > 0);
    out.push_str(if versions { "<th>Weights after step</th>" } else { "" });
    out.push_str("</tr></thead><tbody>");
    for e in &run.evaluations {
        let _ = write!(
            out,
            "<tr><th class=\"t\" scope=\"row\">{}</th><td>{}</td><td>{}</td><td>{}</td><td>{}</td>\
             <td>{}</td><td>{}</td><td>{}</td>",
            html(&e.name),
            reward(e.reward),
            percent(e.valid),
            percent(e.exact),
            e.valid_similarity.map_or_else(|| "none valid".into(), reward),
            number((e.tokens * 10.0).round() / 10.0),
            percent(e.truncated),
            e.rewards.len()
        );
        if versions {
            let _ = write!(out, "<td>{}</td>", e.weights_version);
        }
        out.push_str("</tr>");
    }
    out.push_str("</tbody></table></div>");
    for (later, earlier) in [("after", "before"), ("after", "control")] {
        if let (Some(later), Some(earlier)) = (run.evaluation(later), run.evaluation(earlier)) {
            difference(later, earlier, out);
        }
    }
    out.push_str("</section>\n");
}

fn difference(later: &Evaluation, earlier: &Evaluation, out: &mut String) {
    let Some(d) = later.since(earlier) else { return };
    let equal = later.rewards.len() - d.better - d.worse;
    let _ = write!(
        out,
        "<p class=\"fine\"><b>{} less {}</b>, seed by seed: {} mean reward, 95% interval {} to {} (Student's t); \
         {} seeds better, {} worse, {equal} equal.</p>",
        html(&later.name),
        html(&earlier.name),
        reward(d.mean),
        reward(d.mean - d.half_width),
        reward(d.mean + d.half_width),
        d.better,
        d.worse,
    );
}

fn curves(run: &Run, out: &mut String) {
    if run.stages.is_empty() {
        return;
    }
    out.push_str("<section id=\"curves\"><h2>Curves</h2>");
    for stage in &run.stages {
        let (known, others) = charts(stage);
        let _ = write!(
            out,
            "<h3>{} <small class=\"fine\">{} steps</small></h3><div class=\"charts\">",
            html(&title(&stage.name)),
            stage.steps.len()
        );
        for chart in known {
            out.push_str(&chart.figure());
        }
        if stage.name == "sft" && !run.warm_start.is_empty() {
            let rounds: BTreeMap<u64, f64> = (1..).zip(run.warm_start.iter().copied()).collect();
            let chart = Chart {
                title: "Validation reward",
                unit: "-1 to 1, at each round of the warm start",
                along: "round",
                kind: Kind::Lines,
                series: vec![("mean".into(), &rounds)],
                empty: "",
            };
            out.push_str(&chart.figure());
        }
        out.push_str("</div>");
        if !others.is_empty() {
            let _ = write!(
                out,
                "<details class=\"fold\"><summary>{} further columns</summary><div class=\"charts\">",
                others.len()
            );
            for chart in others {
                out.push_str(&chart.figure());
            }
            out.push_str("</div></details>");
        }
    }
    out.push_str("</section>\n");
}

/// Names of stages as headings; others as they are.
fn title(stage: &str) -> String {
    match stage {
        "sft" => "Supervised fine-tuning".into(),
        "grpo" => "GRPO".into(),
        "control" => "Control".into(),
        "run" => "Run".into(),
        other => other.into(),
    }
}

fn configs(run: &Run, out: &mut String) {
    if run.configs.is_empty() && run.summary.is_none() {
        return;
    }
    out.push_str("<section id=\"configuration\"><h2>Configuration</h2>");
    for Config { source, rows, text } in &run.configs {
        let _ =
            write!(out, "<details class=\"fold\"><summary><code>{}</code></summary>", html(source));
        if let Some(text) = text {
            let _ = write!(out, "<pre class=\"panel\">{}</pre>", html(text));
        } else {
            table(rows, out);
        }
        out.push_str("</details>");
    }
    if let Some(summary) = &run.summary {
        out.push_str("<details class=\"fold\"><summary><code>summary.json</code></summary>");
        table(summary, out);
        out.push_str("</details>");
    }
    out.push_str("</section>\n");
}

fn table(rows: &[(String, String)], out: &mut String) {
    out.push_str("<div class=\"scroll\"><table class=\"wrap\"><tbody>");
    for (name, value) in rows {
        let _ = write!(out, "<tr><th scope=\"row\">{}</th><td class=\"mono\">", html(name));
        if value.len() > LONG {
            let characters = value.chars().count();
            let shown: String = value.chars().take(LONGEST).collect();
            let start: String = value.chars().take(60).collect();
            let _ = write!(
                out,
                "<details><summary>{} \u{2026} ({characters} characters)</summary>{}{}</details>",
                html(&start),
                html(&shown),
                if characters > LONGEST { " \u{2026} the rest is left out" } else { "" }
            );
        } else {
            let _ = write!(out, "{}", html(value));
        }
        out.push_str("</td></tr>");
    }
    out.push_str("</tbody></table></div>");
}
