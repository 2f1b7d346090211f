//! Rotary grouped-query attention over segments, forward and backward, without a score matrix:
//! a block of queries at a time over the tokens it sees.
//!
//! Forward keeps `lse[i] = log sum_j exp(s_ij)`; backward recomputes `p_ij = exp(s_ij - lse[i])`
//! and uses `ds_ij = p_ij (do_i . v_j - do_i . o_i)`. Time is the number of seen pairs times `h`;
//! extra memory is linear in the number of tokens. Source: FlashAttention-2, arXiv:2307.08691; the
//! forward pass here keeps a block's scores over all it sees instead of rescaling its sums.

use std::ops::Range;

use pulp::Arch;
use rayon::prelude::*;

use super::exp::exp;
use super::plan::{Block, Plan, RowPlan};
use super::product::{Matrix, multiply};
use super::vector::{dot, exponentials};

/// Tokens whose scores the backward pass holds at a time.
const KEYS: usize = 256;

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

/// Output `[N, H h]` and log-sum-exp `[N, H]`.
pub(super) fn forward(q: &[f32], k: &[f32], v: &[f32], plan: &Plan) -> (Vec<f32>, Vec<f32>) {
    let (heads, h, rep) = (plan.heads, plan.head_dim, plan.rep());
    let tokens = q.len() / (heads * h);
    let parts: Vec<(Vec<f32>, Vec<f32>)> = plan
        .tasks()
        .into_par_iter()
        .map(|(r, g)| {
            let row = &plan.rows[r];
            let (keys, vals) = gather(plan, row, g, k, v);
            forward_task(plan, row, g, q, [&keys, &vals])
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

fn forward_task(
    plan: &Plan,
    row: &RowPlan,
    g: usize,
    q: &[f32],
    [keys, vals]: [&[f32]; 2],
) -> (Vec<f32>, Vec<f32>) {
    let (h, rep) = (plan.head_dim, plan.rep());
    let arch = Arch::new();
    let (mut out, mut lse) = (vec![0f32; row.len * rep * h], vec![0f32; row.len * rep]);
    let (mut queries, mut scores, mut sums) = (Vec::new(), Vec::new(), Vec::new());
    for block in plan.blocks(row) {
        let count = block.tokens * rep;
        plan.queries(block, g, q, &mut queries);
        let width: usize = block.ranges().map(|range| range.len()).sum();
        scores.resize(count * width, 0.0);
        sums.resize(count, 0.0);
        let mut at = 0;
        for range in block.ranges() {
            let sizes = [count, h, range.len()];
            let keys = Matrix::rows(&keys[range.start * h..], h).transposed();
            multiply((&mut scores[at..], width), false, Matrix::rows(&queries, h), keys, sizes);
            at += range.len();
        }
        let rows = block.first * rep..block.first * rep + count;
        vectorised!(arch, <'a> {
            scores: &'a mut [f32] = &mut scores,
            lse: &'a mut [f32] = &mut lse[rows.clone()],
            sums: &'a mut [f32] = &mut sums,
            block: Block<'a> = block,
            rep: usize = rep,
        } -> () { weights(scores, lse, sums, block, rep); });
        let out = &mut out[rows.start * h..rows.end * h];
        let mut at = 0;
        for range in block.ranges() {
            let sizes = [count, range.len(), h];
            let vals = Matrix::rows(&vals[range.start * h..], h);
            multiply((out, h), at > 0, Matrix::rows(&scores[at..], width), vals, sizes);
            at += range.len();
        }
        for (out, sum) in out.chunks_exact_mut(h).zip(&sums) {
            out.iter_mut().for_each(|x| *x /= sum);
        }
    }
    (out, lse)
}

/// Turns a block's scores, a row per query, into weights that are not yet divided by their sums;
/// tokens a query does not see weigh nothing.
#[inline(always)]
fn weights(scores: &mut [f32], lse: &mut [f32], sums: &mut [f32], block: Block<'_>, rep: usize) {
    let width = scores.len() / sums.len();
    for (at, row) in scores.chunks_exact_mut(width).enumerate() {
        let (seen, unseen) = row.split_at_mut(width + 1 + at / rep - block.tokens);
        unseen.fill(0.0);
        let (max, sum) = exponentials(seen);
        lse[at] = max + sum.ln();
        sums[at] = sum;
    }
}

/// Gradients for upstream `dout` `[N, H h]`.
pub(super) fn backward(
    [q, k, v]: [&[f32]; 3],
    result: Forward<'_>,
    dout: &[f32],
    plan: &Plan,
) -> InputGradients {
    let (heads, kv, h, rep) = (plan.heads, plan.kv_heads, plan.head_dim, plan.rep());
    let parts: Vec<InputGradients> = plan
        .tasks()
        .into_par_iter()
        .map(|(r, g)| {
            let row = &plan.rows[r];
            let (keys, vals) = gather(plan, row, g, k, v);
            backward_task(plan, row, g, [q, &keys, &vals], result, dout)
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

/// What the forward pass gave: the output `[N, H h]` and the log-sum-exp `[N, H]`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Forward<'a> {
    pub(super) out: &'a [f32],
    pub(super) lse: &'a [f32],
}

fn backward_task(
    plan: &Plan,
    row: &RowPlan,
    g: usize,
    [q, keys, vals]: [&[f32]; 3],
    result: Forward<'_>,
    dout: &[f32],
) -> InputGradients {
    let (h, rep, len) = (plan.head_dim, plan.rep(), row.len);
    let arch = Arch::new();
    let mut grads = InputGradients {
        q: vec![0.0; len * rep * h],
        k: vec![0.0; len * h],
        v: vec![0.0; len * h],
    };
    let mut dkeys = vec![0f32; len * h];
    let (mut queries, mut dqueries, mut upstream) = (Vec::new(), Vec::new(), Vec::new());
    let (mut p, mut ds, mut norms) = (Vec::new(), Vec::new(), Vec::new());
    for block in plan.blocks(row) {
        let count = block.tokens * rep;
        plan.queries(block, g, q, &mut queries);
        upstream.clear();
        norms.clear();
        for at in plan.places(block, g) {
            let (out, dout) = (&result.out[at * h..][..h], &dout[at * h..][..h]);
            upstream.extend_from_slice(dout);
            norms.push((result.lse[at], dot(out, dout)));
        }
        dqueries.clear();
        dqueries.resize(count * h, 0.0);
        for range in block.ranges().flat_map(|range| pieces(range, KEYS)) {
            let n = range.len();
            p.resize(count * n, 0.0);
            ds.resize(count * n, 0.0);
            let (key, value) = (
                Matrix::rows(&keys[range.start * h..], h),
                Matrix::rows(&vals[range.start * h..], h),
            );
            let (query, pull) = (Matrix::rows(&queries, h), Matrix::rows(&upstream, h));
            multiply((&mut p, n), false, query, key.transposed(), [count, h, n]);
            multiply((&mut ds, n), false, pull, value.transposed(), [count, h, n]);
            vectorised!(arch, <'a> {
                p: &'a mut [f32] = &mut p,
                ds: &'a mut [f32] = &mut ds,
                norms: &'a [(f32, f32)] = &norms,
                of: (Block<'a>, &'a Range<usize>) = (block, &range),
                rep: usize = rep,
            } -> () { slopes(p, ds, norms, of, rep); });
            let (p, ds) = (Matrix::rows(&p, n), Matrix::rows(&ds, n));
            multiply((&mut dqueries, h), true, ds, key, [count, n, h]);
            let dkeys = &mut dkeys[range.start * h..];
            multiply((dkeys, h), true, ds.transposed(), query, [n, count, h]);
            let dvals = &mut grads.v[range.start * h..];
            multiply((dvals, h), true, p.transposed(), pull, [n, count, h]);
        }
        for (at, dquery) in dqueries.chunks_exact_mut(h).enumerate() {
            dquery.iter_mut().for_each(|x| *x *= plan.scale());
            let to = &mut grads.q[(block.first * rep + at) * h..][..h];
            plan.angles.rotate(dquery, row.start + block.first + at / rep, -1.0, to);
        }
    }
    for (i, (dkey, out)) in dkeys.chunks_exact(h).zip(grads.k.chunks_exact_mut(h)).enumerate() {
        plan.angles.rotate(dkey, row.start + i, -1.0, out);
    }
    grads
}

/// Turns scores into weights `p` and products `do . v` into the scores' gradients `ds`, a row per
/// query; `norms` are each query's log-sum-exp and `do . o`. What a query
/// does not see weighs nothing.
#[inline(always)]
fn slopes(
    p: &mut [f32],
    ds: &mut [f32],
    norms: &[(f32, f32)],
    (block, range): (Block<'_>, &Range<usize>),
    rep: usize,
) {
    let n = range.len();
    let rows = p.chunks_exact_mut(n).zip(ds.chunks_exact_mut(n)).zip(norms);
    for (at, ((p, ds), &(norm, pull))) in rows.enumerate() {
        let visible = block.visible(range, at / rep);
        p[visible..].fill(0.0);
        ds[visible..].fill(0.0);
        for (p, ds) in p[..visible].iter_mut().zip(&mut ds[..visible]) {
            *p = exp(*p - norm);
            *ds = *p * (*ds - pull);
        }
    }
}

/// `range` in pieces of at most `most`.
fn pieces(range: Range<usize>, most: usize) -> impl Iterator<Item = Range<usize>> {
    range.clone().step_by(most).map(move |at| at..range.end.min(at + most))
}
