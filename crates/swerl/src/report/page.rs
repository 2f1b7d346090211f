//! The page: one HTML file that needs nothing else, written from top to bottom.
//!
//! The policy in its head (CSP) lets no other script run than its own, known by its digest, and nothing
//! be loaded: a second wall behind the escapes of `escape`.

use std::{
    fmt::Write as _,
    io::{self, Write},
};

use sha2::{Digest, Sha256};

use super::{
    escape::{html, json},
    overview,
    rollouts::{GroupView, Row},
    run::Run,
};

const STYLE: &str = include_str!("page/style.css");
const SCRIPT: &str = include_str!("page/script.js");

/// What is said about the rollouts: how many there are, are shown, are left out and by which rule.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Shown {
    pub(super) rollouts: usize,
    pub(super) shown: usize,
    /// Only this step was asked for.
    pub(super) step: Option<u64>,
}

/// Writes everything above the rollouts.
pub(super) fn head(run: &Run, out: &mut impl Write) -> io::Result<()> {
    let name = html(&run.name);
    write!(
        out,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; \
         style-src 'unsafe-inline'; script-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"generator\" content=\"swerl {version}\">\n\
         <title>{name} \u{b7} swerl</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n\
         <a class=\"skip\" href=\"#content\">Skip to the content</a>\n\
         <header class=\"top\"><h1>{name}</h1><span class=\"state\">{state}</span>\
         <nav aria-label=\"parts of the page\">{nav}</nav>\
         <button type=\"button\" id=\"theme\" class=\"theme\" hidden>Theme</button></header>\n\
         <main id=\"content\">\n",
        digest = base64(&Sha256::digest(SCRIPT.as_bytes())),
        version = env!("CARGO_PKG_VERSION"),
        state = match run.summary {
            Some(_) => "finished",
            None => "running or stopped: no summary.json",
        },
        nav = navigation(run),
    )?;
    out.write_all(overview::sections(run).as_bytes())
}

fn navigation(run: &Run) -> String {
    let mut out = String::new();
    let mut link = |there: bool, to: &str, label: &str| {
        if there {
            let _ = write!(out, "<a href=\"#{to}\">{label}</a>");
        }
    };
    link(!run.evaluations.is_empty(), "held-out", "Held-out");
    link(!run.stages.is_empty(), "curves", "Curves");
    link(!run.configs.is_empty(), "configuration", "Configuration");
    link(run.trace.is_some(), "rollouts", "Rollouts");
    out
}

/// Writes one group's data block.
pub(super) fn group(at: usize, view: &GroupView, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "<script type=\"application/json\" id=\"group-{at}\">{}</script>", json(view)?)
}

/// Writes the table of rollouts around the data blocks' rows.
pub(super) fn rollouts(shown: &Shown, rows: &[String], out: &mut impl Write) -> io::Result<()> {
    write!(
        out,
        "<section id=\"rollouts\"><h2>Rollouts</h2>\n<p class=\"fine\">{}</p>\n",
        rule(shown)
    )?;
    if rows.is_empty() {
        return out.write_all(b"<p>No rollout yet.</p></section>\n");
    }
    out.write_all(BROWSER.as_bytes())?;
    write!(
        out,
        "<script type=\"application/json\" id=\"rows\">{{\"total\":{},\"rows\":[",
        shown.rollouts
    )?;
    for (at, row) in rows.iter().enumerate() {
        write!(out, "{}\n{row}", if at > 0 { "," } else { "" })?;
    }
    out.write_all(b"]}</script>\n</section>\n")
}

/// A row of the table as JSON.
pub(super) fn row(row: &Row<'_>) -> io::Result<String> {
    Ok(json(row)?)
}

/// Writes the notes that came up while the rollouts were read, and the end.
pub(super) fn tail(notes: &[String], out: &mut impl Write) -> io::Result<()> {
    out.write_all(overview::notes(notes).as_bytes())?;
    write!(out, "</main>\n<script>{SCRIPT}</script>\n</body>\n</html>\n")
}

fn rule(shown: &Shown) -> String {
    let of = match shown.step {
        None => "of the trace".to_owned(),
        Some(step) => format!("of step {step}"),
    };
    let mut text = format!("{} rollouts {of}, {} shown", shown.rollouts, shown.shown);
    let left_out = shown.rollouts - shown.shown;
    if left_out == 0 {
        text.push_str(": all of them.");
    } else {
        let _ = write!(
            text,
            "; {left_out} are left out to keep the page small. Kept are whole groups: of each step \
             the one with the highest reward, the one with the lowest, then others by a fixed hash, the steps in \
             turn. <code>--limit-rollouts N</code> shows more, <code>--step K</code> one step alone."
        );
    }
    text
}

