// The tab that compares two runs or two lines: the paired difference with its intervals, and the items that make it.

import { state, ask } from "./state.js";
import { el, table, select, number, share, points } from "./text.js";
import { Chart } from "./charts.js";

const percent = value => points(100 * value);
const BAND = { colour: "#2474c8", marker: "o", dash: [] }, MEAN = { colour: "#e07b00", marker: "s", dash: [3.7, 1.6] };
const MAX_ITEMS = 200;

export class Compare {
  constructor(page) {
    this.page = page;
    this.choice = el("div", { class: "controls", role: "group", "aria-label": "What is compared" });
    this.stampNode = el("p", { class: "note", id: "compare-stamp", role: "status" });
    this.result = el("div");
    this.list = el("div");
    this.texts = el("div");
    this.node = el("div", {}, this.choice, this.stampNode, this.result, this.list, this.texts);
    this.sections = new Map();
    this.showChoice();
    this.load();
  }

  remove() {
    for (const chart of this.charts) chart.remove();
    this.sections.clear();
    this.list.replaceChildren();
  }

  get charts() {
    return [...this.sections.values()].map(section => section.chart).filter(Boolean);
  }

  changed() {
    this.showChoice();
    this.load();
  }

  options() {
    const lines = this.page.about.lines.filter(line => line.runs.length > 1).map(line => [line.id, `${line.name} (${line.runs.length} seeds)`]);
    return [...lines, ...Object.values(this.page.arms).filter(arm => arm.points).map(arm => [arm.id, arm.name])];
  }

  showChoice() {
    const options = this.options(), key = JSON.stringify([options, state.a, state.b]);
    if (key === this.key || this.choice.contains(document.activeElement)) return;
    this.key = key;
    if (!state.a && !state.b && options.length > 1) [state.b, state.a] = [options[0][0], options[1][0]];
    this.choice.replaceChildren(
      select("A", options, state.a, a => this.set({ a })), select("minus B", options, state.b, b => this.set({ b })),
      el("button", { type: "button", onclick: () => this.set({ a: state.b, b: state.a }) }, "Swap"));
  }

  set(values) {
    Object.assign(state, values, { item: "" });
    this.turn = (this.turn ?? 0) + 1; // texts of the sides before are no longer wanted
    this.texts.replaceChildren();
    this.page.onview({ local: true });
    this.key = null;
    document.activeElement?.blur?.();
    this.showChoice();
    this.load();
  }

  async load() {
    if (!state.a || !state.b || state.a === state.b) {
      this.remove();
      this.shown = null;
      this.stampNode.textContent = "";
      this.result.replaceChildren(el("p", { class: "note" }, "Choose two runs or lines."));
      return;
    }
    const asked = `${state.a} ${state.b}`;
    const answer = await ask("compare", { a: state.a, b: state.b });
    if (asked !== `${state.a} ${state.b}` || !this.node.isConnected) return;
    const text = JSON.stringify(answer);
    if (text === this.shown) return;
    this.shown = text;
    this.answer = answer;
    this.show();
  }

  show() {
    const { comparisons, over, error } = this.answer;
    if (error) {
      this.remove();
      this.stampNode.textContent = "";
      this.result.replaceChildren(el("p", { class: "error", role: "alert" }, error));
      return;
    }
    const steps = one => one.steps?.length > 4 ? `${one.steps[0]} to ${one.steps.at(-1)} (${one.steps.length})` : one.steps?.join(", ") ?? "";
    const rows = comparisons.map(one => [one.benchmark, steps(one), percent(one.difference),
      one.low === undefined ? "no interval" : `[${percent(one.low)}, ${percent(one.high)}]`, one.p < 0.0005 ? "< 0.001" : share(one.p), percent(one.smallest),
      one.samples ? `${one.items} × ${one.samples}` : String(one.items), `${one.seeds[0]} and ${one.seeds[1]}`, one.scope]);
    const head = ["benchmark", "steps", "A minus B, points", "95 % interval", "p", "smallest visible, points", "items × samples", "runs", "scope"];
    const mean = comparisons.every(one => one.steps?.length === 3) ? "the last three common eval points" : "the eval points in the column steps";
    const seeds = comparisons.some(one => one.only_seed)
      ? el("p", { class: "note" }, "A and B differ in nothing but the seed: this is the luck of runs.") : "";
    this.stampNode.textContent = this.stamp();
    this.result.replaceChildren(table(head, rows, "A minus B"),
      el("p", { class: "note" }, `The table is the mean of ${mean}; the chart shows each.`), seeds);
    this.showSections(comparisons, over);
    if (state.item && !this.texts.hasChildNodes()) this.load_item(state.benchmark, Number(state.item));
  }

