//! What was left out and why, for the reader of the report and the one who runs the command.

/// Most notes of lines that could not be read; further ones are counted.
const MOST: usize = 20;

/// Notes in the order in which they arose.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Notes {
    lines: Vec<String>,
    unreadable: usize,
}

impl Notes {
    pub(super) fn add(&mut self, note: String) {
        self.lines.push(note);
    }

    /// The last line has no end.
    pub(super) fn torn(&mut self, file: &str, line: u64) {
        self.add(format!(
            "{file}:{line}: the last line is torn and left out: the run writes it now, or crashed"
        ));
    }

    /// A line inside the file cannot be read.
    pub(super) fn unreadable(&mut self, file: &str, line: u64, reason: &str) {
        self.unreadable += 1;
        if self.unreadable <= MOST {
            self.add(format!("{file}:{line}: left out, it cannot be read: {reason}"));
        }
    }

    /// The notes, one line each.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        let mut lines = self.lines.clone();
        if self.unreadable > MOST {
            lines.push(format!(
                "{} further lines could not be read and are left out",
                self.unreadable - MOST
            ));
        }
        lines
    }
}