const BROWSER: &str = "<noscript><p class=\"notes\">Browsing rollouts needs JavaScript; everything above \
does not.</p></noscript>
<div id=\"browser\" hidden>
<div class=\"filters\" role=\"search\" aria-label=\"filter rollouts\">
<label>Step<select id=\"filter-step\"><option value=\"\">all</option></select></label>
<label>Outcome<select id=\"filter-outcome\"><option value=\"\">all</option></select></label>
<label>Reward from<input id=\"filter-low\" type=\"number\" min=\"-1\" max=\"1\" step=\"0.05\"></label>
<label>to<input id=\"filter-high\" type=\"number\" min=\"-1\" max=\"1\" step=\"0.05\"></label>
<label class=\"wide\">Text of prompt, completion, path, id<input id=\"filter-find\" type=\"search\" \
autocomplete=\"off\" spellcheck=\"false\"></label>
<button type=\"button\" id=\"reset\">Reset</button>
</div>
<p class=\"fine\"><span id=\"count\" role=\"status\"></span><span class=\"keys\"> \u{b7} <kbd>j</kbd> <kbd>k</kbd> \
move, <kbd>Enter</kbd> opens, <kbd>n</kbd> <kbd>p</kbd> next and previous group, <kbd>/</kbd> search, \
<kbd>Esc</kbd> back to the list</span></p>
<div id=\"list\" class=\"scroll\"><table><thead><tr>
<th data-column=\"2\"><button type=\"button\">Step</button></th>
<th class=\"t\" data-column=\"4\"><button type=\"button\">Prompt</button></th>
<th data-column=\"1\"><button type=\"button\">Sample</button></th>
<th data-column=\"5\" data-first=\"down\"><button type=\"button\">Reward</button></th>
<th class=\"opt\" data-column=\"6\" data-first=\"down\"><button type=\"button\" \
title=\"reward less the mean reward of its group\">Reward \u{2212} group mean</button></th>
<th class=\"t\" data-column=\"7\"><button type=\"button\">Outcome</button></th>
<th class=\"opt\" data-column=\"8\"><button type=\"button\">Tokens</button></th>
<th class=\"opt\" data-column=\"9\"><button type=\"button\" title=\"mean log-prob of its tokens, nats\">Log-prob</button></th>
<th class=\"t opt\" data-column=\"10\"><button type=\"button\">Finish</button></th>
</tr></thead><tbody id=\"rows-body\"></tbody></table>
<p id=\"none\" class=\"fine\" hidden>&nbsp; No rollout passes the filters.</p>
<button type=\"button\" id=\"more\" class=\"more\" hidden>Show more</button></div>
<div id=\"detail\" hidden></div>
</div>
";

/// Base 64 with padding, as a CSP wants its digests.
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for chunk in bytes.chunks(3) {
        let word = chunk.iter().fold(0_u32, |word, byte| (word << 8) | u32::from(*byte))
            << (8 * (3 - chunk.len()));
        for digit in 0..4 {
            let used = digit <= chunk.len();
            let at = (word >> (18 - 6 * digit)) & 63;
            out.push(if used { char::from(DIGITS[at as usize]) } else { '=' });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_of_the_rfc() {
        for (bytes, text) in
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")]
        {
            assert_eq!(base64(bytes.as_bytes()), text);
        }
    }

    #[test]
    fn the_script_writes_no_markup_and_ends_no_element() {
        for word in [
            "innerHTML",
            "outerHTML",
            "insertAdjacentHTML",
            "document.write",
            "eval(",
            "</",
            "<!--",
        ] {
            assert!(!SCRIPT.contains(word), "{word}");
        }
        assert!(!STYLE.contains("</") && !STYLE.contains("url("));
    }

    #[test]
    fn what_is_left_out_is_said() {
        let all = rule(&Shown { rollouts: 8, shown: 8, step: Some(3) });
        assert_eq!(all, "8 rollouts of step 3, 8 shown: all of them.");
        let some = rule(&Shown { rollouts: 3_072, shown: 1_000, step: None });
        assert!(some.contains("2072 are left out") && some.contains("--limit-rollouts"), "{some}");
    }
}
