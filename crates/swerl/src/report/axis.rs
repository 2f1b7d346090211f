//! The y axis of a chart, and the chart's measures.

use std::fmt::Write as _;

use super::number::number;

/// Width of a chart in its own units.
pub(super) const WIDTH: f64 = 340.0;
/// Height of a chart.
pub(super) const HEIGHT: f64 = 176.0;
/// Space left of the drawing, for the ticks' labels.
pub(super) const LEFT: f64 = 48.0;
/// Space right of it.
pub(super) const RIGHT: f64 = 10.0;
/// Space above.
pub(super) const TOP: f64 = 8.0;
/// Space below, for the steps.
pub(super) const BOTTOM: f64 = 26.0;

/// The y axis: from, to, and the distance of its ticks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Axis {
    low: f64,
    high: f64,
    tick: f64,
}

impl Axis {
    /// An axis with three to six round ticks around the range.
    pub(super) fn over((mut least, mut most): (f64, f64), from_zero: bool) -> Self {
        if from_zero {
            least = least.min(0.0);
            most = most.max(0.0);
        }
        // The width of a range can overflow, and be lost beside a large value.
        let size = least.abs().max(most.abs());
        let tiny = size < 1e-200;
        if tiny || most / 2.0 - least / 2.0 <= size * 1e-9 {
            let around = if tiny { 1.0 } else { size * 0.1 };
            least -= if from_zero && least == 0.0 { 0.0 } else { around };
            most += around;
        }
        let (least, most) = (least.max(-1e300), most.min(1e300));
        let rough = most / 4.0 - least / 4.0;
        let power = 10_f64.powf(rough.log10().floor());
        let tick = [1.0, 2.0, 2.5, 5.0, 10.0]
            .into_iter()
            .map(|digit| digit * power)
            .find(|tick| *tick >= rough * 0.999)
            .unwrap_or(power * 10.0);
        let low = (least / tick + 1e-9).floor() * tick;
        let high = (most / tick - 1e-9).ceil() * tick;
        Self { low, high, tick }
    }

    pub(super) fn place(&self, value: f64) -> f64 {
        let share = (value / self.tick - self.low / self.tick)
            / (self.high / self.tick - self.low / self.tick);
        TOP + (1.0 - share) * (HEIGHT - TOP - BOTTOM)
    }

    pub(super) fn draw(&self, out: &mut String) {
        let count = ((self.high / self.tick - self.low / self.tick).round() as usize).min(12);
        for at in 0..=count {
            let value = (self.low / self.tick + at as f64).round() * self.tick;
            let y = self.place(value);
            let _ = write!(
                out,
                "<path d=\"M{LEFT} {y:.1}H{}\"/><text x=\"{}\" y=\"{:.1}\" class=\"e\">{}</text>",
                WIDTH - RIGHT,
                LEFT - 5.0,
                y + 3.5,
                number(value)
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_hold_the_range() {
        for (range, from_zero, expected) in [
            ((0.034, 0.266), false, (0.0, 0.3, 0.1)),
            ((0.034, 0.266), true, (0.0, 0.3, 0.1)),
            ((0.0, 0.0), true, (0.0, 1.0, 0.25)),
            ((5.0, 5.0), false, (4.5, 5.5, 0.25)),
            ((-1.0, 1.0), false, (-1.0, 1.0, 0.5)),
        ] {
            let axis = Axis::over(range, from_zero);
            let close = |a: f64, b: f64| (a - b).abs() < 1e-9;
            assert!(
                close(axis.low, expected.0)
                    && close(axis.high, expected.1)
                    && close(axis.tick, expected.2),
                "{range:?}: {axis:?}"
            );
        }
    }

    #[test]
    fn absurd_ranges_stay_finite() {
        for (least, most) in
            [(-f64::MAX, f64::MAX), (0.0, 5e-324), (1e300, 1e300), (1.0, 1.0 + 1e-15)]
        {
            let axis = Axis::over((least, most), false);
            for value in [least, most] {
                assert!(axis.place(value).is_finite(), "{least} {most}: {axis:?}");
            }
            let mut out = String::new();
            axis.draw(&mut out);
            assert!(!out.contains("NaN") && !out.contains("inf"), "{out}");
        }
    }
}
