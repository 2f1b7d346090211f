//! SwiGLU's elementwise part: `y = g s(g) u` with the logistic `s`, and
//! `dg = dy u s (1 + g (1 - s))`, `du = dy g s`.

use pulp::Arch;
use rayon::prelude::*;

use super::exp::sigmoid;

/// Elements a task takes at once.
const CHUNK: usize = 1 << 14;

pub(super) fn forward(gate: &[f32], up: &[f32]) -> Vec<f32> {
    let mut out = vec![0f32; gate.len()];
    let arch = Arch::new();
    out.par_chunks_mut(CHUNK).zip(gate.par_chunks(CHUNK)).zip(up.par_chunks(CHUNK)).for_each(
        |((out, gate), up)| {
            vectorised!(arch, <'a> { out: &'a mut [f32] = out, gate: &'a [f32] = gate, up: &'a [f32] = up } -> () {
                for ((y, &g), &u) in out.iter_mut().zip(gate).zip(up) {
                    *y = g * sigmoid(g) * u;
                }
            });
        },
    );
    out
}

pub(super) fn backward(gate: &[f32], up: &[f32], dy: &[f32]) -> (Vec<f32>, Vec<f32>) {
    let (mut dgate, mut dup) = (vec![0f32; gate.len()], vec![0f32; gate.len()]);
    let arch = Arch::new();
    dgate
        .par_chunks_mut(CHUNK)
        .zip(dup.par_chunks_mut(CHUNK))
        .zip(gate.par_chunks(CHUNK))
        .zip(up.par_chunks(CHUNK))
        .zip(dy.par_chunks(CHUNK))
        .for_each(|((((dgate, dup), gate), up), dy)| {
            vectorised!(arch, <'a> {
                dgate: &'a mut [f32] = dgate,
                dup: &'a mut [f32] = dup,
                gate: &'a [f32] = gate,
                up: &'a [f32] = up,
                dy: &'a [f32] = dy,
            } -> () {
                let inputs = gate.iter().zip(up).zip(dy);
                for ((dg, du), ((&g, &u), &d)) in dgate.iter_mut().zip(dup).zip(inputs) {
                    let s = sigmoid(g);
                    *dg = d * u * s * (1.0 + g * (1.0 - s));
                    *du = d * g * s;
                }
            });
        });
    (dgate, dup)
}
