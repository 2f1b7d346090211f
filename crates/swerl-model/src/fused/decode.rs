//! Attention of decoding, one query per sequence, over keys and values kept on the host.
//!
//! Each sequence reads its prompt's tokens, which all samples of the prompt share, and its own.
//! Sequences are independent of each other: each stands at its own position, and one that has
//! ended is dropped without moving the others. Keys are laid out `[KV, h, T]`, values `[KV, T, h]`,
//! so that the inner loops run over consecutive numbers; neither is expanded to the query heads.

use std::sync::Arc;

use pulp::Arch;
use rayon::prelude::*;

use super::angles::Angles;
use super::vector::{add_weighted, exponentials, products};
use crate::config::ModelConfig;

/// Fewest sequences a task takes: one alone is over before another thread wakes up.
const ROWS: usize = 4;

/// The shape of the heads.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Heads {
    query: usize,
    key: usize,
    dim: usize,
}

impl Heads {
    pub(crate) fn of(config: &ModelConfig) -> Self {
        Self {
            query: config.num_attention_heads,
            key: config.num_key_value_heads,
            dim: config.head_dim,
        }
    }
}

/// Rotated keys and values of some tokens in one layer.
#[derive(Debug, Clone)]
pub(crate) struct Tokens {
    keys: Vec<f32>,
    values: Vec<f32>,
    len: usize,
    capacity: usize,
}

impl Tokens {
    pub(crate) fn with_capacity(heads: Heads, capacity: usize) -> Self {
        let size = heads.key * heads.dim * capacity;
        Self { keys: vec![0.0; size], values: vec![0.0; size], len: 0, capacity }
    }

    /// The tokens of each of `lens` prompts laid end to end, `k` and `v` `[N, KV h]`, not rotated.
    pub(crate) fn of_prompts(
        heads: Heads,
        angles: &Angles,
        lens: &[usize],
        [k, v]: [&[f32]; 2],
    ) -> Vec<Arc<Self>> {
        let width = heads.key * heads.dim;
        let starts = lens.iter().scan(0, |at, len| Some(std::mem::replace(at, *at + len)));
        let spans: Vec<(usize, usize)> = starts.zip(lens.iter().copied()).collect();
        spans
            .into_par_iter()
            .map(|(start, len)| {
                let mut all = Self::with_capacity(heads, len);
                let mut head = vec![0f32; heads.dim];
                for n in start..start + len {
                    let span = n * width..(n + 1) * width;
                    all.push(heads, angles, n, [&k[span.clone()], &v[span]], &mut head);
                }
                Arc::new(all)
            })
            .collect()
    }

    /// Whether another token fits.
    pub(crate) fn has_room(&self) -> bool {
        self.len < self.capacity
    }

    /// Tokens so far.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Appends a token with its keys and values of all heads, `[KV h]`; `n` numbers its angles and
    /// `head` is room for one head.
    #[inline(always)]
    fn push(
        &mut self,
        heads: Heads,
        angles: &Angles,
        n: usize,
        [k, v]: [&[f32]; 2],
        head: &mut [f32],
    ) {
        let (h, at, capacity) = (heads.dim, self.len, self.capacity);
        for g in 0..heads.key {
            angles.rotate(&k[g * h..][..h], n, 1.0, head);
            for (j, &x) in head.iter().enumerate() {
                self.keys[(g * h + j) * capacity + at] = x;
            }
            self.values[(g * capacity + at) * h..][..h].copy_from_slice(&v[g * h..][..h]);
        }
        self.len += 1;
    }

    fn keys(&self, heads: Heads, g: usize) -> &[f32] {
        &self.keys[g * heads.dim * self.capacity..][..heads.dim * self.capacity]
    }

    fn values(&self, heads: Heads, g: usize) -> &[f32] {
        &self.values[g * self.capacity * heads.dim..][..self.len * heads.dim]
    }
}

/// What one sequence sees in one layer.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) prompt: Arc<Tokens>,
    pub(crate) own: Tokens,
}

/// Room for one head and for the scores of one query.
struct Scratch {
    head: Vec<f32>,
    scores: Vec<f32>,
}

impl Scratch {
    fn new(heads: Heads) -> Self {
        Self { head: vec![0.0; heads.dim], scores: Vec::new() }
    }
}

/// Appends each sequence's token to what it sees and answers its queries: `q` is `[rows, H h]`,
/// `k` and `v` are `[rows, KV h]`, none rotated; `angles` are the tokens'. The result is like `q`.
pub(crate) fn attend(
    heads: Heads,
    angles: &Angles,
    rows: &mut [Seen],
    [q, k, v]: [&[f32]; 3],
) -> Vec<f32> {
    let (width, kv_width) = (heads.query * heads.dim, heads.key * heads.dim);
    let arch = Arch::new();
    let mut out = vec![0f32; q.len()];
    rows.par_iter_mut()
        .zip(out.par_chunks_exact_mut(width))
        .enumerate()
        .with_min_len(ROWS)
        .for_each_init(
            || Scratch::new(heads),
            |scratch, (n, (seen, out))| {
                vectorised!(arch, <'a> {
                    heads: Heads = heads,
                    angles: &'a Angles = angles,
                    n: usize = n,
                    seen: &'a mut Seen = seen,
                    q: &'a [f32] = &q[n * width..][..width],
                    k: &'a [f32] = &k[n * kv_width..][..kv_width],
                    v: &'a [f32] = &v[n * kv_width..][..kv_width],
                    scratch: &'a mut Scratch = scratch,
                    out: &'a mut [f32] = out,
                } -> () {
                    seen.own.push(heads, angles, n, [k, v], &mut scratch.head);
                    answer(heads, angles, n, seen, q, scratch, out);
                });
            },
        );
    out
}

/// The output of one sequence's queries.
#[inline(always)]
fn answer(
    heads: Heads,
    angles: &Angles,
    n: usize,
    seen: &Seen,
    q: &[f32],
    scratch: &mut Scratch,
    out: &mut [f32],
) {
    let (h, rep) = (heads.dim, heads.query / heads.key);
    let scale = (h as f32).sqrt().recip();
    let (prompt, own) = (seen.prompt.len, seen.own.len);
    let Scratch { head: query, scores } = scratch;
    scores.resize(prompt + own, 0.0);
    for (head, (q, out)) in q.chunks_exact(h).zip(out.chunks_exact_mut(h)).enumerate() {
        let g = head / rep;
        angles.rotate(q, n, 1.0, query);
        query.iter_mut().for_each(|x| *x *= scale);
        let (over_prompt, over_own) = scores.split_at_mut(prompt);
        products(query, seen.prompt.keys(heads, g), seen.prompt.capacity, 0, over_prompt);
        products(query, seen.own.keys(heads, g), seen.own.capacity, 0, over_own);
        let (_, sum) = exponentials(scores);
        let (over_prompt, over_own) = scores.split_at(prompt);
        add_weighted(over_prompt, seen.prompt.values(heads, g), out);
        add_weighted(over_own, seen.own.values(heads, g), out);
        out.iter_mut().for_each(|x| *x /= sum);
    }
}
