//! One chart as inline SVG: lines, or bars on top of each other.
//!
//! Drawn here and not by a script, so it shows without one. Each step has a `<title>` with its values. A
//! long series is drawn in at most [`MAX_POINTS`] pieces of equally many steps: their mean, and for a single
//! line the range from least to most.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
};

use super::{
    axis::{Axis, BOTTOM, HEIGHT, LEFT, RIGHT, TOP, WIDTH},
    escape::html,
    number::number,
};

/// Most points drawn along a chart.
const MAX_POINTS: usize = 120;
/// Number of colours in the style sheet; further series begin again.
const COLOURS: usize = 8;

/// How a chart is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A line a series.
    Lines,
    /// As [`Kind::Lines`], with zero on the axis.
    FromZero,
    /// Bars on top of each other, from zero.
    Stacked,
}

/// One chart.
#[derive(Debug, Clone)]
pub(super) struct Chart<'a> {
    pub(super) title: &'a str,
    /// Unit of the values.
    pub(super) unit: &'a str,
    /// What stands along the x axis: "step", "round".
    pub(super) along: &'a str,
    pub(super) kind: Kind,
    /// Label and values.
    pub(super) series: Vec<(String, &'a BTreeMap<u64, f64>)>,
    /// Said when no series has a value.
    pub(super) empty: &'a str,
}

/// One piece of a series.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Piece {
    mean: f64,
    least: f64,
    most: f64,
}

/// Steps of a chart in pieces, and the pieces of each series.
struct Pieces {
    /// First and last step of each piece.
    steps: Vec<(u64, u64)>,
    series: Vec<Vec<Option<Piece>>>,
    /// Steps a piece.
    size: usize,
}

