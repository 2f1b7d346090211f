//! Rotary grouped-query attention over segments, forward and backward, without a score matrix:
//! one query at a time over exactly the tokens it sees.
//!
//! Forward keeps `lse[i] = log sum_j exp(s_ij)`; backward recomputes `p_ij = exp(s_ij - lse[i])`
//! and uses `ds_ij = p_ij (do_i . v_j - do_i . o_i)`. Keys are laid out `[h, T]` so that the inner
//! loops run over tokens. Time is the number of seen pairs times `h`; extra memory is linear in the
//! number of tokens. Source: FlashAttention-2, arXiv:2307.08691, without its tiling.

use pulp::Arch;
use rayon::prelude::*;
use swerl_grpo::batch::Row;

use super::angles::Angles;
use super::exp::exp;
use super::vector::{add_weighted, dot, exponentials, products, transposed};

/// Tokens whose queries share a pass over the tokens they see.
const BLOCK: usize = 4;

/// Which tokens see which, and their rotations.
#[derive(Debug)]
pub(crate) struct Plan {
    heads: usize,
    kv_heads: usize,
    head_dim: usize,
    rows: Vec<RowPlan>,
    angles: Angles,
}

/// One row: where it starts among all tokens, and for each segment its tokens and the whole
/// ranges its tokens also see.
#[derive(Debug)]
struct RowPlan {
    start: usize,
    len: usize,
    segments: Vec<(std::ops::Range<usize>, Vec<std::ops::Range<usize>>)>,
}

impl Plan {
    /// The plan of `rows` laid end to end. `freq` are the rotary frequencies in radians per token.
    pub(crate) fn new(rows: &[Row], heads: usize, kv_heads: usize, freq: &[f64]) -> Self {
        let angles = Angles::new(freq, rows.iter().flat_map(|row| row.positions.iter().copied()));
        let mut plans = Vec::with_capacity(rows.len());
        let mut start = 0;
        for row in rows {
            let range =
                |i: usize| row.segments[i].start..row.segments[i].start + row.segments[i].len;
            let segments = (0..row.segments.len())
                .map(|i| {
                    let mut seen = Vec::new();
                    let mut up = row.segments[i].parent;
                    while let Some(a) = up {
                        seen.push(range(a));
                        up = row.segments[a].parent;
                    }
                    seen.reverse();
                    (range(i), seen)
                })
                .collect();
            plans.push(RowPlan { start, len: row.tokens.len(), segments });
            start += row.tokens.len();
        }
        Self { heads, kv_heads, head_dim: 2 * freq.len(), rows: plans, angles }
    }

    /// The rotations of all tokens.
    pub(crate) fn angles(&self) -> &Angles {
        &self.angles
    }

    fn tasks(&self) -> Vec<(usize, usize)> {
        (0..self.rows.len()).flat_map(|r| (0..self.kv_heads).map(move |g| (r, g))).collect()
    }

    fn scale(&self) -> f32 {
        (self.head_dim as f32).sqrt().recip()
    }
}

/// Gradients of the three inputs.
pub(super) struct InputGradients {
    pub(super) q: Vec<f32>,
    pub(super) k: Vec<f32>,
    pub(super) v: Vec<f32>,
}

/// Keys (rotated) and values of one key head of a row, `[T, h]` each.
fn gather(plan: &Plan, row: &RowPlan, g: usize, k: &[f32], v: &[f32]) -> (Vec<f32>, Vec<f32>) {
    let (h, width) = (plan.head_dim, plan.kv_heads * plan.head_dim);
    let (mut keys, mut vals) = (vec![0f32; row.len * h], Vec::with_capacity(row.len * h));
    for (i, key) in keys.chunks_exact_mut(h).enumerate() {
        let at = (row.start + i) * width + g * h;
        plan.angles.rotate(&k[at..at + h], row.start + i, 1.0, key);
        vals.extend_from_slice(&v[at..at + h]);
    }
    (keys, vals)
}

/// The ranges that query `i` of `segment` sees, in order.
#[inline(always)]
fn seen<'a>(
    segment: &'a (std::ops::Range<usize>, Vec<std::ops::Range<usize>>),
    i: usize,
) -> impl Iterator<Item = std::ops::Range<usize>> + 'a {
    segment.1.iter().cloned().chain(std::iter::once(segment.0.start..i + 1))
}

