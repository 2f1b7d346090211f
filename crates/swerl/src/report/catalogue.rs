//! Which columns of a stage are drawn together, and under which name. Columns of no chart here get one
//! of their own.

use std::collections::BTreeSet;

use super::{
    chart::{Chart, Kind},
    metrics::Stage,
};

/// A chart: title, unit, kind, columns with their labels. A column ending in `.` stands for all that begin so.
struct Spec {
    title: &'static str,
    unit: &'static str,
    kind: Kind,
    columns: &'static [(&'static str, &'static str)],
    empty: &'static str,
}

const fn spec(
    title: &'static str,
    unit: &'static str,
    kind: Kind,
    columns: &'static [(&'static str, &'static str)],
) -> Spec {
    Spec { title, unit, kind, columns, empty: "null at every step: nothing to measure" }
}

/// The charts in the order of the page.
const SPECS: [Spec; 20] = [
    spec("Reward", "-1 to 1", Kind::Lines, &[("reward_mean", "mean")]),
    spec(
        "Format valid, exact",
        "share of outputs",
        Kind::FromZero,
        &[("rollouts.format_valid", "format valid"), ("rollouts.exact", "exact")],
    ),
    spec(
        "Similarity of valid outputs",
        "0 to 1",
        Kind::Lines,
        &[("rollouts.valid_similarity", "mean")],
    ),
    spec("Outcomes", "outputs", Kind::Stacked, &[("rollouts.outcomes.", "")]),
    spec("Loss", "of the objective; cross-entropy in nats", Kind::Lines, &[("loss", "loss")]),
    Spec {
        title: "KL to the reference",
        unit: "nats a token",
        kind: Kind::Lines,
        columns: &[("kl", "mean")],
        empty: "null at every step: the loss has no reference",
    },
    spec("Entropy", "nats a token", Kind::FromZero, &[("entropy", "mean")]),
    spec(
        "Clip fraction",
        "share of tokens",
        Kind::FromZero,
        &[("clip_fraction_low", "low"), ("clip_fraction_high", "high")],
    ),
    spec(
        "Ratio to the old policy",
        "unclipped",
        Kind::Lines,
        &[("ratio_mean", "mean"), ("ratio_min", "least"), ("ratio_max", "most")],
    ),
    spec(
        "Completion length",
        "tokens",
        Kind::FromZero,
        &[
            ("completion_length_mean", "mean"),
            ("completion_length_min", "least"),
            ("completion_length_max", "most"),
        ],
    ),
    spec(
        "Cut by the length limit, aborted",
        "share of outputs",
        Kind::FromZero,
        &[("truncated_fraction", "cut"), ("aborted_fraction", "aborted")],
    ),
    spec(
        "Groups without spread",
        "share of groups",
        Kind::FromZero,
        &[("frac_reward_zero_std", "equal rewards")],
    ),
    spec(
        "Spread of rewards",
        "standard deviation",
        Kind::FromZero,
        &[("reward_std", "all groups")],
    ),
    spec("Gradient norm", "L2, before clipping", Kind::FromZero, &[("grad_norm", "norm")]),
    spec("Learning rate", "a step", Kind::FromZero, &[("learning_rate", "rate")]),
    spec(
        "Sampler against trainer",
        "nats, absolute difference",
        Kind::FromZero,
        &[("sampler_difference_max", "most"), ("sampler_difference_mean", "mean")],
    ),
    spec(
        "Speed of sampling",
        "tokens sampled a second of collecting",
        Kind::FromZero,
        &[("rate.sampled", "sampled")],
    ),
    spec(
        "Speed of training",
        "tokens trained a second of gradients",
        Kind::FromZero,
        &[("rate.trained", "trained")],
    ),
    spec("Time by phase", "seconds a step", Kind::Stacked, &[("times.", "")]),
    spec("Tokens of a step", "tokens", Kind::FromZero, &[("trained_tokens", "trained")]),
];

/// The charts of a stage, the known ones first, and those of its other columns.
pub(super) fn charts(stage: &Stage) -> (Vec<Chart<'_>>, Vec<Chart<'_>>) {
    let mut used = BTreeSet::new();
    let mut known = Vec::new();
    for spec in &SPECS {
        let mut series = Vec::new();
        for (column, label) in spec.columns {
            let every = column.ends_with('.');
            for (name, values) in &stage.columns {
                if every && name.starts_with(column) {
                    let label = name[column.len()..].replace('_', " ");
                    series.push((label, values));
                } else if name == column {
                    series.push(((*label).to_owned(), values));
                } else {
                    continue;
                }
                used.insert(name.as_str());
            }
        }
        if spec.kind == Kind::Stacked {
            // Phases that a stage never enters say nothing. The good outcome is the lowest bar.
            series.retain(|(_, values)| values.values().any(|value| *value > 0.0));
            series.sort_by_key(|(label, _)| label != "scored");
        }
        if !series.is_empty() {
            known.push(Chart {
                title: spec.title,
                unit: spec.unit,
                along: "step",
                kind: spec.kind,
                series,
                empty: spec.empty,
            });
        }
    }
    let others = stage.columns.iter().filter(|(name, values)| {
        !used.contains(name.as_str()) && !values.is_empty() && !name.starts_with("times.")
    });
    let others = others.map(|(name, values)| Chart {
        title: name,
        unit: "",
        along: "step",
        kind: Kind::Lines,
        series: vec![("value".to_owned(), values)],
        empty: "",
    });
    (known, others.collect())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn every_column_is_drawn_once() {
        let values = BTreeMap::from([(1, 0.5)]);
        let mut stage = Stage::default();
        for name in ["reward_mean", "times.collect", "times.update", "brand_new", "rollouts.exact"]
        {
            stage.columns.insert(name.into(), values.clone());
        }
        stage.columns.insert("times.checkpoint".into(), BTreeMap::from([(1, 0.0)]));
        stage.columns.insert("kl".into(), BTreeMap::new());
        let (known, others) = charts(&stage);
        let titles: Vec<&str> = known.iter().map(|chart| chart.title).collect();
        let expected = ["Reward", "Format valid, exact", "KL to the reference", "Time by phase"];
        assert_eq!(titles, expected);
        let labels: Vec<&str> = known[3].series.iter().map(|(label, _)| label.as_str()).collect();
        assert_eq!(labels, ["collect", "update"]);
        assert_eq!(others.len(), 1);
        assert_eq!(others[0].title, "brand_new");
    }
}
