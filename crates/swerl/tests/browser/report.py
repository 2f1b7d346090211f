"""The report of `swerl view` in headless Chromium: opens it, clicks, filters, types, looks for faults.

    python3 report.py SWERL OUT_DIR

SWERL is the built command. Pages and screenshots are left in OUT_DIR. Exit code 0: all checks held; 1: one
did not, or there is no browser. Needs Chromium (Debian: `apt install chromium`), no network.
"""

import json
import pathlib
import subprocess
import sys

sys.dont_write_bytecode = True  # No folder of caches in the tree.
from chromium import NAMES, Browser, find

GOLDEN = pathlib.Path(__file__).parent.parent / "golden"
HOSTILE = "</script><img src=x onerror=\"window.pwned=1\"><script>window.pwned=1</script><!--"

# Text whose contrast with what is behind it is under 4.5, where it can be seen.
CONTRAST = """(() => {
  const canvas = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
  const rgba = (colour) => {
    canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data; return [r, g, b, a / 255];
  };
  const light = ([r, g, b]) => [r, g, b].map((c) => c / 255)
    .map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = (element) => {
    for (let e = element; e; e = e.parentElement) {
      const colour = rgba(getComputedStyle(e).backgroundColor);
      if (colour[3] > 0.99) return colour;
    }
    return [255, 255, 255, 1];
  };
  const poor = new Set();
  for (const e of document.querySelectorAll("body *")) {
    const own = [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
    if (!own || !e.checkVisibility({ opacityProperty: true })) continue;
    if (["SCRIPT", "STYLE", "TITLE", "title", "NOSCRIPT"].includes(e.tagName)) continue;
    const svg = e.namespaceURI.endsWith("svg");
    const style = getComputedStyle(e);
    const [x, y] = [light(rgba(svg ? style.fill : style.color)), light(behind(e))].sort((a, b) => b - a);
    if ((x + 0.05) / (y + 0.05) < 4.5) poor.add(e.tagName + "." + e.className + ": " + e.textContent.slice(0, 30));
  }
  return [...poor];
})()"""
# Controls and pictures without a name.
NAMELESS = """[...document.querySelectorAll("button, select, input, svg, a")].filter((e) =>
  !(e.textContent.trim() && e.tagName !== "SELECT" && e.tagName !== "svg") &&
  !e.getAttribute("aria-label") && !(e.labels && e.labels.length)).map((e) => e.outerHTML.slice(0, 80))"""
ROWS = "document.querySelectorAll('#rows-body tr').length"


def check(condition, what):
    if not condition:
        raise AssertionError(what)
    print(f"  ok: {what}")


def view(swerl, run, out, *more):
    subprocess.run([swerl, "view", str(run), "--out", str(out), *map(str, more)], check=True)
    return out.resolve().as_uri()


def hostile_run(folder):
    """A run in which everything that somebody else writes tries to break out."""
    folder.mkdir(parents=True, exist_ok=True)
    outcome = {"kind": "search_not_found", "path": HOSTILE, "index": 0}
    unknown = {"kind": HOSTILE}
    answer = (
        f"<think>\n{HOSTILE}\n</think>\n<solution>\n```\n### {HOSTILE}\n<<<<<<< SEARCH\na {HOSTILE}\n"
        f"=======\nb {HOSTILE}\n>>>>>>> REPLACE\n```\n</solution>\u202e\u0007"
    )
    common = {"version": 1, "step": 0, "prompt": 0}
    completion = {
        "kind": "completion", "ids": [1, 2], "log_probs": [-0.1, -5.0], "raw_log_probs": [-0.2, -6.0],
        "text": answer, "finish": HOSTILE, "weights_version": 0, "reward": -1.0,
    }
    records = [
        {"kind": "prompt", "id": HOSTILE, "text": HOSTILE, "ids": [1], "files": [HOSTILE], "skipped": [HOSTILE]},
        {**completion, "sample": 0, "score": {
            "reward": -1.0, "outcome": outcome, "similarities": {HOSTILE: 0.5, "b": 0.5}, "thought": HOSTILE,
            "edits": 1, "near_miss": {"line": 1, "similarity": 0.5, "text": HOSTILE, "diff": "-" + HOSTILE}}},
        {**completion, "sample": 1, "score": {"reward": -1.0, "outcome": unknown, "similarities": {}}},
        {**completion, "sample": 2, "reward": None, "score": {"reward": -1.0, "outcome": outcome, "similarities": {}}},
    ]
    lines = "".join(json.dumps({**common, **record}) + "\n" for record in records)
    (folder / "rollouts.jsonl").write_text(lines + '{"version":1,"kind":"comp', encoding="utf-8")
    metrics = {"step": 1, HOSTILE: 1.5, "rollouts": {"outcomes": {HOSTILE: 3}}, "loss": 0.5}
    (folder / "grpo-metrics.jsonl").write_text(json.dumps(metrics) + "\nno json " + HOSTILE + "\n", encoding="utf-8")
    (folder / "config.toml").write_text(HOSTILE, encoding="utf-8")
    (folder / "summary.json").write_text(json.dumps({HOSTILE: HOSTILE * 5}), encoding="utf-8")


