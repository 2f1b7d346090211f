//! Charts of one point, of none, of many, and of labels that try to be markup.

use super::*;

fn chart<'a>(kind: Kind, series: &[(&str, &'a BTreeMap<u64, f64>)]) -> Chart<'a> {
    Chart {
        title: "KL",
        unit: "nats",
        along: "step",
        kind,
        series: series.iter().map(|(label, values)| ((*label).to_owned(), *values)).collect(),
        empty: "no reference",
    }
}

fn column(values: impl IntoIterator<Item = f64>) -> BTreeMap<u64, f64> {
    (1..).zip(values).collect()
}

#[track_caller]
fn sound(figure: &str) {
    for word in ["NaN", "inf", "<script"] {
        assert!(!figure.contains(word), "{word} in {figure}");
    }
    for tag in ["figure", "svg", "g", "ul", "h4", "title"] {
        let (open, close) = (format!("<{tag}"), format!("</{tag}>"));
        let opened = figure
            .match_indices(&open)
            .filter(|(at, _)| figure[at + open.len()..].starts_with([' ', '>']))
            .count();
        assert_eq!(opened, figure.matches(&close).count(), "{tag} in {figure}");
    }
}

#[test]
fn no_value_says_so() {
    let empty = BTreeMap::new();
    for series in [&[][..], &[("kl", &empty)]] {
        let figure = chart(Kind::Lines, series).figure();
        sound(&figure);
        assert!(figure.contains("no reference") && !figure.contains("<svg"), "{figure}");
    }
}

#[test]
fn one_point_is_a_dot() {
    let one = column([0.5]);
    for kind in [Kind::Lines, Kind::FromZero, Kind::Stacked] {
        let figure = chart(kind, &[("kl", &one)]).figure();
        sound(&figure);
        assert!(figure.contains("<title>step 1 \u{b7} kl 0.5</title>"), "{figure}");
        assert_eq!(figure.contains("<circle class=\"dot"), kind != Kind::Stacked);
    }
}

#[test]
fn every_step_has_a_title_and_the_last_value_is_shown() {
    let (a, b) = (column([0.1, 0.2, 0.4]), column([1.0]));
    let figure = chart(Kind::Lines, &[("a", &a), ("b", &b)]).figure();
    sound(&figure);
    assert_eq!(figure.matches("<title>").count(), 3);
    assert!(figure.contains("<output title=\"last value\">0.4</output>"), "{figure}");
    assert!(figure.contains("aria-label=\"KL (nats), step 1 to 3. a: first 0.1, last 0.4."));
}

#[test]
fn long_series_are_drawn_in_pieces_with_their_range() {
    let long = column((0..1_000).map(f64::from));
    let figure = chart(Kind::Lines, &[("x", &long)]).figure();
    sound(&figure);
    assert_eq!(figure.matches("<title>").count(), 112, "1000 steps in pieces of 9");
    assert!(figure.contains("Means of 9 steps a point; the band is least to most."), "{figure}");
    assert!(figure.contains("<title>steps 1 to 9 \u{b7} x 4</title>"));
}

#[test]
fn stacked_bars_add_up() {
    let (a, b) = (column([1.0, 2.0]), column([3.0, 4.0]));
    let figure = chart(Kind::Stacked, &[("a", &a), ("b", &b)]).figure();
    sound(&figure);
    assert_eq!(figure.matches("<rect class=\"c").count(), 4);
    assert!(figure.contains("all together\">6</output>"), "{figure}");
}

#[test]
fn labels_are_text() {
    let one = column([f64::MAX, f64::MIN_POSITIVE]);
    let figure = chart(Kind::Lines, &[("</title><script>\"", &one)]).figure();
    sound(&figure);
    assert!(figure.contains("&lt;/title&gt;&lt;script&gt;&quot;"), "{figure}");
}
