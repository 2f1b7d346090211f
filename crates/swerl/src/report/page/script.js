"use strict";
// Rollouts: table, filters and the group that is open. All texts of the run become text nodes; nothing
// here writes markup.
(() => {
  const byId = (id) => document.getElementById(id);
  const [GROUP, SAMPLE, STEP, PROMPT, ID, REWARD, RELATIVE, OUTCOME, TOKENS, LOGPROB, FINISH, EXACT] =
    Array(12).keys();
  const CHUNK = 200;

  // ---- Theme and charts -------------------------------------------------------------------------
  const root = document.documentElement;
  const themes = ["auto", "light", "dark"];
  const themeButton = byId("theme");
  const setTheme = (theme) => {
    if (theme === "auto") delete root.dataset.theme;
    else root.dataset.theme = theme;
    themeButton.textContent = "Theme: " + theme;
    try { localStorage.setItem("swerl-theme", theme); } catch { /* A file may have no storage. */ }
  };
  let theme = "auto";
  try { theme = localStorage.getItem("swerl-theme") || "auto"; } catch { /* The same. */ }
  setTheme(themes.includes(theme) ? theme : "auto");
  themeButton.addEventListener("click", () => {
    const now = themes.indexOf(root.dataset.theme || "auto");
    setTheme(themes[(now + 1) % themes.length]);
  });
  themeButton.hidden = false;
  for (const figure of document.querySelectorAll(".chart")) {
    const svg = figure.querySelector("svg");
    if (!svg) continue;
    const read = document.createElement("p");
    read.className = "read";
    figure.querySelector(".foot").append(read);
    const show = (text) => {
      read.textContent = text;
      figure.classList.toggle("reading", text !== "");
    };
    svg.addEventListener("pointerover", (event) => {
      const point = event.target.closest(".p");
      show(point ? point.querySelector("title").textContent : "");
    });
    svg.addEventListener("pointerleave", () => show(""));
  }

  const block = byId("rows");
  if (!block) return;

  // ---- Small tools --------------------------------------------------------------------------------
  // Characters that hide or turn the text around are shown by their names.
  const visible = (text) => text
    .replace(/[\u0000-\u0008\u000b-\u001f]/g, (c) => String.fromCharCode(0x2400 + c.charCodeAt(0)))
    .replace(/\u007f/g, "\u2421")
    .replace(/[\u061c\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/g,
      (c) => "\u27e8U+" + c.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0") + "\u27e9");
  const make = (tag, attributes, ...children) => {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes || {})) {
      if (value !== null && value !== undefined) element.setAttribute(name, value);
    }
    for (const child of children) {
      if (child === null || child === undefined || child === false) continue;
      element.append(typeof child === "string" ? document.createTextNode(visible(child)) : child);
    }
    return element;
  };
  const number = (value, digits) =>
    value === null || value === undefined ? "\u2013" : value.toFixed(digits).replace("-", "\u2212");
  const signed = (value, digits) =>
    value === null || value === undefined ? "\u2013" : (value > 0 ? "+" : "") + number(value, digits);
  const words = (kind) => kind.replaceAll("_", " ");
  const groups = new Map();
  const group = (at) => {
    if (!groups.has(at)) groups.set(at, JSON.parse(byId("group-" + at).textContent));
    return groups.get(at);
  };

  // ---- Filters and sorting ------------------------------------------------------------------------
  const { rows, total } = JSON.parse(block.textContent);
  const fields = ["step", "outcome", "low", "high", "find"].map((name) => byId("filter-" + name));
  const [stepField, outcomeField, lowField, highField, findField] = fields;
  const option = (select, value, label) => select.append(make("option", { value }, label));
  const count = (values) => values.reduce((map, v) => map.set(v, (map.get(v) || 0) + 1), new Map());
  for (const [step, many] of [...count(rows.map((row) => row[STEP]))].sort((a, b) => a[0] - b[0])) {
    option(stepField, String(step), step + " (" + many + ")");
  }
  const kinds = count(rows.map((row) => row[OUTCOME]));
  const exact = rows.filter((row) => row[EXACT]).length;
  if (exact) option(outcomeField, "=exact", "exact (" + exact + ")");
  for (const [kind, many] of [...kinds].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1))) {
    option(outcomeField, kind, words(kind) + " (" + many + ")");
  }
  const haystacks = new Map();
  const haystack = (row) => {
    const key = row[GROUP] + "-" + row[SAMPLE];
    if (!haystacks.has(key)) {
      const whole = group(row[GROUP]);
      const sample = whole.samples.find((s) => s.sample === row[SAMPLE]);
      const parts = [whole.id, whole.text, sample.text, sample.reason, ...sample.edits.map((e) => e.path)];
      haystacks.set(key, parts.join("\n").toLowerCase());
    }
    return haystacks.get(key);
  };
  let sorting = { column: null, down: false };
  let shown = rows;
  let drawn = 0;
  let selected = null;
  const filter = () => {
    const low = lowField.value === "" ? -Infinity : Number(lowField.value);
    const high = highField.value === "" ? Infinity : Number(highField.value);
    const ranged = lowField.value !== "" || highField.value !== "";
    const find = findField.value.trim().toLowerCase();
    const outcome = outcomeField.value;
    shown = rows.filter((row) =>
      (stepField.value === "" || String(row[STEP]) === stepField.value) &&
      (outcome === "" || (outcome === "=exact" ? row[EXACT] : row[OUTCOME] === outcome)) &&
      (!ranged || (row[REWARD] !== null && row[REWARD] >= low && row[REWARD] <= high)) &&
      (find === "" || haystack(row).includes(find)));
    const { column, down } = sorting;
    if (column !== null) {
      const sign = down ? -1 : 1;
      shown = [...shown].sort((a, b) => {
        const [x, y] = [a[column], b[column]];
        if (x === null || y === null) return (x === null) - (y === null);
        return (x < y ? -1 : x > y ? 1 : 0) * sign || a[GROUP] - b[GROUP] || a[SAMPLE] - b[SAMPLE];
      });
    }
    byId("count").textContent = shown.length === rows.length
      ? rows.length.toLocaleString("en") + " rollouts"
      : shown.length.toLocaleString("en") + " of " + rows.length.toLocaleString("en") + " rollouts";
    body.replaceChildren();
    drawn = 0;
    draw();
    byId("list").scrollTop = 0;
  };

  // ---- Table ---------------------------------------------------------------------------------------
  const body = byId("rows-body");
  const more = byId("more");
  const tone = (row) => (row[EXACT] ? "good" : row[OUTCOME] === "scored" ? "" : "bad");
  const line = (row) => make("tr", { tabindex: "-1", "data-key": row[GROUP] + "-" + row[SAMPLE] },
    make("td", {}, String(row[STEP])),
    make("td", { class: "t", title: visible(row[ID]) }, row[ID]),
    make("td", {}, String(row[SAMPLE])),
    make("td", { class: tone(row) }, number(row[REWARD], 3)),
    make("td", { class: "opt" }, signed(row[RELATIVE], 3)),
    make("td", { class: "t" },
      make("span", { class: "badge " + tone(row) }, row[EXACT] ? "exact" : words(row[OUTCOME]))),
    make("td", { class: "opt" }, String(row[TOKENS])),
    make("td", { class: "opt" }, number(row[LOGPROB], 3)),
    make("td", { class: "t opt" }, row[FINISH]));
  const draw = () => {
    body.append(...shown.slice(drawn, drawn + CHUNK).map(line));
    drawn = Math.min(shown.length, drawn + CHUNK);
    more.hidden = drawn >= shown.length;
    more.textContent = "Show more (" + (shown.length - drawn).toLocaleString("en") + " left)";
    byId("none").hidden = shown.length > 0;
    mark();
  };
  const keyOf = (row) => row[GROUP] + "-" + row[SAMPLE];
  const place = () => shown.findIndex((row) => keyOf(row) === selected);
  const mark = () => {
    for (const tr of body.children) {
      const on = tr.dataset.key === selected;
      tr.setAttribute("aria-selected", String(on));
      tr.tabIndex = on ? 0 : -1;
    }
    if (!body.querySelector('[tabindex="0"]') && body.firstElementChild) {
      body.firstElementChild.tabIndex = 0;
    }
  };
  const focusRow = (at) => {
    if (at < 0 || at >= shown.length) return;
    while (at >= drawn) draw();
    const tr = body.children[at];
    selected = tr.dataset.key;
    mark();
    tr.focus({ preventScroll: true });
    tr.scrollIntoView({ block: "nearest" });
  };
  more.addEventListener("click", draw);
  body.addEventListener("click", (event) => {
    const tr = event.target.closest("tr");
    if (tr) { selected = tr.dataset.key; mark(); open(); }
  });
  for (const th of document.querySelectorAll("#list thead th")) {
    th.firstElementChild.addEventListener("click", () => {
      const column = Number(th.dataset.column);
      const again = sorting.column === column;
      if (again && sorting.down !== (th.dataset.first === "down")) sorting = { column: null, down: false };
      else sorting = { column, down: again ? !sorting.down : th.dataset.first === "down" };
      for (const other of document.querySelectorAll("#list thead th")) {
        const on = Number(other.dataset.column) === sorting.column;
        other.setAttribute("aria-sort", on ? (sorting.down ? "descending" : "ascending") : "none");
      }
      filter();
    });
  }
  for (const field of fields) field.addEventListener("input", filter);
  byId("reset").addEventListener("click", () => {
    for (const field of fields) field.value = "";
    filter();
  });

  // ---- The open group ------------------------------------------------------------------------------
  const detail = byId("detail");
  let view = "patch";
  const sign = { "+": "add", "-": "cut", "@": "at", " ": "" };
  const diff = (lines) => make("div", { class: "diff" }, ...lines.map(([tag, pieces]) =>
    make("div", { class: sign[tag] || null }, tag === "@" ? null : tag + " ",
      ...pieces.map(([strong, text]) => (strong ? make("b", {}, text) : text)))));
  const files = (list) => list.flatMap((file) => [make("h5", {}, file.path), diff(file.lines)]);
  const shade = (p) => (p >= 0.99 ? 0 : p >= 0.9 ? 1 : p >= 0.5 ? 2 : p >= 0.1 ? 3 : p >= 0.01 ? 4 : 5);
  const token = (sample, at, text) => {
    const logProb = sample.log_probs[at];
    const known = logProb !== undefined;
    const raw = sample.raw && sample.raw[at] !== undefined
      ? ", of the model itself " + number(sample.raw[at], 4) : "";
    const title = "token " + at + ", id " + sample.ids[at] + (known
      ? ", log-prob " + number(logProb, 4) + raw + ", p " + Math.exp(logProb).toPrecision(3) : "");
    return make("span", { class: known ? "t" + shade(Math.exp(logProb)) : null, title }, text);
  };
  const tokens = (sample) => {
    const box = make("div", { class: "tok" });
    if (sample.borders) {
      box.classList.add("code");
      let start = 0;
      sample.borders.forEach((units, at) => {
        box.append(token(sample, at, sample.text.slice(start, start + units)));
        start += units;
      });
      return [box];
    }
    box.classList.add("cells");
    sample.ids.forEach((_, at) => box.append(token(sample, at, "")));
    return [
      make("p", { class: "fine" }, "One cell a token, in order: where each begins in the text is not known. " +
        "`swerl view --tokenizer FILE` says."),
      box,
      make("pre", {}, sample.text),
    ];
  };
  const contents = (sample, whole) => {
    if (view === "text") return [make("pre", { class: "code" }, sample.text)];
    if (view === "tokens") {
      const cut = sample.tokens - sample.ids.length;
      return [...tokens(sample), cut > 0 && make("p", { class: "fine" }, cut + " further tokens are left out.")];
    }
    if (view === "oracle") {
      if (!sample.against) {
        return [make("p", { class: "fine" }, "Its edits do not apply: nothing to compare.")];
      }
      if (!sample.against.length) return [make("p", { class: "good" }, "The same as the oracle's.")];
      return [make("p", { class: "fine" }, "From this answer's result (\u2212) to the oracle's (+)."),
        ...files(sample.against)];
    }
    const parts = [];
    if (sample.thought) parts.push(make("pre", { class: "thought" }, sample.thought));
    if (sample.edits.length) parts.push(...files(sample.edits));
    else parts.push(make("p", { class: "fine" }, "No edit matches the grammar; the whole text:"),
      make("pre", {}, sample.text));
    if (sample.more_edits) parts.push(make("p", { class: "fine" }, sample.more_edits + " further edits are left out."));
    if (sample.near) {
      parts.push(make("h5", {}, "Most like the searched text: line " + sample.near.line + ", similarity " +
        number(sample.near.similarity, 3) + " (\u2212 searched, + in the file)"));
      parts.push(diff(sample.near.diff.split("\n").map((text) => [text[0] || " ", [[0, text.slice(1)]]])));
    }
    const similar = Object.entries(sample.similarities);
    if (similar.length > 1) {
      parts.push(make("p", { class: "fine" },
        "Similarity: " + similar.map(([path, s]) => path + " " + number(s, 3)).join(", ")));
    }
    return parts;
  };
  const card = (sample, whole) => {
    const twin = whole.samples.find((other) => other.sample < sample.sample && other.text === sample.text);
    const kind = sample.exact ? "good" : sample.outcome === "scored" ? "" : "bad";
    return make("article", { class: "card", "data-sample": sample.sample, "aria-label": "sample " + sample.sample },
      make("header", {},
        make("span", {}, "sample " + sample.sample),
        make("b", { class: kind }, number(sample.reward, 3)),
        make("span", { title: "reward less the mean reward of the group" }, signed(sample.relative, 3) + " to the mean"),
        sample.advantage !== null && make("span", {}, "advantage " + signed(sample.advantage, 3)),
        make("span", { class: "badge " + kind }, sample.exact ? "exact" : words(sample.outcome))),
      make("p", { class: "fine" }, sample.tokens + " tokens, " + (sample.finish || "no finish") +
        (sample.mean_log_prob === null ? "" : ", mean log-prob " + number(sample.mean_log_prob, 3)) +
        ", weights " + sample.version +
        (sample.told === null ? "" : ", the trainer was told " + number(sample.told, 3)) +
        (twin ? ", same text as sample " + twin.sample : "")),
      sample.reason ? make("p", { class: "why" }, sample.reason) : null,
      ...contents(sample, whole));
  };
  const shadeKey = () => make("p", { class: "keyed" }, "Probability of the token:",
    ...["99%", "90%", "50%", "10%", "1%", "less"].map((label, at) =>
      make("span", {}, make("i", { class: "t" + at }), at < 5 ? "\u2265 " + label : label)));
  const open = (scroll = true) => {
    const [at, sample] = selected.split("-").map(Number);
    const whole = group(at);
    const views = [["patch", "Patch"], ["text", "Text"], ["tokens", "Tokens"]];
    if (whole.oracle) views.push(["oracle", "Against the oracle"]);
    if (!views.some(([name]) => name === view)) view = "patch";
    const button = ([name, label]) => {
      const element = make("button", { type: "button", "aria-pressed": String(name === view), "data-view": name }, label);
      element.addEventListener("click", () => { view = name; open(false); });
      return element;
    };
    const step = (label, by) => {
      const element = make("button", { type: "button", title: by > 0 ? "next group (n)" : "group before (p)" }, label);
      element.addEventListener("click", () => move(by));
      return element;
    };
    const prompt = make("details", { class: "panel" },
      make("summary", {}, "Prompt (" + whole.tokens + " tokens" +
        (whole.skipped.length ? "; left out for lack of room: " + whole.skipped.join(", ") : "") + ")"),
      make("pre", { class: "code" }, whole.text));
    prompt.open = promptOpen;
    prompt.addEventListener("toggle", () => { promptOpen = prompt.open; });
    const oracle = whole.oracle && make("details", { class: "panel", open: "" },
      make("summary", {}, "Oracle: the merged change"), ...files(whole.oracle));
    const cards = make("div", { class: "cards", tabindex: "0", "aria-label": "completions of the group" },
      ...whole.samples.map((s) => card(s, whole)));
    detail.replaceChildren(
      make("div", { class: "bar" },
        make("h3", {}, "Step " + whole.step + ", prompt " + whole.prompt + ": " + whole.id),
        make("span", { class: "views", role: "group", "aria-label": "what the cards show" }, ...views.map(button)),
        make("span", { class: "pair" }, step("\u2190 Group", -1), step("Group \u2192", 1))),
      prompt, ...(oracle ? [oracle] : []), ...(view === "tokens" ? [shadeKey()] : []), cards);
    detail.hidden = false;
    const on = [...cards.children].find((c) => Number(c.dataset.sample) === sample);
    if (on) {
      on.classList.add("on");
      cards.scrollLeft = on.offsetLeft - cards.offsetLeft - 8;
    }
    if (scroll) detail.scrollIntoView({ block: "start" });
    try { history.replaceState(null, "", "#rollout-" + selected); } catch { /* Not in every frame. */ }
  };
  let promptOpen = false;
  const move = (by) => {
    const from = place();
    if (from < 0) { focusRow(0); if (selected) open(); return; }
    let at = from;
    while (at >= 0 && at < shown.length && shown[at][GROUP] === shown[from][GROUP]) at += by;
    if (at < 0 || at >= shown.length) return;
    focusRow(at);
    open();
  };

  // ---- Keyboard ------------------------------------------------------------------------------------
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const typing = event.target.closest("input, select, textarea");
    if (typing) {
      if (event.key === "Escape") typing.blur();
      return;
    }
    const inList = event.target.closest("#list tbody");
    const keys = {
      "/": () => findField.focus(),
      j: () => focusRow(place() + 1),
      k: () => focusRow(Math.max(0, place() - 1)),
      n: () => move(1),
      p: () => move(-1),
      Escape: () => focusRow(Math.max(0, place())),
      ...(inList && {
        ArrowDown: () => focusRow(place() + 1),
        ArrowUp: () => focusRow(Math.max(0, place() - 1)),
        Home: () => focusRow(0),
        End: () => focusRow(shown.length - 1),
        Enter: () => { selected = inList.querySelector("tr:focus")?.dataset.key ?? selected; mark(); open(); },
      }),
    };
    const act = keys[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  });
  byId("browser").hidden = false;
  filter();
  const linked = /^#rollout-(\d+-\d+)$/.exec(location.hash);
  if (linked && rows.some((row) => keyOf(row) === linked[1])) {
    selected = linked[1];
    mark();
    open();
  }
})();
