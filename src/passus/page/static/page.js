// The page: its header, its sections, and what the stream of changes brings.

import { address, ask, FROZEN, frozenFigure, recent } from "./answers.js";
import { Compare } from "./compare.js";
import { setCrosshair } from "./crosshair.js";
import { el } from "./elements.js";
import { download, fileName, follow } from "./files.js";
import { answerOf, Findings, stampText } from "./findings.js";
import { listKeys, onKey, toggleKeys } from "./keys.js";
import { Panels } from "./panels.js";
import { Runs } from "./runs.js";
import { Samples } from "./samples.js";
import { Stream } from "./stream.js";
import { isDark } from "./styles.js";
import { changed, DEFAULTS, figureQuery, readAddress, state, take, writeAddress } from "./view.js";

const SECTIONS = { curves: ["Curves", Panels], signals: ["Signals", Panels], compare: ["Compare", Compare],
  samples: ["Samples", Samples], runs: ["Runs", Runs], findings: ["Findings", Findings] };
const byId = id => document.getElementById(id);

class Page {
  constructor() {
    this.arms = {};
    this.about = { title: "", lines: [], metrics: [], remarks: [] };
    this.stamp = { findings: 0, evals: 0 };
    this.findings = {};
    this.tab = null;
    this.stream = new Stream({ figure: message => this.tab.receive?.(message), arms: rows => this.takeArms(rows),
      about: about => this.takeAbout(about), stamp: stamp => this.takeStamp(stamp), link: () => this.showState() });
  }

  start() {
    window.Bokeh?.set_log_level("off");
    readAddress();
    if (FROZEN) this.thaw();
    listKeys();
    byId("tabs").append(...Object.entries(SECTIONS).map(([id, [title]], i) => el("button", { type: "button", "data-tab": id,
      title: `${title} (${i + 1})`, onclick: () => this.openTab(id) }, title)));
    byId("help").addEventListener("click", toggleKeys);
    byId("theme").addEventListener("click", () => this.setTheme(isDark() ? "light" : "dark"));
    byId("save").addEventListener("click", () => this.saveView());
    byId("open-view").addEventListener("click", () => byId("open").click());
    byId("open").addEventListener("change", event => this.openView(event));
    byId("freeze")?.addEventListener("click", () => this.freeze());
    document.addEventListener("keydown", event => onKey(this, Object.keys(SECTIONS), event));
    addEventListener("hashchange", () => { readAddress(); this.showView(); });
    this.showView();
  }

  // Takes the data of a frozen page, and the view that was frozen, unless the address has another one.
  thaw() {
    Object.assign(this, { arms: FROZEN.arms, about: FROZEN.about, findings: FROZEN.answers.findings });
    take({ ...FROZEN.state, ...Object.fromEntries(new URLSearchParams(location.hash.slice(1))) });
    byId("freeze").remove();
    this.showState();
    this.showAbout();
  }

  showView() {
    this.setTheme(state.theme);
    this.openTab(state.tab);
  }

  // Opens a section, with a part of the view where one is given.
  openTab(name, values = {}) {
    Object.assign(state, values, { tab: name in SECTIONS ? name : DEFAULTS.tab });
    for (const button of byId("tabs").children) {
      if (button.dataset.tab === state.tab) button.setAttribute("aria-current", "page");
      else button.removeAttribute("aria-current");
    }
    this.tab?.remove?.();
    const [title, Section] = SECTIONS[state.tab];
    this.tab = new Section(this);
    byId("main").replaceChildren(el("h2", {}, title), this.tab.node);
    setCrosshair(null);
    this.showAnswer();
    this.stream.forget();
    this.onview();
  }

  // Called when the view has changed. A local change is the page's own; any other asks the server for another figure.
  onview({ local = false } = {}) {
    writeAddress();
    byId("theme").textContent = isDark() ? "Light" : "Dark";
    if (local) return;
    if (FROZEN) this.tab.receive?.({ figure: frozenFigure(figureQuery()) });
    else if (!this.stream.open(figureQuery())) this.tab.redraw?.();
  }

  takeArms(rows) {
    this.arms = { ...this.arms };
    for (const [id, row] of Object.entries(rows)) {
      if (row === null) delete this.arms[id];
      else this.arms[id] = row;
    }
    this.showState();
    this.showAnswer();
    this.tab.showArms?.();
  }

  takeAbout(about) {
    this.about = about;
    this.showAbout();
  }

  async takeStamp(stamp) {
    const before = this.stamp;
    this.stamp = stamp;
    if (stamp.findings !== before.findings || !this.findings.sections) {
      this.findings = await ask("findings");
      if (this.tab instanceof Findings) this.tab.show();
      this.showAnswer();
    }
    if (stamp.evals !== before.evals) this.tab.changed?.();
  }

  showState() {
    const counts = {};
    for (const arm of Object.values(this.arms)) counts[arm.state] = (counts[arm.state] ?? 0) + 1;
    const text = Object.entries(counts).map(([name, n]) => `${n} ${name}`).join(", ") || "no runs yet";
    byId("state").textContent = `${text} · ${FROZEN ? "frozen" : this.stream.isOpen ? "live" : "not connected"}`;
  }

  showAbout() {
    byId("title").textContent = this.about.title || "passus";
    document.title = `${this.about.title || "runs"} · passus`;
    byId("remarks").replaceChildren(...this.about.remarks.map(text => el("li", {}, text)));
  }

  // Shows the answer of the report above every section but that of the report. Its place is kept while it is computed, so that
  // nothing moves under a pointer.
  showAnswer() {
    const text = answerOf(this.findings), { sections, error, stamp } = this.findings;
    const isPending = !sections && !error && !FROZEN && Object.values(this.arms).some(arm => arm.points);
    byId("answer").hidden = this.tab instanceof Findings;
    byId("answer").classList.toggle("pending", isPending);
    byId("answer").textContent = isPending ? "The findings are being computed." : error ? `No findings: ${error.split("\n")[0]}`
      : text ? `${text} (${stampText(stamp)})` : "";
  }

  setTheme(theme) {
    state.theme = theme;
    if (theme) document.documentElement.dataset.theme = theme;
    else delete document.documentElement.dataset.theme;
    this.onview({ local: true });
    this.tab?.redraw?.();
  }

  freeze() {
    const query = address("freeze", { ...figureQuery(), state: JSON.stringify(changed()), with: [...recent.keys()].join("\n") });
    follow(query, `${fileName(this.about.title)}.html`);
  }

  saveView() {
    download(`${fileName(this.about.title)}-view.json`, JSON.stringify(changed(), null, 1), "application/json");
  }

  async openView(event) {
    const [file] = event.target.files;
    event.target.value = "";
    try {
      const values = JSON.parse(await file.text());
      if (typeof values !== "object" || values === null) throw new TypeError("no object");
      take(values);
      this.showView();
    } catch {
      const name = file?.name ?? "The file";
      byId("remarks").append(el("li", {}, `${name} is not a view of this page: choose a file that "Save view" wrote.`));
    }
  }
}

new Page().start();
