// The page: its tabs, the stream of changes, the runs, the findings and the keys.

import { state, DEFAULTS, FROZEN, nowMs, take, readAddress, writeAddress, changed, address, figureQuery, ask, recent } from "./state.js";
import { el, table, duration, share, download, fileName } from "./text.js";
import { isDark, setCrosshair } from "./charts.js";
import { Compare } from "./compare.js";
import { Samples } from "./samples.js";
import { Panels, hasAxis } from "./panels.js";

const TABS = [["curves", "Curves"], ["signals", "Signals"], ["compare", "Compare"], ["samples", "Samples"], ["runs", "Runs"], ["findings", "Findings"]];
const KEYS = [["1 to 6", "the sections"], ["/", "filter lines, search samples"], ["x", "next x-axis"], ["l, shift l", "log x, log y"],
  ["a", "all lines"], ["s, shift s", "more, less smoothing"], ["[ ]", "previous, next step of samples"], ["d", "dark or light"],
  ["c", "to the first chart"], ["arrows, Home, End", "in a chart: move the crosshair"], ["+ - 0", "in a chart: zoom in, out, whole"],
  ["Esc", "close, leave a field"], ["?", "these keys"]];
const byId = id => document.getElementById(id);

const page = { arms: {}, about: { title: "", lines: [], remarks: [] }, stamp: { findings: 0, evals: 0 }, findings: {}, onview };
let tab = null, source = null, shownQuery = "";

// Called when the view has changed. A local change is the page's own; any other asks the server for another figure.
function onview({ local = false } = {}) {
  writeAddress();
  if (!local) connect();
  byId("theme").textContent = isDark() ? "Light" : "Dark";
}

function openTab(name) {
  state.tab = TABS.some(([id]) => id === name) ? name : DEFAULTS.tab;
  for (const button of byId("tabs").children) {
    if (button.dataset.tab === state.tab) button.setAttribute("aria-current", "page");
    else button.removeAttribute("aria-current");
  }
  tab?.remove?.();
  const make = { compare: () => new Compare(page), samples: () => new Samples(page), runs: () => new Runs(), findings: () => new Findings() };
  tab = make[state.tab]?.() ?? new Panels(onview);
  byId("main").replaceChildren(el("h2", {}, TABS.find(([id]) => id === state.tab)[1]), tab.node);
  setCrosshair(null);
  shownQuery = "";
  onview();
}

function connect() {
  if (FROZEN) {
    if (tab instanceof Panels) tab.receive({ figure: frozenFigure() });
    return;
  }
  const to = address("events", figureQuery());
  if (to === shownQuery && source) {
    if (tab instanceof Panels) tab.show();
    return;
  }
  shownQuery = to;
  source?.close();
  source = new EventSource(to);
  source.onopen = () => { byId("state").dataset.open = "yes"; showState(); };
  source.onerror = () => { byId("state").dataset.open = ""; showState(); };
  source.addEventListener("figure", event => { if (tab instanceof Panels) tab.receive(JSON.parse(event.data)); });
  source.addEventListener("arms", event => takeArms(JSON.parse(event.data)));
  source.addEventListener("about", event => { page.about = JSON.parse(event.data); showAbout(); });
  source.addEventListener("stamp", event => takeStamp(JSON.parse(event.data)));
}

function frozenFigure() {
  const { kind, x, y, low, high } = figureQuery(), key = `${kind} ${x}` + (kind === "curves" ? ` ${y}` : "");
  return FROZEN.figures[`${key} ${low} ${high}`] ?? FROZEN.figures[key] ?? { error: "This figure is not in the frozen page." };
}

function takeArms(rows) {
  page.arms = { ...page.arms };
  for (const [id, row] of Object.entries(rows)) {
    if (row === null) delete page.arms[id];
    else page.arms[id] = row;
  }
  showState();
  if (tab instanceof Runs) tab.show();
  if (tab instanceof Samples) tab.nameRuns();
}

async function takeStamp(stamp) {
  const before = page.stamp;
  page.stamp = stamp;
  if (stamp.findings !== before.findings || !page.findings.sections) {
    page.findings = await ask("findings");
    if (tab instanceof Findings) tab.show();
    showAnswer();
  }
  if (stamp.evals !== before.evals) tab.changed?.();
}

function showState() {
  const counts = {};
  for (const arm of Object.values(page.arms)) counts[arm.state] = (counts[arm.state] ?? 0) + 1;
  const text = Object.entries(counts).map(([name, n]) => `${n} ${name}`).join(", ") || "no runs yet";
  const link = FROZEN ? "frozen" : byId("state").dataset.open ? "live" : "not connected";
  byId("state").textContent = `${text} · ${link}`;
}

function showAbout() {
  byId("title").textContent = page.about.title || "passus";
  document.title = `${page.about.title || "runs"} · passus`;
  byId("remarks").replaceChildren(...page.about.remarks.map(text => el("li", {}, text)));
}

function showAnswer() {
  const first = page.findings.sections?.[0];
  const text = first && !first.title ? first.blocks.find(block => block.kind === "text")?.text : "";
  byId("answer").textContent = text ? `${text} (${stampText(page.findings.stamp)})` : "";
}

