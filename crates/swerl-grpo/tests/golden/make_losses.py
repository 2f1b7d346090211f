"""Makes losses.json: losses and their gradients in float64, from the formulas of docs/algorithm.md.

Needs numpy alone. Nothing is taken from the crate: objectives, advantages, losses and analytic
gradients are written down here a second time, and the gradients are compared with central
differences before anything is written. Run it as

    python3 make_losses.py            # writes losses.json beside itself

What the loss detaches (the old log-probs where they are the current ones, CISPO's weight, the mask,
the importance weight, KL in the reward) is frozen in the differences.
"""

import json
import pathlib

import numpy as np

TOLERANCE = 1e-6
GRID = 1024.0  # Inputs are multiples of 1/1024: exact in float32 and short as decimals.


# --- the batch ---------------------------------------------------------------------------------

def make_batch():
    """Three groups: one with a member that could not be judged, one without spread, one plain."""
    rng = np.random.default_rng(20250218)

    def draw(low, high, count):
        return np.round(rng.uniform(low, high, count) * GRID) / GRID

    shapes = [
        ([1.0, 0.25, -1.0, None], [3, 1, 4, 2]),
        ([0.5, 0.5, 0.5], [2, 3, 1]),
        ([0.25, 0.75, 0.0], [5, 2, 3]),
    ]
    groups = []
    for rewards, lengths in shapes:
        samples = []
        for length in lengths:
            log_prob = draw(-3.0, -0.1, length)
            samples.append({
                "log_prob": log_prob,
                "behaviour": log_prob - draw(-0.6, 0.6, length),
                "reference": log_prob - draw(-1.0, 1.0, length),
                "entropy": draw(0.0, 2.5, length),
            })
        groups.append({"rewards": rewards, "samples": samples})
    good, bad = groups[0]["samples"][0], groups[0]["samples"][2]
    good["behaviour"][1] = good["log_prob"][1] - 0.240234375  # ratio 1.27: between 1.2 and 1.28
    bad["behaviour"][0] = bad["log_prob"][0] - 1.5  # ratio 4.5: the dual clip's region
    good["log_prob"][2], good["behaviour"][2] = -0.25, -1.0  # probability up by 0.41
    bad["log_prob"][1], bad["behaviour"][1] = -1.5, -0.25  # probability down by 0.56
    return groups


# --- advantages --------------------------------------------------------------------------------

def advantages(groups, rule):
    judged = [[r for r in g["rewards"] if r is not None] for g in groups]
    batch = np.concatenate([np.array(r, float) for r in judged])
    name, scale = rule["scale"], {}
    if isinstance(name, dict):
        (name, scale), = name.items()
    result = []
    for group, rewards in zip(groups, judged):
        rewards = np.array(rewards, float)
        flat = len(rewards) < 2 or np.ptp(rewards) <= rule["tolerance"]
        values, index = [], 0
        for reward in group["rewards"]:
            if reward is None or flat:
                values.append(0.0)
                index += reward is not None
                continue
            others = np.delete(rewards, index)
            index += 1
            population = rewards if rule["baseline"] == "mean" else others
            difference = reward - population.mean()
            if name == "none":
                divisor = 1.0
            elif name == "batch_std":
                divisor = np.std(batch, ddof=scale["ddof"]) + scale["eps"]
            elif len(population) < 2 or np.ptp(population) <= rule["tolerance"]:
                divisor = 1.0
            else:
                divisor = np.std(population, ddof=scale["ddof"]) + scale["eps"]
            values.append(difference / divisor)
        result.append(values)
    return result


# --- the loss ----------------------------------------------------------------------------------

def combine(difference, level):
    """Log-ratios at each token."""
    if level == "token":
        return difference
    total = difference.sum()
    return np.full(len(difference), total if level == "sequence" else total / len(difference))


def kl_value(estimator, d):
    return {"k1": d, "k2": d * d / 2, "k3": np.exp(-d) - 1 + d}[estimator]


def kl_slope(estimator, d):
    return {"k1": np.ones_like(d), "k2": d, "k3": 1 - np.exp(-d)}[estimator]


def clamped(kl, d):
    value = kl_value(kl["estimator"], d)
    return value if kl["clamp"] is None else np.clip(value, -kl["clamp"], kl["clamp"])


