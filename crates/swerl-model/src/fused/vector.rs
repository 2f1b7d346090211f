//! The inner loops of attention. Each is inlined into a block compiled for the machine.

/// Sums that run side by side, as many as a register of the widest machines holds.
const LANES: usize = 16;

/// `out[i] = query . key_(first + i)`; `keys` are laid out `[h, T]`.
#[inline(always)]
pub(super) fn products(query: &[f32], keys: &[f32], t: usize, first: usize, out: &mut [f32]) {
    out.fill(0.0);
    let n = out.len();
    let column = |j: usize| &keys[j * t + first..][..n];
    for (block, q) in query.chunks_exact(4).enumerate() {
        let (a, b, c, d) = (
            column(4 * block),
            column(4 * block + 1),
            column(4 * block + 2),
            column(4 * block + 3),
        );
        for i in 0..n {
            out[i] += (q[0] * a[i] + q[1] * b[i]) + (q[2] * c[i] + q[3] * d[i]);
        }
    }
    let done = query.len() / 4 * 4;
    for (j, q) in query.iter().enumerate().skip(done) {
        for (o, k) in out.iter_mut().zip(column(j)) {
            *o += q * k;
        }
    }
}

/// `out += sum over t of weights[t] * rows[t]`; `rows` is `[T, h]`, `out` `[h]`.
#[inline(always)]
pub(super) fn add_weighted(weights: &[f32], rows: &[f32], out: &mut [f32]) {
    let h = out.len();
    let blocks = weights.chunks_exact(4);
    let rest = blocks.remainder();
    for (w, block) in blocks.zip(rows.chunks_exact(4 * h)) {
        let (a, b, c, d) =
            (&block[..h], &block[h..2 * h], &block[2 * h..3 * h], &block[3 * h..4 * h]);
        for i in 0..h {
            out[i] += (w[0] * a[i] + w[1] * b[i]) + (w[2] * c[i] + w[3] * d[i]);
        }
    }
    let done = weights.len() - rest.len();
    for (w, row) in rest.iter().zip(rows[done * h..].chunks_exact(h)) {
        for (o, x) in out.iter_mut().zip(row) {
            *o += w * x;
        }
    }
}

/// Turns scores into weights that are not yet divided by their sum: the largest score and the sum.
#[inline(always)]
pub(super) fn exponentials(scores: &mut [f32]) -> (f32, f32) {
    let max = lanes(scores, f32::NEG_INFINITY, |a, b| if b > a { b } else { a });
    for s in scores.iter_mut() {
        *s = super::exp::exp(*s - max);
    }
    (max, lanes(scores, 0.0, |a, b| a + b))
}

/// `a . b`.
#[inline(always)]
pub(super) fn dot(a: &[f32], b: &[f32]) -> f32 {
    let mut sums = [0f32; LANES];
    let (left, right) = (a.chunks_exact(LANES), b.chunks_exact(LANES));
    let rest = left.remainder().iter().zip(right.remainder());
    for (a, b) in left.clone().zip(right.clone()) {
        for j in 0..LANES {
            sums[j] += a[j] * b[j];
        }
    }
    rest.fold(sums.iter().sum(), |sum, (a, b)| sum + a * b)
}

/// Folds `values` side by side, then the lanes.
#[inline(always)]
fn lanes(values: &[f32], start: f32, fold: impl Fn(f32, f32) -> f32) -> f32 {
    let mut lanes = [start; LANES];
    let chunks = values.chunks_exact(LANES);
    let rest = chunks.remainder();
    for chunk in chunks {
        for j in 0..LANES {
            lanes[j] = fold(lanes[j], chunk[j]);
        }
    }
    lanes.iter().chain(rest).fold(start, |all, &x| fold(all, x))
}