/// Output `[N, H h]` and log-sum-exp `[N, H]`.
pub(super) fn forward(q: &[f32], k: &[f32], v: &[f32], plan: &Plan) -> (Vec<f32>, Vec<f32>) {
    let (heads, h) = (plan.heads, plan.head_dim);
    let rep = heads / plan.kv_heads;
    let tokens = q.len() / (heads * h);
    let arch = Arch::new();
    let parts: Vec<(Vec<f32>, Vec<f32>)> = plan
        .tasks()
        .into_par_iter()
        .map(|(r, g)| {
            let row = &plan.rows[r];
            let (keys, vals) = gather(plan, row, g, k, v);
            let keys = transposed(&keys, h);
            vectorised!(arch, <'a> {
                plan: &'a Plan = plan,
                row: &'a RowPlan = row,
                g: usize = g,
                q: &'a [f32] = q,
                keys: &'a [f32] = &keys,
                vals: &'a [f32] = &vals,
            } -> (Vec<f32>, Vec<f32>) { forward_task(plan, row, g, q, keys, vals) })
        })
        .collect();
    let (mut out, mut lse) = (vec![0f32; q.len()], vec![0f32; tokens * heads]);
    for ((r, g), (part, part_lse)) in plan.tasks().into_iter().zip(&parts) {
        let row = &plan.rows[r];
        for i in 0..row.len {
            let n = row.start + i;
            let at = (n * heads + g * rep) * h;
            out[at..at + rep * h].copy_from_slice(&part[i * rep * h..(i + 1) * rep * h]);
            let at = n * heads + g * rep;
            lse[at..at + rep].copy_from_slice(&part_lse[i * rep..(i + 1) * rep]);
        }
    }
    (out, lse)
}

#[inline(always)]
fn forward_task(
    plan: &Plan,
    row: &RowPlan,
    g: usize,
    q: &[f32],
    keys: &[f32],
    vals: &[f32],
) -> (Vec<f32>, Vec<f32>) {
    let (heads, h) = (plan.heads, plan.head_dim);
    let rep = heads / plan.kv_heads;
    let (mut out, mut lse) = (vec![0f32; row.len * rep * h], vec![0f32; row.len * rep]);
    let (mut query, mut scores) = (vec![0f32; h], vec![0f32; row.len]);
    for segment in &row.segments {
        for i in segment.0.clone() {
            let n = row.start + i;
            for e in 0..rep {
                let at = (n * heads + g * rep + e) * h;
                plan.angles.rotate(&q[at..at + h], n, 1.0, &mut query);
                query.iter_mut().for_each(|x| *x *= plan.scale());
                let mut count = 0;
                for range in seen(segment, i) {
                    let len = range.len();
                    products(&query, keys, row.len, range.start, &mut scores[count..count + len]);
                    count += len;
                }
                let scores = &mut scores[..count];
                let (max, sum) = exponentials(scores);
                let o = &mut out[(i * rep + e) * h..][..h];
                let mut at = 0;
                for range in seen(segment, i) {
                    let weights = &scores[at..at + range.len()];
                    add_weighted(weights, &vals[range.start * h..range.end * h], o);
                    at += range.len();
                }
                o.iter_mut().for_each(|x| *x /= sum);
                lse[i * rep + e] = max + sum.ln();
            }
        }
    }
    (out, lse)
}

/// Gradients for upstream `dout` `[N, H h]`.
pub(super) fn backward(
    q: &[f32],
    k: &[f32],
    v: &[f32],
    out: &[f32],
    lse: &[f32],
    dout: &[f32],
    plan: &Plan,
) -> InputGradients {
    let (heads, kv, h) = (plan.heads, plan.kv_heads, plan.head_dim);
    let rep = heads / kv;
    let arch = Arch::new();
    let parts: Vec<InputGradients> = plan
        .tasks()
        .into_par_iter()
        .map(|(r, g)| {
            let row = &plan.rows[r];
            let (keys, vals) = gather(plan, row, g, k, v);
            vectorised!(arch, <'a> {
                plan: &'a Plan = plan,
                row: &'a RowPlan = row,
                g: usize = g,
                inputs: [&'a [f32]; 3] = [q, &keys, &vals],
                out: &'a [f32] = out,
                lse: &'a [f32] = lse,
                dout: &'a [f32] = dout,
            } -> InputGradients { backward_task(plan, row, g, inputs, out, lse, dout) })
        })
        .collect();
    let mut all =
        InputGradients { q: vec![0.0; q.len()], k: vec![0.0; k.len()], v: vec![0.0; v.len()] };
    for ((r, g), part) in plan.tasks().into_iter().zip(&parts) {
        let row = &plan.rows[r];
        for i in 0..row.len {
            let n = row.start + i;
            let at = (n * heads + g * rep) * h;
            all.q[at..at + rep * h].copy_from_slice(&part.q[i * rep * h..][..rep * h]);
            let at = (n * kv + g) * h;
            all.k[at..at + h].copy_from_slice(&part.k[i * h..][..h]);
            all.v[at..at + h].copy_from_slice(&part.v[i * h..][..h]);
        }
    }
    all
}