def surrogate(rule, ratio, frozen_ratio, log_prob, moved, advantage):
    """Value, slope in the log-ratio, slope in the token's own log-prob, distance to an edge."""
    none = np.zeros_like(log_prob)
    if "clip" in rule:
        clip = rule["clip"]
        low, high = 1 - clip["low"], 1 + clip["high"]
        plain = ratio * advantage
        bounded = np.clip(ratio, low, high) * advantage
        value = np.minimum(plain, bounded)
        slope = np.where(plain <= bounded, plain, 0.0)
        edge = np.minimum(abs(ratio - low), abs(ratio - high))
        if clip["dual"] is not None:
            floor = clip["dual"] * advantage
            below = (advantage < 0) & (value < floor)
            value, slope = np.where(below, floor, value), np.where(below, 0.0, slope)
            edge = np.minimum(edge, abs(ratio - clip["dual"]))
        return value, slope, none, edge
    if "cispo" in rule:
        (meaning, bound), = rule["cispo"].items()
        if meaning == "relative":
            low, high = 1 - bound["low"], 1 + bound["high"]
        else:
            low, high = 0.0, bound["cap"]
        weight = np.clip(frozen_ratio, low, high)
        edge = np.minimum(abs(frozen_ratio - low), abs(frozen_ratio - high))
        return weight * advantage * log_prob, none, weight * advantage, edge
    mask = rule["mask"]
    out = np.where(advantage > 0, moved > mask["high"], moved < -mask["low"])
    value = np.where(out, 0.0, ratio * advantage)
    edge = np.minimum(abs(moved - mask["high"]), abs(moved + mask["low"]))
    return value, value, none, edge


def weights(rule, lengths):
    aggregation, count, tokens = rule["aggregation"], len(lengths), sum(lengths)
    if aggregation == "sequence_mean":
        return [1 / (count * length) for length in lengths]
    if aggregation == "token_mean":
        return [1 / tokens] * count
    if aggregation == "sequence_sum":
        return [1 / count] * count
    return [1 / (count * aggregation["constant"]["length"])] * count


def loss(samples, frozen, values, rule):
    """Loss, gradients in log-prob and entropy by sample, and the smallest distance to an edge."""
    total, slopes, entropy_slopes, nearest = 0.0, [], [], np.inf
    weight_of = weights(rule, [len(s["log_prob"]) for s in samples])
    for sample, still, value, weight in zip(samples, frozen, values, weight_of):
        lp, behaviour, reference = sample["log_prob"], sample["behaviour"], sample["reference"]
        old = still["log_prob"] if rule["old"] == "current" else behaviour
        kl = rule["kl"]
        advantage = np.full(len(lp), value)
        if kl is not None and kl["placement"] == "reward":
            to_come = np.cumsum(clamped(kl, old - reference)[::-1])[::-1]
            advantage = advantage - kl["coefficient"] * to_come
        ratio = np.exp(combine(lp - old, rule["ratio"]))
        frozen_ratio = np.exp(combine(still["log_prob"] - old, rule["ratio"]))
        moved = np.exp(still["log_prob"]) - np.exp(old)
        term, in_ratio, in_token, edge = surrogate(rule, ratio, frozen_ratio, lp, moved, advantage)
        nearest = min(nearest, edge.min())
        importance = np.ones(len(lp))
        if "truncated_importance" in rule:
            tis = rule["truncated_importance"]
            importance = np.minimum(np.exp(combine(old - behaviour, tis["level"])), tis["cap"])
        # A sequence's log-ratio is moved by each of its tokens.
        spread = importance * in_ratio
        if rule["ratio"] == "sequence":
            spread = np.full(len(lp), spread.sum())
        elif rule["ratio"] == "sequence_mean":
            spread = np.full(len(lp), spread.sum() / len(lp))
        terms = -importance * term
        slope = -spread - importance * in_token
        if kl is not None and kl["placement"] != "reward":
            d = lp - reference
            inside = np.full(len(lp), True)
            if kl["clamp"] is not None:
                raw = kl_value(kl["estimator"], d)
                inside = abs(raw) < kl["clamp"]
                nearest = min(nearest, abs(abs(raw) - kl["clamp"]).min())
            if kl["placement"] == "loss":
                estimate = clamped(kl, d)
                slope = slope + kl["coefficient"] * np.where(inside, kl_slope(kl["estimator"], d), 0)
            else:
                still_d = still["log_prob"] - reference
                estimate = clamped(kl, still_d) + d * d / 2 - still_d * still_d / 2
                slope = slope + kl["coefficient"] * d
            terms = terms + kl["coefficient"] * estimate
        if "drift" in rule:
            terms = terms + rule["drift"] * (lp - behaviour) ** 2
            slope = slope + 2 * rule["drift"] * (lp - behaviour)
        terms = terms - rule["entropy"] * sample["entropy"]
        total += weight * terms.sum()
        slopes.append(weight * slope)
        entropy_slopes.append(np.full(len(lp), -weight * rule["entropy"]))
    return total, slopes, entropy_slopes, nearest


