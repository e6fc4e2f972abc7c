// The tab that compares two runs or two lines: the paired difference with its intervals, and the items that make it.

import { state, ask } from "./state.js";
import { el, table, select, number } from "./text.js";
import { Chart } from "./charts.js";

const points = value => value === undefined || value === null ? "" : (Math.round(1000 * value) / 10 || 0).toFixed(1);
const BAND = { colour: "#2474c8", marker: "o", dash: [] }, MEAN = { colour: "#e07b00", marker: "s", dash: [3.7, 1.6] };
const ZERO = { colour: "#7d7d7d", marker: "x", dash: [1, 1.65] };
const MAX_ITEMS = 200;

export class Compare {
  constructor(page) {
    this.page = page;
    this.choice = el("div", { class: "controls", role: "group", "aria-label": "What is compared" });
    this.result = el("div", { "aria-live": "polite" });
    this.texts = el("div");
    this.node = el("div", {}, this.choice, this.result, this.texts);
    this.charts = [];
    this.showChoice();
    this.load();
  }

  remove() {
    for (const chart of this.charts) chart.remove();
    this.charts = [];
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
    this.page.onview({ local: true });
    this.key = null;
    document.activeElement?.blur?.();
    this.showChoice();
    this.load();
  }

  async load() {
    if (!state.a || !state.b || state.a === state.b) {
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
    this.remove();
    if (error) {
      this.result.replaceChildren(el("p", { class: "error", role: "alert" }, error));
      return;
    }
    const rows = comparisons.map(one => [one.benchmark, points(one.difference),
      one.low === undefined ? "no interval" : `[${points(one.low)}, ${points(one.high)}]`, one.p === undefined ? "" : number(one.p),
      one.smallest === undefined ? "" : points(one.smallest), one.samples ? `${one.items} x ${one.samples}` : String(one.items), `${one.seeds[0]} and ${one.seeds[1]}`, one.scope]);
    const head = ["benchmark", "A minus B, points", "95 % interval", "p", "smallest visible, points", "items x samples", "runs", "scope"];
    const seeds = comparisons.some(one => one.only_seed)
      ? el("p", { class: "note" }, "A and B differ in nothing but the seed: this is the luck of runs.") : null;
    this.result.replaceChildren(el("p", { class: "note", id: "compare-stamp" }, this.stamp()), table(head, rows, "A minus B"), seeds ?? "",
      ...comparisons.map(one => this.benchmark(one, over[one.benchmark])));
    if (state.item) this.load_item(state.benchmark, Number(state.item));
  }

  stamp() {
    const name = id => this.page.arms[id]?.name ?? id, entries = Object.entries(this.answer.stamp ?? {});
    if (!entries.length) return "The runs have changed while this was computed, so that it belongs to no single eval point.";
    return `Rests on the eval points up to: ${entries.slice(0, 12).map(([id, [step]]) => `${name(id)} step ${step}`).join(", ")}.`;
  }

  benchmark(one, growing) {
    const chart = growing ? this.chart(one.benchmark, growing) : null;
    const found = growing ? [this.items("gained (A solves them, B does not)", one.benchmark, one.gained),
      this.items("lost (B solves them, A does not)", one.benchmark, one.lost)] : [];
    const visible = one.smallest === undefined ? "" : `So far, a difference of ${points(one.smallest)} points would be seen in four of five cases.`;
    return el("section", { class: "compared" }, el("h3", {}, one.benchmark), el("p", {}, one.text), el("p", { class: "note" }, visible),
      chart?.node ?? "",
      growing ? el("p", { class: "note" }, `Blue: A minus B at each eval point, with the band that holds at all ${growing.planned} ` +
        "together. Orange: the mean difference up to each eval point, with its confidence sequence.") : "",
      ...found);
  }

  chart(benchmark, growing) {
    const column = (rows, at) => rows.map(row => row[at] === null ? null : 100 * row[at]);
    const series = (name, rows, style) => ({ name, line: name, panel: benchmark, seeds: 0, faint: false, style, points: {
      x: rows.map(row => row[0]), y: column(rows, 1), low: column(rows, 2), high: column(rows, 3) } });
    const chart = new Chart(`${benchmark}: A minus B, in points`, { x: "Step", marked: true, onzoom: (low, high) => {
      Object.assign(state, { low: low === null ? "" : String(low), high: high === null ? "" : String(high) });
      chart.schedule();
    } });
    const ends = [growing.band[0][0], growing.band.at(-1)[0]];
    const zero = { name: "no difference", line: "no difference", panel: benchmark, seeds: 0, faint: true, style: ZERO, points: { x: ends, y: [0, 0] } };
    chart.update([zero, series("difference", growing.band, BAND), series("mean so far", growing.so_far, MEAN)], [], chart.about);
    this.charts.push(chart);
    return chart;
  }

  items(what, benchmark, items) {
    if (!items?.length) return el("p", { class: "note" }, `No item ${what}.`);
    return el("details", { class: "items", open: items.length <= 40 }, el("summary", {}, `${items.length} items ${what}`),
      ...items.slice(0, MAX_ITEMS).map(item => el("button", { type: "button", onclick: () => this.load_item(benchmark, item) }, String(item))),
      items.length > MAX_ITEMS ? el("span", {}, ` and ${items.length - MAX_ITEMS} more`) : "");
  }

  // Shows the texts of one item, of the first run of each side at the last eval point that both have.
  async load_item(benchmark, item) {
    Object.assign(state, { benchmark, item: String(item) });
    this.page.onview({ local: true });
    const plain = benchmark.replace(/, temperature [\w.]+$/, ""), stamp = this.answer.stamp ?? {};
    const first = side => side.startsWith("L") ? side.slice(1) : side, ids = [first(state.a), first(state.b)];
    const step = this.answer.comparisons.find(one => one.benchmark === benchmark)?.steps?.at(-1) ??
      Math.min(...ids.map(id => stamp[id]?.[0] ?? 0));
    const sides = await Promise.all(ids.map(run => ask("texts", { what: "item", run, step: String(step), benchmark: plain, item: String(item) })));
    this.texts.replaceChildren(itemTexts(sides, ["A", "B"]));
    this.texts.scrollIntoView({ block: "nearest" });
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
    el("h4", {}, [`sample ${sample.sample}`, sample.verdict, sample.extracted === null ? "no answer" : `answer ${sample.extracted}`,
      ...["reward", "advantage", "tokens", "logp"].filter(name => sample[name] !== undefined).map(name => `${name} ${number(sample[name])}`),
      sample.used === false ? "not in an update" : ""].filter(Boolean).join(" · ")),
    sample.pieces && state.tokens ? coloured(sample.pieces) : el("pre", { tabindex: "0" }, sample.completion ?? ""))));
}

