//! Log-probability, entropy and the gradient of the logits, a row at a time in place.

use pulp::Arch;
use rayon::prelude::*;

use super::exp::exp;

/// Rows a task takes at once.
const ROWS: usize = 16;

/// For rows of `logits` `[N, V]`, divided by `temperature`: log-probability of `tokens[i]` and
/// entropy in nats. `logits` are divided in place.
pub(crate) fn score(logits: &mut [f32], tokens: &[u32], temperature: f32) -> (Vec<f32>, Vec<f32>) {
    let v = logits.len() / tokens.len();
    let arch = Arch::new();
    logits
        .par_chunks_mut(ROWS * v)
        .zip(tokens.par_chunks(ROWS))
        .flat_map_iter(|(rows, tokens)| {
            vectorised!(arch, <'a> {
                rows: &'a mut [f32] = rows,
                tokens: &'a [u32] = tokens,
                v: usize = v,
                temperature: f32 = temperature,
            } -> Vec<(f32, f32)> {
                let mut out = Vec::with_capacity(tokens.len());
                for (row, &y) in rows.chunks_exact_mut(v).zip(tokens) {
                    let (max, sum) = scale_and_sum(row, temperature);
                    let log_sum = sum.ln();
                    let log_prob = row[y as usize] - max - log_sum;
                    out.push((log_prob, log_sum - weighted(row, max) / sum));
                }
                out
            })
        })
        .unzip()
}

/// Divides logits by `temperature`, as [`score`] does.
pub(crate) fn divide(logits: &mut [f32], temperature: f32) {
    let inverse = temperature.recip();
    logits.par_chunks_mut(1 << 16).for_each(|part| part.iter_mut().for_each(|z| *z *= inverse));
}

/// Replaces logits that are divided by `temperature` by the gradient of
/// `sum(a * log_prob + b * entropy)` with respect to those before the division. `entropy` holds
/// `(b, entropies)`.
pub(crate) fn gradient(
    logits: &mut [f32],
    tokens: &[u32],
    temperature: f32,
    a: &[f32],
    entropy: Option<(&[f32], &[f32])>,
) {
    let v = logits.len() / tokens.len();
    let arch = Arch::new();
    logits.par_chunks_mut(ROWS * v).enumerate().for_each(|(block, rows)| {
        vectorised!(arch, <'a> {
            rows: &'a mut [f32] = rows,
            first: usize = block * ROWS,
            tokens: &'a [u32] = tokens,
            temperature: f32 = temperature,
            a: &'a [f32] = a,
            entropy: Option<(&'a [f32], &'a [f32])> = entropy,
        } -> () {
            let v = rows.len() / tokens.len().saturating_sub(first).min(ROWS);
            for (i, row) in rows.chunks_exact_mut(v).enumerate() {
                let n = first + i;
                let (max, sum) = scale_and_sum(row, 1.0);
                let (a, inv_t) = (a[n], temperature.recip());
                let (scale, log_z) = (sum.recip(), max + sum.ln());
                if let Some((b, h)) = entropy {
                    let (b, h) = (b[n], h[n]);
                    for z in row.iter_mut() {
                        *z = -inv_t * exp(*z - max) * scale * (a + b * (*z - log_z + h));
                    }
                } else {
                    let factor = -inv_t * scale * a;
                    for z in row.iter_mut() {
                        *z = factor * exp(*z - max);
                    }
                }
                row[tokens[n] as usize] += a * inv_t;
            }
        });
    });
}

/// `sum exp(z - max) (z - max)`.
#[inline(always)]
fn weighted(row: &[f32], max: f32) -> f32 {
    let mut lanes = [0f32; 8];
    let eights = row.chunks_exact(8);
    let mut tail = 0f32;
    for z in eights.remainder() {
        tail += exp(z - max) * (z - max);
    }
    for z in eights {
        for i in 0..8 {
            lanes[i] += exp(z[i] - max) * (z[i] - max);
        }
    }
    lanes.iter().sum::<f32>() + tail
}

/// Divides a row by `temperature`; its maximum and the sum of `exp(z - max)`.
#[inline(always)]
fn scale_and_sum(row: &mut [f32], temperature: f32) -> (f32, f32) {
    let inverse = temperature.recip();
    let mut maxima = [f32::NEG_INFINITY; 8];
    for z in row.iter_mut() {
        *z *= inverse;
    }
    let eights = row.chunks_exact(8);
    let mut max = eights.remainder().iter().copied().fold(f32::NEG_INFINITY, f32::max);
    for z in eights {
        for i in 0..8 {
            maxima[i] = if z[i] > maxima[i] { z[i] } else { maxima[i] };
        }
    }
    max = maxima.iter().copied().fold(max, f32::max);
    let mut sums = [0f32; 8];
    let eights = row.chunks_exact(8);
    let tail: f32 = eights.remainder().iter().map(|z| exp(z - max)).sum();
    for z in eights {
        for i in 0..8 {
            sums[i] += exp(z[i] - max);
        }
    }
    (max, sums.iter().sum::<f32>() + tail)
}