def differences(samples, values, rule, part):
    """Central differences in every log-prob or entropy."""
    step, result = 1e-6, []
    for index, sample in enumerate(samples):
        row = np.zeros(len(sample[part]))
        for t in range(len(row)):
            ends = []
            for by in (step, -step):
                moved = [dict(s, **{part: s[part].copy()}) for s in samples]
                moved[index][part][t] += by
                ends.append(loss(moved, samples, values, rule)[0])
            row[t] = (ends[0] - ends[1]) / (2 * step)
        result.append(row)
    return result


# --- objectives --------------------------------------------------------------------------------

def std(ddof, eps, name="std"):
    return {name: {"ddof": ddof, "eps": eps}}


def advantage_rule(scale, baseline="mean"):
    return {"baseline": baseline, "scale": scale, "tolerance": TOLERANCE}


def clip(low=0.2, high=0.2, dual=None):
    return {"clip": {"low": low, "high": high, "dual": dual}}


def kl_rule(estimator, placement, coefficient, clamp=None):
    return {"estimator": estimator, "placement": placement, "coefficient": coefficient, "clamp": clamp}


def loss_rule(term=None, ratio="token", old="current", aggregation="token_mean", kl=None,
              entropy=0.0, **more):
    rule = {"ratio": ratio, "old": old, "aggregation": aggregation, "kl": kl, "entropy": entropy}
    return {**rule, **(term or clip()), **more}


def presets():
    sample = {eps: advantage_rule(std(1, eps)) for eps in (1e-4, 1e-6, 1e-9)}
    plain = advantage_rule("none")
    relative, absolute = {"relative": {"low": 1.0, "high": 0.28}}, {"absolute": {"cap": 0.28}}
    others = advantage_rule(std(1, 1e-6), "leave_one_out")
    constant = {"constant": {"length": 8}}
    table = [
        ("swe_rl", advantage_rule(std(0, 0.0)),
         loss_rule(ratio="sequence", aggregation="sequence_mean", kl=kl_rule("k3", "loss", 0.001))),
        ("trl", sample[1e-4], loss_rule()),
        ("verl", sample[1e-6], loss_rule(clip(dual=3.0))),
        ("openrlhf", sample[1e-9], loss_rule(kl=kl_rule("k1", "reward", 0.01))),
        ("nemo_rl", others, loss_rule(kl=kl_rule("k3", "loss", 0.01))),
        ("prime_rl", plain,
         loss_rule({"mask": {"low": 0.2, "high": 0.2}}, old="behaviour", drift=1e-3)),
        ("skyrl", sample[1e-6], loss_rule(kl=kl_rule("k3", "loss", 0.001))),
        ("dapo", sample[1e-6], loss_rule(clip(high=0.28))),
        ({"dr_grpo": {"length": 8}}, plain, loss_rule(aggregation=constant)),
        ("gspo", sample[1e-6],
         loss_rule(clip(3e-4, 4e-4), "sequence_mean", "behaviour", "sequence_mean")),
        ({"cispo": {"bound": relative}}, sample[1e-6],
         loss_rule({"cispo": relative}, old="behaviour")),
        ({"cispo": {"bound": absolute}}, sample[1e-6],
         loss_rule({"cispo": absolute}, old="behaviour")),
    ]
    for preset, advantage, rule in table:
        yield preset, {"advantage": advantage, "loss": rule}


