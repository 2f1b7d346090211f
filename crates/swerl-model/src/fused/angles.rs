//! Rotary angles of given tokens, on the host.

/// Cosines and sines, `[N, h / 2]` each.
#[derive(Debug)]
pub(crate) struct Angles {
    half: usize,
    cos: Vec<f32>,
    sin: Vec<f32>,
}

impl Angles {
    /// Of tokens at `positions`; `freq` are the rotary frequencies in radians per token.
    pub(crate) fn new(freq: &[f64], positions: impl IntoIterator<Item = u32>) -> Self {
        let (mut cos, mut sin) = (Vec::new(), Vec::new());
        for p in positions {
            for &w in freq {
                let (s, c) = (f64::from(p) * w).sin_cos();
                cos.push(c as f32);
                sin.push(s as f32);
            }
        }
        Self { half: freq.len(), cos, sin }
    }

    /// The head vector `x` of token `n`, rotated; `sign` -1 rotates back.
    #[inline(always)]
    pub(super) fn rotate(&self, x: &[f32], n: usize, sign: f32, out: &mut [f32]) {
        let half = self.half;
        let (cos, sin) = (&self.cos[n * half..][..half], &self.sin[n * half..][..half]);
        let (x, y) = (&x[..2 * half], &mut out[..2 * half]);
        let ((a, b), (u, v)) = (x.split_at(half), y.split_at_mut(half));
        for j in 0..half {
            let (c, s) = (cos[j], sign * sin[j]);
            u[j] = a[j] * c - b[j] * s;
            v[j] = b[j] * c + a[j] * s;
        }
    }
}
