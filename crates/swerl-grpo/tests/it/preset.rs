//! Presets and the configuration that they stand for: vectors, names, strict keys.

use serde_json::{Value, json};
use swerl_grpo::advantage::{AdvantageRule, advantages};
use swerl_grpo::loss::{Aggregation, CispoBound, LossRule};
use swerl_grpo::{Objective, Preset};

const CISPO: Preset = Preset::Cispo { bound: CispoBound::Absolute { cap: 5.0 } };

/// Two advantages of a group, by preset: the first that differs and the second.
#[test]
fn presets_give_the_vectors_of_their_conventions() {
    let conventions: [(&[Preset], usize); 5] = [
        (&[Preset::Trl], 0),
        (&[Preset::Verl, Preset::Dapo, Preset::SkyRl, Preset::Gspo, CISPO], 1),
        (&[Preset::OpenRlhf], 2),
        (&[Preset::PrimeRl, Preset::DrGrpo { length: 9 }], 3),
        (&[Preset::NemoRl], 4),
    ];
    // Per group of rewards, the first and the second advantage in each of the five conventions.
    let table = [
        (
            [1.0, 0.0, 0.0, 0.0],
            [1.4997, 1.499_997, 1.5, 0.75, 1.0],
            [-0.4999, -0.499_999, -0.5, -0.25, -0.577_349],
        ),
        (
            [0.0, 1.0, 1.0, 1.0],
            [-1.4997, -1.499_997, -1.5, -0.75, -1.0],
            [0.4999, 0.499_999, 0.5, 0.25, 0.577_349],
        ),
        (
            [-1.0, 0.62, 0.62, -1.0],
            [-0.865_933, -0.866_024, -0.866_025, -0.81, -1.154_699],
            [0.865_933, 0.866_024, 0.866_025, 0.81, 1.154_699],
        ),
    ];
    let almost = [0.3, 0.3 + 1e-7, 0.3, 0.3].map(Some);
    let blown_up = [0.00075, 0.071, 1.4706, 7.5e-8, 1e-7];
    for (presets, column) in conventions {
        for preset in presets {
            let rule = preset.objective().advantage;
            for (rewards, first, second) in &table {
                let found = advantages(&rewards.map(Some), &rule).values;
                let digits = if column == 0 { 5.1e-5 } else { 1.1e-6 };
                for (a, b) in found.iter().zip([first[column], second[column]]) {
                    assert!((a - b).abs() <= digits, "{preset:?} {found:?}");
                }
            }
            // The last vector needs the tolerance off; with it the group is without spread.
            assert_eq!(advantages(&almost, &rule).values, [0.0; 4]);
            let exact = AdvantageRule { tolerance: 0.0, ..rule };
            let found = advantages(&almost, &exact).values[1];
            assert!((found / blown_up[column] - 1.0).abs() < 0.01, "{preset:?} {found}");
        }
    }
}

#[test]
fn presets_have_names() {
    let check = |preset: Preset, expected: Value| {
        assert_eq!(serde_json::to_value(preset).unwrap(), expected);
        assert_eq!(serde_json::from_value::<Preset>(expected).unwrap(), preset);
        preset.objective().validate().unwrap();
        let written = serde_json::to_string(&preset.objective()).unwrap();
        let read: Objective = serde_json::from_str(&written).unwrap();
        assert_eq!(read, preset.objective());
    };
    check(Preset::SweRl, json!("swe_rl"));
    check(Preset::Trl, json!("trl"));
    check(Preset::Verl, json!("verl"));
    check(Preset::OpenRlhf, json!("openrlhf"));
    check(Preset::NemoRl, json!("nemo_rl"));
    check(Preset::PrimeRl, json!("prime_rl"));
    check(Preset::SkyRl, json!("skyrl"));
    check(Preset::Dapo, json!("dapo"));
    check(Preset::DrGrpo { length: 64 }, json!({"dr_grpo": {"length": 64}}));
    check(Preset::Gspo, json!("gspo"));
    check(CISPO, json!({"cispo": {"bound": {"absolute": {"cap": 5.0}}}}));
}

/// A checkpoint compares the configuration that it was made under, so its form may not drift.
#[test]
fn the_written_form_of_an_objective_is_pinned() {
    let mut objective = Preset::SweRl.objective();
    objective.loss.kl = None;
    let expected = json!({
        "advantage": {
            "baseline": "mean",
            "scale": {"std": {"ddof": 0, "eps": 0.0}},
            "tolerance": 1e-6,
        },
        "loss": {
            "ratio": "sequence",
            "old": "current",
            "clip": {"low": 0.2, "high": 0.2, "dual": null},
            "aggregation": "sequence_mean",
            "kl": null,
            "entropy": 0.0,
        },
    });
    assert_eq!(serde_json::to_value(objective).unwrap(), expected);
}

#[test]
fn keys_are_strict() {
    let written = serde_json::to_value(Preset::Verl.objective().loss).unwrap();
    let check = |change: fn(&mut Value), expected: Option<&str>| {
        let mut value = written.clone();
        change(&mut value);
        let read = serde_json::from_value::<LossRule>(value);
        match (read, expected) {
            (Ok(_), None) => {}
            (Err(error), Some(text)) => assert!(error.to_string().contains(text), "{error}"),
            (read, _) => panic!("{read:?}"),
        }
    };
    check(|_| {}, None);
    check(|v| v["epsilon"] = json!(0.2), Some("unknown field `epsilon`"));
    check(|v| v["clip"]["middle"] = json!(0.2), Some("unknown field `middle`"));
    check(|v| v["cispo"] = json!({"absolute": {"cap": 5.0}}), Some("unknown field"));
    check(|v| drop(v.as_object_mut().unwrap().remove("clip")), Some("no variant"));
    check(|v| drop(v.as_object_mut().unwrap().remove("old")), Some("missing field `old`"));
    check(
        |v| {
            v.as_object_mut().unwrap().remove("clip");
            v["cispo"] = json!({"absolute": {"cap": 5.0, "high": 4.0}});
        },
        Some("unknown field `high`"),
    );
    check(|v| v["kl"] = json!({"estimator": "k3", "coefficient": 0.1}), Some("`placement`"));
    check(|v| v["drift"] = json!(0.1), None);
    check(
        |v| v["truncated_importance"] = json!({"level": "token", "cap": 2.0, "floor": 0.5}),
        Some("unknown field `floor`"),
    );
}

#[test]
fn aggregations_are_read_by_their_names_in_the_literature() {
    let check = |name: Value, expected: Aggregation| {
        assert_eq!(serde_json::from_value::<Aggregation>(name).unwrap(), expected);
    };
    check(json!("seq-mean-token-mean"), Aggregation::SequenceMean);
    check(json!("token-mean"), Aggregation::TokenMean);
    check(json!("seq-mean-token-sum"), Aggregation::SequenceSum);
    let constant = Aggregation::Constant { length: 8 };
    check(json!({"seq-mean-token-sum-norm": {"length": 8}}), constant);
    // Four samples of ten tokens in all, this one of five.
    let weights =
        [Aggregation::SequenceMean, Aggregation::TokenMean, Aggregation::SequenceSum, constant];
    assert_eq!(weights.map(|a| a.weight(4, 10, 5)), [0.05, 0.1, 0.25, 0.03125]);
}
