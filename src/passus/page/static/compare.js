// The section that compares two runs or two lines: the paired difference with its intervals, and the items that make it.

import { ask } from "./answers.js";
import { itemTexts } from "./cards.js";
import { Difference } from "./difference.js";
import { el, place, select, table } from "./elements.js";
import { points, share } from "./numbers.js";
import { state } from "./view.js";

const MAX_STAMPS = 12, MAX_STEPS = 4;
const HEAD = ["benchmark", "steps", "A minus B, points", "95 % interval", "p", "smallest detectable, points", "items × samples", "runs",
  "scope"];
const percent = value => points(100 * value);
const note = text => el("p", { class: "note" }, text);

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
    this.turn = 0; // of the texts of one item
    this.showChoice();
    this.load();
  }

  remove() {
    for (const section of this.sections.values()) section.remove();
    this.sections.clear();
    this.list.replaceChildren();
  }

  redraw() {
    for (const section of this.sections.values()) section.chart?.schedule();
  }

  changed() {
    this.showChoice();
    this.load();
  }

  options() {
    const lines = this.page.about.lines.filter(line => line.runs.length > 1);
    const runs = Object.values(this.page.arms).filter(arm => arm.points);
    return [...lines.map(line => [line.id, `${line.name} (${line.runs.length} seeds)`]), ...runs.map(run => [run.id, run.name])];
  }

  showChoice() {
    const options = this.options(), key = JSON.stringify([options, state.a, state.b]);
    if (key === this.key || this.choice.contains(document.activeElement)) return;
    this.key = key;
    if (!state.a && !state.b) [state.b, state.a] = this.firstPair(options.map(([id]) => id));
    this.choice.replaceChildren(
      select("A", options, state.a, a => this.set({ a })), select("minus B", options, state.b, b => this.set({ b })),
      el("button", { type: "button", onclick: () => this.set({ a: state.b, b: state.a }) }, "Swap"));
  }

  // The runs of a side: of a line all its seeds.
  runsOf(side) {
    return this.page.about.lines.find(line => line.id === side && line.runs.length > 1)?.runs ?? [side];
  }

  haveSharedRun(a, b) {
    return this.runsOf(a).some(run => this.runsOf(b).includes(run));
  }

  // The first two sides that have no run in common.
  firstPair(ids) {
    for (const b of ids) {
      const a = ids.find(other => !this.haveSharedRun(other, b));
      if (a !== undefined) return [b, a];
    }
    return ["", ""];
  }

  set(values) {
    Object.assign(state, values, { item: "" });
    this.turn += 1; // texts of the sides before are no longer wanted
    this.texts.replaceChildren();
    this.page.onview({ local: true });
    this.key = null;
    document.activeElement?.blur?.();
    this.showChoice();
    this.load();
  }

  async load() {
    const asked = `${state.a} ${state.b}`;
    if (!state.a || !state.b || this.haveSharedRun(state.a, state.b)) {
      this.pair = null;
      this.say(note(state.a && state.b ? "A and B have a run in common: choose two sides without one."
        : "Choose two runs or lines. Those with eval points are listed."));
      return;
    }
    if (asked !== this.pair) this.say(note("The comparison is being computed."));
    this.pair = asked;
    const answer = await ask("compare", { a: state.a, b: state.b });
    if (asked !== this.pair || !this.node.isConnected) return; // something else was asked for meanwhile
    const text = JSON.stringify(answer);
    if (text === this.shown) return;
    this.shown = text;
    this.answer = answer;
    this.show();
  }

  // Shows a text in the place of a comparison.
  say(node) {
    this.remove();
    this.shown = null;
    this.stampNode.textContent = "";
    this.result.replaceChildren(node);
  }

  show() {
    const { comparisons, over, error } = this.answer;
    if (error) {
      this.say(el("p", { class: "error", role: "alert" }, error));
      return;
    }
    const areThree = comparisons.every(one => one.steps?.length === 3);
    const mean = areThree ? "the last three common eval points" : "the eval points in the column steps";
    this.stampNode.textContent = this.stamp();
    this.result.replaceChildren(table(HEAD, comparisons.map(cells), "A minus B"),
      note(`The table is the mean of ${mean}; the chart shows each. Smallest detectable: a true difference of this size would be found ` +
        "in four of five such comparisons, a smaller one less often."),
      comparisons.some(one => one.only_seed) ? note("A and B differ in nothing but the seed: this is the luck of runs.") : "");
    this.showSections(comparisons, over);
    if (state.item && !this.texts.hasChildNodes()) this.openItem(state.benchmark, Number(state.item));
  }

  // Brings the section of each benchmark to the new numbers. Charts stay, so that a zoom, a table and the focus stay too.
  showSections(comparisons, over) {
    const names = new Set(comparisons.map(one => one.benchmark));
    for (const [name, section] of this.sections) {
      if (names.has(name)) continue;
      section.remove();
      this.sections.delete(name);
    }
    for (const one of comparisons) {
      if (!this.sections.has(one.benchmark)) {
        const onitem = item => this.openItem(one.benchmark, item, true);
        this.sections.set(one.benchmark, new Difference(one.benchmark, onitem, () => this.redraw()));
      }
      this.sections.get(one.benchmark).show(one, over[one.benchmark]);
    }
    place(this.list, comparisons.map(one => this.sections.get(one.benchmark).node));
  }

  stamp() {
    const name = id => this.page.arms[id]?.name ?? id, entries = Object.entries(this.answer.stamp ?? {});
    if (!entries.length) return "The runs have changed while this was computed, so that it belongs to no single eval point.";
    const more = entries.length > MAX_STAMPS ? ` and ${entries.length - MAX_STAMPS} more runs` : "";
    const named = entries.slice(0, MAX_STAMPS).map(([id, [step]]) => `${name(id)} step ${step}`);
    return `Rests on the eval points up to: ${named.join(", ")}${more}.`;
  }

  // Shows the texts of one item, of the first run of each side at the last eval point that both have.
  async openItem(benchmark, item, clicked = false) {
    const turn = this.turn += 1;
    Object.assign(state, { benchmark, item: String(item) });
    this.page.onview({ local: true });
    const plain = benchmark.replace(/, temperature [\w.]+$/, ""), stamp = this.answer.stamp ?? {};
    const first = side => side.startsWith("L") ? side.slice(1) : side, ids = [first(state.a), first(state.b)];
    const step = this.answer.comparisons.find(one => one.benchmark === benchmark)?.steps?.at(-1) ??
      Math.min(...ids.map(id => stamp[id]?.[0] ?? 0));
    const query = { what: "item", step: String(step), benchmark: plain, item: String(item) };
    const sides = await Promise.all(ids.map(run => ask("texts", { ...query, run })));
    if (turn !== this.turn || !this.node.isConnected) return; // something else was asked for meanwhile
    this.texts.replaceChildren(itemTexts(sides, ["A", "B"]));
    if (clicked) this.texts.scrollIntoView({ block: "nearest" });
  }
}

// The cells of a row of the table.
function cells(one) {
  const { steps = [] } = one;
  return [
    one.benchmark, steps.length > MAX_STEPS ? `${steps[0]} to ${steps.at(-1)} (${steps.length})` : steps.join(", "),
    percent(one.difference), one.low === undefined ? "no interval" : `[${percent(one.low)}, ${percent(one.high)}]`,
    one.p < 0.0005 ? "< 0.001" : share(one.p),
    percent(one.smallest), one.items ? `${one.items}${one.samples ? ` × ${one.samples}` : ""}` : "not recorded",
    `${one.seeds[0]} and ${one.seeds[1]}`, one.scope];
}