def looks(page, url, out):
    for width, height in ((1280, 900), (400, 860)):
        for dark in (False, True):
            name = f"{width}-{'dark' if dark else 'light'}"
            page.look(width, height, dark)
            page.open(url)
            page.screenshot(out / f"top-{name}.png")
            over = page.run("document.documentElement.scrollWidth - innerWidth")
            check(over <= 0, f"{name}: the page is no wider than the window")
            page.run("document.querySelector('#curves').scrollIntoView({block: 'start', behavior: 'instant'})")
            page.screenshot(out / f"curves-{name}.png")
            page.run("document.querySelector('#rollouts').scrollIntoView({block: 'start', behavior: 'instant'})")
            page.screenshot(out / f"table-{name}.png")
            page.click("#rows-body tr:nth-child(5)")
            check(page.run("!document.querySelector('#detail').hidden"), f"{name}: a click opens the group")
            page.screenshot(out / f"group-{name}.png")
            for label in ("tokens", "oracle"):
                page.click(f"[data-view={label}]")
                page.screenshot(out / f"{label}-{name}.png")
                poor = page.run(CONTRAST)
                check(not poor, f"{name}, {label}: text has contrast {poor[:6] if poor else ''}")
            over = page.run("document.documentElement.scrollWidth - innerWidth")
            check(over <= 0, f"{name}: nor with a group open")
            check(not page.complaints(), f"{name}: the console is silent {page.complaints()}")