impl Chart<'_> {
    /// The chart as a `<figure>`.
    pub(super) fn figure(&self) -> String {
        let pieces = self.pieces();
        let mut out = String::from("<figure class=\"chart\"><figcaption><h4>");
        let _ = write!(out, "{} <small>{}</small></h4>", html(self.title), html(self.unit));
        let last = self.series.iter().filter_map(|(label, values)| {
            let (_, value) = values.last_key_value()?;
            Some((label, *value))
        });
        let lasts: Vec<(&String, f64)> = last.collect();
        if let ([_, ..], true) = (&lasts[..], self.kind == Kind::Stacked) {
            let sum: f64 = lasts.iter().map(|(_, value)| value).sum();
            let _ =
                write!(out, "<output title=\"last value, all together\">{}</output>", number(sum));
        } else if let Some((_, value)) = lasts.first() {
            let _ = write!(out, "<output title=\"last value\">{}</output>", number(*value));
        }
        out.push_str("</figcaption>");
        if lasts.is_empty() {
            let _ = write!(out, "<p class=\"empty\">{}</p></figure>", html(self.empty));
            return out;
        }
        self.svg(&pieces, &mut out);
        self.legend(&lasts, &mut out);
        if pieces.size > 1 {
            let _ = write!(
                out,
                "<p class=\"fine\">Means of {} {}s a point{}.</p>",
                pieces.size,
                html(self.along),
                if self.banded() { "; the band is least to most" } else { "" }
            );
        }
        out.push_str("</figure>");
        out
    }

    fn legend(&self, lasts: &[(&String, f64)], out: &mut String) {
        let mut shown = 0;
        out.push_str("<div class=\"foot\"><ul class=\"legend\">");
        for (at, (label, values)) in self.series.iter().enumerate() {
            let Some((_, last)) = values.last_key_value() else { continue };
            shown += 1;
            let shape = if self.kind == Kind::Stacked { "box" } else { "line" };
            let _ = write!(
                out,
                "<li><i class=\"{shape} c{}\"></i>{} <b>{}</b></li>",
                at % COLOURS,
                html(label),
                number(*last)
            );
        }
        debug_assert_eq!(shown, lasts.len());
        out.push_str("</ul></div>");
    }

    fn banded(&self) -> bool {
        self.kind != Kind::Stacked && self.series.iter().filter(|(_, v)| !v.is_empty()).count() == 1
    }

    fn pieces(&self) -> Pieces {
        let steps: BTreeSet<u64> =
            self.series.iter().flat_map(|(_, values)| values.keys().copied()).collect();
        let steps: Vec<u64> = steps.into_iter().collect();
        let size = steps.len().div_ceil(MAX_POINTS).max(1);
        let steps: Vec<(u64, u64)> =
            steps.chunks(size).map(|chunk| (chunk[0], chunk[chunk.len() - 1])).collect();
        let series = self.series.iter().map(|(_, values)| {
            let piece = |&(first, last): &(u64, u64)| {
                let values: Vec<f64> =
                    values.range(first..=last).map(|(_, value)| *value).collect();
                (!values.is_empty()).then(|| Piece {
                    // Divided first: a sum of large values could overflow.
                    mean: values.iter().map(|value| value / values.len() as f64).sum(),
                    least: values.iter().copied().fold(f64::INFINITY, f64::min),
                    most: values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
                })
            };
            steps.iter().map(piece).collect()
        });
        Pieces { series: series.collect(), steps, size }
    }

    fn svg(&self, pieces: &Pieces, out: &mut String) {
        let axis = Axis::over(self.range(pieces), self.kind != Kind::Lines);
        let first = pieces.steps[0].0 as f64;
        let last = pieces.steps[pieces.steps.len() - 1].1 as f64;
        let bars = self.kind == Kind::Stacked;
        let count = pieces.steps.len() as f64;
        let span = WIDTH - LEFT - RIGHT;
        let x = |at: usize| {
            let (from, to) = pieces.steps[at];
            if bars {
                LEFT + (at as f64 + 0.5) * span / count
            } else if last > first {
                LEFT + ((from as f64 + to as f64) / 2.0 - first) / (last - first) * span
            } else {
                LEFT + span / 2.0
            }
        };
        let y = |value: f64| axis.place(value);
        let _ = write!(
            out,
            "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{}\">",
            html(&self.spoken(pieces))
        );
        axis.draw(out);
        let bottom = HEIGHT - BOTTOM;
        let (from, to) = (pieces.steps[0].0, pieces.steps[pieces.steps.len() - 1].1);
        let middle = LEFT + span / 2.0;
        if last > first {
            let _ = write!(
                out,
                "<text x=\"{LEFT}\" y=\"{0:.0}\">{from}</text><text x=\"{1}\" y=\"{0:.0}\" \
                 class=\"e\">{to}</text><text x=\"{middle}\" y=\"{0:.0}\" class=\"m\">{2}</text>",
                bottom + 14.0,
                WIDTH - RIGHT,
                html(self.along)
            );
        } else {
            let _ = write!(
                out,
                "<text x=\"{middle}\" y=\"{:.0}\" class=\"m\">{} {from}</text>",
                bottom + 14.0,
                html(self.along)
            );
        }
        if bars {
            bars_of(pieces, span / count, x, y, out);
        } else {
            self.lines_of(pieces, x, y, out);
        }
        self.targets(pieces, span, x, y, out);
        out.push_str("</svg>");
    }

    fn lines_of(
        &self,
        pieces: &Pieces,
        x: impl Fn(usize) -> f64,
        y: impl Fn(f64) -> f64,
        out: &mut String,
    ) {
        for (series, points) in pieces.series.iter().enumerate() {
            let known: Vec<(usize, Piece)> =
                points.iter().enumerate().filter_map(|(at, piece)| Some((at, (*piece)?))).collect();
            let class = series % COLOURS;
            if self.banded() && pieces.size > 1 {
                let mut path = String::new();
                for (at, piece) in &known {
                    let _ = write!(path, "{:.1},{:.1} ", x(*at), y(piece.most));
                }
                for (at, piece) in known.iter().rev() {
                    let _ = write!(path, "{:.1},{:.1} ", x(*at), y(piece.least));
                }
                let _ =
                    write!(out, "<polygon class=\"band c{class}\" points=\"{}\"/>", path.trim());
            }
            if let [(at, piece)] = known[..] {
                let (x, y) = (x(at), y(piece.mean));
                let _ = write!(
                    out,
                    "<circle class=\"dot c{class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3.5\"/>"
                );
                continue;
            }
            let mut path = String::new();
            for (at, piece) in &known {
                let _ = write!(path, "{:.1},{:.1} ", x(*at), y(piece.mean));
            }
            let _ = write!(out, "<polyline class=\"c{class}\" points=\"{}\"/>", path.trim());
        }
    }

    /// A column a point, to hover over: its title has the values.
    fn targets(
        &self,
        pieces: &Pieces,
        span: f64,
        x: impl Fn(usize) -> f64,
        y: impl Fn(f64) -> f64,
        out: &mut String,
    ) {
        let width = span / pieces.steps.len() as f64;
        for (at, (from, to)) in pieces.steps.iter().enumerate() {
            let mut title = if from == to {
                format!("{} {from}", self.along)
            } else {
                format!("{}s {from} to {to}", self.along)
            };
            let mut dots = String::new();
            for (series, (label, _)) in self.series.iter().enumerate() {
                let Some(piece) = pieces.series[series][at] else { continue };
                let _ = write!(title, " \u{b7} {label} {}", number(piece.mean));
                if self.kind != Kind::Stacked {
                    let _ = write!(
                        dots,
                        "<circle class=\"c{}\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"3\"/>",
                        series % COLOURS,
                        x(at),
                        y(piece.mean)
                    );
                }
            }
            let _ = write!(
                out,
                "<g class=\"p\"><title>{}</title><rect x=\"{:.1}\" y=\"{TOP}\" width=\"{:.1}\" \
                 height=\"{}\"/>{dots}</g>",
                html(&title),
                (x(at) - width / 2.0).max(LEFT),
                width,
                HEIGHT - BOTTOM - TOP
            );
        }
    }

    /// Least and most of what is drawn.
    fn range(&self, pieces: &Pieces) -> (f64, f64) {
        let (mut least, mut most) = (f64::INFINITY, f64::NEG_INFINITY);
        if self.kind == Kind::Stacked {
            for at in 0..pieces.steps.len() {
                let sum = pieces.series.iter().filter_map(|s| s[at]).map(|p| p.mean.max(0.0)).sum();
                most = most.max(sum);
            }
            return (0.0, most);
        }
        let banded = self.banded();
        for piece in pieces.series.iter().flatten().flatten() {
            least = least.min(if banded { piece.least } else { piece.mean });
            most = most.max(if banded { piece.most } else { piece.mean });
        }
        (least, most)
    }

    /// The chart in words.
    fn spoken(&self, pieces: &Pieces) -> String {
        let (from, to) = (pieces.steps[0].0, pieces.steps[pieces.steps.len() - 1].1);
        let mut text = format!("{} ({}), {} {from} to {to}.", self.title, self.unit, self.along);
        for (label, values) in &self.series {
            if let (Some((_, first)), Some((_, last))) =
                (values.first_key_value(), values.last_key_value())
            {
                let _ = write!(text, " {label}: first {}, last {}.", number(*first), number(*last));
            }
        }
        text
    }
}

fn bars_of(
    pieces: &Pieces,
    width: f64,
    x: impl Fn(usize) -> f64,
    y: impl Fn(f64) -> f64,
    out: &mut String,
) {
    let width = (width * 0.86).min(28.0);
    for at in 0..pieces.steps.len() {
        let mut below = 0.0;
        for (series, points) in pieces.series.iter().enumerate() {
            let Some(piece) = points[at].filter(|piece| piece.mean > 0.0) else { continue };
            let (low, high) = (y(below), y(below + piece.mean));
            below += piece.mean;
            let _ = write!(
                out,
                "<rect class=\"c{}\" x=\"{:.1}\" y=\"{high:.2}\" width=\"{width:.1}\" height=\"{:.2}\"/>",
                series % COLOURS,
                x(at) - width / 2.0,
                low - high
            );
        }
    }
}

#[cfg(test)]
mod tests;
