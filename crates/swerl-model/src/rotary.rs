//! Rotary position embedding in Hugging Face's half-split layout.
//!
//! `rot(x)[j] = x[j] cos(p w_j) - x[j + h/2] sin(p w_j)` and
//! `rot(x)[j + h/2] = x[j + h/2] cos(p w_j) + x[j] sin(p w_j)` for `j < h/2`, with
//! `w_j = theta^(-2j/h)`, optionally scaled as Llama 3.1 does. Angles are computed in f64 and
//! rounded once. Source: RoFormer, arXiv:2104.09864, eq. 34; checkpoints in Meta's interleaved
//! layout are not supported.

use burn::tensor::{DType, Device, Tensor, TensorData};

use crate::config::ModelConfig;

/// Cosines and sines of given positions, ready to be multiplied with `[B, T, heads, h]`.
#[derive(Debug, Clone)]
pub(crate) struct Rotary {
    cos: Tensor<4>,
    sin: Tensor<4>,
}

/// Angular frequencies `w_j` of the first half of a head, in radians per token.
pub(crate) fn frequencies(config: &ModelConfig) -> Vec<f64> {
    let h = config.head_dim;
    let plain = (0..h / 2).map(|j| config.rope_theta.powf(-2.0 * j as f64 / h as f64));
    let Some(s) = &config.rope_scaling else { return plain.collect() };
    let original = s.original_max_position_embeddings as f64;
    let scale = |w: f64| {
        let periods = original * w / (2.0 * std::f64::consts::PI);
        if periods < s.low_freq_factor {
            w / s.factor
        } else if periods > s.high_freq_factor {
            w
        } else {
            let smooth = (periods - s.low_freq_factor) / (s.high_freq_factor - s.low_freq_factor);
            (1.0 - smooth) * w / s.factor + smooth * w
        }
    };
    plain.map(scale).collect()
}

impl Rotary {
    /// Tables for `positions`, laid out `[rows, len]`.
    pub(crate) fn new(freq: &[f64], positions: &[u32], rows: usize, device: &Device) -> Self {
        let half = freq.len();
        let len = positions.len() / rows;
        let (mut cos, mut sin) = (
            Vec::with_capacity(positions.len() * half),
            Vec::with_capacity(positions.len() * half),
        );
        for &p in positions {
            for &w in freq {
                let (s, c) = (f64::from(p) * w).sin_cos();
                cos.push(c as f32);
                sin.push(s as f32);
            }
        }
        let tensor = |v: Vec<f32>| {
            Tensor::<4>::from_data(TensorData::new(v, [rows, len, 1, half]), (device, DType::F32))
        };
        Self { cos: tensor(cos), sin: tensor(sin) }
    }

    /// Rotates `x` of shape `[B, T, heads, h]`.
    pub(crate) fn apply(&self, x: Tensor<4>) -> Tensor<4> {
        let half = x.dims()[3] / 2;
        let a = x.clone().narrow(3, 0, half);
        let b = x.narrow(3, half, half);
        let first = a.clone() * self.cos.clone() - b.clone() * self.sin.clone();
        let second = b * self.cos.clone() + a * self.sin.clone();
        Tensor::cat(vec![first, second], 3)
    }
}