  // Brings the section of each benchmark to the new numbers. Charts stay, so that a zoom, a table and the focus stay too.
  showSections(comparisons, over) {
    const names = new Set(comparisons.map(one => one.benchmark));
    for (const [name, section] of this.sections) {
      if (names.has(name)) continue;
      section.chart?.remove();
      section.node.remove();
      this.sections.delete(name);
    }
    comparisons.forEach((one, i) => {
      if (!this.sections.has(one.benchmark)) this.sections.set(one.benchmark, this.section(one.benchmark));
      const section = this.sections.get(one.benchmark);
      if (this.list.children[i] !== section.node) this.list.insertBefore(section.node, this.list.children[i] ?? null);
      this.fill(section, one, over[one.benchmark]);
    });
  }

  stamp() {
    const name = id => this.page.arms[id]?.name ?? id, entries = Object.entries(this.answer.stamp ?? {});
    if (!entries.length) return "The runs have changed while this was computed, so that it belongs to no single eval point.";
    return `Rests on the eval points up to: ${entries.slice(0, 12).map(([id, [step]]) => `${name(id)} step ${step}`).join(", ")}.`;
  }

  section(benchmark) {
    const text = el("p"), visible = el("p", { class: "note" }), drawn = el("div"), found = el("div");
    return { text, visible, drawn, found, node: el("section", { class: "compared" }, el("h3", {}, benchmark), text, visible, drawn, found) };
  }

  fill(section, one, growing) {
    section.text.textContent = one.text;
    section.visible.textContent = one.smallest === undefined ? ""
      : `So far, a difference of ${percent(one.smallest)} points would be seen in four of five cases.`;
    if (growing) this.draw(section, one.benchmark, growing);
    else {
      section.chart?.remove();
      section.chart = null;
      section.drawn.replaceChildren();
    }
    const key = JSON.stringify([one.gained, one.lost, Boolean(growing)]);
    if (key === section.key) return;
    section.key = key;
    section.found.replaceChildren(...growing ? [this.items("gained (A solves them, B does not)", one.benchmark, one.gained),
      this.items("lost (B solves them, A does not)", one.benchmark, one.lost)] : []);
  }

  draw(section, benchmark, growing) {
    const about = { x: "Step", y: "A minus B, points", marked: true, zero: true, format: points, note: "Difference: A minus B at each eval " +
      `point, with the band that holds at all ${growing.planned} together.\nMean so far: the mean difference up to each eval point; ` +
      "dashed: the bounds of its confidence sequence." };
    if (!section.chart) {
      const chart = section.chart = new Chart(`${benchmark}: A minus B, in points`, about);
      section.note = el("p", { class: "note" });
      section.drawn.replaceChildren(chart.node, section.note);
    }
    about.onzoom = (low, high) => {
      Object.assign(state, { low: low === null ? "" : String(low), high: high === null ? "" : String(high) });
      for (const chart of this.charts) chart.schedule();
    };
    const column = (rows, at) => rows.map(row => row[at] === null ? null : 100 * row[at]);
    const series = (name, rows, style, bounds) => ({ name, line: name, panel: benchmark, seeds: 0, faint: false, style, bounds, points: {
      x: rows.map(row => row[0]), y: column(rows, 1), low: column(rows, 2), high: column(rows, 3) } });
    section.note.textContent = `Blue: A minus B at each eval point, with the band that holds at all ${growing.planned} together. ` +
      "Orange: the mean difference up to each eval point; dashed: the bounds of its confidence sequence.";
    section.chart.update([series("difference", growing.band, BAND, false), series("mean so far", growing.so_far, MEAN, true)], [], about);
  }

