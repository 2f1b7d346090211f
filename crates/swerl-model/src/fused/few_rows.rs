//! Products of few rows with a large matrix, as decoding needs them: the matrix is read once, as it
//! lies, by all threads. A general product packs it first, which costs several times the reading.
//!
//! Each row's sums have one order, whatever other rows there are.

use pulp::Arch;
use rayon::prelude::*;

use super::vector::dot;

/// How many rows go this way; one alone is faster as a vector.
pub(crate) const COUNTS: std::ops::RangeInclusive<usize> = 2..=16;

/// Columns that a task takes at once.
const PANEL: usize = 128;
/// Rows of the matrix read one after the other, so that each is read along.
const DEPTH: usize = 16;
/// Columns that are summed side by side; with [`ROWS`] rows they fill the registers.
const LANES: usize = 16;
/// Rows that share a reading.
const ROWS: usize = 4;

/// `x w` for `x` `[m, k]` and `w` `[k, n]`: `[m, n]`.
pub(super) fn times(x: &[f32], w: &[f32], [m, k, n]: [usize; 3]) -> Vec<f32> {
    let arch = Arch::new();
    let panels: Vec<usize> = (0..n).step_by(PANEL).collect();
    let sums: Vec<Vec<f32>> = panels
        .into_par_iter()
        .map(|first| {
            vectorised!(arch, <'a> {
                x: &'a [f32] = x,
                w: &'a [f32] = w,
                sizes: [usize; 3] = [m, k, n],
                first: usize = first,
            } -> Vec<f32> { panel(x, w, sizes, first) })
        })
        .collect();
    joined(&sums, [m, n], PANEL)
}

/// Columns `first` to `first + PANEL` of the product.
#[inline(always)]
fn panel(x: &[f32], w: &[f32], [m, k, n]: [usize; 3], first: usize) -> Vec<f32> {
    let width = PANEL.min(n - first);
    let mut sums = vec![0f32; m * width];
    let whole = width / LANES * LANES;
    for (depth, w) in w.chunks(DEPTH * n).enumerate() {
        let span = depth * DEPTH..depth * DEPTH + w.len() / n;
        for at in (0..whole).step_by(LANES) {
            for (block, x) in x.chunks(ROWS * k).enumerate() {
                let row = |j: usize| &x[j * k..][span.clone()];
                let out = &mut sums[block * ROWS * width + at..];
                let place = [n, first + at, width];
                match x.len() / k {
                    4 => tile([row(0), row(1), row(2), row(3)], w, place, out),
                    3 => tile([row(0), row(1), row(2)], w, place, out),
                    2 => tile([row(0), row(1)], w, place, out),
                    _ => tile([row(0)], w, place, out),
                }
            }
        }
    }
    for column in whole..width {
        for (x, sums) in x.chunks_exact(k).zip(sums.chunks_exact_mut(width)) {
            let weights = w[first + column..].iter().step_by(n);
            sums[column] = x.iter().zip(weights).fold(0.0, |sum, (x, w)| x.mul_add(*w, sum));
        }
    }
    sums
}

/// Adds `LANES` columns of the product of `N` rows to rows of `out` that are `width` apart.
#[inline(always)]
fn tile<const N: usize>(x: [&[f32]; N], w: &[f32], [n, first, width]: [usize; 3], out: &mut [f32]) {
    let mut sums = [[0f32; LANES]; N];
    for j in 0..N {
        sums[j].copy_from_slice(&out[j * width..][..LANES]);
    }
    for (at, row) in w.chunks_exact(n).enumerate() {
        let row: &[f32; LANES] = row[first..first + LANES].try_into().expect("so many");
        for j in 0..N {
            let x = x[j][at];
            for i in 0..LANES {
                sums[j][i] = x.mul_add(row[i], sums[j][i]);
            }
        }
    }
    for j in 0..N {
        out[j * width..][..LANES].copy_from_slice(&sums[j]);
    }
}

/// `x w^T` for `x` `[m, k]` and `w` `[n, k]`: `[m, n]`.
pub(super) fn times_transposed(x: &[f32], w: &[f32], [m, k, n]: [usize; 3]) -> Vec<f32> {
    let arch = Arch::new();
    let sums: Vec<Vec<f32>> = w
        .par_chunks(PANEL * k)
        .map(|rows| {
            vectorised!(arch, <'a> {
                x: &'a [f32] = x,
                rows: &'a [f32] = rows,
                m: usize = m,
                k: usize = k,
            } -> Vec<f32> {
                let width = rows.len() / k;
                let mut sums = vec![0f32; m * width];
                for (column, w) in rows.chunks_exact(k).enumerate() {
                    for (x, sums) in x.chunks_exact(k).zip(sums.chunks_exact_mut(width)) {
                        sums[column] = dot(x, w);
                    }
                }
                sums
            })
        })
        .collect();
    joined(&sums, [m, n], PANEL)
}

/// Panels of `[m, width]` side by side.
fn joined(panels: &[Vec<f32>], [m, n]: [usize; 2], width: usize) -> Vec<f32> {
    let mut out = vec![0f32; m * n];
    for (panel, first) in panels.iter().zip((0..n).step_by(width)) {
        let width = panel.len() / m;
        for (sums, out) in panel.chunks_exact(width).zip(out.chunks_exact_mut(n)) {
            out[first..first + width].copy_from_slice(sums);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(len: usize, salt: usize) -> Vec<f32> {
        (0..len).map(|i| ((i * 37 + salt) % 19) as f32 - 9.0).collect()
    }

    #[test]
    fn both_are_the_sums_of_the_definition() {
        for [m, k, n] in [[1, 3, 5], [4, 16, 64], [7, 37, 130], [16, 70, 65]] {
            let (x, w) = (numbers(m * k, 1), numbers(k * n, 2));
            let mut turned = vec![0f32; k * n];
            for i in 0..k {
                for j in 0..n {
                    turned[j * k + i] = w[i * n + j];
                }
            }
            // Whole numbers below 2^24: every order of summing is exact.
            let exact: Vec<f32> = (0..m * n)
                .map(|at| (0..k).map(|i| x[at / n * k + i] * w[i * n + at % n]).sum())
                .collect();
            assert_eq!(times(&x, &w, [m, k, n]), exact);
            assert_eq!(times_transposed(&x, &turned, [m, k, n]), exact);
        }
    }

    #[test]
    fn a_row_does_not_depend_on_the_others() {
        let (k, n) = (70, 130);
        let wave = |len: usize| (0..len).map(|i| (i as f32 * 0.37).sin()).collect::<Vec<f32>>();
        let (x, w) = (wave(16 * k), wave(k * n));
        for product in [times, times_transposed] {
            let all = product(&x, &w, [16, k, n]);
            for m in [1, 5, 15] {
                assert_eq!(product(&x[..m * k], &w, [m, k, n]), all[..m * n]);
            }
        }
    }
}
