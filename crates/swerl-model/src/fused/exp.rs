//! A single-precision exponential that compilers vectorise.
//!
//! `exp(x) = 2^n exp(r)`, `n` the integer nearest to `x / ln 2`, `exp(r)` by its Taylor polynomial
//! of degree 6 on `|r| <= ln 2 / 2`. Relative error below 3e-7; arguments are clamped to
//! `[-87, 88]`, so that nothing overflows and what is masked becomes about 1e-38.

/// Nearest-integer rounding by addition: 1.5 * 2^23.
const ROUND: f32 = 12_582_912.0;

/// `e^x`, see the module.
#[inline(always)]
pub(crate) fn exp(x: f32) -> f32 {
    let x = x.clamp(-87.0, 88.0);
    let t = x * std::f32::consts::LOG2_E + ROUND;
    let n = t - ROUND;
    // ln 2 in two parts, the first exact in few bits.
    let r = x - n * 0.693_359_4 + n * 2.121_944_4e-4;
    let p = 1.0 / 720.0;
    let p = p * r + 1.0 / 120.0;
    let p = p * r + 1.0 / 24.0;
    let p = p * r + 1.0 / 6.0;
    let p = p * r + 0.5;
    let p = p * r + 1.0;
    let p = p * r + 1.0;
    let exponent = t.to_bits().wrapping_sub(ROUND.to_bits()).wrapping_add(127) << 23;
    p * f32::from_bits(exponent)
}

/// `1 / (1 + e^-x)`.
#[inline(always)]
pub(crate) fn sigmoid(x: f32) -> f32 {
    1.0 / (1.0 + exp(-x))
}

#[cfg(test)]
mod tests {
    use super::exp;

    #[test]
    fn relative_error_is_small_everywhere() {
        let mut worst = 0f64;
        for i in -87_000..=88_000 {
            let x = i as f32 / 1000.0;
            let exact = f64::from(x).exp();
            worst = worst.max(((f64::from(exp(x)) - exact) / exact).abs());
        }
        assert!(worst < 3e-7, "{worst}");
        assert!(exp(-1e30) < 2e-38 && exp(f32::NEG_INFINITY) >= 0.0);
    }
}