  items(what, benchmark, items) {
    if (!items?.length) return el("p", { class: "note" }, `No item ${what}.`);
    return el("details", { class: "items", open: items.length <= 40 }, el("summary", {}, `${items.length} items ${what}`),
      ...items.slice(0, MAX_ITEMS).map(item => el("button", { type: "button", onclick: () => this.load_item(benchmark, item, true) }, String(item))),
      items.length > MAX_ITEMS ? el("span", {}, ` and ${items.length - MAX_ITEMS} more`) : "");
  }

  // Shows the texts of one item, of the first run of each side at the last eval point that both have.
  async load_item(benchmark, item, clicked = false) {
    const turn = this.turn = (this.turn ?? 0) + 1;
    Object.assign(state, { benchmark, item: String(item) });
    this.page.onview({ local: true });
    const plain = benchmark.replace(/, temperature [\w.]+$/, ""), stamp = this.answer.stamp ?? {};
    const first = side => side.startsWith("L") ? side.slice(1) : side, ids = [first(state.a), first(state.b)];
    const step = this.answer.comparisons.find(one => one.benchmark === benchmark)?.steps?.at(-1) ??
      Math.min(...ids.map(id => stamp[id]?.[0] ?? 0));
    const sides = await Promise.all(ids.map(run => ask("texts", { what: "item", run, step: String(step), benchmark: plain, item: String(item) })));
    if (turn !== this.turn || !this.node.isConnected) return; // something else was asked for meanwhile
    this.texts.replaceChildren(itemTexts(sides, ["A", "B"]));
    if (clicked) this.texts.scrollIntoView({ block: "nearest" });
  }
}

export function itemTexts(answers, names) {
  const known = answers.find(answer => answer.question) ?? answers[0];
  const sides = answers.flatMap((answer, i) => answer.error ? [el("p", { class: "error" }, answer.error)] :
    answer.sides.map(side => el("div", {}, el("h4", {}, `${names[i] ?? ""} ${side.run}, step ${side.step}`.trim()), cards(side.samples))));
  return el("section", { class: "texts" }, el("h3", {}, `${known.benchmark ?? ""}, item ${known.item ?? ""}`),
    known.question ? el("pre", {}, known.question) : el("p", { class: "note" }, "No question: the benchmark is not here, or has changed."),
    known.gold ? el("p", {}, `Correct answer: ${known.gold}`) : "", el("div", { class: "pair" }, ...sides));
}

// Tokens on a ground that is the darker the less likely they were: 0 is certain, 5 is below e^-5.
function coloured(pieces) {
  const shade = logp => logp === null ? "x" : Math.min(5, Math.floor(-logp + 0.5));
  return el("pre", { tabindex: "0", class: "pieces" }, ...pieces.map(([text, logp]) =>
    el("span", { class: `p${shade(logp)}`, title: logp === null ? "no log-prob" : `log-prob ${logp}` }, text)));
}

export function cards(samples) {
  const kind = verdict => verdict === "error" ? "error-verdict" : verdict ?? "";
  return el("div", { class: "cards" }, ...samples.map(sample => el("article", { class: `card ${kind(sample.verdict)}` },
    el("h4", {}, `sample ${sample.sample} · `, el("b", {}, sample.verdict ?? ""), ["", sample.extracted === null ? "no answer" : `answer ${sample.extracted}`,
      ...["reward", "advantage", "tokens", "logp"].filter(name => sample[name] !== undefined).map(name => `${name} ${number(sample[name])}`),
      sample.used === false ? "not in an update" : ""].filter((part, i) => part || i === 0).join(" · ")),
    sample.pieces && state.tokens ? coloured(sample.pieces) : el("pre", { tabindex: "0" }, sample.completion ?? ""))));
}

