//! A histogram as a Markdown table and as an SVG picture that needs no script and no font.

use std::fmt::Write;

const WIDTH: u64 = 640;
const ROW: u64 = 22;
const NAME_WIDTH: u64 = 150;
const COUNT_WIDTH: u64 = 70;
const HEAD: u64 = 34;

/// Named counts in the order shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Histogram {
    /// One line.
    pub title: String,
    /// Name and count of each bar.
    pub bars: Vec<(String, u64)>,
}

impl Histogram {
    /// Appends the counts as a table.
    pub(super) fn push_table(&self, text: &mut String) {
        text.push_str("| | seeds |\n|---|---:|\n");
        for (name, count) in &self.bars {
            let _ = writeln!(text, "| {} | {count} |", name.replace('|', "\\|"));
        }
        text.push('\n');
    }

    /// The picture: one bar a row, the longest as wide as there is room.
    #[must_use]
    pub fn svg(&self) -> String {
        let most = self.bars.iter().map(|(_, count)| *count).max().unwrap_or(0).max(1);
        let height = HEAD + ROW * self.bars.len() as u64 + 8;
        let room = WIDTH - NAME_WIDTH - COUNT_WIDTH;
        let mut text = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" \
             height=\"{height}\" font-family=\"sans-serif\" font-size=\"12\" role=\"img\">\n\
             <title>{0}</title>\n<rect width=\"{WIDTH}\" height=\"{height}\" fill=\"#ffffff\"/>\n\
             <text x=\"8\" y=\"20\" font-size=\"14\" font-weight=\"bold\" fill=\"#1f2328\">{0}</text>\n",
            escaped(&self.title)
        );
        for ((name, count), row) in self.bars.iter().zip(0..) {
            let top = HEAD + ROW * row;
            // Rounded up, so that a count of one is seen beside a count of a million.
            let width = (u128::from(*count) * u128::from(room)).div_ceil(u128::from(most));
            let line = top + 14;
            let _ = writeln!(
                text,
                "<text x=\"{}\" y=\"{line}\" text-anchor=\"end\" fill=\"#1f2328\">{}</text>\
                 <rect x=\"{NAME_WIDTH}\" y=\"{}\" width=\"{width}\" height=\"{}\" fill=\"#3b6ea5\"/>\
                 <text x=\"{}\" y=\"{line}\" fill=\"#1f2328\">{count}</text>",
                NAME_WIDTH - 8,
                escaped(name),
                top + 3,
                ROW - 6,
                u128::from(NAME_WIDTH) + width + 6,
            );
        }
        text.push_str("</svg>\n");
        text
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::Histogram;

    #[test]
    fn bars_are_in_proportion() {
        let bars = vec![("C & <C>".to_owned(), 1), ("x".to_owned(), 2), ("none".to_owned(), 0)];
        let svg = Histogram { title: "T".to_owned(), bars }.svg();
        assert!(svg.contains("C &amp; &lt;C&gt;") && svg.ends_with("</svg>\n"));
        let widths: Vec<&str> =
            svg.split("width=\"").filter_map(|part| part.split('"').next()).skip(3).collect();
        assert_eq!(widths, ["210", "420", "0"]);
        assert!(Histogram { title: String::new(), bars: vec![] }.svg().contains("</svg>"));
    }
}
