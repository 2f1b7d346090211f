//! RMSNorm: `y = x r g` with `r = 1 / sqrt(mean(x^2) + eps)`, and
//! `dx = r (dy g - x r^2 mean(dy g x))`, `dg = sum over rows of dy x r`.

use pulp::Arch;
use rayon::prelude::*;

use super::vector::dot;

/// Rows a task takes at once. Fixed, so that sums do not depend on the number of threads.
const ROWS: usize = 128;

#[inline(always)]
fn inverse_rms(x: &[f32], eps: f32) -> f32 {
    (dot(x, x) / x.len() as f32 + eps).sqrt().recip()
}

pub(super) fn forward(x: &[f32], gamma: &[f32], eps: f32) -> Vec<f32> {
    let d = gamma.len();
    let mut out = vec![0f32; x.len()];
    let arch = Arch::new();
    out.par_chunks_mut(ROWS * d).zip(x.par_chunks(ROWS * d)).for_each(|(out, x)| {
        vectorised!(arch, <'a> {
            out: &'a mut [f32] = out,
            x: &'a [f32] = x,
            gamma: &'a [f32] = gamma,
            eps: f32 = eps,
        } -> () {
            let d = gamma.len();
            for (out, x) in out.chunks_exact_mut(d).zip(x.chunks_exact(d)) {
                let r = inverse_rms(x, eps);
                for ((y, &x), &g) in out.iter_mut().zip(x).zip(gamma) {
                    *y = x * r * g;
                }
            }
        });
    });
    out
}

pub(super) fn backward(x: &[f32], gamma: &[f32], dy: &[f32], eps: f32) -> (Vec<f32>, Vec<f32>) {
    let d = gamma.len();
    let mut dx = vec![0f32; x.len()];
    let arch = Arch::new();
    let parts: Vec<Vec<f32>> = dx
        .par_chunks_mut(ROWS * d)
        .zip(x.par_chunks(ROWS * d))
        .zip(dy.par_chunks(ROWS * d))
        .map(|((dx, x), dy)| {
            vectorised!(arch, <'a> {
                dx: &'a mut [f32] = dx,
                x: &'a [f32] = x,
                dy: &'a [f32] = dy,
                gamma: &'a [f32] = gamma,
                eps: f32 = eps,
            } -> Vec<f32> {
                let d = gamma.len();
                let mut dgamma = vec![0f32; d];
                for ((dx, x), dy) in dx.chunks_exact_mut(d).zip(x.chunks_exact(d)).zip(dy.chunks_exact(d)) {
                    let r = inverse_rms(x, eps);
                    // dx holds dy * gamma first.
                    for ((o, &dy), &g) in dx.iter_mut().zip(dy).zip(gamma) {
                        *o = dy * g;
                    }
                    let pull = dot(dx, x) / d as f32 * r * r;
                    for (((o, &x), &dy), dg) in dx.iter_mut().zip(x).zip(dy).zip(&mut dgamma) {
                        *o = r * (*o - x * pull);
                        *dg += dy * x * r;
                    }
                }
                dgamma
            })
        })
        .collect();
    let mut dgamma = vec![0f32; d];
    for part in parts {
        for (sum, value) in dgamma.iter_mut().zip(part) {
            *sum += value;
        }
    }
    (dx, dgamma)
}