def parts():
    """Each part of an objective by itself, on the sampler's log-probs where it needs them to act."""
    usual = advantage_rule(std(1, 1e-6))
    off = {"old": "behaviour"}
    for name, rule in [
        ("population std", advantage_rule(std(0, 1e-6))),
        ("batch std", advantage_rule(std(1, 1e-4, "batch_std"))),
        ("batch std of the population", advantage_rule(std(0, 0.0, "batch_std"))),
        ("leave one out, undivided", advantage_rule("none", "leave_one_out")),
        ("leave one out by the batch std", advantage_rule(std(1, 1e-6, "batch_std"), "leave_one_out")),
    ]:
        yield f"advantage: {name}", rule, loss_rule(**off)
    for ratio in ("sequence", "sequence_mean"):
        yield f"ratio: {ratio}", usual, loss_rule(ratio=ratio, **off)
    for aggregation in ("sequence_mean", "sequence_sum"):
        yield f"aggregation: {aggregation}", usual, loss_rule(aggregation=aggregation, **off)
    for estimator in ("k1", "k2", "k3"):
        for placement in ("loss", "loss_straight_through", "reward"):
            for clamp in (None, 0.25):
                name = f"kl: {estimator} in {placement}" + ("" if clamp is None else ", clamped")
                yield name, usual, loss_rule(kl=kl_rule(estimator, placement, 0.5, clamp), **off)
    yield "entropy bonus", usual, loss_rule(entropy=0.125, **off)
    yield "drift", usual, loss_rule(drift=0.25, **off)
    yield "mask by sequence", usual, loss_rule({"mask": {"low": 0.1, "high": 0.3}}, "sequence_mean", **off)
    bound = {"relative": {"low": 0.25, "high": 0.5}}
    yield "cispo by sequence", usual, loss_rule({"cispo": bound}, "sequence", **off)
    for level in ("token", "sequence", "sequence_mean"):
        weight = {"level": level, "cap": 1.5}
        yield f"truncated importance: {level}", usual, loss_rule(truncated_importance=weight)
    weight = {"level": "token", "cap": 2.0}
    yield "truncated importance of cispo", usual, loss_rule(
        {"cispo": {"absolute": {"cap": 5.0}}}, truncated_importance=weight,
        kl=kl_rule("k2", "reward", 0.1), entropy=0.25, drift=0.125)


def objectives():
    for preset, objective in presets():
        name = preset if isinstance(preset, str) else next(iter(preset))
        if name == "cispo":
            name += " " + next(iter(preset["cispo"]["bound"]))
        yield {"name": name, "preset": preset, "objective": objective}
        if objective["loss"]["old"] == "current":
            off = dict(objective["loss"], old="behaviour")
            yield {"name": f"{name} off policy", "preset": None,
                   "objective": dict(objective, loss=off)}
    for name, advantage, rule in parts():
        yield {"name": name, "preset": None, "objective": {"advantage": advantage, "loss": rule}}


# --- checks and output -------------------------------------------------------------------------

def rounded(values):
    return [float(f"{value:.13g}") for value in values]


def case(groups, entry):
    values = advantages(groups, entry["objective"]["advantage"])
    judged = [
        (sample, value)
        for group, of_group in zip(groups, values)
        for sample, reward, value in zip(group["samples"], group["rewards"], of_group)
        if reward is not None
    ]
    samples, of_sample = [s for s, _ in judged], [v for _, v in judged]
    rule = entry["objective"]["loss"]
    value, slopes, entropy_slopes, nearest = loss(samples, samples, of_sample, rule)
    assert nearest > 1e-4, f"{entry['name']}: a token is {nearest} from an edge"
    for part, found in (("log_prob", slopes), ("entropy", entropy_slopes)):
        for a, b in zip(found, differences(samples, of_sample, rule, part)):
            assert np.allclose(a, b, rtol=1e-6, atol=1e-8), f"{entry['name']}: {part} {a} {b}"
    return {
        **entry,
        "advantages": [rounded(group) for group in values],
        "loss": float(f"{value:.13g}"),
        "log_prob_gradient": rounded(np.concatenate(slopes)),
        "entropy_gradient": rounded(np.concatenate(entropy_slopes)),
    }


def main():
    groups = make_batch()
    cases = [case(groups, entry) for entry in objectives()]
    batch = [
        {"rewards": g["rewards"], "samples": [{k: list(v) for k, v in s.items()} for s in g["samples"]]}
        for g in groups
    ]
    lines = ['{"groups": [', ",\n".join(json.dumps(group) for group in batch), '], "cases": [',
             ",\n".join(json.dumps(entry) for entry in cases), "]}"]
    path = pathlib.Path(__file__).with_name("losses.json")
    path.write_text("\n".join(lines) + "\n")
    print(f"{len(cases)} cases, {path.stat().st_size} bytes")


main()