function stampText(stamp) {
  const steps = Object.values(stamp ?? {}).map(([step]) => step).filter(step => step !== null);
  if (!steps.length) return "the runs have changed while this was computed";
  const low = Math.min(...steps), high = Math.max(...steps);
  return `at ${low === high ? `step ${low}` : `steps ${low} to ${high}`} of ${steps.length} run${steps.length > 1 ? "s" : ""}`;
}

const COLUMNS = [["name", "run"], ["line", "line"], ["state", "state"], ["step", "progress"], ["heartbeat", "heartbeat"], ["left", "expected end"],
  ["last", "last accuracy"], ["resumes", "resumes"], ["seed", "seed"], ["error", "error"]];

class Runs {
  constructor() {
    this.body = el("tbody");
    this.head = el("tr");
    this.node = el("div", { class: "wide", tabindex: "0", role: "region", "aria-label": "Runs" },
      el("table", { id: "runs" }, el("thead", {}, this.head), this.body));
    this.timer = setInterval(() => this.show(), 1000);
    this.show();
  }

  remove() { clearInterval(this.timer); }

  show() {
    const [key, order] = (state.sort || "name up").split(" "), sign = order === "down" ? -1 : 1;
    const value = arm => key === "last" ? arm.last[0]?.[1] ?? -1 : key === "heartbeat" ? age(arm) ?? -1 : arm[key] ?? "";
    const arms = Object.values(page.arms).sort((a, b) => {
      const [x, y] = [value(a), value(b)];
      return sign * (typeof x === "number" && typeof y === "number" ? x - y : String(x).localeCompare(String(y), undefined, { numeric: true }));
    });
    const heads = JSON.stringify([key, order]);
    if (heads !== this.heads) {
      this.heads = heads;
      this.head.replaceChildren(...COLUMNS.map(([id, text]) => el("th", { scope: "col",
        "aria-sort": id === key ? (sign > 0 ? "ascending" : "descending") : "none" }, el("button", { type: "button", onclick: () => {
        state.sort = `${id} ${id === key && sign > 0 ? "down" : "up"}`;
        onview({ local: true });
        this.show();
      } }, text + (id === key ? (sign > 0 ? " ▲" : " ▼") : "")))));
    }
    const rows = JSON.stringify(arms);
    if (rows !== this.rows) {
      this.rows = rows;
      this.body.replaceChildren(...arms.map(row));
    }
    arms.forEach((arm, i) => { this.body.children[i].querySelector(".age").textContent = age(arm) === null ? "" : `${duration(age(arm))} ago`; });
  }
}

function age(arm) {
  if (!arm.heartbeat || arm.state !== "running") return null;
  const at = Date.parse(arm.heartbeat);
  return Number.isNaN(at) ? null : Math.max(0, (nowMs() - at) / 1000);
}

function row(arm) {
  const total = arm.steps || 0, cell = (...children) => el("td", {}, ...children);
  const accuracy = arm.last.map(([name, acc, low, high]) => `${name} ${share(acc)}` + (low === null ? "" : ` [${share(low)}, ${share(high)}]`));
  return el("tr", { "data-run": arm.id }, cell(arm.name), cell(arm.line), cell(el("span", { class: `state-${arm.state}` }, arm.state)),
    cell(el("progress", { max: String(total || 1), value: String(Math.min(arm.step, total || 1)), "aria-label": `${arm.name} progress` }),
      ` ${arm.step}${total ? ` of ${total}` : ""}`),
    el("td", { class: "age" }), cell(arm.left === null ? "" : `in ${duration(arm.left)}`),
    cell(...accuracy.map(text => el("div", {}, text))), cell(arm.resumes ? String(arm.resumes) : ""), cell(String(arm.seed ?? "")), cell(arm.error ?? ""));
}

class Findings {
  constructor() {
    this.node = el("div");
    this.show();
  }

  show() {
    const { sections, error, stamp } = page.findings;
    if (error) this.node.replaceChildren(el("p", { class: "error", role: "alert" }, error));
    else if (!sections) this.node.replaceChildren(el("p", { class: "note" }, "No findings yet: they are computed after an eval point."));
    else {
      this.node.replaceChildren(el("p", { class: "note", id: "findings-stamp" }, `Computed ${stampText(stamp)}, as passus report writes it.`),
        ...sections.flatMap(section => [section.title ? el("h3", {}, section.title) : "", ...section.blocks.map(block)]));
    }
  }
}

function block(part) {
  switch (part.kind) {
    case "text": return el("p", {}, part.text);
    case "note": return el("p", { class: "note" }, part.text);
    case "table": return table(part.head, part.rows.map(cells => cells.map(cell => cell.length > 1 ? cell : cell[0])));
    case "listing": return el("div", {}, part.name ? el("h4", {}, part.name) : "", el("pre", {}, part.text));
    case "details": return el("details", {}, el("summary", {}, part.summary), ...part.blocks.map(block));
    case "pair": return el("section", {}, el("h4", {}, part.heading), el("p", { class: "note" }, part.note), el("div", { class: "pair" },
      ...part.sides.map(side => el("article", { class: `card ${side.verdict === "error" ? "error-verdict" : side.verdict}` },
        el("h4", {}, `step ${side.step} · ${side.verdict}${side.answer ? ` · answer ${side.answer}` : ""}`), el("pre", { tabindex: "0" }, side.completion)))));
    default: return "";
  }
}