#[inline(always)]
fn backward_task(
    plan: &Plan,
    row: &RowPlan,
    g: usize,
    [q, keys, vals]: [&[f32]; 3],
    out: &[f32],
    lse: &[f32],
    dout: &[f32],
) -> InputGradients {
    let (heads, h, len) = (plan.heads, plan.head_dim, row.len);
    let rep = heads / plan.kv_heads;
    let (keys_t, vals_t) = (transposed(keys, h), transposed(vals, h));
    let mut grads = InputGradients {
        q: vec![0.0; len * rep * h],
        k: vec![0.0; len * h],
        v: vec![0.0; len * h],
    };
    let mut dkeys = vec![0f32; len * h];
    let most = BLOCK * rep;
    let (mut queries, mut dqueries) = (vec![0f32; most * h], vec![0f32; most * h]);
    let mut pulls = vec![0f32; most];
    let (mut p, mut ds) = (vec![0f32; most * len], vec![0f32; most * len]);
    let (mut p_column, mut ds_column) = (vec![0f32; most], vec![0f32; most]);
    for (own, others) in &row.segments {
        for first in own.clone().step_by(BLOCK) {
            let last = own.end.min(first + BLOCK);
            let count = (last - first) * rep;
            // The heads of a token's group lie side by side, the tokens do not.
            let head = |at: usize| (row.start + first + at / rep) * heads + g * rep + at % rep;
            let mut upstream = Vec::with_capacity(count * h);
            for (at, query) in queries.chunks_exact_mut(h).take(count).enumerate() {
                let (n, from) = (row.start + first + at / rep, head(at) * h);
                plan.angles.rotate(&q[from..from + h], n, 1.0, query);
                query.iter_mut().for_each(|x| *x *= plan.scale());
                pulls[at] = dot(&out[from..from + h], &dout[from..from + h]);
                upstream.extend_from_slice(&dout[from..from + h]);
            }
            dqueries.fill(0.0);
            for (range, causal) in
                others.iter().map(|r| (r.clone(), false)).chain([(own.start..last, true)])
            {
                let n = range.len();
                for at in 0..count {
                    let visible = if causal { first + at / rep + 1 - own.start } else { n };
                    let (p, unseen) = p[at * len..][..n].split_at_mut(visible);
                    unseen.fill(0.0);
                    let (ds, unseen) = ds[at * len..][..n].split_at_mut(visible);
                    unseen.fill(0.0);
                    let span = at * h..(at + 1) * h;
                    products(&queries[span.clone()], &keys_t, len, range.start, p);
                    products(&upstream[span.clone()], &vals_t, len, range.start, ds);
                    let (norm, pull) = (lse[head(at)], pulls[at]);
                    for (p, ds) in p.iter_mut().zip(ds.iter_mut()) {
                        *p = exp(*p - norm);
                        *ds = *p * (*ds - pull);
                    }
                    add_weighted(ds, &keys[range.start * h..], &mut dqueries[span]);
                }
                for (i, t) in range.enumerate() {
                    for at in 0..count {
                        p_column[at] = p[at * len + i];
                        ds_column[at] = ds[at * len + i];
                    }
                    add_weighted(&ds_column[..count], &queries, &mut dkeys[t * h..][..h]);
                    add_weighted(&p_column[..count], &upstream, &mut grads.v[t * h..][..h]);
                }
            }
            for (at, dquery) in dqueries.chunks_exact_mut(h).take(count).enumerate() {
                dquery.iter_mut().for_each(|x| *x *= plan.scale());
                let to = &mut grads.q[(first * rep + at) * h..][..h];
                plan.angles.rotate(dquery, row.start + first + at / rep, -1.0, to);
            }
        }
    }
    for (i, (dkey, out)) in dkeys.chunks_exact(h).zip(grads.k.chunks_exact_mut(h)).enumerate() {
        plan.angles.rotate(dkey, row.start + i, -1.0, out);
    }
    grads
}