def behaves(page, url):
    page.look(1280, 900, False)
    page.open(url)
    everything = page.run(ROWS)
    data = page.run("JSON.parse(document.querySelector('#rows').textContent)")
    rows = data["rows"]
    check(everything == len(rows) == 48, "every rollout has a row")
    check(page.run("document.querySelectorAll('.chart svg').length") > 15, "charts are there")
    check(not page.run(NAMELESS), f"controls and charts have names {page.run(NAMELESS)}")

    page.hover(".chart .p:nth-of-type(3)")
    read = page.run("document.querySelector('.reading .read').textContent")
    check(read.startswith("step 3 ") and "mean" in read, f"the pointer reads a chart: {read}")

    exact = sum(1 for row in rows if row[11])
    page.type("#filter-outcome", "=exact")
    check(exact > 0 and page.run(ROWS) == exact, f"the outcome filter keeps {exact} exact rollouts")
    page.click("#reset")
    page.type("#filter-low", "0.5")
    page.type("#filter-high", "0.99")
    ranged = sum(1 for row in rows if row[5] is not None and 0.5 <= row[5] <= 0.99)
    check(page.run(ROWS) == ranged > 0, f"the reward filter keeps {ranged}")
    page.click("#reset")
    page.type("#filter-step", "11")
    check(page.run(ROWS) == 16, "the step filter keeps 16")
    page.click("#reset")
    name = rows[0][4]
    page.type("#filter-find", name.upper())
    found = sum(1 for row in rows if row[4] == name)
    check(page.run(ROWS) == found, f"the search for an id keeps {found}")
    page.type("#filter-find", "no such text anywhere")
    check(page.run(ROWS) == 0 and page.run("!document.querySelector('#none').hidden"), "no hit is said")
    page.click("#reset")

    page.click('[data-column="5"] button')
    first = page.run("document.querySelector('#rows-body tr td:nth-child(4)').textContent")
    check(first == f"{max(row[5] for row in rows):.3f}", f"sorted by reward the best is first ({first})")
    check(page.run("document.querySelector('[data-column=\"5\"]').getAttribute('aria-sort')") == "descending", "and said")
    page.click('[data-column="5"] button')
    first = page.run("document.querySelector('#rows-body tr td:nth-child(4)').textContent")
    check(first == "\u22121.000", "sorted again the worst is first")
    page.click('[data-column="5"] button')

    page.key("j")
    page.key("j")
    chosen = "document.querySelector('#rows-body [aria-selected=true]').dataset.key"
    check(page.run(chosen) == "0-1", "j moves down")
    page.key("k")
    page.key("Enter")
    check(page.run(chosen) == "0-0" and page.run("!document.querySelector('#detail').hidden"), "k and Enter open")
    check(page.run("document.querySelectorAll('#detail .card').length") == 8, "the group is side by side")
    page.key("n")
    check(page.run(chosen) == "1-0", "n goes to the next group")
    check(page.run("location.hash") == "#rollout-1-0", "the address names the rollout")
    page.key("p")
    page.key("/")
    check(page.run("document.activeElement.id") == "filter-find", "/ goes to the search")
    page.key("Escape")

    check(page.run("document.querySelectorAll('#detail .diff .add').length") > 0, "the patch is drawn")
    page.click("[data-view=tokens]")
    whole = page.run("JSON.parse(document.querySelector('#group-0').textContent)")
    text = page.run("document.querySelector('#detail .card .tok').textContent")
    check(text == whole["samples"][0]["text"], "the tokens spell the text")
    check("log-prob" in page.run("document.querySelector('#detail .tok span').title"), "each has its log-prob")
    page.click("[data-view=oracle]")
    check(page.run("document.querySelector('#detail').textContent").count("Oracle"), "the oracle is shown")

    style = "document.querySelector('#detail h3').style.color"
    page.run(f"{style} = '#999'")
    check(any("H3" in poor for poor in page.run(CONTRAST)), "poor contrast would be found")
    page.run(f"{style} = ''")
    before = page.run("getComputedStyle(document.body).backgroundColor")
    page.click("#theme")
    page.click("#theme")
    after = page.run("getComputedStyle(document.body).backgroundColor")
    check(before != after, "the theme can be chosen")
    page.click("#theme")
    page.open(url + "#rollout-2-3")
    check(page.run("document.querySelector('.card.on').dataset.sample") == "3", "an address opens its rollout")
    check(not page.complaints(), f"the console is silent {page.complaints()}")
    check(all(u.startswith("file:") for u in page.requests()), "nothing is loaded")


def survives(page, url):
    page.look(1280, 900, False)
    page.open(url)
    check(page.run(ROWS) == 3, "the hostile run has its rows")
    for at in (1, 2, 3):
        page.click(f"#rows-body tr:nth-child({at})")
        for label in ("tokens", "patch", "text"):
            page.click(f"[data-view={label}]")
    page.type("#filter-find", HOSTILE)
    check(page.run(ROWS) == 3, "its text can be searched")
    check(page.run("window.pwned") is None, "none of it ran")
    check(page.run("document.images.length") == 0, "none of it is an element")
    check(page.run("document.scripts.length") == 3, "the only scripts are a group, the rows and the page's own")
    shown = page.run("document.querySelector('#detail').textContent")
    check("</script><img" in shown and "U+202E" in shown, "it is shown as what it is")
    check(not page.complaints(), f"the console is silent {page.complaints()}")


def main(swerl, out):
    browser = find()
    if not browser:
        print(f"error: no browser: none of {', '.join(NAMES)} is on the PATH and SWERL_CHROMIUM is not set;"
              " on Debian `apt install chromium`", file=sys.stderr)
        return 1
    out.mkdir(parents=True, exist_ok=True)
    url = view(swerl, GOLDEN / "run", out / "report.html", "--seeds", GOLDEN / "seeds.jsonl")
    hostile_run(out / "hostile")
    hostile = view(swerl, out / "hostile", out / "hostile.html")
    page = Browser(browser)
    try:
        behaves(page, url)
        survives(page, hostile)
        looks(page, url, out)
    except (AssertionError, RuntimeError, TimeoutError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    finally:
        page.close()
    print(f"all held; screenshots in {out}")
    return 0


if __name__ == "__main__":
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        sys.exit(2)
    sys.exit(main(sys.argv[1], pathlib.Path(sys.argv[2])))