function setTheme(theme) {
  state.theme = theme;
  if (theme) document.documentElement.dataset.theme = theme;
  else delete document.documentElement.dataset.theme;
  onview({ local: true });
  if (tab instanceof Panels) {
    tab.legendKey = null;
    tab.show();
  } else for (const chart of tab?.charts ?? []) chart.schedule();
}

function freeze() {
  const query = address("freeze", { ...figureQuery(), state: JSON.stringify(changed()), with: [...recent.keys()].join("\n") });
  const link = el("a", { href: query, download: `${fileName(page.about.title)}.html` });
  document.body.append(link);
  link.click();
  link.remove();
}

function nextAxis() {
  const axes = ["step", "tokens", "time", "progress", "updates"].filter(hasAxis);
  tab.set?.({ x: axes[(axes.indexOf(state.x) + 1) % axes.length] });
}

// Goes to the next of the windows 0 (the default), 5, 9, ... 101.
function smoothBy(sign) {
  const now = Number(state.smooth), next = sign > 0 ? Math.min(101, Math.max(5, now + 4)) : now <= 5 ? 0 : now - 4;
  tab.set({ smooth: String(next) });
}

const ACTIONS = {
  "/": () => {
    const field = byId("find") ?? byId("search");
    if (field?.closest("details")) field.closest("details").open = true;
    field?.focus();
  },
  "?": () => byId("keys").open ? byId("keys").close() : byId("keys").showModal(),
  x: () => tab instanceof Panels && nextAxis(),
  l: () => tab instanceof Panels && tab.set({ logx: state.logx ? "" : "1" }),
  L: () => tab instanceof Panels && tab.set({ logy: state.logy ? "" : "1" }),
  a: () => tab instanceof Panels && !FROZEN && tab.set({ all: state.all ? "" : "1" }),
  s: () => tab instanceof Panels && !FROZEN && smoothBy(1),
  S: () => tab instanceof Panels && !FROZEN && smoothBy(-1),
  "[": () => tab instanceof Samples && tab.move(-1),
  "]": () => tab instanceof Samples && tab.move(1),
  d: () => setTheme(isDark() ? "light" : "dark"),
  c: () => document.querySelector(".chart")?.focus(),
};

function onKey(event) {
  const typing = event.target.matches("input:not([type=checkbox]):not([type=range]), select, textarea");
  if (event.key === "Escape" && typing) event.target.blur();
  if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
  const number = Number(event.key);
  const act = number >= 1 && number <= TABS.length ? () => openTab(TABS[number - 1][0]) : ACTIONS[event.key];
  if (!act) return;
  event.preventDefault();
  act();
}

async function openView(event) {
  const [file] = event.target.files;
  event.target.value = "";
  try {
    const values = JSON.parse(await file.text());
    if (typeof values !== "object" || values === null) throw new TypeError("no object");
    take(values);
    setTheme(state.theme);
    openTab(state.tab);
  } catch {
    byId("remarks").append(el("li", {}, `${file?.name ?? "the file"} is no view of this page`));
  }
}

function start() {
  window.Bokeh?.set_log_level("off");
  readAddress();
  byId("tabs").append(...TABS.map(([id, text], i) => el("button", { type: "button", "data-tab": id,
    title: `${text} (${i + 1})`, onclick: () => openTab(id) }, text)));
  byId("keys").append(el("h2", {}, "Keys"), el("dl", {}, ...KEYS.flatMap(([key, text]) => [el("dt", {}, key), el("dd", {}, text)])),
    el("form", { method: "dialog" }, el("button", {}, "Close")));
  byId("help").addEventListener("click", ACTIONS["?"]);
  byId("theme").addEventListener("click", ACTIONS.d);
  byId("save").addEventListener("click", () => download(`${fileName(page.about.title)}-view.json`, JSON.stringify(changed(), null, 1), "application/json"));
  byId("open-view").addEventListener("click", () => byId("open").click());
  byId("open").addEventListener("change", openView);
  byId("freeze").addEventListener("click", freeze);
  document.addEventListener("keydown", onKey);
  addEventListener("hashchange", () => { readAddress(); setTheme(state.theme); openTab(state.tab); });
  if (state.theme) document.documentElement.dataset.theme = state.theme;
  if (FROZEN) {
    Object.assign(page, { arms: FROZEN.arms, about: FROZEN.about, findings: FROZEN.answers.findings });
    take({ ...FROZEN.state, ...Object.fromEntries(new URLSearchParams(location.hash.slice(1))) });
    byId("freeze").remove();
    showState();
    showAbout();
    showAnswer();
  }
  openTab(state.tab);
}

start();
